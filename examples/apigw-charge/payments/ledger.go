package payments

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"

	"github.com/go-idempotent/idempotent/examples/internal/body"
	"github.com/go-idempotent/idempotent/fingerprint"
)

// DeclinedSource is the source that a [Ledger] always declines.
const DeclinedSource = "tok_chargeDeclined"

// Ledger is a [Provider] in memory, for local runs and tests: it charges nobody and keeps a book. It honours keys as a
// real provider does, and forgets none. Make one with [NewLedger].
type Ledger struct {
	mu    sync.Mutex
	book  []Entry
	byKey map[string]int // index into book
}

// Entry is one charge in the book of a [Ledger].
type Entry struct {
	Charge
	Request

	// Key is the one that the charge was made with; Calls counts the requests that carried it.
	Key   string
	Calls int

	digest string
}

var (
	_ Provider = (*Ledger)(nil)
	_ Finder   = (*Ledger)(nil)
)

// NewLedger returns a ledger with an empty book.
func NewLedger() *Ledger { return &Ledger{byKey: map[string]int{}} }

// Charge implements [Provider]. Requests with one key are the same if they are equal as JSON, by value. Without a
// key every request is charged.
func (l *Ledger) Charge(_ context.Context, key string, r Request) (Charge, error) {
	if r.Source == DeclinedSource {
		return Charge{}, ErrDeclined
	}
	digest, err := digestOf(r)
	if err != nil {
		return Charge{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i, known := l.byKey[key]; known {
		e := &l.book[i]
		e.Calls++
		if e.digest != digest {
			return Charge{}, ErrKeyReused
		}
		return e.Charge, nil
	}
	e := Entry{Charge: Charge{ID: "ch_" + rand.Text(), Status: Succeeded}, Request: r, Key: key, Calls: 1, digest: digest}
	l.book = append(l.book, e)
	if key != "" {
		l.byKey[key] = len(l.book) - 1
	}
	return e.Charge, nil
}

// Book returns the charges made so far, in order.
func (l *Ledger) Book() []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.book)
}

// Count returns how many charges were made.
func (l *Ledger) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.book)
}

func digestOf(r Request) (string, error) {
	text, err := body.JSON(r)
	if err != nil {
		return "", fmt.Errorf("payments: encode the request: %w", err)
	}
	h := fingerprint.New("charge")
	if err := h.JSON(text); err != nil { // metadata that is ambiguous, such as one with a name that occurs twice
		h.Bytes(text)
	}
	return h.Text(), nil
}
