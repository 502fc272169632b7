//go:build !race

package queues_test

const underRace = false
