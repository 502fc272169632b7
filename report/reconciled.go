package report

import "time"

// Reconciled is what one run of a reconciliation did.
type Reconciled struct {
	Operation string `emf:"Operation,dimension" log:"operation"`
	// Asked counts the records that the resolver was asked about, or that were handed over as given
	// up.
	Asked int `emf:"ReconcileAsked,always" log:"asked"`
	// Completed, Released, Scheduled and GivenUp count what became of them. Scheduled are due again
	// later.
	Completed int `emf:"ReconcileCompleted" log:"completed"`
	Released  int `emf:"ReconcileReleased"  log:"released"`
	Scheduled int `emf:"ReconcileScheduled" log:"scheduled"`
	GivenUp   int `emf:"ReconcileGivenUp"   log:"given_up"`
	// Failed counts the errors of the resolver, of the function that takes what was given up, and
	// of the store.
	Failed int `emf:"ReconcileFailed" log:"failed"`
	// Elsewhere counts the records whose claim was lost while the resolver was asked.
	Elsewhere int `emf:"ReconcileElsewhere" log:"elsewhere"`
	// Busy counts the records that an execution held, and Closed those that were settled meanwhile.
	// Nobody was asked about them.
	Busy   int `log:"busy"`
	Closed int `log:"closed"`
	// Unreadable counts the records that cannot be understood.
	Unreadable int `emf:"ReconcileUnreadable" log:"unreadable"`
	// NotEnded counts the resolvers that still ran when there was no time left. NotBegun says that
	// there may be more records that are due.
	NotEnded int  `emf:"ReconcileNotEnded" log:"not_ended"`
	NotBegun bool `emf:"ReconcileNotBegun" log:"not_begun"`
	// Problems are what went wrong with single records, a hundred at most.
	Problems []ReconcileProblem
	// Err is why the run failed.
	Err  error         `emf:"ReconcileRunFailed" json:"-" log:"error"`
	Took time.Duration `log:"took,always"`
}

// ReconcileProblem is what went wrong with a record.
type ReconcileProblem struct {
	RecordKey string `log:"record"`
	// Outcome is what became of it, empty if the store did not tell.
	Outcome ReconcileOutcome `log:"outcome,always"`
	// Tries is how often was asked without an answer.
	Tries int `log:"tries"`
	// Err is why.
	Err error `json:"-" log:"error,type"`
}

// ReconcileOutcome is how the reconciliation of one record ends.
type ReconcileOutcome string

// The outcomes of a reconciliation of one record.
const (
	// ReconcileCompleted: the resolver found the result. It is stored, and requests get it.
	ReconcileCompleted ReconcileOutcome = "completed"
	// ReconcileReleased: the resolver found that nothing has happened. The next request executes. A
	// record with recorded steps still waits for somebody, because half of it has been done.
	ReconcileReleased ReconcileOutcome = "released"
	// ReconcileScheduled: nobody can tell yet. The record is as it was, and is due again later.
	ReconcileScheduled ReconcileOutcome = "scheduled"
	// ReconcileGivenUp: nobody could tell, as often as was asked. A person settles the record.
	ReconcileGivenUp ReconcileOutcome = "given up"
	// ReconcileBusy: an execution holds the record, or another reconciliation. Nobody was asked.
	ReconcileBusy ReconcileOutcome = "busy"
	// ReconcileClosed: nobody was asked, because the record is gone, completed, or not due, or the
	// next request executes anyway.
	ReconcileClosed ReconcileOutcome = "closed"
	// ReconcileElsewhere: the lease was lost while the resolver was asked, and somebody else has
	// the record or has settled it. The answer does not count.
	ReconcileElsewhere ReconcileOutcome = "elsewhere"
)

// Attention is how many records of an operation wait for somebody to settle them, at one instant:
// those that are UNKNOWN, and those that stopped between two steps and that nobody has retried. No
// invocation can tell, because a record whose client no longer retries makes no more reports. A job
// that lists the records can.
type Attention struct {
	Operation string `emf:"Operation,dimension" log:"operation"`
	// Open is how many records wait.
	Open int `emf:"OpenAttention,always" log:"open,always"`
	// Oldest is for how long the first of them has waited.
	Oldest time.Duration `emf:"OldestAttention,Seconds,always" log:"oldest"`
	// GivenUp is how many of them no reconciliation asks about any more.
	GivenUp int `emf:"GivenUpAttention,always" log:"given_up"`
}
