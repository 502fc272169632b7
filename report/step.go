package report

import "time"

// Step is what became of one step of a handler.
type Step struct {
	Name string  `log:",key"`
	End  StepEnd `log:"end"`
	// Start is when the function of the step began, or else when the step was asked for.
	Start time.Time
	// Took is how long the function ran, Recording how long the writes of the step took.
	Took      time.Duration `log:"took"`
	Recording time.Duration `log:"recording"`
	// Bytes is the size of the JSON that was recorded or read.
	Bytes int `log:"bytes"`
	// Err is the error that the step ended with.
	Err error
	// ErrorType is the type of that error, or of its cause where the end says all but that.
	ErrorType string `log:"error"`
}

// StepEnd is what came of a step.
type StepEnd string

// The ends of steps. Each step has exactly one.
const (
	StepRecorded   StepEnd = "recorded"        // this execution recorded its result or final failure
	StepResolved   StepEnd = "resolved"        // the same, and a resolver had found it
	StepResumed    StepEnd = "resumed"         // an earlier execution recorded it: the function did not run
	StepFailed     StepEnd = "failed"          // its function panicked, or its error is not recorded
	StepLost       StepEnd = "lost"            // its function ran, but what it returned is not recorded
	StepRefused    StepEnd = "refused"         // its function did not run
	StepLeaseLost  StepEnd = "lease lost"      // the execution had lost its lease
	StepUnreadable StepEnd = "unreadable"      // what is recorded cannot be understood
	StepUnknown    StepEnd = "unknown outcome" // it began, did not end, and may have had its effect
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
	// Err is why it has not happened.
	Err error
	// ErrorType is what failed in the store, or the type of the cause, unless the end says all.
	ErrorType string `log:"error"`
}

// CommitEnd is what came of a commit.
type CommitEnd string

// The ends of commits. Each commit has exactly one.
const (
	CommitDone      CommitEnd = "committed"
	CommitDeclined  CommitEnd = "declined"   // a condition did not hold: an ordinary branch, no failure
	CommitRefused   CommitEnd = "refused"    // it was wrong to call it, and nothing was sent
	CommitLeaseLost CommitEnd = "lease lost" // the execution had lost its lease
	CommitNotDone   CommitEnd = "failed"     // the store did not take it
)
