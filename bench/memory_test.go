package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

// forgetful executes every delivery.
func forgetful(t *till) (delivery, func() error) {
	return func(string) (int, error) {
		t.charge()
		return statusCreated, nil
	}, nothingToClose
}

// idle executes nothing.
func idle(*till) (delivery, func() error) {
	return func(string) (int, error) { return statusCreated, nil }, nothingToClose
}

func TestALibraryThatDoesNotItsWorkIsFound(t *testing.T) {
	t.Parallel()
	assert.ErrorContains(t, library{"idle", idle}.firsts(3), "3 keys executed 0 times")
	assert.ErrorContains(t, library{"forgetful", forgetful}.replays(3), "one key executed 4 times")

	broken := errors.New("broken")
	fails := library{"fails", func(*till) (delivery, func() error) {
		return func(string) (int, error) { return 0, broken }, nothingToClose
	}}
	assert.ErrorIs(t, fails.firsts(1), broken)
	assert.ErrorIs(t, fails.replays(1), broken)
}

func TestAllLibrariesDoTheirWork(t *testing.T) {
	t.Parallel()
	for _, group := range libraries {
		for _, l := range group {
			assert.NoError(t, l.firsts(3), l.name)
			assert.NoError(t, l.replays(3), l.name)
		}
	}
}
