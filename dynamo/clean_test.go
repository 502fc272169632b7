package dynamo_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
)

// over is the latest expiry that these tests delete, cleanTime when they do.
var (
	over      = time.Unix(1_800_100_000, 0).UTC()
	cleanTime = over.Add(time.Hour)
)

func cleaning() store.Cleaning { return store.Cleaning{Before: over, Now: cleanTime} }

// sum goes through all pages.
func sum(t *testing.T, pages iter.Seq2[store.Cleaned, error]) (all store.Cleaned) {
	t.Helper()
	for page, err := range pages {
		require.NoError(t, err)
		all.Read += page.Read
		all.Deleted += page.Deleted
		all.Kept += page.Kept
		all.ReadUnits += page.ReadUnits
		all.WriteUnits += page.WriteUnits
	}
	return all
}

// expiredRecord is a completed record that expired when over was.
func expiredRecord(key string) store.Record {
	r := completion(record(key), []byte(`"a"`))
	r.Expiry = over
	return r
}

// held claims records.
func held(t *testing.T, s *dynamo.Store, records ...store.Record) {
	t.Helper()
	for _, r := range records {
		_, claimed, err := s.Claim(t.Context(), r, claimTime)
		require.NoError(t, err)
		require.True(t, claimed, r.Key)
	}
}

// keys are those of the records that a store has.
func keys(t *testing.T, s *dynamo.Store) (all []string) {
	t.Helper()
	for r, err := range s.List(t.Context(), store.Query{}) {
		require.NoError(t, err)
		all = append(all, r.Key)
	}
	return all
}

// TestWhatHasExpiredIsDeleted, at the instant of its expiry as everywhere, and nothing else.
func TestWhatHasExpiredIsDeleted(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]dynamo.Option{"the usual table": nil, "a table of another shape": shaped()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, table := newTableOf(t, opts...)
			s := dynamo.New(client, table, opts...)
			later := expiredRecord("charge#later")
			later.Expiry = over.Add(time.Second)
			unknown := record("charge#unknown")
			unknown.Status, unknown.Expiry = store.StatusUnknown, over
			unknown.Attention, unknown.AttentionAt = store.AttentionOf(unknown.Key), claimTime
			ended, live := record("charge#ended"), record("charge#live")
			ended.Expiry, ended.Lease = over, cleanTime
			live.Expiry, live.Lease = over, cleanTime.Add(time.Millisecond)
			held(t, s, expiredRecord("charge#1"), later, unknown, ended, live)

			dry := cleaning()
			dry.DryRun = true
			got := sum(t, s.DeleteExpired(t.Context(), dry))
			assert.Equal(t, store.Cleaned{Read: 5, Deleted: 3, Kept: 1, ReadUnits: 0.5}, got)
			assert.Len(t, keys(t, s), 5, "a dry run deletes nothing")

			got = sum(t, s.DeleteExpired(t.Context(), cleaning()))
			// The one with attention is in the index, too, which is a unit more.
			assert.Equal(t, store.Cleaned{Read: 5, Deleted: 3, Kept: 1, ReadUnits: 0.5, WriteUnits: 4}, got)
			assert.ElementsMatch(t, []string{"charge#later", "charge#live"}, keys(t, s))
		})
	}
}

// TestWhatIsNoRecordStays: a table may hold what is somebody else's, and records of other programs that have no lease, or a fraction.
func TestWhatIsNoRecordStays(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	part := "charge#1#" + store.Seal("OWNER", []byte("1")) + "#1"
	for _, it := range []item{
		{"id": S("other"), "expiration": N("1")},
		{"id": S("order#1"), "status": S("PAID"), "expiration": N("1")},
		{"id": S("order#2"), "status": N("1"), "expiration": N("1")},
		{"id": S("text"), "status": S("COMPLETED"), "expiration": S("1")},
		{"id": S("no number"), "status": S("INPROGRESS"), "expiration": N("1"), "in_progress_expiration": S("1")},
		{"id": S("charge#1#no.seal#x"), "data": B("1"), "expiration": N("1")},
		{"id": S(part + "1000"), "data": B("1"), "expiration": N("1")},
		{"id": S(part[:len(part)-1] + "2"), "data": S("1"), "expiration": N("1")},
		{"id": S("charge#fraction"), "status": S("COMPLETED"), "expiration": N("1800100000.5")},
	} {
		putItem(t, client, table, it)
	}
	putItem(t, client, table, item{"id": S("charge#whole"), "status": S("COMPLETED"), "expiration": N("1800099999.5")})
	putItem(t, client, table, item{"id": S("charge#lease"), "status": S("INPROGRESS"), "expiration": N("1")})
	putItem(t, client, table, item{"id": S(part), "data": B("1"), "expiration": N("1")})
	got := sum(t, s.DeleteExpired(t.Context(), cleaning()))
	assert.Equal(t, 3, got.Deleted)
	assert.Equal(t, 3, got.Kept, "those that look like a record or a part, and are not understood")
	out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(table)})
	require.NoError(t, err)
	assert.Len(t, out.Items, 9)
}

