// Package operatesqs sends what a reconciliation has given up to a queue of Amazon SQS:
//
//	operate.Reconcile(handler, resolver, operate.ReconcileConfig{
//		How: idempotent.Reconciling{GiveUp: operatesqs.GiveUp(sqs.NewFromConfig(cfg), os.Getenv("GIVEN_UP_QUEUE_URL"))},
//	})
//
// It needs the IAM action sqs:SendMessage. The message is a [GivenUp] as JSON. It has no key of a
// client, no payload and no result: to see more, look at the record.
//
// If the record cannot be marked as given up after the message was sent, it is sent again later. So
// whoever receives it acts once for each record, for example with it as the reference of a ticket.
//
// A queue whose URL ends in .fifo is a FIFO queue. Each record is a message group of its own, so
// that none waits for another, and the same message is dropped if it comes again within five
// minutes.
package operatesqs

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/setup"
)

// Client is what is needed of an [*sqs.Client]. It has to be safe for concurrent use.
type Client interface {
	SendMessage(ctx context.Context, in *sqs.SendMessageInput,
		optFns ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
}

// GivenUp is the body of a message.
type GivenUp struct {
	// Operation and RecordKey name the record.
	Operation string `json:"operation"`
	RecordKey string `json:"record_key"`
	// Tries is how often was asked without an answer.
	Tries int `json:"tries"`
	// CreatedAt is when the record was first claimed, the zero time if that is not known.
	CreatedAt time.Time `json:"created_at,omitzero"`
}

// GiveUp returns a function for [idempotent.Reconciling].GiveUp that sends a message to the queue
// with this URL. The function is safe for concurrent use. An error of it wraps that of the client.
//
// GiveUp sends nothing. It panics with an [*idempotent.ConfigError] that names every problem.
func GiveUp(client Client, queueURL string) func(ctx context.Context, x idempotent.Execution, tries int) error {
	p := setup.Of("operatesqs.GiveUp")
	fifo := p.Queue(client, queueURL)
	p.Panic()
	return func(ctx context.Context, x idempotent.Execution, tries int) error {
		body, err := json.Marshal(GivenUp{
			Operation: x.Operation, RecordKey: x.RecordKey, Tries: tries, CreatedAt: x.CreatedAt,
		})
		if err != nil {
			return fmt.Errorf("operatesqs: encode the message: %w", err)
		}
		in := &sqs.SendMessageInput{QueueUrl: aws.String(queueURL), MessageBody: aws.String(string(body))}
		if fifo {
			in.MessageGroupId = aws.String(digest([]byte(x.RecordKey)))
			in.MessageDeduplicationId = aws.String(digest(body))
		}
		if _, err := client.SendMessage(ctx, in); err != nil {
			return fmt.Errorf("operatesqs: send a message: %w", err)
		}
		return nil
	}
}

// digest is short enough for SQS, which a record key need not be.
func digest(text []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(text))
}
