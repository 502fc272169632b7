package report

import "time"

// Relay is what one invocation of the relay of an outbox did. A drain returns it to Lambda.
type Relay struct {
	// Table is the name of the table. Source is where the messages came from: "stream" or "drain".
	Table  string `emf:"Outbox,dimension" log:"outbox"`
	Source string `emf:"source,property"  log:"source"`
	// Delivered counts messages that were delivered and are marked as done.
	Delivered int `emf:"MessageDelivered" log:"delivered"`
	// Elsewhere counts messages that somebody else has delivered, or a later commit has replaced.
	Elsewhere int `log:"elsewhere"`
	// Failed counts messages whose delivery failed and that are tried again. PutOff counts those of
	// them that the stream does not repeat any more: a drain goes on.
	Failed int `emf:"MessageFailed" log:"failed"`
	PutOff int `emf:"MessagePutOff" log:"put_off"`
	// GivenUp counts messages that nobody delivers any more before somebody has looked at them.
	GivenUp int `emf:"MessageGivenUp" log:"given_up"`
	// Unmarked counts messages that were delivered and not marked as done: they may come again.
	Unmarked int `emf:"MessageUnmarked" log:"unmarked"`
	// Uncounted counts messages whose try could not be written, whether it failed or was not begun.
	Uncounted int `emf:"MessageUncounted" log:"uncounted"`
	// NotBegun counts messages for which no time was left.
	NotBegun int `emf:"MessageNotBegun" log:"not_begun"`
	// Skipped counts records of the stream that ask for nothing: messages that are done, marks of
	// tries, deletions. Foreign counts those that are no messages, and entries of the index that
	// are none.
	Skipped int `log:"skipped"`
	Foreign int `emf:"MessageForeign" log:"foreign"`
	// Err is why the invocation failed.
	Err error `emf:"RelayFailed" json:"-" log:"error"`
	// Slowest is the longest time from a commit to its delivery, by the clocks of two functions.
	Slowest time.Duration `emf:"MessageLatency,Milliseconds" log:"slowest"`
	// Left is what was left after a drain, nil after an invocation of a stream.
	Left *Left `log:"left"`
	// Problems are what went wrong with single messages, a hundred at most.
	Problems []RelayProblem
}

// Left is what is in an outbox.
type Left struct {
	// Pending is how many messages wait for their delivery, without those that were given up.
	// Oldest is for how long the one waits that was committed first.
	Pending int           `emf:"PendingMessages,always"       log:"pending,always"`
	Oldest  time.Duration `emf:"OldestMessage,Seconds,always" log:"oldest,always"`
	// GivenUp is how many nobody delivers before somebody has looked at them.
	GivenUp int `emf:"MessagesGivenUp,always" log:"given_up,always"`
	// Partial: there are more than were counted.
	Partial bool `log:"partial"`
}

// RelayProblem is what went wrong with a message.
type RelayProblem struct {
	ID    string `log:"id"`
	Topic string `log:"topic,always"`
	// Outcome is "failed", "put off", "given up", "unmarked", "uncounted" or "not begun".
	Outcome string `log:"outcome"`
	// Tries is how many deliveries were tried, as far as that is known.
	Tries int `log:"tries,always"`
	// Err is why: an error of whoever delivers, or of DynamoDB's client.
	Err error `json:"-" log:"error,type"`
}
