package explore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
	"github.com/go-idempotent/idempotent/memory"
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
			assert.Len(t, kinds, 6, "every kind was seen")
		})
	}
}

func localStore(t *testing.T) store.Store {
	t.Helper()
	client, table := dynamolocal.Client(dynamotest.Endpoint(t)), "explore-"+rand.Text()
	require.NoError(t, dynamo.CreateTable(t.Context(), client, table))
	dynamotest.DropAfter(t, client, table)
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
		Partition: func(h []porcupine.Operation) [][]porcupine.Operation {
			byKey := map[string][]porcupine.Operation{}
			for _, o := range h {
				key := o.Input.(step).key
				byKey[key] = append(byKey[key], o)
			}
			return slices.Collect(maps.Values(byKey))
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

// work is what a handler is told by its delivery, and when it began and ended.
type work struct {
	id         int
	fails      error
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
	h := idempotent.Wrap(func(ctx context.Context, o Order) (Receipt, error) {
		w := ctx.Value(workKey{}).(*work)
		w.began = time.Since(begin)
		time.Sleep(time.Duration(mathrand.IntN(2000)) * time.Microsecond)
		defer func() { w.end = time.Since(begin) }()
		return Receipt{By: fmt.Sprint(w.id), Amount: o.Amount}, w.fails
	}, records,
		idempotent.WithOperation("history"),
		idempotent.WithKey(func(o Order) (string, error) { return o.Key, nil }),
		idempotent.WithFingerprint(func(o Order) (any, error) { return o.Amount, nil }),
		// No write is given up on a busy machine: one that comes later would hold a key for nobody.
		idempotent.WithTiming(idempotent.Timing{ClaimBudget: 20 * time.Second}))

	for c := range clients {
		random := mathrand.New(mathrand.NewPCG(seed, uint64(c)))
		group.Go(func() {
			<-start
			for n := range deliveries {
				w := &work{id: 1 + c*deliveries + n}
				if random.IntN(3) == 0 {
					w.fails = errDeclined
				}
				o := Order{Key: fmt.Sprint(run, random.IntN(keys)), Amount: 5}
				if random.IntN(6) == 0 {
					o.Amount = 6
				}
				ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), workKey{}, w),
					30*time.Second)
				called := time.Since(begin)
				out, err := h.Handle(ctx, o)
				returned := time.Since(begin)
				cancel()
				s := step{key: o.Key, id: w.id, amount: o.Amount, answer: out.String()}
				mu.Lock()
				did := func(kind stepKind, from, to time.Duration) {
					s.kind = kind
					history = append(history,
						porcupine.Operation{ClientId: c, Input: s, Call: int64(from), Return: int64(to)})
				}
				switch {
				case w.end > 0 && err == w.fails:
					did(stepClaim, called, w.began)
					did(map[bool]stepKind{true: stepCommit, false: stepRelease}[err == nil], w.end, returned)
				case w.end > 0:
					t.Errorf("seed %d: delivery %d executed and is answered %v", seed, w.id, err)
				case err == nil:
					did(stepReplay, called, returned)
				case errors.Is(err, idempotent.ErrInProgress):
					did(stepInProgress, called, returned)
				case errors.Is(err, idempotent.ErrMismatch):
					did(stepMismatch, called, returned)
				default:
					t.Errorf("seed %d: %v", seed, err)
				}
				mu.Unlock()
			}
		})
	}
	close(start)
	group.Wait()
	return history
}
