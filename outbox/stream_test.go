package outbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/report"
)

func TestStreamDeliversAndMarks(t *testing.T) {
	t.Parallel()
	p, r, seen := newPlace(t), receiver{}, reports{}
	first, second := p.put(t, outbox.MessageConfig{Group: "g", Attributes: map[string]string{"a": "1"}}), p.put(t)
	relay := outbox.NewRelay(p.client, p.table, r.deliver,
		outbox.Config{Retention: time.Hour, Observers: seen.observers()})
	answer, err := relay.Stream(t.Context(), event(t, p.table, first, second))
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
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
		it := p.get(t, idOf(before))
		for _, gone := range []string{"outbox_due", "outbox_shard", "tries", "given_up_at"} {
			require.NotContains(t, it, gone)
		}
		require.Contains(t, it, "done_at")
		expiration, done := numberOf(t, it, "expiration"), numberOf(t, it, "done_at")
		require.Equal(t, done/1000+3601, expiration, "whole seconds, rounded up")
		require.Equal(t, before["body"], it["body"])
	}
	told := seen.last()
	require.Positive(t, told.Slowest)
	told.Slowest = 0
	require.Equal(t, report.Relay{Table: p.table, Source: outbox.FromStream, Delivered: 2}, told)

	// What a stream repeats is delivered again, with the same ids, and nothing is marked again.
	again := outbox.NewRelay(p.client, p.table, r.deliver)
	_, err = again.Stream(t.Context(), event(t, p.table, first))
	require.NoError(t, err)
	require.Len(t, r.got, 3)
	require.Equal(t, idOf(first), r.got[2].ID)
}

func TestStreamReportsAFailureFiveTimesAndPutsItOff(t *testing.T) {
	t.Parallel()
	p, r, seen := newPlace(t), receiver{}, reports{}
	poison, fine := p.put(t), p.put(t)
	r.fail = func(m outbox.Message) error {
		if m.ID == idOf(poison) {
			return errDown
		}
		return nil
	}
	relay := outbox.NewRelay(p.client, p.table, r.deliver, outbox.Config{Observers: seen.observers()})
	for n := range 5 {
		answer, err := relay.Stream(t.Context(), event(t, p.table, poison, fine))
		require.NoError(t, err)
		require.Equal(t, []string{number(0)}, failures(answer))
		require.Equal(t, []report.RelayProblem{{
			ID: idOf(poison), Topic: "order-placed", Outcome: "failed",
			Tries: n + 1, Err: errDown,
		}},
			seen.last().Problems)
	}
	before := time.Now()
	answer, err := relay.Stream(t.Context(), event(t, p.table, poison, fine))
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures, "it does not hold up others any longer")
	require.Equal(t, 1, seen.last().PutOff)
	it := p.get(t, idOf(poison))
	require.EqualValues(t, 6, numberOf(t, it, "tries"))
	require.GreaterOrEqual(t, numberOf(t, it, "outbox_due"), before.Add(45*time.Second).UnixMilli())
	require.Len(t, r.got, 6+6, "the one behind it was delivered at once, and whenever the stream repeated it")

	// The stream may repeat it because of others. It goes on holding up nobody.
	answer, err = relay.Stream(t.Context(), event(t, p.table, poison))
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
	require.EqualValues(t, 7, numberOf(t, p.get(t, idOf(poison)), "tries"))
}

func TestStreamGivesUpWhatCanNeverBeDelivered(t *testing.T) {
	t.Parallel()
	p, r, seen := newPlace(t), receiver{}, reports{}
	r.fail = func(outbox.Message) error { return outbox.Permanent(errDown) }
	it := p.put(t)
	relay := outbox.NewRelay(p.client, p.table, r.deliver, outbox.Config{Observers: seen.observers()})
	answer, err := relay.Stream(t.Context(), event(t, p.table, it))
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
	require.Equal(t, 1, seen.last().GivenUp)
	require.ErrorIs(t, seen.last().Problems[0].Err, errDown)
	it = p.get(t, idOf(it))
	require.Equal(t, S("given-up"), it["outbox_shard"])
	require.Contains(t, it, "outbox_due")
	require.NoError(t, outbox.Permanent(nil))

	last := p.put(t)
	r.down()
	once := outbox.NewRelay(p.client, p.table, r.deliver, outbox.Config{MaxTries: 1})
	answer, err = once.Stream(t.Context(), event(t, p.table, last))
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
	require.Equal(t, S("given-up"), p.get(t, idOf(last))["outbox_shard"])
}

