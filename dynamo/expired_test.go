package dynamo_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
	"github.com/go-idempotent/idempotent/store"
)

// over is the latest expiry that these tests delete.
var over = time.Now().Add(-time.Hour).Truncate(time.Second).UTC()

// expiredRecord is a completed record that expired when over was.
func expiredRecord(key string) store.Record {
	r := completion(record(key), []byte(`"a"`))
	r.Expiry, r.Lease = over, time.Time{}
	return r
}

// large is a record with a result in three parts, whose parts expire a day after it.
func large(key string) store.Record {
	r := completion(record(key), pattern(1<<20))
	r.Expiry, r.Lease = over.Add(-24*time.Hour), time.Time{}
	return r
}

// held claims records.
func held(t *testing.T, s *dynamo.Store, records ...store.Record) {
	t.Helper()
	for _, r := range records {
		mustClaim(t, s, r, time.Now())
	}
}

// untimed takes the time to live from a table: DynamoDB Local, too, deletes what has expired.
func untimed(t *testing.T, client *dynamodb.Client, table string, opts ...dynamo.Config) {
	t.Helper()
	off := dynamo.TimeToLiveDefinition(table, opts...)
	off.TimeToLiveSpecification.Enabled = aws.Bool(false)
	_, err := client.UpdateTimeToLive(t.Context(), off)
	require.NoError(t, err)
}

// deletions says what a pass did.
type deletions struct{ deleted, kept int }

// deletes deletes what expired at until or earlier.
func deletes(t *testing.T, s *dynamo.Store, until time.Time) deletions {
	t.Helper()
	deleted, kept, err := s.DeleteExpired(t.Context(), until)
	require.NoError(t, err)
	return deletions{deleted, kept}
}

// TestWhatHasExpiredIsDeleted, at the instant of its expiry as everywhere, and nothing else.
func TestWhatHasExpiredIsDeleted(t *testing.T) {
	inEveryShape(t, func(t *testing.T, s *dynamo.Store, client *dynamodb.Client, table string, opts ...dynamo.Config) {
		untimed(t, client, table, opts...)
		later := expiredRecord("charge#later")
		later.Expiry = over.Add(time.Second)
		unknown := record("charge#unknown")
		unknown.Status, unknown.Expiry = store.StatusUnknown, over
		unknown.Attention, unknown.AttentionAt = store.AttentionOf(unknown.Key), over
		ended, live := record("charge#ended"), record("charge#live")
		ended.Expiry, ended.Lease = over, over
		live.Expiry, live.Lease = over, time.Now().Add(time.Hour)
		held(t, s, expiredRecord("charge#1"), later, unknown, ended, live)

		assert.Equal(t, deletions{deleted: 3, kept: 2}, deletes(t, s, over))
		assert.ElementsMatch(t, []string{"charge#later", "charge#live"}, listed(t, s, store.Query{}))
	})
}

// TestOnlyWhatCertainlyIsOfThisLibraryIsdeleted: a table may hold what is somebody else's, above
// all records of AWS Powertools.
func TestOnlyWhatCertainlyIsOfThisLibraryIsDeleted(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	untimed(t, client, table)
	seal := store.Seal("OWNER", []byte("1"))
	message := items{
		"topic": S("mail"), "body": S("{}"), "owner": S("O"), "created_at": N("1"), "done_at": N("1"),
		"expiration": N("1"),
	}
	at := strconv.FormatInt(over.Unix(), 10)
	ours := items{"status": S("COMPLETED"), "owner": S("O"), "expiration": N("1")}
	theirs, running := items(ours.with(item{"owner": nil})), items(ours.with(item{"status": S("INPROGRESS")}))
	part := items{"data": B("1"), "expiration": N("1")}
	stay := []item{
		{"id": S("other"), "expiration": N("1")},
		ours.with(item{"id": S("no expiration"), "expiration": nil}),
		ours.with(item{"id": S("order#1"), "status": S("PAID")}),
		ours.with(item{"id": S("order#2"), "status": N("1")}),
		ours.with(item{"id": S("text"), "expiration": S("1")}),
		running.with(item{"id": S("no number"), "in_progress_expiration": S("1")}),
		ours.with(item{"id": S("fraction"), "expiration": N(at + ".5")}),
		theirs.with(item{"id": S("Powertools, completed"), "data": S("1"), "validation": S("x")}),
		theirs.with(item{
			"id": S("Powertools, in progress"), "status": S("INPROGRESS"), "in_progress_expiration": N("1000"),
		}),
		part.with(item{"id": S("charge#1#no.seal#x")}),
		part.with(item{"id": S("charge#1#no seal#1")}),
		part.with(item{"id": S("charge#1#" + seal + "#1000")}),
		part.with(item{"id": S("charge#1#" + seal + "#2"), "data": S("1")}),
		part.with(item{"id": S("charge#1#" + seal + "#3"), "more": S("x")}),
		message.with(item{"id": S("due"), "outbox_due": N("1")}),
		message.with(item{"id": S("not done"), "done_at": nil}),
		message.with(item{"id": S("without a body"), "body": nil}),
		message.with(item{"id": S("an order"), "status": S("PAID")}),
		message.with(item{"id": S("kept"), "expiration": N(strconv.FormatInt(over.Unix()+1, 10))}),
	}
	go_ := []item{
		ours.with(item{"id": S("charge#1"), "expiration": N(at)}),
		ours.with(item{"id": S("charge#2"), "expiration": N("1.5")}),
		running.with(item{"id": S("charge#3")}),
		part.with(item{"id": S("charge#1#" + seal + "#1")}),
		message.with(item{"id": S("delivered")}),
	}
	for _, it := range append(go_, stay...) {
		putItem(t, client, table, it)
	}
	assert.Equal(t, deletions{deleted: len(go_), kept: len(stay)}, deletes(t, s, over))
	for _, it := range stay {
		assert.NotEmpty(t, getItem(t, client, table, idOf(it)), idOf(it))
	}
}

