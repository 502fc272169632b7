package idempotent

import (
	"cmp"
	"time"

	"github.com/go-idempotent/idempotent/internal/protocol"
)

// Timing groups the durations of one invocation. A zero field means its default.
type Timing struct {
	// Lease is how long a claim is protected if the invocation's context has no deadline, or one
	// more than 15 minutes away, or if the process runs several invocations at once, as Lambda
	// Managed Instances do. It is renewed while the handler runs, until 15 minutes after the
	// deadline. With any other deadline the lease ends Margin after it. If the handler overruns
	// that deadline, in a process that nobody kills, the lease is renewed for 15 minutes more.
	// Default 30 s, at least 1 s.
	Lease time.Duration
	// Margin is how long the lease outlives the invocation's deadline, to cover a late kill and
	// clock skew between machines. Default 2 s, at most a third of Lease.
	Margin time.Duration
	// Reserve is how long before the invocation's deadline the handler's context ends, so that its
	// result can still be stored; never more than a tenth of the time that is left. Default 500 ms.
	Reserve time.Duration
	// ClaimBudget is the longest time that a claim takes, with its retries and its undo. If the
	// store is down, the caller is told so within it. The settlement after the handler may take as
	// long, and in addition a second for each 512 KB of the result. Reading a large stored result
	// may take until the deadline, at most 30 s. Default 3 s, at least 100 ms.
	ClaimBudget time.Duration
	// UnknownRetention is how long an UNKNOWN record is kept, so that somebody can settle it.
	// Default 30 days.
	UnknownRetention time.Duration
}

func (t Timing) withDefaults() Timing {
	return Timing{
		Lease:            cmp.Or(t.Lease, protocol.DefaultLease),
		Margin:           cmp.Or(t.Margin, protocol.DefaultMargin),
		Reserve:          cmp.Or(t.Reserve, protocol.DefaultReserve),
		ClaimBudget:      cmp.Or(t.ClaimBudget, protocol.DefaultClaimBudget),
		UnknownRetention: cmp.Or(t.UnknownRetention, protocol.DefaultUnknownRetention),
	}
}
