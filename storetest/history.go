package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/store"
)

const (
	// A fast store gets through all histories, a slow one through as many as fit into the time.
	histories     = 100
	historiesTime = 2 * time.Second

	historyCallers = 6
	historyCalls   = 12
	// searchTime is how long the search for an order may take. A history of this size needs
	// milliseconds.
	searchTime = 30 * time.Second
)

// linearizable records histories of real concurrent calls, and looks for an order of each that a
// register explains.
func linearizable(p *probe) {
	begin := time.Now()
	for n := 0; n < histories && time.Since(begin) < historiesTime; n++ {
		explain(p, mathrand.Uint64())
	}
}

func explain(p *probe, seed uint64) {
	history, errs := record(p, seed)
	if len(errs) > 0 {
		p.t.Fatalf("seed %d: %v", seed, errors.Join(errs...))
	}
	switch porcupine.CheckOperationsTimeout(model(), history, searchTime) {
	case porcupine.Ok:
	case porcupine.Unknown:
		p.t.Fatalf("seed %d: no order of the history was found in %s, and not excluded either", seed, searchTime)
	case porcupine.Illegal:
		p.t.Fatalf("seed %d: no order of the calls explains their answers:\n%s", seed, chronicle(history))
	}
}

// record lets callers loose on one key at the same time.
func record(p *probe, seed uint64) (history []porcupine.Operation, errs []error) {
	var (
		mu    sync.Mutex
		group sync.WaitGroup
		start = make(chan struct{})
		begin = time.Now()
		ctx   = p.t.Context()
	)
	key := p.of(inProgress).Key
	for id := range historyCallers {
		random := mathrand.New(mathrand.NewPCG(seed, uint64(id)))
		who := &caller{probe: p, name: fmt.Sprint("C", id), pick: random.IntN, seen: store.Record{Key: key}}
		group.Go(func() {
			<-start
			for range historyCalls {
				made := who.call() //nolint:contextcheck // it only reads what a turn asks it to
				called := time.Since(begin)
				got, err := made.make(ctx, p.store)
				returned := time.Since(begin)
				mu.Lock()
				if err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", made.Op, err))
				}
				op := porcupine.Operation{
					ClientId: id, Input: made, Call: int64(called), Output: got, Return: int64(returned),
				}
				history = append(history, op)
				if look, ok := shown(op); ok {
					history = append(history, look)
				}
				mu.Unlock()
				who.learn(made, got)
			}
		})
	}
	close(start)
	group.Wait()
	for _, o := range history {
		p.commits.settle(p, as[call](o.Input), as[answer](o.Output).done)
	}
	return history, errs
}

// model is the register as porcupine takes it.
func model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return register{} },
		Step: func(state, input, output any) (bool, any) {
			made, got := as[call](input), as[answer](output)
			next, want := as[register](state).apply(made)
			if made.Op != calls.Get && (!made.handsOver() || !got.done) {
				// What a refusal shows is a call of its own, see shown.
				return got.done == want.done && got.declined == want.declined, next
			}
			got.record, want.record = withoutParts(got.record, want.record)
			return got.equal(want), next
		},
		Equal: func(a, b any) bool {
			x, y := as[register](a), as[register](b)
			return x.held == y.held && equal(x.record, y.record)
		},
	}
}

// withoutParts leaves out of both records the results that the store keeps elsewhere in got: a seal
// names each of them.
func withoutParts(got, want store.Record) (store.Record, store.Record) {
	if got.Parts != "" {
		got.Parts, want.Result = "", nil
	}
	got.Steps, want.Steps = maps.Clone(got.Steps), maps.Clone(want.Steps)
	for name, s := range got.Steps {
		if expected, has := want.Steps[name]; has && s.Parts != "" {
			s.Parts, expected.Result = "", nil
			got.Steps[name], want.Steps[name] = s, expected
		}
	}
	return got, want
}

// shown returns the record that a refused Claim, Swap or Commit showed, as a read during the same
// time: a store may refuse at one moment and look at another. A claim may also find that what
// refused it is gone, and then nothing is said about what is held.
func shown(op porcupine.Operation) (look porcupine.Operation, ok bool) {
	made, got := as[call](op.Input), as[answer](op.Output)
	nothing := equal(got.record, store.Record{})
	shows := made.Op == calls.Swap || made.Op == calls.Commit && !got.declined || made.Op == calls.Claim && !nothing
	if got.done || !shows {
		return look, false
	}
	op.Input = call{Call: calls.Call{Op: calls.Get, Key: made.Key}}
	op.Output = answer{done: !nothing, record: got.record}
	return op, true
}

// chronicle tells a history in the order of its calls.
func chronicle(history []porcupine.Operation) string {
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var b strings.Builder
	for _, o := range history {
		from, to := time.Duration(o.Call), time.Duration(o.Return)
		fmt.Fprintf(&b, "[%s, %s] C%d: %v\n= %v\n", from, to, o.ClientId, o.Input, o.Output)
	}
	return b.String()
}
