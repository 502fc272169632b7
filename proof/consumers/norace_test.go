//go:build !race

package consumers_test

const underRace = false