// meddler is a client with somebody who writes between the page and a deletion.
type meddler struct {
	*dynamodb.Client
	meddle func()
}

func (m *meddler) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, optFns ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	m.meddle()
	return m.Client.DeleteItem(ctx, in, optFns...)
}

// TestWhatIsWrittenBetweenAPageAndADeletionStays.
func TestWhatIsWrittenBetweenAPageAndADeletionStays(t *testing.T) {
	t.Parallel()
	crashed := record("charge#1")
	crashed.Expiry = over
	set := func(next func(*store.Record)) func(*testing.T, *dynamo.Store, store.Record) {
		return func(t *testing.T, s *dynamo.Store, seen store.Record) {
			changed := seen
			next(&changed)
			_, swapped, err := s.Swap(t.Context(), seen, changed)
			require.NoError(t, err)
			require.True(t, swapped)
		}
	}
	claimed := func(next func(*store.Record)) func(*testing.T, *dynamo.Store, store.Record) {
		return func(t *testing.T, s *dynamo.Store, seen store.Record) {
			r := record(seen.Key)
			r.Owner = "owner-2"
			next(&r)
			_, claimed, err := s.Claim(t.Context(), r, cleanTime)
			require.NoError(t, err)
			require.True(t, claimed)
		}
	}
	for name, c := range map[string]struct {
		seen   store.Record
		meddle func(*testing.T, *dynamo.Store, store.Record)
		gone   bool
	}{
		"its owner renews it": {crashed, set(func(r *store.Record) {
			r.Lease, r.Expiry = cleanTime.Add(time.Minute), cleanTime.Add(time.Hour)
		}), false},
		"its owner completes it": {crashed, set(func(r *store.Record) {
			*r = completion(*r, []byte("1"))
			r.Expiry = cleanTime.Add(time.Hour)
		}), false},
		"somebody takes it over": {crashed, set(func(r *store.Record) {
			r.Owner, r.Lease, r.Expiry = "owner-2", cleanTime.Add(time.Minute), cleanTime.Add(time.Hour)
		}), false},
		"a lease begins, and the expiry stays": {crashed, set(func(r *store.Record) { r.Lease = cleanTime.Add(time.Minute) }), false},
		"somebody claims it":                   {expiredRecord("charge#1"), claimed(func(r *store.Record) { r.Expiry = cleanTime.Add(time.Hour) }), false},
		"somebody claims it with the same expiry": {expiredRecord("charge#1"), claimed(func(r *store.Record) {
			r.Expiry, r.Lease = over, cleanTime.Add(time.Minute)
		}), false},
		"somebody claims and completes it": {expiredRecord("charge#1"), claimed(func(r *store.Record) {
			*r = completion(*r, []byte("1"))
			r.Expiry = cleanTime.Add(time.Hour)
		}), false},
		"somebody deletes it": {expiredRecord("charge#1"), func(t *testing.T, s *dynamo.Store, seen store.Record) {
			deleted, err := s.Delete(t.Context(), seen)
			require.NoError(t, err)
			require.True(t, deleted)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			quiet, client, table := local(t)
			held(t, quiet, c.seen)
			s := dynamo.New(&meddler{client, func() { c.meddle(t, quiet, c.seen) }}, table)
			got := sum(t, s.DeleteExpired(t.Context(), cleaning()))
			if c.gone {
				assert.Equal(t, store.Cleaned{Read: 1, ReadUnits: 0.5, WriteUnits: 1}, got, "it is neither deleted here, nor kept")
				return
			}
			assert.Equal(t, store.Cleaned{Read: 1, Kept: 1, ReadUnits: 0.5, WriteUnits: 1}, got)
			assert.Equal(t, []string{"charge#1"}, keys(t, quiet))
		})
	}
}

