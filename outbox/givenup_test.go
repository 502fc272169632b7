package outbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
	"github.com/go-idempotent/idempotent/outbox"
)

// giveUp commits a message that is given up.
func (p place) giveUp(t *testing.T) item {
	t.Helper()
	it := p.put(t)
	_, err := outbox.NewRelay(p.client, p.table, never).Stream(t.Context(), event(p.table, it))
	require.NoError(t, err)
	return p.get(t, idOf(it))
}

// find looks for a message that is given up.
func (p place) find(t *testing.T, it item) outbox.GivenUpMessage {
	t.Helper()
	m, err := outbox.FindGivenUp(t.Context(), p.client, p.table, idOf(it))
	require.NoError(t, err)
	return m
}

func (p place) redrive(t *testing.T, m outbox.GivenUpMessage, by, why string) error {
	t.Helper()
	return outbox.Redrive(t.Context(), p.client, p.table, m, by, why)
}

func TestGivenUpMessagesAreListedAndRedriven(t *testing.T) {
	t.Parallel()
	p := newRig(t)
	waiting := p.put(t)
	first, second := p.giveUp(t), p.giveUp(t)
	var all []outbox.GivenUpMessage
	for m, err := range outbox.GivenUp(t.Context(), p.client, p.table) {
		require.NoError(t, err)
		all = append(all, m)
	}
	require.Len(t, all, 2)
	require.Equal(t, idOf(first), all[0].ID)
	require.Equal(t, 1, all[0].Tries)
	require.Equal(t, "errors.errorString", all[0].Failure, "the type of the error, and no text of it")
	require.WithinDuration(t, time.Now(), all[0].GivenUpAt, time.Minute)
	require.JSONEq(t, `{"order_id":"o-1"}`, string(all[0].Body))

	long := strings.Repeat("x", 257)
	for _, c := range []struct{ by, why, says string }{
		{"", "why", "say who does it, and why"},
		{"dana", " ", "say who does it, and why"},
		{long, "why", "by has 257 bytes"},
		{"dana", long + long, "why has 514"},
	} {
		require.ErrorContains(t, p.redrive(t, all[0], c.by, c.why), c.says)
	}
	own, blank := outbox.GivenUpMessage{Message: outbox.Message{ID: all[0].ID}}, all[0]
	blank.ID = ""
	for _, m := range []outbox.GivenUpMessage{own, blank} {
		require.ErrorContains(t, p.redrive(t, m, "dana", "why"), "is not one of GivenUp or FindGivenUp")
	}
	require.NoError(t, p.redrive(t, all[0], "dana", "the mail is back"))
	again := p.now(first)
	require.NotContains(t, again, "tries", "the stream's filter lets it pass")
	require.NotContains(t, again, "given_up_at")
	require.NotContains(t, again, "last_error")
	require.Equal(t, S("dana"), again["redriven_by"])
	require.Equal(t, S("the mail is back"), again["redriven_reason"])
	require.Contains(t, again, "redriven_at")
	require.NotEqual(t, S("given-up"), again["outbox_shard"])
	require.ErrorIs(t, p.redrive(t, all[0], "dana", "again"), outbox.ErrNotGivenUp)

	p.stream(again)
	require.Len(t, p.got, 1)
	m := p.find(t, second)
	require.Equal(t, all[1], m)
	for _, id := range []string{"no such", idOf(waiting), idOf(first)} {
		_, err := outbox.FindGivenUp(t.Context(), p.client, p.table, id)
		require.ErrorIs(t, err, outbox.ErrNotGivenUp)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := outbox.FindGivenUp(ended, p.client, p.table, idOf(second))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, outbox.Redrive(ended, p.client, p.table, m, "dana", "why"), context.Canceled)
}

