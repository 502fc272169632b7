package explore_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/proof/explore"
	"github.com/go-idempotent/idempotent/store"
)

// TestInvocationsOfRealClientsAreLinearizable lets clients loose on a few keys, with the real clock
// and the real store, and looks for an order of what happened that one handler at a time, with a
// table of first results, would have led to.
func TestInvocationsOfRealClientsAreLinearizable(t *testing.T) {
	for name, c := range map[string]struct {
		store     func(t *testing.T) store.Store
		histories int
	}{
		"memory":         {func(*testing.T) store.Store { return memory.New() }, 30},
		"DynamoDB Local": {localStore, 12},
	} {
		t.Run(name, func(t *testing.T) {
			records := c.store(t)
			kinds := map[stepKind]int{}
			for range c.histories {
				seed := mathrand.Uint64()
				h := recordHistory(t, records, seed)
				for _, o := range h {
					kinds[o.Input.(step).kind]++
				}
				require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(invocations(), h, time.Minute),
					"seed %d", seed)
				requireLiesAreFound(t, h)
			}
			t.Log(kinds)
			for _, kind := range []stepKind{
				stepClaim, stepCommit, stepRelease, stepReplay, stepInProgress,
				stepMismatch,
			} {
				assert.NotZero(t, kinds[kind], "a history has seen: %s", kind)
			}
		})
	}
}

func localStore(t *testing.T) store.Store {
	t.Helper()
	client, table := dynamolocal.Client(dynamolocal.Endpoint(t)), "explore-"+rand.Text()
	require.NoError(t, dynamo.CreateTable(t.Context(), client, table))
	t.Cleanup(func() {
		_, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: aws.String(table)})
		require.NoError(t, err)
	})
	return dynamo.New(client, table)
}

// requireLiesAreFound alters a history and expects that no order explains it any more.
func requireLiesAreFound(t *testing.T, h []porcupine.Operation) {
	t.Helper()
	for _, lie := range []func(s *step) bool{
		func(s *step) bool { s.answer += "!"; return s.kind == stepReplay },
		func(s *step) bool { s.id = -s.id; return s.kind == stepCommit },
		func(s *step) bool {
			was := s.kind
			s.kind = stepReplay
			return was == stepMismatch || was == stepInProgress
		},
	} {
		told := slices.Clone(h)
		for n, o := range told {
			if s := o.Input.(step); lie(&s) {
				told[n].Input = s
				require.Equal(t, porcupine.Illegal, porcupine.CheckOperationsTimeout(invocations(), told, time.Minute))
				break
			}
		}
	}
}

// step is what a delivery did to its key. An execution is two: it claims before the handler begins,
// and ends after.
type step struct {
	kind   stepKind
	key    string
	id     int // of the delivery
	amount int64
	answer string
}

type stepKind string

const (
	stepClaim      stepKind = "claim"
	stepCommit     stepKind = "commit"
	stepRelease    stepKind = "release"
	stepReplay     stepKind = "replay"
	stepInProgress stepKind = "in progress"
	stepMismatch   stepKind = "mismatch"
)

// keyState is a key as one handler at a time knows it.
type keyState struct {
	by     int // who executes or has executed; 0 for nobody
	done   bool
	amount int64
	answer string
}

