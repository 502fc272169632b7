package outbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/report"
)

func TestStreamDeliversAndMarks(t *testing.T) {
	t.Parallel()
	r := newRig(t, outbox.Config{Retention: time.Hour})
	first, second := r.put(t, outbox.MessageConfig{Group: "g", Attributes: map[string]string{"a": "1"}}), r.put(t)
	require.Empty(t, r.stream(first, second))
	require.Len(t, r.got, 2)
	for _, m := range r.got {
		require.Equal(t, "order-placed", m.Topic)
		require.JSONEq(t, `{"order_id":"o-1"}`, string(m.Body))
		require.WithinDuration(t, time.Now(), m.CreatedAt, time.Minute)
		if m.ID == idOf(first) {
			require.Equal(t, map[string]string{"a": "1"}, m.Attributes)
			require.Equal(t, "g", m.Group)
		}
	}
	for _, before := range []item{first, second} {
		it := r.now(before)
		for _, gone := range []string{"outbox_due", "outbox_shard", "tries", "given_up_at"} {
			require.NotContains(t, it, gone)
		}
		require.Contains(t, it, "done_at")
		expiration, done := numberOf(t, it, "expiration"), numberOf(t, it, "done_at")
		require.Equal(t, done/1000+3601, expiration, "whole seconds, rounded up")
		require.Equal(t, before["body"], it["body"])
	}
	told := r.last()
	require.Positive(t, told.Slowest)
	told.Slowest = 0
	require.Equal(t, report.Relay{Table: r.table, Source: "stream", Delivered: 2}, told)

	// What a stream repeats is delivered again, with the same ids, and nothing is marked again.
	r.via(r.client).stream(first)
	require.Len(t, r.got, 3)
	require.Equal(t, idOf(first), r.got[2].ID)
}

func TestStreamReportsAFailureFiveTimesAndPutsItOff(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	poison, fine := r.put(t), r.put(t)
	r.fail = func(_ context.Context, m outbox.Message) error {
		if m.ID == idOf(poison) {
			return errDown
		}
		return nil
	}
	for n := range 5 {
		require.Equal(t, []string{number(0)}, r.stream(poison, fine))
		require.Equal(t, failed(poison, n+1), r.last().Problems)
	}
	before := time.Now()
	require.Empty(t, r.stream(poison, fine), "it does not hold up others any longer")
	require.Equal(t, 1, r.last().PutOff)
	it := r.now(poison)
	require.EqualValues(t, 6, numberOf(t, it, "tries"))
	require.GreaterOrEqual(t, numberOf(t, it, "outbox_due"), before.Add(45*time.Second).UnixMilli())
	require.Len(t, r.got, 6+6, "the one behind it was delivered at once, and whenever the stream repeated it")

	// The stream may repeat it because of others. It goes on holding up nobody.
	require.Empty(t, r.stream(poison))
	require.EqualValues(t, 7, numberOf(t, r.now(poison), "tries"))
}

func TestStreamGivesUpWhatCanNeverBeDelivered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fail = never
	it := r.put(t)
	require.Empty(t, r.stream(it))
	require.Equal(t, 1, r.last().GivenUp)
	require.ErrorIs(t, r.last().Problems[0].Err, errDown)
	it = r.now(it)
	require.Equal(t, S("given-up"), it["outbox_shard"])
	require.Contains(t, it, "outbox_due")
	require.NoError(t, outbox.Permanent(nil))

	last := r.put(t)
	r.fail = down
	require.Empty(t, r.via(r.client, outbox.Config{MaxTries: 1}).stream(last))
	require.Equal(t, S("given-up"), r.now(last)["outbox_shard"])
}

func TestStreamCountsAPanicAsAFailure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fail = func(context.Context, outbox.Message) error { panic("secret") }
	require.Len(t, r.stream(r.put(t)), 1)
	err := r.last().Problems[0].Err
	require.EqualError(t, err, "it panicked with a value of type string")
	panicked, is := errors.AsType[*outbox.PanicError](err)
	require.True(t, is)
	require.Equal(t, "secret", panicked.Value)
	require.Contains(t, string(panicked.Stack), "stream_test.go")
	require.Contains(t, panicked.LogValue().String(), "stream_test.go")
	text, err := json.Marshal(r.last())
	require.NoError(t, err)
	require.NotContains(t, string(text), "secret", "it is what a drain answers to Lambda")
}

