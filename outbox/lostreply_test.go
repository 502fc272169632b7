package outbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/outbox"
)

// repeating is a client that does not get the answer to each write, and sends it again, as that of
// AWS does.
type repeating struct{ *dynamodb.Client }

func (c repeating) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	if _, err := c.Client.UpdateItem(ctx, in, opts...); err != nil {
		return nil, err
	}
	return c.Client.UpdateItem(ctx, in, opts...)
}

func TestAWriteWhoseAnswerWasLostCountsOnce(t *testing.T) {
	t.Parallel()
	p, r := newPlace(t), receiver{}
	id := idOf(p.put(t))
	failing := errors.New("down")
	r.fail = func(outbox.Message) error { return failing }
	drain := outbox.NewRelay(repeating{p.client}, p.table, r.deliver, outbox.Config{NoStream: true})
	told, err := drain.Drain(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, told.Failed)
	require.Zero(t, told.Elsewhere, "the drain has taken it")
	require.Equal(t, N("1"), p.get(t, id)["tries"])
	require.Len(t, r.got, 1)

	_, err = outbox.NewRelay(repeating{p.client}, p.table, r.deliver).Stream(t.Context(),
		event(t, p.table, p.get(t, id)))
	require.NoError(t, err)

	next := idOf(p.put(t))
	r.fail = nil
	answer, err := outbox.NewRelay(repeating{p.client}, p.table, r.deliver).Stream(t.Context(),
		event(t, p.table, p.get(t, next)))
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
	require.Contains(t, p.get(t, next), "done_at")
}

func TestARedriveWhoseAnswerWasLostHasHappened(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	m, err := outbox.FindGivenUp(t.Context(), p.client, p.table, idOf(p.giveUp(t)))
	require.NoError(t, err)
	long := strings.Repeat("x", 600)
	require.ErrorContains(t, outbox.Redrive(t.Context(), p.client, p.table, m, long, "why"), "by has 600 bytes")
	require.ErrorContains(t, outbox.Redrive(t.Context(), p.client, p.table, m, "dana", long), "why has 600")
	require.NoError(t, outbox.Redrive(t.Context(), repeating{p.client}, p.table, m, "dana", "the mail is back"))
	require.ErrorIs(t, outbox.Redrive(t.Context(), repeating{p.client}, p.table, m, "dana", "the mail is back"),
		outbox.ErrNotGivenUp)
}