// large is a record with a result in three parts, whose parts expire a day after it.
func large(key string) store.Record {
	r := completion(record(key), pattern(1<<20))
	r.Expiry = over.Add(-24 * time.Hour)
	return r
}

// TestPartsOfARecordThatLivesStay: they expire at a time that was computed when they were written.
func TestPartsOfARecordThatLivesStay(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]dynamo.Option{"the usual table": nil, "a table of another shape": shaped()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, table := newTableOf(t, opts...)
			s := dynamo.New(client, table, opts...)
			completed, stepped := large("charge#completed"), record("charge#stepped")
			result := pattern(1 << 20)
			step := store.Step{Kind: store.StepValue, Seal: store.Seal(stepped.Owner, result), Result: result}
			stepped.Expiry = over.Add(-60 * 24 * time.Hour)
			stepped.Steps, stepped.StepWrites = map[string]store.Step{"charge": step}, 1
			held(t, s, completed, stepped)
			prolonged := func(key string, change func(*store.Record)) store.Record {
				seen, found, err := s.Get(t.Context(), key)
				require.NoError(t, err)
				require.True(t, found)
				next := seen
				next.Expiry = cleanTime.Add(time.Second)
				change(&next)
				_, swapped, err := s.Swap(t.Context(), seen, next)
				require.NoError(t, err)
				require.True(t, swapped)
				return next
			}
			named := prolonged(completed.Key, func(*store.Record) {})
			unknown := prolonged(stepped.Key, func(r *store.Record) { r.Status, r.Reason = store.StatusUnknown, "crashed" })
			got := sum(t, s.DeleteExpired(t.Context(), cleaning()))
			assert.Equal(t, 0, got.Deleted)
			assert.Equal(t, 6, got.Kept)
			read, err := s.ReadResult(t.Context(), named)
			require.NoError(t, err)
			assert.Equal(t, completed.Result, read)
			read, err = s.ReadResult(t.Context(), unknown.OfStep(unknown.Steps["charge"]))
			require.NoError(t, err)
			assert.Equal(t, result, read)

			// Once they have expired, their parts go with them.
			gone := store.Cleaning{Before: cleanTime.Add(time.Second), Now: cleanTime.Add(time.Second)}
			got = sum(t, s.DeleteExpired(t.Context(), gone))
			assert.Equal(t, 8, got.Deleted)
			assert.Equal(t, 0, got.Kept)
			assert.Greater(t, got.WriteUnits, 2048.0, "parts are large")
		})
	}
}

// TestPartsThatNoRecordNamesAreDeleted: their record is gone, has another result, or has expired.
func TestPartsThatNoRecordNamesAreDeleted(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	gone, other, dead := large("charge#gone"), large("charge#other"), large("charge#dead")
	held(t, s, gone, other, dead)
	deleted, err := s.Delete(t.Context(), gone)
	require.NoError(t, err)
	require.True(t, deleted)
	again := record(other.Key)
	again.Owner, again.Expiry = "owner-2", cleanTime.Add(time.Hour)
	_, claimed, err := s.Claim(t.Context(), again, cleanTime)
	require.NoError(t, err)
	require.True(t, claimed)
	got := sum(t, s.DeleteExpired(t.Context(), cleaning()))
	assert.Equal(t, 3+3+4, got.Deleted)
	assert.Equal(t, 0, got.Kept)
	assert.Equal(t, []string{other.Key}, keys(t, s))
	out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(table)})
	require.NoError(t, err)
	assert.Len(t, out.Items, 1)
}

// TestAPartThatIsWrittenAgainStays: its record is about to name it.
func TestAPartThatIsWrittenAgainStays(t *testing.T) {
	t.Parallel()
	quiet, client, table := local(t)
	r := large("charge#1")
	held(t, quiet, r)
	deleted, err := quiet.Delete(t.Context(), r)
	require.NoError(t, err)
	require.True(t, deleted)
	r.Expiry = cleanTime.Add(time.Hour)
	written := false
	s := dynamo.New(&meddler{client, func() {
		if !written {
			written = true
			held(t, quiet, r)
		}
	}}, table)
	how := cleaning()
	how.PageSize = 1 // one deletion at once
	got := sum(t, s.DeleteExpired(t.Context(), how))
	assert.Equal(t, 0, got.Deleted)
	assert.GreaterOrEqual(t, got.Kept, 1)
	held, found, err := quiet.Get(t.Context(), r.Key)
	require.NoError(t, err)
	require.True(t, found)
	read, err := quiet.ReadResult(t.Context(), held)
	require.NoError(t, err)
	assert.Equal(t, r.Result, read)
}