func TestGivenUpMessagesAreReadPageByPage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for range 3 {
		p.giveUp(t)
	}
	for name, c := range map[string]struct {
		query, get int // the one that is refused
		found      int
		failures   []error
	}{
		"all":                    {0, 0, 3, nil},
		"a page is refused":      {3, 0, 2, []error{errDown}},
		"a message is refused":   {0, 2, 1, []error{errDown}},
		"the index is not there": {1, 0, 0, []error{errDown}},
	} {
		found, failures := 0, []error(nil)
		client := p.with(paged, downAt[dynamodb.QueryInput](&c.query), downAt[dynamodb.GetItemInput](&c.get))
		for m, err := range outbox.GivenUp(t.Context(), client, p.table) {
			if errors.Is(err, errDown) {
				failures = append(failures, errDown)
				continue
			}
			require.NoError(t, err, name)
			require.NotEmpty(t, m.ID, name)
			found++
		}
		require.Equal(t, c.found, found, name)
		require.Equal(t, c.failures, failures, name)
	}
	reads := 0
	client := p.with(paged, dynamotest.After(func(*dynamodb.GetItemOutput) { reads++ }))
	for _, err := range outbox.GivenUp(t.Context(), client, p.table) {
		require.NoError(t, err)
		break
	}
	require.Equal(t, 1, reads, "who has seen enough pays for no more")
}

// What was shown is what is redriven: a message of a later commit, or one that was given up again,
// is another one.
func TestRedriveIsForWhatWasShown(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	it := p.giveUp(t)
	for update, value := range map[string]types.AttributeValue{
		"SET #owner = :v": S("LATER"), "SET given_up_at = :v": N("1"),
	} {
		m := p.find(t, it)
		p.set(t, idOf(it), update, item{":v": value})
		require.ErrorIs(t, p.redrive(t, m, "dana", "why"), outbox.ErrNotGivenUp)
	}
}

// A relay that repeats what was given up meanwhile may deliver it, and does not bring it back to
// the drain.
func TestRepeatedMessageStaysGivenUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	fresh := r.put(t)
	r.fail = never
	r.stream(fresh)
	r.fail = down
	require.Len(t, r.via(r.client).stream(fresh), 1)
	require.Equal(t, S("given-up"), r.now(fresh)["outbox_shard"])
	r.fail = nil
	r.via(r.client).stream(fresh)
	require.NotContains(t, r.now(fresh), "given_up_at")
}

// A message that was redriven is tried anew: a failure that was counted before does not give it up.
func TestRedrivenMessageIsNotGivenUpByAnOldFailure(t *testing.T) {
	t.Parallel()
	r := newRig(t, outbox.Config{MaxTries: 5})
	it := r.put(t)
	r.late(t, it, time.Hour)
	r.set(t, idOf(it), "SET tries = :n", item{":n": N("4")})
	r.fail = func(_ context.Context, m outbox.Message) error {
		r.set(t, m.ID, "REMOVE tries", nil)
		return errDown
	}
	require.Equal(t, 1, r.drain().Elsewhere)
	require.NotEqual(t, S("given-up"), r.now(it)["outbox_shard"])
}

// repeating is a client that does not get the answer to each write, and sends it again, as that of
// AWS does.
func (p place) repeating() outbox.Client {
	return p.with(dynamotest.Before(func(ctx context.Context, in *dynamodb.UpdateItemInput) error {
		_, err := p.client.UpdateItem(ctx, in)
		return err
	}))
}

func TestAWriteWhoseAnswerWasLostCountsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	it := r.put(t)
	r.fail = down
	told := r.via(r.repeating(), outbox.Config{NoStream: true}).drain()
	require.Equal(t, 1, told.Failed)
	require.Zero(t, told.Elsewhere, "the drain has taken it")
	require.Equal(t, N("1"), r.now(it)["tries"])
	require.Len(t, r.got, 1)

	r.via(r.repeating()).stream(r.now(it))

	next := r.put(t)
	r.fail = nil
	require.Empty(t, r.via(r.repeating()).stream(next))
	require.Contains(t, r.now(next), "done_at")
}

func TestARedriveWhoseAnswerWasLostHasHappened(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	m := p.find(t, p.giveUp(t))
	require.NoError(t, outbox.Redrive(t.Context(), p.repeating(), p.table, m, "dana", "the mail is back"))
	require.ErrorIs(t, outbox.Redrive(t.Context(), p.repeating(), p.table, m, "dana", "the mail is back"),
		outbox.ErrNotGivenUp)
}
