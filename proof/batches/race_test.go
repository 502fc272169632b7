//go:build race

package batches_test

// many is how many orders the large runs have: fewer under the race detector, which is slow.
const many = 2000
