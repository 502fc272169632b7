package main

import (
	"sync"
	"time"
)

// control is the module without one of its guards.
type control struct {
	// name is stable. It is a part of an identifier: letters, digits and hyphens.
	name string
	// area is the file that the row is in, without its ending.
	area string
	// without says what the module does without the guard.
	without string
	// old is the pattern of the guard, which occurs once in the sources and within one function. It
	// becomes new, in which the metavariables of old may be used.
	old, new string
	// in is the function or method that holds the guard, if the pattern alone is not unique:
	// "judge", "Store.Claim".
	in string
	// suite are packages whose tests may catch it beside those of module.suites.
	suite []string
	// first is the test that is meant to catch it, the zero value if nobody has recorded it yet.
	first catcher
}

// catcher names a test and its package.
type catcher struct{ suite, test string }

func (c catcher) String() string { return c.suite + " " + c.test }

// result is a control and the test that fails under it, none if none does, or why it could not be
// run.
type result struct {
	guard

	caughtBy catcher
	took     time.Duration
	// late is set if the control was not begun, because the budget of the run was over.
	late bool
}

// workers is how many controls run at the same time.
const workers = 2

// check runs the controls of a bench, and begins none after end, unless that is zero. The order of
// the results is that in which they end.
func check(b *bench, guards []guard, end time.Time) <-chan result {
	todo, results := make(chan guard), make(chan result)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for g := range todo {
				if !end.IsZero() && time.Now().After(end) {
					results <- result{guard: g, late: true}
				} else {
					results <- b.result(g)
				}
			}
		})
	}
	go func() {
		defer close(results)
		for _, g := range guards {
			todo <- g
		}
		close(todo)
		group.Wait()
	}()
	return results
}

// result runs a control.
func (b *bench) result(g guard) result {
	started := time.Now()
	r := result{guard: g}
	if r.err == nil {
		r.err = b.broken[g.name]
	}
	if r.err == nil {
		r.caughtBy, r.err = b.run(g)
	}
	r.took = time.Since(started)
	return r
}
