//go:build race

package explore_test

// underRace leaves the largest scenarios out: one goroutine runs at a time, so that there is little for the race detector
// to find, and it takes five times as long.
const underRace = true
