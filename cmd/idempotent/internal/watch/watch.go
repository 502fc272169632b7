// Package watch is what a person at a terminal sees of running handlers: it reads the lines that package observe writes, counts what they
// say, asks now and then what is open in the table, and draws both. It says loudly what it does not know.
//
// Nothing here grows with the number of lines: whatever a line may choose, names, keys and texts, is bounded in length and number.
package watch

import "time"

// The bounds of what lines may choose.
const (
	// maxLine is how many bytes of a line are kept: CloudWatch takes events of up to a megabyte.
	maxLine = 1 << 20
	// maxSubjects is how many operations and outboxes are told apart. Lines of others are counted as rest.
	maxSubjects = 64
	maxNames    = 96 // of what is counted about one of them
	// maxOperation is what idempotent.WithOperation takes, and maxKey what is in a key of DynamoDB: of the names of operations and tables, and of
	// record keys, nothing is cut off, because somebody has to look them up. Other texts are maxText long.
	maxOperation = 255
	maxKey       = 1024
	maxText      = 200
)

// rest is the subject of what is beyond maxSubjects.
const rest = "(others)"

// window is the time that rates are about.
const window = time.Minute

// preferred is how long the lines of observe.EMF about a subject stand for those of observe.Slog after the last one came.
const preferred = 10 * time.Minute
