package queuepump_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/moto"
	"github.com/go-idempotent/idempotent/proof/queuepump"
)

// TestTheAnswerDecidesWhatComesAgain hands a good and a bad message over until the function has no
// complaint about them.
func TestTheAnswerDecidesWhatComesAgain(t *testing.T) {
	t.Parallel()
	bad := func(e events.SQSEvent, name string) []byte {
		failures := []string{}
		for _, m := range e.Records {
			if m.Body == "bad" {
				failures = append(failures, `{"`+name+`":"`+m.MessageId+`"}`)
			}
		}
		return []byte(`{"batchItemFailures":[` + strings.Join(failures, ",") + `]}`)
	}
	for name, c := range map[string]struct {
		first func(e events.SQSEvent) ([]byte, error)
		good  int // how often the good one comes
	}{
		"the bad one is named": {
			func(e events.SQSEvent) ([]byte, error) { return bad(e, "itemIdentifier"), nil },
			1,
		},
		"no name is a failure": {
			func(e events.SQSEvent) ([]byte, error) { return bad(e, "itemidentity"), nil },
			2,
		},
		"no JSON is a failure":      {func(events.SQSEvent) ([]byte, error) { return []byte("bad"), nil }, 2},
		"an error is a failure":     {func(events.SQSEvent) ([]byte, error) { return nil, errors.New("down") }, 2},
		"an empty one is a success": {func(events.SQSEvent) ([]byte, error) { return nil, nil }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := moto.SQS(t)
			queue := "pump-" + strings.ReplaceAll(name, " ", "-")
			url := moto.NewQueue(t, client, queue, map[string]string{"VisibilityTimeout": "600"})
			var mu sync.Mutex
			seen, calls := map[string]int{}, 0
			p := &queuepump.Pump{
				Client: client, QueueURL: url, QueueARN: moto.QueueARN(queue), BatchSize: 10,
				ReportBatchItemFailures: true,
				MaximumConcurrency:      1, Poll: 10 * time.Millisecond,
				Invoke: func(ctx context.Context, payload []byte) ([]byte, error) {
					var e events.SQSEvent
					mu.Lock()
					defer mu.Unlock()
					if err := json.Unmarshal(payload, &e); err != nil {
						return nil, err
					}
					for _, m := range e.Records {
						seen[m.Body]++
					}
					if calls++; calls > 1 {
						return []byte(`{"batchItemFailures":[]}`), nil
					}
					// What is not deleted comes again at once, however slow the machine is.
					for _, m := range e.Records {
						_, err := client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
							QueueUrl: aws.String(url), ReceiptHandle: aws.String(m.ReceiptHandle),
						})
						assert.NoError(t, err)
					}
					return c.first(e)
				},
			}
			for _, body := range []string{"good", "bad"} {
				_, err := client.SendMessage(t.Context(),
					&sqs.SendMessageInput{QueueUrl: aws.String(url), MessageBody: aws.String(body)})
				require.NoError(t, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { assert.NoError(t, p.Run(ctx)) })
			require.NoError(t, p.Idle(ctx))
			cancel()
			running.Wait()
			assert.Equal(t, c.good, seen["good"])
			assert.Equal(t, name != "an empty one is a success", seen["bad"] == 2, "it comes %d times", seen["bad"])
		})
	}
}
