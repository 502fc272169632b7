package main

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
)

// forgetful executes every delivery.
func forgetful(t *till) opened {
	return opened{close: nothingToClose, client: func() func(string) (int, error) {
		return func(string) (int, error) {
			if t.entered == nil || t.executed.Load() == 0 {
				t.charge()
			}
			return statusCreated, nil
		}
	}}
}

// idle executes nothing.
func idle(*till) opened {
	return opened{close: nothingToClose, client: func() func(string) (int, error) {
		return func(string) (int, error) { return statusCreated, nil }
	}}
}

func TestALibraryThatDoesNotItsWorkIsFound(t *testing.T) {
	t.Parallel()
	assert.ErrorContains(t, library{"idle", idle}.firsts(3), "3 keys executed 0 times")
	assert.ErrorContains(t, library{"forgetful", forgetful}.replays(3), "one key executed 4 times")
	assert.ErrorContains(t, library{"forgetful", forgetful}.conflicts(3), "the answer has status 201")

	broken := errors.New("broken")
	fails := library{"fails", func(*till) opened {
		return opened{client: func() func(string) (int, error) {
			return func(string) (int, error) { return 0, broken }
		}}
	}}
	assert.ErrorIs(t, fails.firsts(1), broken)
	assert.ErrorIs(t, fails.replays(1), broken)
}

func TestAllLibrariesDoTheirWork(t *testing.T) {
	t.Parallel()
	for i, group := range libraries {
		for _, l := range group {
			assert.NoError(t, l.firsts(3), l.name)
			assert.NoError(t, l.replays(3), l.name)
		}
		for _, l := range refusing[i] {
			assert.NoError(t, l.conflicts(3), l.name)
		}
	}
}

func TestContentionWithoutIdempotencyIsFound(t *testing.T) {
	t.Parallel()
	var executed atomic.Int64
	arenaOf := func(refuses bool) arena {
		return arena{executed: executed.Load, client: func() func(uint64) (bool, error) {
			return func(uint64) (bool, error) {
				executed.Add(1)
				return refuses, nil
			}
		}}
	}
	assert.ErrorContains(t, arenaOf(false).run(4, 4, 8), "2 keys executed 8 times")
	assert.ErrorIs(t, arenaOf(true).run(4, 1, 8), errNotTaken)
}

func TestContentionDeliversEachKeySoOften(t *testing.T) {
	t.Parallel()
	deliveries := make(chan uint64, 100)
	a := arena{executed: func() int64 { return 3 }, client: func() func(uint64) (bool, error) {
		return func(key uint64) (bool, error) {
			deliveries <- key
			return false, nil
		}
	}}
	assert.NoError(t, a.run(4, 4, 10))
	close(deliveries)
	times := make(map[uint64]int)
	for key := range deliveries {
		times[key]++
	}
	counts := make(map[int]int)
	for _, n := range times {
		counts[n]++
	}
	assert.Equal(t, map[int]int{4: 2, 2: 1}, counts) // two keys by all four clients, and what is left
}