func invocations() porcupine.Model {
	return porcupine.Model{
		Partition: func(h []porcupine.Operation) (parts [][]porcupine.Operation) {
			byKey := map[string][]porcupine.Operation{}
			for _, o := range h {
				key := o.Input.(step).key
				byKey[key] = append(byKey[key], o)
			}
			for _, part := range byKey {
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() any { return keyState{} },
		Step: func(state, input, _ any) (bool, any) {
			k, s := state.(keyState), input.(step)
			switch s.kind {
			case stepClaim:
				return k.by == 0, keyState{by: s.id, amount: s.amount}
			case stepCommit:
				return k.by == s.id && !k.done, keyState{by: s.id, done: true, amount: s.amount, answer: s.answer}
			case stepRelease:
				return k.by == s.id && !k.done, keyState{}
			case stepReplay:
				return k.done && k.amount == s.amount && k.answer == s.answer, k
			case stepInProgress:
				return k.by != 0 && !k.done && k.amount == s.amount, k
			default:
				return k.by != 0 && k.amount != s.amount, k
			}
		},
	}
}

// work is what a handler is told by its delivery.
type work struct {
	id         int
	fails      bool
	began, end time.Duration
}

type workKey struct{}

var errDeclined = errors.New("declined")

// recordHistory lets clients loose at the same time.
func recordHistory(t *testing.T, records store.Store, seed uint64) (history []porcupine.Operation) {
	t.Helper()
	const clients, deliveries, keys = 8, 8, 3
	var (
		mu    sync.Mutex
		group sync.WaitGroup
		start = make(chan struct{})
		begin = time.Now()
		run   = rand.Text()
	)
	h := idempotent.Wrap(func(ctx context.Context, o explore.Order) (explore.Receipt, error) {
		w := ctx.Value(workKey{}).(*work)
		w.began = time.Since(begin)
		time.Sleep(time.Duration(mathrand.IntN(2000)) * time.Microsecond)
		defer func() { w.end = time.Since(begin) }()
		if w.fails {
			return explore.Receipt{}, errDeclined
		}
		return explore.Receipt{By: fmt.Sprint(w.id), Amount: o.Amount}, nil
	}, records,
		idempotent.WithOperation("history"),
		idempotent.WithKey(func(o explore.Order) (string, error) { return o.Key, nil }),
		idempotent.WithFingerprint(func(o explore.Order) (any, error) { return o.Amount, nil }))

	for c := range clients {
		random := mathrand.New(mathrand.NewPCG(seed, uint64(c)))
		group.Go(func() {
			<-start
			for n := range deliveries {
				w := &work{id: 1 + c*deliveries + n, fails: random.IntN(3) == 0}
				o := explore.Order{Key: fmt.Sprint(run, random.IntN(keys)), Amount: 5}
				if random.IntN(6) == 0 {
					o.Amount = 6
				}
				ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), workKey{}, w),
					30*time.Second)
				called := time.Since(begin)
				out, err := h.Handle(ctx, o)
				returned := time.Since(begin)
				cancel()
				ops, problem := stepsOf(c, w, o, out, err, called, returned)
				mu.Lock()
				history = append(history, ops...)
				if problem != nil {
					t.Errorf("seed %d: %v", seed, problem)
				}
				mu.Unlock()
			}
		})
	}
	close(start)
	group.Wait()
	return history
}

// stepsOf says what a delivery did.
func stepsOf(client int, w *work, o explore.Order, out explore.Receipt, err error, called,
	returned time.Duration,
) ([]porcupine.Operation, error) {
	s := step{key: o.Key, id: w.id, amount: o.Amount, answer: fmt.Sprintf("%d by %s", out.Amount, out.By)}
	op := func(kind stepKind, from, to time.Duration) porcupine.Operation {
		s.kind = kind
		return porcupine.Operation{ClientId: client, Input: s, Call: int64(from), Return: int64(to)}
	}
	switch {
	case w.end > 0 && err == nil && !w.fails:
		return []porcupine.Operation{op(stepClaim, called, w.began), op(stepCommit, w.end, returned)}, nil
	case w.end > 0 && w.fails && err == errDeclined:
		return []porcupine.Operation{op(stepClaim, called, w.began), op(stepRelease, w.end, returned)}, nil
	case w.end > 0:
		return nil, fmt.Errorf("delivery %d executed and is answered %w", w.id, err)
	case err == nil:
		return []porcupine.Operation{op(stepReplay, called, returned)}, nil
	case errors.Is(err, idempotent.ErrInProgress):
		return []porcupine.Operation{op(stepInProgress, called, returned)}, nil
	case errors.Is(err, idempotent.ErrMismatch):
		return []porcupine.Operation{op(stepMismatch, called, returned)}, nil
	default:
		return nil, err
	}
}