// A deliverer that ends its goroutine, as the assertions of tests do, has delivered nothing.
func TestDelivererThatEndsItsGoroutineHasFailed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fail = func(context.Context, outbox.Message) error {
		runtime.Goexit()
		return nil
	}
	require.Equal(t, []string{number(0)}, r.stream(r.put(t)))
}

// A row that has something of a message is none.
func TestStreamPassesByParts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var parts []item
	for _, name := range []string{"topic", "owner", "outbox_due"} {
		it := r.put(t)
		delete(it, name)
		parts = append(parts, it)
	}
	unreadable := r.put(t)
	unreadable["tries"] = S("many")
	// The attributes are read in any order, so that what is read before the bad one differs.
	r.stream(append(parts, slices.Repeat([]item{unreadable}, 100)...)...)
	require.Empty(t, r.got)
	require.Equal(t, 103, r.last().Foreign)
}

func TestStreamSkipsWhatAsksForNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	done, tried, foreign, broken := r.put(t), r.put(t), item{"id": S("x"), "outbox_due": N("1")}, r.put(t)
	r.stream(done)
	done = r.now(done)
	again := maps.Clone(done)
	again["outbox_due"] = N("1") // by hand
	tried["tries"] = N("1")
	broken["outbox_due"] = S("soon")
	e := event(r.table, done, tried, foreign, broken, foreign, r.put(t), again)
	e.Records[4].EventName = "REMOVE"
	e.Records[4].Change.NewImage = nil
	e.Records[5].Change.SequenceNumber = "" // whose failure nobody could report
	answer, err := r.relay.Stream(t.Context(), e)
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
	require.Len(t, r.got, 2)
	require.Equal(t, [3]int{3, 3, 1}, [3]int{r.last().Skipped, r.last().Foreign, r.last().Delivered})
	answer, err = r.relay.Stream(t.Context(), events.DynamoDBEvent{})
	require.NoError(t, err)
	text, err := json.Marshal(answer)
	require.NoError(t, err)
	require.JSONEq(t, `{"batchItemFailures":[]}`, string(text))
}

func TestStreamOfAnotherTableIsAnError(t *testing.T) {
	t.Parallel()
	const place = "arn:aws:dynamodb:eu-central-1:123456789012:table/"
	r := newRig(t)
	it := r.put(t)
	named := r.relay
	r.table = place + r.table
	r = r.via(r.client)
	_, err := r.relay.Stream(t.Context(), event("orders", it))
	require.EqualError(t, err, `outbox: record 0 of the event is of the stream "`+place+
		`orders/stream/2026-01-01T00:00:00.000", and this relay is `+
		`of the table "`+r.table+`": look at the event source mapping of the function`)
	require.Equal(t, err, r.last().Err)
	_, err = named.Stream(t.Context(), event("orders", it))
	require.Error(t, err)
	inPlace := event(strings.TrimPrefix(r.table, place), it)
	_, err = outbox.NewRelay(r.client, strings.Replace(r.table, "eu-central", "us-east", 1),
		r.deliver).Stream(t.Context(), inPlace)
	require.Error(t, err, "the same name in another Region")
	require.Empty(t, r.got)
	_, err = r.relay.Stream(t.Context(), inPlace)
	require.NoError(t, err)
	require.Len(t, r.got, 1)
}

// A message that was delivered, and could not be marked, is delivered again when the stream repeats
// it, and marked.
func TestStreamMarksWhatItCouldNotMark(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	it, refusal := r.put(t), errRefused
	r = r.via(r.with(dynamotest.Before(func(context.Context, *dynamodb.UpdateItemInput) error { return refusal })))
	require.Equal(t, []string{number(0)}, r.stream(it))
	require.Equal(t, 1, r.last().Unmarked)
	refusal = nil
	require.Empty(t, r.stream(it))
	require.Len(t, r.got, 2)
	require.Equal(t, 1, r.last().Delivered)
	require.Contains(t, r.now(it), "done_at")
}

// A failure that could not be counted is reported: else a message that always fails would be lost
// to the drain.
func TestStreamReportsAFailureThatItCouldNotCount(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	it := r.put(t)
	for _, r.fail = range []outbox.Deliver{down, never} {
		r := r.via(r.refusing())
		for range 7 {
			require.Equal(t, []string{number(0)}, r.stream(it))
			require.Equal(t, 1, r.last().Uncounted)
			require.ErrorIs(t, r.last().Problems[0].Err, errDown)
			require.ErrorIs(t, r.last().Problems[0].Err, errRefused)
		}
	}
}

