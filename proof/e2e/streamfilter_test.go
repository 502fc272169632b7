package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/outbox"
)

// watched is an outbox whose stream is pumped twice: through the filter, and whole. Its messages are delivered in this process, as a test says.
type watched struct {
	*clerk

	p *post
	// answer is what the delivery of a message returns.
	answer error
	relay  *outbox.Relay

	mu          sync.Mutex
	passed, all []string // the images, by what they say
}

func watch(t *testing.T) *watched {
	t.Helper()
	w := &watched{clerk: newClerk(t)}
	w.p = w.post()
	w.relay = outbox.NewRelay(w.dynamo, w.outbox, func(context.Context, outbox.Message) error { return w.answer },
		outbox.WithGrace(0), outbox.WithMaxTries(8))
	_, filtered := w.p.relay()
	_, whole := w.p.relay()
	filtered.Invoke, whole.Invoke = w.note(&w.passed), w.note(&w.all)
	whole.Filters = nil
	w.p.start()
	return w
}

// note takes down what an event has.
func (w *watched) note(to *[]string) func(context.Context, []byte) ([]byte, error) {
	return func(_ context.Context, payload []byte) ([]byte, error) {
		var event events.DynamoDBEvent
		if err := json.Unmarshal(payload, &event); err != nil {
			return nil, err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, r := range event.Records {
			*to = append(*to, r.EventName+" "+says(r.Change.NewImage))
		}
		return nil, nil
	}
}

// says tells the state of an image.
func says(image map[string]events.DynamoDBAttributeValue) string {
	has := func(name string) bool { _, has := image[name]; return has }
	switch {
	case len(image) == 0:
		return "nothing"
	case has("parked_at"):
		return "parked"
	case has("tries"):
		return "tried"
	case has("outbox_due"):
		return "pending"
	case has("done_at"):
		return "done"
	default:
		return "something else"
	}
}

// saw waits until everything is looked at and returns what was there, and what of it has passed, since it was called before.
func (w *watched) saw() (all, passed []string) {
	w.t.Helper()
	w.p.idle()
	w.mu.Lock()
	defer w.mu.Unlock()
	all, passed = w.all, w.passed
	w.all, w.passed = nil, nil
	return all, passed
}

// drain delivers what is pending, now.
func (w *watched) drain() {
	w.t.Helper()
	age(w.t, w.dynamo, w.outbox)
	_, err := w.relay.Drain(w.t.Context())
	require.NoError(w.t, err)
}

func (w *watched) assertSaw(all, passed []string) {
	w.t.Helper()
	gotAll, gotPassed := w.saw()
	assert.Equal(w.t, all, gotAll)
	assert.Equal(w.t, passed, gotPassed)
}

// The filter lets the relay see what it has to deliver, and nothing else of what happens to a message: on the images of a real stream.
func TestTheFilterLetsThroughWhatIsToBeDelivered(t *testing.T) {
	t.Parallel()
	w := watch(t)
	w.take("order")
	w.assertSaw([]string{"INSERT pending"}, []string{"INSERT pending"})
	id := w.p.messages()[0].ID

	w.answer = errors.New("the receiver is away")
	w.stream("INSERT")
	w.assertSaw([]string{"MODIFY tried"}, nil) // a failure is counted
	w.drain()
	w.assertSaw([]string{"MODIFY tried", "MODIFY tried"}, nil) // it was made due, and taken
	w.answer = outbox.Permanent(w.answer)
	w.drain()
	w.assertSaw([]string{"MODIFY tried", "MODIFY tried", "MODIFY parked"}, nil)

	found, err := outbox.FindParked(t.Context(), w.dynamo, w.outbox, id)
	require.NoError(t, err)
	require.NoError(t, outbox.Redrive(t.Context(), w.dynamo, w.outbox, found, "operator", "it is mended"))
	w.assertSaw([]string{"MODIFY pending"}, []string{"MODIFY pending"})

	w.stream("MODIFY") // it parks a message that nobody has tried before
	w.assertSaw([]string{"MODIFY parked"}, nil)
	found, err = outbox.FindParked(t.Context(), w.dynamo, w.outbox, id)
	require.NoError(t, err)
	require.NoError(t, outbox.Redrive(t.Context(), w.dynamo, w.outbox, found, "operator", "it is mended now"))
	w.assertSaw([]string{"MODIFY pending"}, []string{"MODIFY pending"})

	w.answer = nil
	w.stream("MODIFY")
	require.True(t, w.p.messages()[0].done())
	w.assertSaw([]string{"MODIFY done"}, nil)
	_, err = w.dynamo.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String(w.outbox), Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}},
	})
	require.NoError(t, err)
	w.assertSaw([]string{"REMOVE nothing"}, nil)
}

// A message that is pending is deleted: by somebody's hand, for the library never does it.
func TestTheFilterDropsTheDeletionOfAPendingMessage(t *testing.T) {
	t.Parallel()
	w := watch(t)
	w.take("order")
	w.saw()
	_, err := w.dynamo.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String(w.outbox), Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: w.p.messages()[0].ID}},
	})
	require.NoError(t, err)
	w.assertSaw([]string{"REMOVE nothing"}, nil)
}

// stream hands the message to the relay as the stream has it now.
func (w *watched) stream(eventName string) {
	w.t.Helper()
	out, err := w.dynamo.Scan(w.t.Context(), &dynamodb.ScanInput{TableName: aws.String(w.outbox), ConsistentRead: aws.Bool(true)})
	require.NoError(w.t, err)
	require.Len(w.t, out.Items, 1)
	image := map[string]events.DynamoDBAttributeValue{}
	for name, v := range out.Items[0] {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			image[name] = events.NewStringAttribute(v.Value)
		case *types.AttributeValueMemberN:
			image[name] = events.NewNumberAttribute(v.Value)
		}
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	_, err = w.relay.Stream(ctx, events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{
		{EventName: eventName, Change: events.DynamoDBStreamRecord{SequenceNumber: "1", NewImage: image}},
	}})
	require.NoError(w.t, err)
}
