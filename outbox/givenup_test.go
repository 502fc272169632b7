package outbox_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/outbox"
)

// giveUp commits a message that is given up.
func (p place) giveUp(t *testing.T) item {
	t.Helper()
	it := p.put(t)
	r := receiver{fail: func(outbox.Message) error { return outbox.Permanent(errDown) }}
	_, err := outbox.NewRelay(p.client, p.table, r.deliver).Stream(t.Context(), event(t, p.table, it))
	require.NoError(t, err)
	return p.get(t, idOf(it))
}

func TestGivenUpMessagesAreListedAndRedriven(t *testing.T) {
	t.Parallel()
	p, r := newPlace(t), receiver{}
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
		require.ErrorContains(t, outbox.Redrive(t.Context(), p.client, p.table, all[0], c.by, c.why), c.says)
	}
	own, blank := outbox.GivenUpMessage{Message: outbox.Message{ID: all[0].ID}}, all[0]
	blank.ID = ""
	for _, m := range []outbox.GivenUpMessage{own, blank} {
		require.ErrorContains(t, outbox.Redrive(t.Context(), p.client, p.table, m, "dana", "why"),
			"is not one of GivenUp or FindGivenUp")
	}
	require.NoError(t, outbox.Redrive(t.Context(), p.client, p.table, all[0], "dana", "the mail is back"))
	again := p.get(t, idOf(first))
	require.NotContains(t, again, "tries", "the stream's filter lets it pass")
	require.NotContains(t, again, "given_up_at")
	require.NotContains(t, again, "last_error")
	require.Equal(t, S("dana"), again["redriven_by"])
	require.Equal(t, S("the mail is back"), again["redriven_reason"])
	require.Contains(t, again, "redriven_at")
	require.NotEqual(t, S("given-up"), again["outbox_shard"])
	require.ErrorIs(t, outbox.Redrive(t.Context(), p.client, p.table, all[0], "dana", "again"), outbox.ErrNotGivenUp)

	_, err := outbox.NewRelay(p.client, p.table, r.deliver).Stream(t.Context(), event(t, p.table, again))
	require.NoError(t, err)
	require.Len(t, r.got, 1)
	_, err = outbox.FindGivenUp(t.Context(), p.client, p.table, idOf(first))
	require.ErrorIs(t, err, outbox.ErrNotGivenUp)
	m, err := outbox.FindGivenUp(t.Context(), p.client, p.table, idOf(second))
	require.NoError(t, err)
	require.Equal(t, all[1], m)
	for _, id := range []string{"no such", idOf(waiting)} {
		_, err = outbox.FindGivenUp(t.Context(), p.client, p.table, id)
		require.ErrorIs(t, err, outbox.ErrNotGivenUp)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = outbox.FindGivenUp(ended, p.client, p.table, idOf(second))
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
		client outbox.Client
		found  int
		err    error
	}{
		"all":                    {&paged{Client: p.client}, 3, nil},
		"a page is refused":      {&refusing{Client: &paged{Client: p.client}, at: 3}, 2, errDown},
		"a message is refused":   {&paged{Client: p.client, unread: 2}, 1, errDown},
		"the index is not there": {&refusing{Client: p.client, at: 1}, 0, errDown},
	} {
		found, failures := 0, []error(nil)
		for m, err := range outbox.GivenUp(t.Context(), c.client, p.table) {
			if err != nil {
				failures = append(failures, err)
				continue
			}
			require.NotEmpty(t, m.ID, name)
			found++
		}
		require.Equal(t, c.found, found, name)
		if c.err == nil {
			require.Empty(t, failures, name)
			continue
		}
		require.Len(t, failures, 1, name)
		require.ErrorIs(t, failures[0], c.err, name)
	}
	client := &paged{Client: p.client}
	for _, err := range outbox.GivenUp(t.Context(), client, p.table) {
		require.NoError(t, err)
		break
	}
	require.Equal(t, 1, client.reads, "who has seen enough pays for no more")
}

// paged answers queries with one item each, and refuses one read of a message.
type paged struct {
	outbox.Client

	reads, unread int
}