// TestAnotherPartitionOfATableStays: several stores may share a table with a sort key.
func TestAnotherPartitionOfATableStays(t *testing.T) {
	t.Parallel()
	mine, other := dynamo.Config{SortKey: "sk", Partition: "mine"}, dynamo.Config{SortKey: "sk", Partition: "other"}
	client, table := newTableOf(t, mine)
	untimed(t, client, table, mine)
	held(t, dynamo.New(client, table, mine), expiredRecord("charge#1"))
	held(t, dynamo.New(client, table, other), expiredRecord("charge#1"))
	tried := 0
	assert.Equal(t, deletions{deleted: 1, kept: 1},
		deletes(t, dynamo.New(beforeDeletions(t, func() { tried++ }), table, mine), over))
	assert.Equal(t, 1, tried, "and none is tried on a key that both have")
	assert.Len(t, listed(t, dynamo.New(client, table, other), store.Query{}), 1)
}

// beforeDeletions is a client that does something before it deletes an item.
func beforeDeletions(t *testing.T, do func()) *dynamodb.Client {
	t.Helper()
	return dynamolocal.Client(dynamotest.Endpoint(t),
		dynamotest.Before(func(context.Context, *dynamodb.DeleteItemInput) error {
			do()
			return nil
		}))
}

func TestWhatIsWrittenBetweenAPageAndADeletionStays(t *testing.T) {
	t.Parallel()
	crashed := record("charge#1")
	crashed.Expiry, crashed.Lease = over, over
	soon := time.Now().Add(time.Hour)
	const gone = "somebody deletes it"
	set := func(next func(*store.Record)) func(*testing.T, *dynamo.Store, store.Record) {
		return func(t *testing.T, s *dynamo.Store, seen store.Record) {
			changed := seen
			next(&changed)
			mustSwap(t, s, seen, changed)
		}
	}
	claimed := func(next func(*store.Record)) func(*testing.T, *dynamo.Store, store.Record) {
		return func(t *testing.T, s *dynamo.Store, seen store.Record) {
			r := record(seen.Key)
			r.Owner = "owner-2"
			next(&r)
			held(t, s, r)
		}
	}
	for name, c := range map[string]struct {
		seen   store.Record
		meddle func(*testing.T, *dynamo.Store, store.Record)
	}{
		"its owner renews it": {
			crashed,
			set(func(r *store.Record) { r.Lease, r.Expiry = soon, soon }),
		},
		"its owner completes it": {
			crashed,
			set(func(r *store.Record) { *r = completion(*r, []byte("1")); r.Expiry = soon }),
		},
		"somebody takes it over": {
			crashed,
			set(func(r *store.Record) { r.Owner, r.Lease, r.Expiry = "owner-2", soon, soon }),
		},
		"a lease begins, and the expiry stays": {crashed, set(func(r *store.Record) { r.Lease = soon })},
		"it becomes unknown, and the expiry stays": {crashed, set(func(r *store.Record) {
			r.Status, r.Reason = store.StatusUnknown, "crashed"
		})},
		"somebody claims it": {
			expiredRecord("charge#1"),
			claimed(func(r *store.Record) { r.Expiry = soon }),
		},
		"somebody claims it with the same expiry": {
			expiredRecord("charge#1"),
			claimed(func(r *store.Record) { r.Expiry = over }),
		},
		gone: {
			expiredRecord("charge#1"),
			func(t *testing.T, s *dynamo.Store, seen store.Record) { mustDelete(t, s, seen) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, client, table := local(t)
			untimed(t, client, table)
			held(t, s, c.seen)
			meddled := beforeDeletions(t, func() { c.meddle(t, s, c.seen) })
			assert.Equal(t, deletions{kept: 1}, deletes(t, dynamo.New(meddled, table), over))
			assert.Equal(t, name == gone, listed(t, s, store.Query{}) == nil)
		})
	}
}

