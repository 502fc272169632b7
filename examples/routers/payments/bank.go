package payments

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// What a bank answers if it does not do what it was asked for.
var (
	ErrDeclined = errors.New("bank: declined")
	ErrRefunded = errors.New("bank: refunded already")
	ErrNoCharge = errors.New("bank: no such charge")
	// ErrClosed says that nothing has happened, ErrSilent that there was no answer.
	ErrClosed = errors.New("bank: closed")
	ErrSilent = errors.New("bank: no answer")
)

// Sources and accounts with which the bank does as their names say. It has done what it was asked for before it falls silent.
const (
	DeclinedSource = "tok_declined"
	SilentSource   = "tok_silent"
	ClosedAccount  = "acc_closed"
	SilentAccount  = "acc_silent"
)

// The states of a charge, unless a provider has reported another one.
const (
	statusSucceeded = "succeeded"
	statusRefunded  = "refunded"
)

// Bank stands for the services behind the API. It lives in the memory of one process. The zero value is ready. It is safe for concurrent
// use, and must not be copied.
type Bank struct {
	mu        sync.Mutex
	charges   map[string]*charge
	refunds   map[string]string // charges by the key of the refund
	transfers int
}

type charge struct{ id, status string }

// Charge charges a source once for each key.
func (b *Bank) Charge(key, source string, _ int64) (id string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if source == DeclinedSource {
		return "", ErrDeclined
	}
	made, again := b.charges[key]
	if !again {
		if b.charges == nil {
			b.charges = map[string]*charge{}
		}
		made = &charge{fmt.Sprintf("ch_%d", len(b.charges)+1), statusSucceeded}
		b.charges[key] = made
	}
	if source == SilentSource && !again {
		return "", ErrSilent
	}
	return made.id, nil
}

// Refund refunds a charge once for each key. ErrRefunded means that another key has done so.
func (b *Bank) Refund(key, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refunds[key] == id {
		return nil
	}
	made := b.find(id)
	switch {
	case made == nil:
		return ErrNoCharge
	case made.status == statusRefunded:
		return ErrRefunded
	}
	if b.refunds == nil {
		b.refunds = map[string]string{}
	}
	made.status, b.refunds[key] = statusRefunded, id
	return nil
}

// Transfer sends money to an account, each time.
func (b *Bank) Transfer(account string, _ int64) (id string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if account == ClosedAccount {
		return "", ErrClosed
	}
	b.transfers++
	if account == SilentAccount {
		return "", ErrSilent
	}
	return fmt.Sprintf("tr_%d", b.transfers), nil
}

// Report notes what a provider says of a charge.
func (b *Bank) Report(id, status string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if made := b.find(id); made != nil {
		made.status = status
	}
}

// Find returns the charges with this status, all if it is empty.
func (b *Bank) Find(status string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids := []string{}
	for _, made := range b.charges {
		if cmp.Or(status, made.status) == made.status {
			ids = append(ids, made.id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Transfers is how often money was sent.
func (b *Bank) Transfers() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.transfers
}

func (b *Bank) find(id string) *charge {
	for _, made := range b.charges {
		if made.id == id {
			return made
		}
	}
	return nil
}