func (c *paged) Query(ctx context.Context, in *dynamodb.QueryInput,
	opts ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	in.Limit = aws.Int32(1)
	return c.Client.Query(ctx, in, opts...)
}

func (c *paged) GetItem(ctx context.Context, in *dynamodb.GetItemInput,
	opts ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	if c.reads++; c.reads == c.unread {
		return nil, errDown
	}
	return c.Client.GetItem(ctx, in, opts...)
}

// A message that was redriven is delivered by the stream, also by the process that had given it up.
func TestMessageThatWasRedrivenIsRedrivenAtOnce(t *testing.T) {
	t.Parallel()
	p, r := newPlace(t), receiver{}
	r.fail = func(outbox.Message) error { return outbox.Permanent(errDown) }
	relay, it := outbox.NewRelay(p.client, p.table, r.deliver), p.put(t)
	answer, err := relay.Stream(t.Context(), event(t, p.table, it))
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
	m, err := outbox.FindGivenUp(t.Context(), p.client, p.table, idOf(it))
	require.NoError(t, err)
	require.NoError(t, outbox.Redrive(t.Context(), p.client, p.table, m, "dana", "why"))
	r.up()
	_, err = relay.Stream(t.Context(), event(t, p.table, p.get(t, idOf(it))))
	require.NoError(t, err)
	require.Len(t, r.got, 2)
	require.Contains(t, p.get(t, idOf(it)), "done_at")
}

// What was shown is what is redriven: a message of a later commit, or one that was given up again,
// is another one.
func TestRedriveIsForWhatWasShown(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	it := p.giveUp(t)
	for _, change := range []struct {
		update string
		value  item
		names  []string
	}{
		{"SET #o = :v", item{":v": S("LATER")}, []string{"#o", "owner"}},
		{"SET given_up_at = :v", item{":v": N("1")}, nil},
	} {
		m, err := outbox.FindGivenUp(t.Context(), p.client, p.table, idOf(it))
		require.NoError(t, err)
		p.set(t, idOf(it), change.update, change.value, change.names...)
		require.ErrorIs(t, outbox.Redrive(t.Context(), p.client, p.table, m, "dana", "why"), outbox.ErrNotGivenUp)
	}
}

// A relay that repeats what was given up meanwhile may deliver it, and does not bring it back to
// the drain.
func TestRepeatedMessageStaysGivenUp(t *testing.T) {
	t.Parallel()
	p, r := newPlace(t), receiver{}
	fresh := p.put(t)
	giveUp := receiver{fail: func(outbox.Message) error { return outbox.Permanent(errDown) }}
	_, err := outbox.NewRelay(p.client, p.table, giveUp.deliver).Stream(t.Context(), event(t, p.table, fresh))
	require.NoError(t, err)
	r.down()
	answer, err := outbox.NewRelay(p.client, p.table, r.deliver).Stream(t.Context(), event(t, p.table, fresh))
	require.NoError(t, err)
	require.Len(t, answer.BatchItemFailures, 1)
	require.Equal(t, S("given-up"), p.get(t, idOf(fresh))["outbox_shard"])
	r.up()
	_, err = outbox.NewRelay(p.client, p.table, r.deliver).Stream(t.Context(), event(t, p.table, fresh))
	require.NoError(t, err)
	require.NotContains(t, p.get(t, idOf(fresh)), "given_up_at")
}

// A message that was redriven is tried anew: a failure that was counted before does not give it up.
func TestRedrivenMessageIsNotGivenUpByAnOldFailure(t *testing.T) {
	t.Parallel()
	p, seen := newPlace(t), reports{}
	it := p.put(t)
	p.late(t, it, time.Hour)
	p.set(t, idOf(it), "SET tries = :n", item{":n": N("4")})
	relay := outbox.NewRelay(p.client, p.table, func(_ context.Context, m outbox.Message) error {
		p.set(t, m.ID, "REMOVE tries", nil)
		return errDown
	}, outbox.Config{MaxTries: 5, Observers: seen.observers()})
	_, err := relay.Drain(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, S("given-up"), p.get(t, idOf(it))["outbox_shard"])
	require.Equal(t, 1, seen.last().Elsewhere)
}
