package report

import "time"

// Batch is what one invocation did with a batch of records, of a queue or a stream.
type Batch struct {
	Operation string `emf:"Operation,dimension" log:"operation"`
	// Source is where the records came from: "sqs", "kinesis", "dynamodb" or "kafka".
	Source string `emf:"source,property" log:"source"`
	// Records are those of the event. Each counts in one of the numbers below, unless Err is set.
	Records    int `log:"records,always"`
	Succeeded  int `emf:"BatchRecordSucceeded"  log:"succeeded"`
	Terminal   int `emf:"BatchRecordTerminal"   log:"terminal"`
	Poison     int `emf:"BatchRecordPoison"     log:"poison"`
	InProgress int `emf:"BatchRecordInProgress" log:"in_progress"`
	Failed     int `emf:"BatchRecordFailed"     log:"failed"`
	Panicked   int `emf:"BatchRecordPanicked"   log:"panicked"`
	NotBegun   int `emf:"BatchRecordNotBegun"   log:"not_begun"`
	// Again is how many records Lambda was told to hand over again. A stream hands over those
	// behind the first of them, too.
	Again int `emf:"BatchRecordAgain" log:"again"`
	// FunctionsFailed is for how many records a function of the configuration failed.
	FunctionsFailed int `emf:"BatchFunctionFailed" log:"functions_failed"`
	// Problems are the records that have not succeeded, without those that were not begun: at most
	// 100, in the order of the event.
	Problems []BatchProblem
	Took     time.Duration `log:"took,always"`
	// Err is why nothing was begun. Then the whole batch comes again.
	Err error `emf:"BatchFailed" log:"error"`
}

// BatchOutcome is what became of a record of a batch.
type BatchOutcome string

// The outcomes of records.
const (
	RecordSucceeded  BatchOutcome = "succeeded"   // the handler returned, or was replayed
	RecordTerminal   BatchOutcome = "terminal"    // the failure is final
	RecordPoison     BatchOutcome = "poison"      // no repetition of the handler can help
	RecordInProgress BatchOutcome = "in progress" // another invocation executes it
	RecordFailed     BatchOutcome = "failed"      // the handler returned another error
	RecordPanicked   BatchOutcome = "panicked"    // the handler panicked, or ended its goroutine
	RecordNotBegun   BatchOutcome = "not begun"   // no time, or a failure before it in its group
)

// BatchProblem is a record that has not succeeded.
type BatchProblem struct {
	// ID is the id of a message, the event id in a stream, or partition and offset in Kafka.
	ID      string       `log:"id"`
	Outcome BatchOutcome `log:"outcome"`
	// Receives is how often a queue has handed the message over, this time included.
	Receives int `log:"receives"`
	// Again says that the record comes again. Otherwise it is acknowledged.
	Again bool `log:"again,always"`
	// Err is why it has not succeeded.
	Err error `log:"error,type"`
	// FunctionErr is the error of the function of the configuration that got the record.
	FunctionErr error `log:"function_error"`
}