// TestAPassGoesOnWhereItWasKilled: nothing is left out, and no page is read that was done.
func TestAPassGoesOnWhereItWasKilled(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]dynamo.Option{"the usual table": nil, "a table of another shape": shaped()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, table := newTableOf(t, opts...)
			s := dynamo.New(client, table, opts...)
			const n = 40
			for i := range n {
				held(t, s, expiredRecord(fmt.Sprint("charge#", i)))
			}
			how := cleaning()
			how.PageSize = 7
			deleted, read, after := 0, 0, ""
			for range 3 { // each process ends after its second page
				how.After = after
				pages := 0
				for page, err := range s.DeleteExpired(t.Context(), how) {
					require.NoError(t, err)
					deleted, read, after = deleted+page.Deleted, read+page.Read, page.Next
					if pages++; pages == 2 {
						break
					}
				}
			}
			assert.Empty(t, after)
			assert.Equal(t, n, deleted)
			assert.Equal(t, n, read, "no page was read twice")
			assert.Empty(t, keys(t, s))
		})
	}
}

// TestAPageThatWasInterruptedIsRepeated: it has no Next.
func TestAPageThatWasInterruptedIsRepeated(t *testing.T) {
	t.Parallel()
	quiet, client, table := local(t)
	for i := range 40 {
		held(t, quiet, expiredRecord(fmt.Sprint("charge#", i)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var calls atomic.Int32
	s := dynamo.New(&meddler{client, func() {
		if calls.Add(1) == 15 {
			cancel()
		}
	}}, table)
	how := cleaning()
	how.PageSize = 10
	var failed error
	next := ""
	for page, err := range s.DeleteExpired(ctx, how) {
		if failed = err; err == nil {
			next = page.Next
			assert.Equal(t, 10, page.Deleted)
		} else {
			assert.Empty(t, page.Next)
		}
	}
	require.ErrorIs(t, failed, context.Canceled)
	require.NotEmpty(t, next)
	how.After = next
	rest := sum(t, quiet.DeleteExpired(t.Context(), how))
	assert.GreaterOrEqual(t, rest.Deleted, 20)
	assert.Empty(t, keys(t, quiet))
}

// expiredItem is an answer's.
func expiredItem(id string) string {
	return `{"id":{"S":"` + id + `"},"status":{"S":"COMPLETED"},"expiration":{"N":"1800100000"}}`
}

// TestADeletionWhoseReplyIsLostCounts: DynamoDB sends the item with a refusal if there is one.
func TestADeletionWhoseReplyIsLostCounts(t *testing.T) {
	t.Parallel()
	stays := reply{status: http.StatusBadRequest, body: `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",` +
		`"message":"The conditional request failed","Item":` + expiredItem("charge#1") + `}`}
	for name, c := range map[string]struct {
		answers []reply
		want    store.Cleaned
	}{
		"deleted":                 {[]reply{done}, store.Cleaned{Deleted: 1, WriteUnits: 1}},
		"lost, and it was done":   {[]reply{lost, refused}, store.Cleaned{Deleted: 1, WriteUnits: 1}},
		"lost, and it stays":      {[]reply{lost, stays}, store.Cleaned{Kept: 1, WriteUnits: 1}},
		"lost, and it was not":    {[]reply{lost, done}, store.Cleaned{Deleted: 1, WriteUnits: 1}},
		"lost by all attempts":    {[]reply{lost, lost, lost, refused}, store.Cleaned{Deleted: 1, WriteUnits: 1}},
		"somebody else did it":    {[]reply{refused}, store.Cleaned{WriteUnits: 1}},
		"throttled for a while":   {[]reply{throttled, throttled, throttled, throttled, done}, store.Cleaned{Deleted: 1, WriteUnits: 1}},
		"throttled, then gone":    {[]reply{throttled, throttled, throttled, throttled, refused}, store.Cleaned{WriteUnits: 1}},
		"broken, and it was done": {[]reply{broken, broken, broken, broken, refused}, store.Cleaned{Deleted: 1, WriteUnits: 1}},
		"another Region writes": {[]reply{
			failure(http.StatusBadRequest, "ReplicatedWriteConflictException", "m"), done,
		}, store.Cleaned{Deleted: 1, WriteUnits: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, _ := scripted(append([]reply{page("", 0.5, expiredItem("charge#1"))}, c.answers...)...)
				c.want.Read, c.want.ReadUnits = 1, 0.5
				assert.Equal(t, c.want, sum(t, s.DeleteExpired(t.Context(), cleaning())))
			})
		})
	}
}

func TestAPassThatFails(t *testing.T) {
	t.Parallel()
	denied := failure(http.StatusBadRequest, "AccessDeniedException", "User: arn:aws:iam::1:role/x is not authorized")
	two := page("charge#2", 1, expiredItem("charge#1"), expiredItem("charge#2"))
	for name, c := range map[string]struct {
		answers []reply
		kind    store.Failure
		applied bool
	}{
		"reading is denied":      {[]reply{denied}, store.FailureAccessDenied, false},
		"deleting is denied":     {[]reply{two, denied}, store.FailureAccessDenied, false},
		"the table is throttled": {[]reply{two, throttled}, store.FailureThrottled, false},
		"nothing is answered":    {[]reply{two, lost}, store.FailureUnavailable, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, tr := scripted(c.answers...)
				var failed []error
				for page, err := range s.DeleteExpired(t.Context(), cleaning()) {
					failed = append(failed, err)
					assert.Empty(t, page.Next)
					assert.Zero(t, page.Deleted)
				}
				require.Len(t, failed, 1, "it ends with the failure")
				requireStoreError(t, failed[0], "clean", c.kind, !c.applied)
				assert.NotContains(t, failed[0].Error(), "charge#", "an error carries no keys")
				scans := strings.Count(strings.Join(tr.calls(), " "), "Scan")
				assert.Equal(t, 1, scans)
			})
		})
	}
	for err := range onlyErrors(dynamo.New(shelf{}, table).DeleteExpired(t.Context(), cleaning())) {
		require.ErrorIs(t, err, store.ErrNoListing)
	}
	for err := range onlyErrors(new(dynamo.Store).DeleteExpired(t.Context(), cleaning())) {
		requireStoreError(t, err, "clean", store.FailureRejected, true)
	}
	assert.Empty(t, new(dynamo.Store).Table())
	s, tr := scripted(done)
	how := cleaning()
	how.Before = how.Now.Add(time.Nanosecond)
	for err := range onlyErrors(s.DeleteExpired(t.Context(), how)) {
		requireStoreError(t, err, "clean", store.FailureRejected, true)
	}
	assert.Zero(t, sum(t, s.DeleteExpired(t.Context(), store.Cleaning{})))
	assert.Empty(t, tr.calls(), "the zero value deletes nothing")
}

