package batch_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
)

type order struct {
	ID     string `json:"order_id"`
	Amount int    `json:"amount"`
}

// picky has a decoder of its own, whose error quotes what it reads.
type picky struct{}

func (*picky) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		panic("null is no value of mine")
	}
	return errors.New("no good: " + string(text))
}

func TestABodyIsDecodedAndTheMessageIsAtHand(t *testing.T) {
	t.Parallel()
	ship := batch.JSON(func(_ context.Context, o order, m events.SQSMessage) (string, error) {
		return o.ID + " of " + m.MessageId, nil
	})
	m := events.SQSMessage{MessageId: "m-1", Body: ` {"order_id":"o-1","amount":3,"more":[]} `}
	out, err := ship(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, "o-1 of m-1", out)

	read := batch.JSON(func(_ context.Context, o *order, _ events.KinesisEventRecord) (int, error) {
		return o.Amount, nil
	})
	amount, err := read(t.Context(), events.KinesisEventRecord{Kinesis: events.KinesisRecord{Data: []byte(m.Body)}})
	require.NoError(t, err)
	require.Equal(t, 3, amount)
}

func TestABodyThatIsNoneOfTheHandlersIsPoisonAndNotQuoted(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"":                                   "it is empty",
		" \n":                                "it is empty",
		" null ":                             "it is null",
		"s3cret":                             "it is no JSON (byte 1)",
		`{"order_id":"s3cret"`:               "it is no JSON (byte 20)",
		`{"order_id":"s3cret"} {}`:           "it is no JSON (byte 23)",
		`{"order_id":"s3cret","amount":"1"}`: "a value in it does not fit into int (byte 33)",
		`"s3cret"`:                           "a value in it does not fit into batch_test.order (byte 8)",
	} {
		ran := false
		h := idempotent.Wrap(batch.JSON(func(context.Context, order, events.SQSMessage) (string, error) {
			ran = true
			return "", nil
		}), memory.New(), operation())
		var r report.Batch
		answer, err := batch.SQS(h, queueConfig{Observers: []func(context.Context, report.Batch){
			func(_ context.Context, last report.Batch) { r = last },
		}})(t.Context(), events.SQSEvent{Records: []events.SQSMessage{{MessageId: "m-1", Body: body}}})
		require.NoError(t, err)
		require.Equal(t, []string{"m-1"}, identifiers(t, answer))
		require.False(t, ran)
		require.Equal(t, 1, r.Poison)
		var wrong *batch.BodyError
		require.ErrorAs(t, r.Problems[0].Err, &wrong)
		require.EqualError(t, r.Problems[0].Err,
			"batch: the body of the record does not decode into batch_test.order: "+want)
	}
}

func TestTheErrorOfADecoderOfTheUsersIsNotShown(t *testing.T) {
	t.Parallel()
	ship := batch.JSON(func(context.Context, picky, events.SQSMessage) (string, error) { return "", nil })
	_, err := ship(t.Context(), events.SQSMessage{Body: `"s3cret"`})
	require.EqualError(t, err,
		"batch: the body of the record does not decode into batch_test.picky: a decoder refused it with a "+
			"*errors.errorString")
	_, err = ship(t.Context(), events.SQSMessage{Body: " null "})
	require.EqualError(t, err, "batch: the body of the record does not decode into batch_test.picky: it is null",
		"which it is not asked about")
}

func TestJSONOfNoHandlerIsNone(t *testing.T) {
	t.Parallel()
	require.Nil(t, batch.JSON[order, events.SQSMessage, string](nil))
}

// A body that does not decode is no reason to settle anything, also where every failure is: a
// release of the function may decode it.
func TestNothingHasHappenedIfABodyDoesNotDecode(t *testing.T) {
	t.Parallel()
	h := idempotent.Wrap(batch.JSON(func(_ context.Context, o order, _ events.SQSMessage) (string, error) {
		return o.ID, nil
	}), memory.New(), operation(), idempotent.WithEffects(idempotent.Unrepeatable),
		idempotent.WithFingerprint(func(events.SQSMessage) (any, error) { return nil, nil }))
	_, err := h.Handle(t.Context(), events.SQSMessage{MessageId: "m-1", Body: "s3cret"})
	require.Error(t, err)
	out, err := h.Handle(t.Context(), events.SQSMessage{MessageId: "m-1", Body: `{"order_id":"o-1"}`})
	require.NoError(t, err)
	require.Equal(t, "o-1", out)
}