// What waits for its turn until there is no time left is not begun, and comes back.
func TestStreamBeginsNothingThatItCannotEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, outbox.Config{Concurrency: 1})
	slow, other := r.put(t), r.put(t)
	ctx := &closing{Context: t.Context(), end: time.Now().Add(time.Hour)}
	r.fail = func(context.Context, outbox.Message) error {
		ctx.closeIn(1900 * time.Millisecond)
		return errDown
	}
	answer, err := r.relay.Stream(ctx, event(r.table, slow, other))
	require.NoError(t, err)
	require.Equal(t, []string{number(0), number(1)}, failures(answer))
	require.Equal(t, 1, r.last().Failed)
	require.Equal(t, 1, r.last().NotBegun)
	require.Contains(t, r.now(slow), "tries")
	require.NotContains(t, r.now(other), "tries")
}

// closing is a context whose deadline the test moves. It does not end by itself, however long what
// follows takes.
type closing struct {
	context.Context

	mu  sync.Mutex
	end time.Time
}

func (c *closing) closeIn(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end = time.Now().Add(d)
}

// Deadline implements [context.Context].
func (c *closing) Deadline() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end, true
}

// hang delivers nothing, and takes all the time that there is.
func hang(ctx context.Context, _ outbox.Message) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestTimeoutThatIsTooShortIsAnError(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, cancel := context.WithTimeout(t.Context(), 1900*time.Millisecond)
	defer cancel()
	_, err := r.relay.Stream(ctx, event(r.table, r.put(t)))
	require.ErrorContains(t, err, "raise the timeout of the function")
	require.Equal(t, err, r.last().Err)
	_, err = r.relay.Drain(ctx)
	require.ErrorContains(t, err, "raise the timeout of the function")
	_, err = r.relay.Stream(ctx, events.DynamoDBEvent{})
	require.NoError(t, err)
	require.Empty(t, r.got)
}

func TestDeliveryEndsInTimeToMarkIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	it := r.put(t)
	var left time.Duration
	r.fail = func(ctx context.Context, _ outbox.Message) error {
		deadline, limited := ctx.Deadline()
		require.True(t, limited)
		left = time.Until(deadline)
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for option, limit := range map[time.Duration]time.Duration{
		2 * time.Second: 2 * time.Second,
		time.Hour:       59 * time.Second,
	} {
		_, err := r.via(r.client, outbox.Config{Timeout: option}).relay.Stream(ctx, event(r.table, it))
		require.NoError(t, err)
		require.LessOrEqual(t, left, limit)
	}
}

func TestStreamDeliversOnceWhatIsTwiceInAnEvent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	it := r.put(t)
	r.fail = down
	require.Equal(t, []string{number(0), number(1)}, r.stream(it, it))
	require.Len(t, r.got, 1)
	require.EqualValues(t, 1, numberOf(t, r.now(it), "tries"))
}

// A message of a later commit with the same id is another one, and one that somebody else has
// delivered does not become pending again: whatever the delivery ends with, it changes nothing.
func TestStreamLeavesAMessageThatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for update, values := range map[string]item{
		"SET #owner = :o": {":o": S("LATER")}, "REMOVE outbox_due, outbox_shard": nil,
	} {
		it := r.put(t)
		r.set(t, idOf(it), update, values)
		now := r.now(it)
		for _, r.fail = range []outbox.Deliver{nil, down, never} {
			require.Empty(t, r.via(r.client).stream(it), update)
			require.Equal(t, now, r.now(it), update)
		}
	}
	require.Len(t, r.got, 6)
}

func TestStreamThatCannotReadTheCountOfTriesSaysSo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fail = down
	r = r.via(r.with(dynamotest.After(func(out *dynamodb.UpdateItemOutput) { out.Attributes["tries"] = S("many") })))
	require.Len(t, r.stream(r.put(t)), 1)
	require.Equal(t, 1, r.last().Uncounted)
	require.ErrorContains(t, r.last().Problems[0].Err, "count the tries of a message")
	require.ErrorIs(t, r.last().Problems[0].Err, errDown)
}