func TestStreamCountsAPanicAsAFailure(t *testing.T) {
	t.Parallel()
	p, r, seen := newPlace(t), receiver{}, reports{}
	r.fail = func(outbox.Message) error { panic("secret") }
	relay := outbox.NewRelay(p.client, p.table, r.deliver, outbox.Config{Observers: seen.observers()})
	answer, err := relay.Stream(t.Context(), event(t, p.table, p.put(t)))
	require.NoError(t, err)
	require.Len(t, answer.BatchItemFailures, 1)
	require.EqualError(t, seen.last().Problems[0].Err, "the delivery panicked with a value of type string")
	panicked, is := errors.AsType[*outbox.PanicError](seen.last().Problems[0].Err)
	require.True(t, is)
	require.Equal(t, "secret", panicked.Value)
	require.Contains(t, string(panicked.Stack), "stream_test.go")
	require.Contains(t, panicked.LogValue().String(), "stream_test.go")
	text, err := json.Marshal(seen.last())
	require.NoError(t, err)
	require.NotContains(t, string(text), "secret", "it is what a drain answers to Lambda")
}

// A deliverer that ends its goroutine, as the assertions of tests do, has delivered nothing.
func TestDelivererThatEndsItsGoroutineHasFailed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	relay := outbox.NewRelay(p.client, p.table, func(context.Context, outbox.Message) error {
		runtime.Goexit()
		return nil
	})
	answer, err := relay.Stream(t.Context(), event(t, p.table, p.put(t)))
	require.NoError(t, err)
	require.Equal(t, []string{number(0)}, failures(answer))
}

// A row that has something of a message is none.
func TestStreamPassesByParts(t *testing.T) {
	t.Parallel()
	p, r, seen := newPlace(t), receiver{}, reports{}
	relay := outbox.NewRelay(p.client, p.table, r.deliver, outbox.Config{Observers: seen.observers()})
	var parts []item
	for _, name := range []string{"topic", "owner", "outbox_due"} {
		it := p.put(t)
		delete(it, name)
		parts = append(parts, it)
	}
	unreadable := p.put(t)
	unreadable["tries"] = S("many")
	// The attributes are read in any order, so that what is read before the bad one differs.
	parts = append(parts, slices.Repeat([]item{unreadable}, 100)...)
	_, err := relay.Stream(t.Context(), event(t, p.table, parts...))
	require.NoError(t, err)
	require.Empty(t, r.got)
	require.Equal(t, 103, seen.last().Foreign)
}

func TestStreamSkipsWhatAsksForNothing(t *testing.T) {
	t.Parallel()
	p, r, seen := newPlace(t), receiver{}, reports{}
	relay := outbox.NewRelay(p.client, p.table, r.deliver, outbox.Config{Observers: seen.observers()})
	done, tried, foreign, broken := p.put(t), p.put(t), item{"id": S("x"), "outbox_due": N("1")}, p.put(t)
	_, err := relay.Stream(t.Context(), event(t, p.table, done))
	require.NoError(t, err)
	done = p.get(t, idOf(done))
	tried["tries"] = N("1")
	broken["outbox_due"] = S("soon")
	e := event(t, p.table, done, tried, foreign, broken, foreign)
	e.Records[4].EventName = "REMOVE"
	e.Records[4].Change.NewImage = nil
	answer, err := relay.Stream(t.Context(), e)
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
	require.Len(t, r.got, 1)
	require.Equal(t, report.Relay{Table: p.table, Source: outbox.FromStream, Skipped: 3, Foreign: 2}, seen.last())
	answer, err = relay.Stream(t.Context(), events.DynamoDBEvent{})
	require.NoError(t, err)
	text, err := json.Marshal(answer)
	require.NoError(t, err)
	require.JSONEq(t, `{"batchItemFailures":[]}`, string(text))
}

func TestStreamOfAnotherTableIsAnError(t *testing.T) {
	t.Parallel()
	p, r, seen := newPlace(t), receiver{}, reports{}
	it := p.put(t)
	relay := outbox.NewRelay(p.client, "arn:aws:dynamodb:eu-central-1:123456789012:table/"+p.table, r.deliver,
		outbox.Config{Observers: seen.observers()})
	_, err := relay.Stream(t.Context(), event(t, "orders", it))
	const place = "arn:aws:dynamodb:eu-central-1:123456789012:table/"
	require.EqualError(t, err, `outbox: record 0 of the event is of the stream "`+place+
		`orders/stream/2026-01-01T00:00:00.000", and this relay is `+
		`of the table "`+place+p.table+`": look at the event source mapping of the function`)
	require.Equal(t, err, seen.last().Err)
	_, err = outbox.NewRelay(p.client, p.table, r.deliver).Stream(t.Context(), event(t, "orders", it))
	require.Error(t, err)
	_, err = outbox.NewRelay(p.client, strings.Replace(place, "eu-central", "us-east", 1)+p.table,
		r.deliver).Stream(t.Context(), event(t, p.table, it))
	require.Error(t, err, "the same name in another Region")
	require.Empty(t, r.got)
	_, err = relay.Stream(t.Context(), event(t, p.table, it))
	require.NoError(t, err)
	require.Len(t, r.got, 1)
}

