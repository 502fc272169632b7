package report

import "time"

// Step is what became of one step of a handler.
type Step struct {
	Name string  `log:",key"`
	End  StepEnd `log:"end"`
	// Start is when the function of the step began, or when the step was asked for, if it did not
	// run.
	Start time.Time
	// Took is how long the function ran, 0 if it did not. Recording is how long the writes of the
	// step took.
	Took      time.Duration `log:"took"`
	Recording time.Duration `log:"recording"`
	// Bytes is the size of the JSON that was recorded or read.
	Bytes int `log:"bytes"`
	// Err is the error that the step ended with, nil if it has a result.
	Err error
	// ErrorType is the type of that error, or of its cause where the end says all but that; empty
	// if there is nothing to add.
	ErrorType string `log:"error"`
}

// StepEnd is what came of a step.
type StepEnd string

// The ends of steps. Each step has exactly one.
const (
	// StepRecorded: this execution recorded what came of it, which may be a final failure.
	// StepResolved: and a resolver found it.
	StepRecorded StepEnd = "recorded"
	StepResolved StepEnd = "resolved"
	// StepResumed: an earlier execution had recorded it, so the function did not run.
	StepResumed StepEnd = "resumed"
	// StepFailed: its function returned an error that is not recorded, or panicked.
	StepFailed StepEnd = "failed"
	// StepLost: its function ran, and what it returned could not be recorded.
	StepLost StepEnd = "lost"
	// StepRefused: its function did not run.
	StepRefused StepEnd = "refused"
	// StepLeaseLost: the execution had lost its lease.
	StepLeaseLost StepEnd = "lease lost"
	// StepUnreadable: what is recorded cannot be understood.
	StepUnreadable StepEnd = "unreadable"
	// StepUnknown: a step that began once and did not end may have had its effect.
	StepUnknown StepEnd = "unknown outcome"
)

// Commit is what became of one commit of a handler.
type Commit struct {
	End CommitEnd `log:"end"`
	// Items is how many writes it had beside the answer. Tries is how often it was sent: more than
	// once if another writer was at work, the store lacked capacity, or a reply was lost.
	Items int `log:"items,always"`
	Tries int `log:"tries,always"`
	Start time.Time
	Took  time.Duration `log:"took"`
	// Err is why it has not happened, nil if it has.
	Err error
	// ErrorType is what failed in the store, or the type of the cause, where the end does not say
	// all.
	ErrorType string `log:"error"`
}

// CommitEnd is what came of a commit.
type CommitEnd string

// The ends of commits. Each commit has exactly one.
const (
	CommitDone CommitEnd = "committed"
	// CommitDeclined: the condition of a write did not hold: an ordinary branch of the handler, and
	// no failure.
	CommitDeclined CommitEnd = "declined"
	// CommitRefused: it was wrong to call it, and nothing was sent.
	CommitRefused CommitEnd = "refused"
	// CommitLeaseLost: the execution had lost its lease.
	CommitLeaseLost CommitEnd = "lease lost"
	// CommitNotDone: the store did not take it.
	CommitNotDone CommitEnd = "failed"
)
