package store

import (
	"context"
	"errors"
	"strconv"
	"strings"
)

// Committer is implemented by stores that complete a record and apply writes of the handler's own
// in one transaction: both happen, or neither does.
type Committer interface {
	// Commit replaces the held record by next, which is completed, and applies the writes, if the
	// held record is the one that was seen, as [Store.Swap] compares, and if the conditions of all
	// writes hold. It returns
	//
	//   - true, if both have happened, in this call or in an earlier one with the same token that
	//     was not answered
	//   - false and the held record, zero if there is none, if that is not the one that was seen:
	//     then nothing has happened. It comes before everything that the writes have to say
	//   - an [*Error] that wraps [ErrWritesRefused], if the condition of a write does not hold. Its
	//     NotApplied is false if an earlier attempt of the call was not answered: that one may come
	//     yet, when the condition holds
	//   - an [*Error] that wraps [ErrNoCommit], if the store cannot do this at all, or not with
	//     these writes: then nothing was sent
	//   - every other error as Swap does
	//
	// The token names the call: whoever repeats a call passes the same arguments and the same
	// token, of at most 36 characters. A store SHOULD recognise by it a call that it has applied.
	// It MUST NOT rely on it alone: the seal of the record that refuses tells, too.
	Commit(ctx context.Context, seen, next Record, writes Writes, token string) (held Record, committed bool, err error)

	// Apply applies the writes alone, in a transaction of their own. Errors are those of Commit.
	Apply(ctx context.Context, writes Writes, token string) error
}

// Writes are what a handler wants to be written with its answer. A store knows its own kind of them
// and refuses every other one.
type Writes interface {
	// Len is how many there are.
	Len() int
}

var (
	// ErrWritesRefused is in the error of a [Committer] if the condition of a write did not hold.
	ErrWritesRefused = errors.New("the condition of a write does not hold")
	// ErrNoCommit is in the error of a [Committer] that cannot commit.
	ErrNoCommit = errors.New("the store has no transactions with writes of the handler's own")
)

// CommitterOf returns the store as a [Committer]. If it is none, the error wraps [ErrNoCommit].
func CommitterOf(s Store) (Committer, error) {
	if c, ok := s.(Committer); ok {
		return c, nil
	}
	return nil, lacks(s, ErrNoCommit, "commit")
}

// CommitSeal returns the seal of a record that was completed together with writes: that of [Seal],
// a dot, and which commit of its execution it is, from 1. So commits of one answer differ, too.
func CommitSeal(owner string, result []byte, commit int) string {
	return Seal(owner, result) + "." + strconv.Itoa(commit)
}

// endsSeal reports whether a seal may go on like this behind its owner and its result.
func endsSeal(rest string) bool {
	if rest == "" {
		return true
	}
	number, is := strings.CutPrefix(rest, ".")
	n, err := strconv.Atoi(number)
	return is && err == nil && n > 0 && strconv.Itoa(n) == number
}
