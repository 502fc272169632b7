package outbox_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/outbox"
)

// repeating is a client that does not get the answer to each write, and sends it again, as that of
// AWS does.
func (p place) repeating() outbox.Client {
	return &hooked{Client: p.client, beforeUpdate: func(ctx context.Context, in *dynamodb.UpdateItemInput) error {
		_, err := p.client.UpdateItem(ctx, in)
		return err
	}}
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
	long := strings.Repeat("x", 600)
	require.ErrorContains(t, p.redrive(t, m, long, "why"), "by has 600 bytes")
	require.ErrorContains(t, p.redrive(t, m, "dana", long), "why has 600")
	require.NoError(t, outbox.Redrive(t.Context(), p.repeating(), p.table, m, "dana", "the mail is back"))
	require.ErrorIs(t, outbox.Redrive(t.Context(), p.repeating(), p.table, m, "dana", "the mail is back"),
		outbox.ErrNotGivenUp)
}
