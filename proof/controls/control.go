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
	// first is the test that is meant to catch it. Where nobody has recorded it yet, it is a
	// pattern of likely tests.
	first catcher
}

// catcher names a test and its package. Without a package it is a regular expression for tests of
// any suite.
type catcher struct{ suite, test string }

// exact reports whether a catcher is one test.
func (c catcher) exact() bool { return c.suite != "" }

// rank is higher for what is quicker to run: one test, some tests, all.
func (c catcher) rank() int {
	switch {
	case c.exact():
		return 2
	case c.test != "":
		return 1
	default:
		return 0
	}
}

func (c catcher) String() string {
	if c.suite == "" {
		return c.test
	}
	return c.suite + " " + c.test
}

// result is a control and the tests that fail under it, none if none does, or why it could not be
// run.
type result struct {
	guard

	caughtBy []catcher
	took     time.Duration
	// kept is set if the result is one of an earlier run.
	kept bool
	// late is set if the control was not begun, because the budget of the run was over.
	late bool
}

// check runs the controls of a bench, and begins none after end, unless that is zero. The order of
// the results is that in which they end.
func check(b *bench, guards []guard, workers int, end time.Time) <-chan result {
	results := make(chan result)
	go func() {
		defer close(results)
		_ = each(guards, workers, func(g guard) error {
			if !end.IsZero() && time.Now().After(end) {
				results <- result{guard: g, late: true}
				return nil
			}
			results <- b.result(g)
			return nil
		})
	}()
	return results
}

// result runs a control, unless an earlier run has caught it in the same sources.
func (b *bench) result(g guard) result {
	started := time.Now()
	r := result{guard: g}
	if r.err == nil {
		r.err = b.broken[g.name]
	}
	if r.err == nil {
		if by, ok := b.results.caught(g); ok {
			r.caughtBy, r.kept = []catcher{by}, true
			return r
		}
		r.caughtBy, r.err = b.run(g)
	}
	if r.err == nil && len(r.caughtBy) > 0 {
		r.err = b.results.keep(g, r.caughtBy[0])
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
