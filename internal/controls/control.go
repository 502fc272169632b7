package main

import (
	"bytes"
	"fmt"
	"path"
	"sync"
	"time"
)

// control is the module without one of its guards.
type control struct {
	// name is stable. It is a part of an identifier: letters, digits and hyphens.
	name string
	// model is the control of the model in /model that takes the same guard out, if it has one.
	model string
	// without says what the module does without the guard.
	without string
	// file is where the guard is, from the root of the module. The text old, which occurs in it once and within one
	// function, becomes new.
	file, old, new string
	// line and column, counted from 1, are where old is, if it may occur elsewhere too.
	line, column int
	// suite are the packages whose tests must catch it, one of them at least; default is the package of the file.
	suite []string
	// first is a regular expression for tests to try before all of them, where that saves much time.
	first string
}

func (c control) packages() []string {
	if c.suite != nil {
		return c.suite
	}
	return []string{"./" + path.Dir(c.file)}
}

// find is where the guard begins in the source of its file.
func (c control) find(source []byte) (int, error) {
	if c.line > 0 {
		return c.findAt(bytes.SplitAfter(source, []byte("\n")))
	}
	if n := bytes.Count(source, []byte(c.old)); n != 1 {
		return 0, fmt.Errorf("%s holds the guard %d times, not once", c.file, n)
	}
	return bytes.Index(source, []byte(c.old)), nil
}

func (c control) findAt(lines [][]byte) (int, error) {
	if c.line > len(lines) || c.column < 1 || c.column > len(lines[c.line-1]) ||
		!bytes.HasPrefix(lines[c.line-1][c.column-1:], []byte(c.old)) {
		return 0, fmt.Errorf("%s:%d:%d: no %s here", c.file, c.line, c.column, c.old)
	}
	return len(bytes.Join(lines[:c.line-1], nil)) + c.column - 1, nil
}

// result is a control and the test that fails under it, empty if none does, or why it could not be run.
type result struct {
	control
	caughtBy string
	took     time.Duration
	err      error
}

// check runs the controls of a bench. The order of the results is that in which they end.
func check(b *bench, controls []control, workers int) <-chan result {
	todo, results := make(chan control), make(chan result)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for c := range todo {
				started := time.Now()
				r := result{control: c, err: b.broken[c.name]}
				if r.err == nil {
					r.caughtBy, r.err = b.run(c)
				}
				r.took = time.Since(started)
				results <- r
			}
		})
	}
	go func() {
		for _, c := range controls {
			todo <- c
		}
		close(todo)
		group.Wait()
		close(results)
	}()
	return results
}
