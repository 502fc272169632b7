//go:build !race

package batches_test

// many is how many orders the large runs have.
const many = 9000