// A message that was delivered, and could not be marked, is delivered again when the stream repeats
// it, and marked.
func TestStreamMarksWhatItCouldNotMark(t *testing.T) {
	t.Parallel()
	p, r, seen := newPlace(t), receiver{}, reports{}
	it := p.put(t)
	c := &faulty{Client: p.client, refuse: true}
	relay := outbox.NewRelay(c, p.table, r.deliver, outbox.Config{Observers: seen.observers()})
	answer, err := relay.Stream(t.Context(), event(t, p.table, it))
	require.NoError(t, err)
	require.Equal(t, []string{number(0)}, failures(answer))
	require.Equal(t, 1, seen.last().Unmarked)
	c.refuse = false
	answer, err = relay.Stream(t.Context(), event(t, p.table, it))
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
	require.Len(t, r.got, 2)
	require.Equal(t, 1, seen.last().Delivered)
	require.Contains(t, p.get(t, idOf(it)), "done_at")
}

// A failure that could not be counted is reported: else a message that always fails would be lost
// to the drain.
func TestStreamReportsAFailureThatItCouldNotCount(t *testing.T) {
	t.Parallel()
	p, r, seen := newPlace(t), receiver{}, reports{}
	it := p.put(t)
	for _, r.fail = range []func(outbox.Message) error{
		func(outbox.Message) error { return errDown },
		func(outbox.Message) error { return outbox.Permanent(errDown) },
	} {
		relay := outbox.NewRelay(&faulty{Client: p.client, refuse: true}, p.table, r.deliver,
			outbox.Config{Observers: seen.observers()})
		for range 7 {
			answer, err := relay.Stream(t.Context(), event(t, p.table, it))
			require.NoError(t, err)
			require.Equal(t, []string{number(0)}, failures(answer))
			require.Equal(t, 1, seen.last().Uncounted)
			require.ErrorIs(t, seen.last().Problems[0].Err, errDown)
			require.ErrorIs(t, seen.last().Problems[0].Err, errRefused)
		}
	}
}

// What waits for its turn until there is no time left is not begun, and comes back.
func TestStreamBeginsNothingThatItCannotEnd(t *testing.T) {
	t.Parallel()
	p, seen := newPlace(t), reports{}
	slow, other := p.put(t), p.put(t)
	ctx := &closing{Context: t.Context(), end: time.Now().Add(time.Hour)}
	relay := outbox.NewRelay(p.client, p.table, func(context.Context, outbox.Message) error {
		ctx.closeIn(1900 * time.Millisecond)
		return errDown
	}, outbox.Config{Concurrency: 1, Observers: seen.observers()})
	answer, err := relay.Stream(ctx, event(t, p.table, slow, other))
	require.NoError(t, err)
	require.Equal(t, []string{number(0), number(1)}, failures(answer))
	require.Equal(t, 1, seen.last().Failed)
	require.Equal(t, 1, seen.last().NotBegun)
	require.Contains(t, p.get(t, idOf(slow)), "tries")
	require.NotContains(t, p.get(t, idOf(other)), "tries")
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
	p, r, seen := newPlace(t), receiver{}, reports{}
	ctx, cancel := context.WithTimeout(t.Context(), 1900*time.Millisecond)
	defer cancel()
	relay := outbox.NewRelay(p.client, p.table, r.deliver, outbox.Config{Observers: seen.observers()})
	_, err := relay.Stream(ctx, event(t, p.table, p.put(t)))
	require.ErrorContains(t, err, "raise the timeout of the function")
	require.Equal(t, err, seen.last().Err)
	_, err = relay.Drain(ctx)
	require.ErrorContains(t, err, "raise the timeout of the function")
	_, err = relay.Stream(ctx, events.DynamoDBEvent{})
	require.NoError(t, err)
	require.Empty(t, r.got)
}

