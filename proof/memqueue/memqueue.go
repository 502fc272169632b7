// Package memqueue is a queue of SQS in memory, behind the client of the SDK: for runs that are too large for a server, or need a queue that
// keeps more of what AWS documents. It uses the time of package time, so it runs in the fake time of testing/synctest, too.
//
// It differs from the server of moto, where that differs from the documentation: a FIFO queue gives the messages of a group in order also
// after their visibility timeout, it drops duplicates also of messages that were deleted, it deletes nothing by a receipt handle that has
// expired, and a message that moves to a FIFO dead-letter queue has a new deduplication id. The tests run on both where they agree.
//
// Not here: delays, retention, permissions, limits of sizes and of messages in flight.
package memqueue

import (
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// DefaultVisibilityTimeout is documented at
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html.
const DefaultVisibilityTimeout = 30 * time.Second

// Queue is one queue. Set its fields before it is used. It is safe for concurrent use.
type Queue struct {
	// FIFO is the kind of the queue.
	FIFO bool
	// ContentBasedDeduplication: the digest of the body is the deduplication id of a message that has none.
	ContentBasedDeduplication bool
	// VisibilityTimeout is for how long a message that was received is not given again, [DefaultVisibilityTimeout] if 0.
	VisibilityTimeout time.Duration
	// DeadLetters gets a message that has been received MaxReceiveCount times, when it would be received once more. ARN is what it knows this
	// queue by.
	DeadLetters     *Queue
	MaxReceiveCount int
	ARN             string
	// Twice, if set, says of a message that is received whether another copy of it is received, too, and at once. A standard queue promises
	// to deliver at least once, see
	// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/standard-queues-at-least-once-delivery.html.
	Twice func(types.Message) bool

	mu       sync.Mutex
	messages []*message
	// byReceipt are the messages that were received and are not deleted, by each receipt handle they ever had.
	byReceipt map[string]*message
	sequence  int
	// sent are the deduplication ids of a FIFO queue.
	sent map[string]sent
}

// message is one of a queue.
type message struct {
	types.Message
	group    string
	dedup    string
	sequence int
	sentAt   time.Time
	// receives is how often it was received, first when that was for the first time, invisible until when it is in flight.
	receives  int
	first     time.Time
	invisible time.Time
	// from is the queue that it was moved from.
	from    string
	deleted bool
}

func (m *message) inFlight(now time.Time) bool { return now.Before(m.invisible) }
