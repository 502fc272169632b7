package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/store"
)

// afterRetention is how these tests clean: as if the retention of all that is done were over.
func afterRetention() store.Cleaning {
	at := time.Now().Add(outbox.DefaultRetention + time.Hour)
	return store.Cleaning{Before: at, Now: at}
}

func cleaned(t *testing.T, c *outbox.Cleaner, how store.Cleaning) (all store.Cleaned) {
	t.Helper()
	for page, err := range c.DeleteExpired(t.Context(), how) {
		require.NoError(t, err)
		all.Read, all.Deleted, all.Kept = all.Read+page.Read, all.Deleted+page.Deleted, all.Kept+page.Kept
		all.ReadUnits, all.WriteUnits = all.ReadUnits+page.ReadUnits, all.WriteUnits+page.WriteUnits
	}
	return all
}

// deliver delivers a message by the stream.
func (p place) deliver(t *testing.T, m item) {
	t.Helper()
	answer, err := outbox.NewRelay(p.client, p.table, (&receiver{}).deliver).Stream(t.Context(), event(t, p.table, m))
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
}

// TestOnlyMessagesThatAreDoneAreDeleted, and none before the end of its retention.
func TestOnlyMessagesThatAreDoneAreDeleted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	pending, parked, done, odd := p.put(t), p.put(t), p.put(t), p.put(t)
	p.deliver(t, done)
	permanent := outbox.NewRelay(p.client, p.table, func(context.Context, outbox.Message) error { return outbox.Permanent(errDown) })
	_, err := permanent.Stream(t.Context(), event(t, p.table, parked))
	require.NoError(t, err)
	require.Equal(t, S("parked"), p.get(t, idOf(parked))["outbox_shard"])
	// Nothing of this module gives an expiration to a message that is pending.
	p.set(t, idOf(odd), "SET expiration = :past, done_at = :past", item{":past": N("1")})

	c := outbox.NewCleaner(p.client, p.table)
	assert.Equal(t, p.table, c.Table())
	at := time.Unix(numberOf(t, p.get(t, idOf(done)), "expiration"), 0)
	early := store.Cleaning{Before: at.Add(-time.Second), Now: at}
	assert.Equal(t, store.Cleaned{Read: 4, ReadUnits: 0.5}, cleaned(t, c, early))
	dry := afterRetention()
	dry.DryRun = true
	assert.Equal(t, store.Cleaned{Read: 4, Deleted: 1, ReadUnits: 0.5}, cleaned(t, c, dry))
	assert.NotEmpty(t, p.get(t, idOf(done)))
	assert.Equal(t, store.Cleaned{Read: 4, Deleted: 1, ReadUnits: 0.5, WriteUnits: 1}, cleaned(t, c, store.Cleaning{Before: at, Now: at}))
	assert.Empty(t, p.get(t, idOf(done)))
	assert.Zero(t, cleaned(t, c, afterRetention()).Deleted)
	for _, m := range []item{pending, parked, odd} {
		assert.NotEmpty(t, p.get(t, idOf(m)))
	}
}

// meddler is a client with somebody who writes before a deletion.
type meddler struct {
	*dynamodb.Client
	meddle func()
}

func (m *meddler) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, optFns ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	m.meddle()
	return m.Client.DeleteItem(ctx, in, optFns...)
}

// TestAMessageThatIsPutAgainMeanwhileStays: a later commit has the same id, see package outbox.
func TestAMessageThatIsPutAgainMeanwhileStays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meddle func(t *testing.T, p place, first item)
		kept   int
	}{
		"it is pending": {func(t *testing.T, p place, first item) {
			_, err := p.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(p.table), Item: first})
			require.NoError(t, err)
		}, 1},
		"it is pending, with what is left of the first one": {func(t *testing.T, p place, first item) {
			p.set(t, idOf(first), "SET outbox_due = :due, outbox_shard = :shard", item{":due": first["outbox_due"], ":shard": first["outbox_shard"]})
		}, 1},
		"it is done, later": {func(t *testing.T, p place, first item) {
			p.set(t, idOf(first), "SET expiration = expiration + :one", item{":one": N("1")})
		}, 1},
		"it is gone": {func(t *testing.T, p place, first item) {
			_, err := p.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(p.table), Key: item{"id": first["id"]}})
			require.NoError(t, err)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			first := p.put(t)
			p.deliver(t, first)
			cleaner := outbox.NewCleaner(&meddler{p.client, func() { c.meddle(t, p, first) }}, p.table)
			got := cleaned(t, cleaner, afterRetention())
			assert.Equal(t, store.Cleaned{Read: 1, Kept: c.kept, ReadUnits: 0.5, WriteUnits: 1}, got)
			assert.Equal(t, c.kept == 1, p.get(t, idOf(first)) != nil)
		})
	}
}

// TestCleaningGoesOnWhereItEnded: each message is read once.
func TestCleaningGoesOnWhereItEnded(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for i := range 25 {
		_, err := p.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(p.table), Item: item{
			"id": S(fmt.Sprint("message-", i)), "done_at": N("1"), "expiration": N("2"),
		}})
		require.NoError(t, err)
	}
	how := afterRetention()
	how.PageSize = 10
	deleted, read := 0, 0
	for range 3 { // each process ends after a page
		for page, err := range outbox.NewCleaner(p.client, p.table).DeleteExpired(t.Context(), how) {
			require.NoError(t, err)
			deleted, read, how.After = deleted+page.Deleted, read+page.Read, page.Next
			break
		}
	}
	assert.Empty(t, how.After)
	assert.Equal(t, 25, deleted)
	assert.Equal(t, 25, read)
}

// deaf answers nothing.
type deaf struct{ scan bool }

func (d deaf) Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	if d.scan {
		return &dynamodb.ScanOutput{Items: []item{{"id": S("secret"), "expiration": N("2")}}, ScannedCount: 1}, nil
	}
	return nil, errDown
}

func (deaf) DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return nil, errDown
}

func TestCleaningThatFails(t *testing.T) {
	t.Parallel()
	for _, client := range []outbox.CleanerClient{deaf{}, deaf{scan: true}} {
		var failed error
		for page, err := range outbox.NewCleaner(client, "messages").DeleteExpired(t.Context(), afterRetention()) {
			failed = errors.Join(failed, err)
			assert.Empty(t, page.Next)
		}
		require.ErrorIs(t, failed, errDown)
		require.ErrorContains(t, failed, "outbox: ")
		assert.NotContains(t, failed.Error(), "secret")
	}
	require.PanicsWithError(t, (&store.ConfigError{Problems: []string{
		"outbox.NewCleaner: the client is nil", "outbox.NewCleaner: the name of the table is empty",
	}}).Error(), func() { outbox.NewCleaner((*dynamodb.Client)(nil), "") })
}