func TestDeliveryEndsInTimeToMarkIt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	it := p.put(t)
	var left time.Duration
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for option, limit := range map[time.Duration]time.Duration{
		2 * time.Second: 2 * time.Second,
		time.Hour:       59 * time.Second,
	} {
		relay := outbox.NewRelay(p.client, p.table, func(ctx context.Context, _ outbox.Message) error {
			deadline, limited := ctx.Deadline()
			require.True(t, limited)
			left = time.Until(deadline)
			return nil
		}, outbox.Config{Timeout: option})
		_, err := relay.Stream(ctx, event(t, p.table, it))
		require.NoError(t, err)
		require.LessOrEqual(t, left, limit)
	}
}

func TestStreamDeliversOnceWhatIsTwiceInAnEvent(t *testing.T) {
	t.Parallel()
	p, r := newPlace(t), receiver{}
	it := p.put(t)
	r.down()
	relay := outbox.NewRelay(p.client, p.table, r.deliver)
	answer, err := relay.Stream(t.Context(), event(t, p.table, it, it))
	require.NoError(t, err)
	require.Equal(t, []string{number(0), number(1)}, failures(answer))
	require.Len(t, r.got, 1)
	require.EqualValues(t, 1, numberOf(t, p.get(t, idOf(it)), "tries"))
}

// A message of a later commit with the same id is another one: the earlier one's delivery does not
// mark it.
func TestStreamMarksTheMessageOfItsOwnCommitOnly(t *testing.T) {
	t.Parallel()
	p, r := newPlace(t), receiver{}
	before := p.put(t)
	p.set(t, idOf(before), "SET #o = :o", item{":o": S("LATER")}, "#o", "owner")
	relay := outbox.NewRelay(p.client, p.table, r.deliver)
	answer, err := relay.Stream(t.Context(), event(t, p.table, before))
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
	require.Len(t, r.got, 1)
	require.Contains(t, p.get(t, idOf(before)), "outbox_due")
	r.down()
	other := outbox.NewRelay(p.client, p.table, r.deliver)
	answer, err = other.Stream(t.Context(), event(t, p.table, before))
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures, "nothing is left to do for it")
	require.NotContains(t, p.get(t, idOf(before)), "tries")
	r.fail = func(outbox.Message) error { return outbox.Permanent(errDown) }
	answer, err = other.Stream(t.Context(), event(t, p.table, before))
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
	require.NotContains(t, p.get(t, idOf(before)), "given_up_at")
}

// A delivery that fails after somebody else has delivered the message changes nothing: it does not
// become pending again.
func TestStreamLeavesAMessageThatIsDone(t *testing.T) {
	t.Parallel()
	p, r := newPlace(t), receiver{}
	it := p.put(t)
	_, err := outbox.NewRelay(p.client, p.table, r.deliver).Stream(t.Context(), event(t, p.table, it))
	require.NoError(t, err)
	done := p.get(t, idOf(it))
	for _, r.fail = range []func(outbox.Message) error{
		func(outbox.Message) error { return errDown },
		func(outbox.Message) error { return outbox.Permanent(errDown) },
	} {
		answer, err := outbox.NewRelay(p.client, p.table, r.deliver).Stream(t.Context(), event(t, p.table, it))
		require.NoError(t, err)
		require.Empty(t, answer.BatchItemFailures)
		require.Equal(t, done, p.get(t, idOf(it)))
	}
}

// faulty is a client whose writes fail.
type faulty struct {
	outbox.Client

	refuse bool
}

var errRefused = errors.New("refused")

func (f *faulty) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	if f.refuse {
		return nil, errRefused
	}
	return f.Client.UpdateItem(ctx, in, opts...)
}

func TestStreamThatCannotReadTheCountOfTriesSaysSo(t *testing.T) {
	t.Parallel()
	p, r, seen := newPlace(t), receiver{}, reports{}
	r.down()
	relay := outbox.NewRelay(miscounting{p.client}, p.table, r.deliver, outbox.Config{Observers: seen.observers()})
	answer, err := relay.Stream(t.Context(), event(t, p.table, p.put(t)))
	require.NoError(t, err)
	require.Len(t, failures(answer), 1)
	require.Equal(t, 1, seen.last().Uncounted)
	require.ErrorContains(t, seen.last().Problems[0].Err, "count the tries of a message")
	require.ErrorIs(t, seen.last().Problems[0].Err, errDown)
}

// miscounting answers writes with a count that is none.
type miscounting struct{ outbox.Client }

func (m miscounting) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	out, err := m.Client.UpdateItem(ctx, in, opts...)
	if err == nil {
		out.Attributes["tries"] = S("many")
	}
	return out, err
}