// TestPartsThatARecordNamesStay: they expire at a time that was computed when they were written.
func TestPartsThatARecordNamesStay(t *testing.T) {
	inEveryShape(t, func(t *testing.T, s *dynamo.Store, client *dynamodb.Client, table string, opts ...dynamo.Config) {
		untimed(t, client, table, opts...)
		completed, stepped := large("charge#completed"), record("charge#stepped")
		stepped.Owner = "an owner with 100%" // is escaped in a step
		result := pattern(1 << 20)
		stepped.Expiry, stepped.Lease = over.Add(-60*24*time.Hour), over
		stepped.Steps, stepped.StepWrites = steps{"charge": stepValue(stepped.Owner, string(result))}, 1
		held(t, s, completed, stepped)
		prolonged := func(key string, change func(*store.Record)) store.Record {
			seen := mustGet(t, s, key)
			next := seen
			next.Expiry = over.Add(time.Second)
			change(&next)
			mustSwap(t, s, seen, next)
			return next
		}
		named := prolonged(completed.Key, func(*store.Record) {})
		unknown := prolonged(stepped.Key,
			func(r *store.Record) { r.Status, r.Reason = store.StatusUnknown, "crashed" })
		assert.Equal(t, deletions{kept: 8}, deletes(t, s, over))
		assert.Equal(t, completed.Result, resultOf(t, s, named))
		assert.Equal(t, result, resultOf(t, s, unknown.OfStep(unknown.Steps["charge"])))

		// Once the records have expired, their parts go after them.
		first := deletes(t, s, over.Add(time.Second))
		second := deletes(t, s, over.Add(time.Second))
		assert.GreaterOrEqual(t, first.deleted, 2)
		assert.Equal(t, 8, first.deleted+second.deleted)
		assert.Zero(t, second.kept)
	})
}

// TestPartsThatNoRecordNamesAredeleted: their record is gone, or has another result.
func TestPartsThatNoRecordNamesAreDeleted(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	untimed(t, client, table)
	gone, other := large("charge#gone"), large("charge#other")
	held(t, s, gone, other)
	mustDelete(t, s, gone)
	again := completion(record(other.Key), []byte("1"))
	again.Owner, again.Expiry = "owner-2", time.Now().Add(time.Hour)
	held(t, s, again)
	assert.Equal(t, deletions{deleted: 6, kept: 1}, deletes(t, s, over))
	assert.Equal(t, []string{other.Key}, listed(t, s, store.Query{}))
}

// TestADeletionThatFails says what was done before it.
func TestADeletionThatFails(t *testing.T) {
	t.Parallel()
	page := ok(`{"Items":[` +
		`{"id":{"S":"a"},"status":{"S":"COMPLETED"},"owner":{"S":"o"},"expiration":{"N":"1"}},` +
		`{"id":{"S":"b#o.s#1"},"data":{"B":"MQ=="},"expiration":{"N":"1"}},` +
		`{"id":{"S":"c"},"status":{"S":"COMPLETED"},"owner":{"S":"o"},"expiration":{"N":"1"}}],"LastEvaluatedKey":{"id":{"S":"c"}}}`)
	for name, c := range map[string]struct {
		answers []reply
		done    deletions
		says    string
	}{
		"the page":        {[]reply{denied}, deletions{}, "Scan"},
		"the first":       {[]reply{page, denied}, deletions{}, "DeleteItem"},
		"a part's record": {[]reply{page, done, denied}, deletions{deleted: 1}, "GetItem"},
		"the last":        {[]reply{page, done, done, done, denied}, deletions{deleted: 2}, "DeleteItem"},
		"the page behind": {[]reply{page, done, done, done, done, denied}, deletions{deleted: 3}, "Scan"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := scripted(c.answers...)
			deleted, kept, err := s.DeleteExpired(t.Context(), over)
			requireStoreError(t, err, "delete expired", store.FailureAccessDenied, c.says == "Scan")
			require.ErrorContains(t, err, c.says)
			did := deletions{deleted, kept}
			assert.Equal(t, c.done, did)
		})
	}
	s, client, _ := local(t)
	_, _, err := s.DeleteExpired(t.Context(), time.Now().Add(time.Hour))
	requireStoreError(t, err, "delete expired", store.FailureRejected, true)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = s.DeleteExpired(ended, over)
	require.ErrorIs(t, err, context.Canceled)
	_, _, err = dynamo.New(struct{ dynamo.Client }{client}, table).DeleteExpired(t.Context(), over)
	assert.ErrorIs(t, err, store.ErrNoListing, "a client that cannot scan")
}
