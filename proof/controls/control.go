package main

import (
	"errors"
	"sync"
	"time"
)

// control is the module without one of its guards.
type control struct {
	// name is stable. It is a part of an identifier: letters, digits and hyphens.
	name string
	// model is the control of the model in ../model that takes the same guard out, if it has one.
	model string
	// without says what the module does without the guard.
	without string
	// old is the pattern of the guard, which occurs once in the sources and within one function. It becomes new, in which
	// the metavariables of old may be used.
	old, new string
	// in is the function or method that holds the guard, if the pattern alone is not unique: "judge", "Store.Claim".
	in string
	// suite are packages whose tests may catch it beside those of module.suites.
	suite []string
	// first is a regular expression for tests to try before all of them, where that saves much time.
	first string
}

// result is a control and the test that fails under it, empty if none does, or why it could not be run.
type result struct {
	guard

	caughtBy string
	took     time.Duration
}

// check runs the controls of a bench. The order of the results is that in which they end.
func check(b *bench, guards []guard, workers int) <-chan result {
	results := make(chan result)
	go func() {
		defer close(results)
		_ = each(guards, workers, func(g guard) error {
			results <- b.result(g)
			return nil
		})
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

// each does something with all of them, some at the same time, and returns what went wrong.
func each[T any](all []T, workers int, do func(T) error) error {
	todo, errs := make(chan T), make([]error, workers)
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for one := range todo {
				errs[worker] = errors.Join(errs[worker], do(one))
			}
		})
	}
	for _, one := range all {
		todo <- one
	}
	close(todo)
	group.Wait()
	return errors.Join(errs...)
}
