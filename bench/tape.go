package main

import "sync"

// tape is what DynamoDB answered to the calls of one delivery. It is played again and again: the
// n-th call of an operation gets the n-th answer, and after the last one the next delivery begins.
// It is safe for concurrent use, but deliveries that make several calls of one operation must not
// run at the same time.
type tape[R any] struct {
	mu      sync.Mutex
	answers map[string][]R // by operation
	played  map[string]int
}

func newTape[R any]() *tape[R] {
	return &tape[R]{answers: make(map[string][]R), played: make(map[string]int)}
}

func (t *tape[R]) record(operation string, answer R) {
	t.answers[operation] = append(t.answers[operation], answer)
}

func (t *tape[R]) play(operation string) (answer R, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	answers := t.answers[operation]
	if len(answers) == 0 {
		return answer, false
	}
	answer = answers[t.played[operation]%len(answers)]
	t.played[operation]++
	return answer, true
}