// onlyErrors are those of a pass, one at least.
func onlyErrors(pages iter.Seq2[store.Cleaned, error]) iter.Seq[error] {
	return func(yield func(error) bool) {
		n := 0
		for _, err := range pages {
			n++
			if !yield(err) {
				return
			}
		}
		if n == 0 {
			yield(nil)
		}
	}
}

// TestCleaningRequests compares what is sent with testdata.
func TestCleaningRequests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		table string
		opts  []dynamo.Option
	}{
		"clean":           {table, nil},
		"clean-partition": {table + "/tenant-1", []dynamo.Option{dynamo.WithCompositeKey("sk", "tenant-1")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key, other := `"id":{"S":"`, ""
			if c.opts != nil {
				key, other = `"sk":{"S":"`, `"id":{"S":"tenant-1"},`
			}
			items := []string{
				`{` + other + key + `charge#1"},"status":{"S":"INPROGRESS"},"expiration":{"N":"1800100000"}}`,
				`{` + other + key + "charge#2#" + store.Seal("OWNER", nil) + `#3"},"expiration":{"N":"1800100000"}}`,
			}
			reads := 0
			tr := &transport{answer: func(_ int, _ *http.Request, q request) (*http.Response, error) {
				if q.Call != "Scan" && q.Call != "Query" || reads == 2 {
					return done.send()
				}
				reads++
				p := page("", 1, items[reads-1])
				if reads == 1 {
					p.body = strings.TrimSuffix(p.body, "}") + `,"LastEvaluatedKey":{` + other + key + `charge#1"}}}`
				}
				return p.send()
			}}
			s := dynamo.New(scriptedClient(tr), table, c.opts...)
			assert.Equal(t, c.table, s.Table())
			how := cleaning()
			how.PageSize = 100
			assert.Equal(t, 2, sum(t, s.DeleteExpired(t.Context(), how)).Deleted)
			golden(t, name, tr.requests)
		})
	}
}
