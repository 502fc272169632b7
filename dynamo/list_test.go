package dynamo_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
	"github.com/go-idempotent/idempotent/store"
)

// TestListingRequests compares what is sent with testdata.
func TestListingRequests(t *testing.T) {
	t.Parallel()
	before := time.UnixMilli(1_800_000_000_500)
	for name, c := range map[string]struct {
		query store.Query
		opts  []dynamo.Config
	}{
		"list-index":        {query: store.Query{Index: true, Attention: true, Operation: "charge", PageSize: 100}},
		"list-index-before": {query: store.Query{Index: true, AttentionBefore: before, Operation: "charge"}},
		"list-index-all": {query: store.Query{
			Index: true, Attention: true,
			Statuses: []store.Status{store.StatusUnknown},
		}},
		"list-index-all-since": {query: store.Query{Index: true, AttentionBefore: before}},
		"list-scan":            {query: store.Query{}},
		"list-scan-filtered": {query: store.Query{
			Operation: "charge", Statuses: []store.Status{store.StatusInProgress, store.StatusUnknown}, Attention: true,
			AttentionBefore: before, CreatedBefore: before, PageSize: 50,
		}},
		"list-partition": {
			query: store.Query{Operation: "charge", Attention: true},
			opts:  []dynamo.Config{{SortKey: "sk", Partition: "tenant-1"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := answering(done)
			for _, err := range dynamo.New(scriptedClient(tr), table, c.opts...).List(t.Context(), c.query) {
				require.NoError(t, err)
			}
			golden(t, name, tr.requests)
		})
	}
}

// page is an answer to a Query or a Scan.
func page(last string, units float64, items ...string) reply {
	if last != "" {
		last = `,"LastEvaluatedKey":{"id":{"S":"` + last + `"}}`
	}
	return ok(fmt.Sprintf(`{"Items":[%s],"ScannedCount":%d,"ConsumedCapacity":{"CapacityUnits":%v}%s}`,
		strings.Join(items, ","), len(items), units, last))
}

func listedItem(id string) string {
	return `{"id":{"S":"` + id + `"},"status":{"S":"UNKNOWN"},"expiration":{"N":"1800086400"}}`
}

func TestAListingWaitsBetweenItsPages(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, tr := scripted(page("charge#1", 128, listedItem("charge#1")),
			page("charge#2", 64, listedItem("charge#2")), page("", 128))
		began := time.Now()
		var read []store.Page
		for _, err := range s.List(t.Context(),
			store.Query{Rate: 32, Page: func(p store.Page) { read = append(read, p) }}) {
			require.NoError(t, err)
		}
		assert.Equal(t, 4*time.Second+2*time.Second, time.Since(began), "nothing is waited for after the last page")
		assert.Equal(t, []store.Page{
			{Records: 1, Units: 128}, {Records: 1, Units: 64}, {Records: 0, Units: 128},
		}, read)
		assert.Equal(t, []string{"Scan", "Scan", "Scan"}, tr.calls())
		assert.Contains(t, string(tr.requests[2].Body), `"ExclusiveStartKey":{"id":{"S":"charge#2"}}`)
	})
}

// TestWhatASlowReaderLeavesUnusedIsNotSavedUp: a burst after a pause would throttle the requests of
// users.
func TestWhatASlowReaderLeavesUnusedIsNotSavedUp(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, _ := scripted(page("charge#1", 32, listedItem("charge#1")), page("charge#2", 32), page("", 32))
		began := time.Now()
		for _, err := range s.List(t.Context(), store.Query{Rate: 32}) {
			require.NoError(t, err)
			time.Sleep(time.Minute)
		}
		assert.Equal(t, time.Minute+time.Second, time.Since(began))
	})
}

func TestAListingWhoseContextEndsDoesNotWait(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, tr := scripted(page("charge#1", 128, listedItem("charge#1")), page("", 128))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		var last error
		for _, err := range s.List(ctx, store.Query{Rate: 1}) {
			last = err
		}
		requireStoreError(t, last, "list", store.FailureTimeout, true)
		require.ErrorIs(t, last, context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(began))
		assert.Equal(t, []string{"Scan"}, tr.calls())
	})
}

// TestWhereTheServerDoesNotSayWhatItTook counts records instead.
func TestWhereTheServerDoesNotSayWhatItTook(t *testing.T) {
	t.Parallel()
	s, _ := scripted(ok(`{"Items":[],"ScannedCount":7}`))
	var read []store.Page
	for _, err := range s.List(t.Context(), store.Query{Page: func(p store.Page) { read = append(read, p) }}) {
		require.NoError(t, err)
	}
	assert.Equal(t, []store.Page{{Records: 7, Units: 3.5}}, read)
}

func TestARecordThatCannotBeReadDoesNotEndAListing(t *testing.T) {
	t.Parallel()
	s, _ := scripted(page("", 1, listedItem("charge#1"),
		`{"id":{"S":"charge#2"},"status":{"S":"UNKNOWN"},"expiration":{"S":"`+secret+`"}}`,
		listedItem("charge#3")))
	var read []string
	for r, err := range s.List(t.Context(), store.Query{}) {
		if r.Key == "charge#2" {
			requireUnreadable(t, err, `attribute "expiration" has type S, not N`)
			assert.Equal(t, store.Record{Key: "charge#2"}, r)
		} else {
			require.NoError(t, err)
		}
		read = append(read, r.Key)
	}
	assert.Equal(t, []string{"charge#1", "charge#2", "charge#3"}, read)
}

// TestAnOperationIsNoPrefixOfAnother: keys of AWS Powertools may have more than one #. What is no
// record is not listed: parts of results, and items that somebody else keeps in the table.
func TestAnOperationIsNoPrefixOfAnother(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	mustClaim(t, s, completion(record("parted#1"), pattern(1<<20)), claimTime)
	putItem(t, client, table, item{"id": S("parted#2"), "color": S("red")})
	for _, id := range []string{"charge#1", "charge#b#1", "charge-later#1", "charge", "other#1"} {
		putItem(t, client, table,
			item{"id": S(id), "status": S("COMPLETED"), "expiration": N("1800086400"), "data": S("1")})
	}
	for operation, want := range map[string][]string{
		"charge": {"charge#1"}, "charge#b": {"charge#b#1"}, "charge-later": {"charge-later#1"},
		"parted": {"parted#1"}, "": {"charge#1", "charge#b#1", "charge-later#1", "charge", "other#1", "parted#1"},
	} {
		assert.ElementsMatch(t, want, listed(t, s, store.Query{Operation: operation}), operation)
	}
}

// attended is a record that somebody has to settle.
func attended(r store.Record) store.Record {
	r.Status, r.Attention, r.AttentionAt = store.StatusUnknown, store.AttentionOf(r.Key), claimTime
	return r
}

func TestATableWithoutTheIndex(t *testing.T) {
	t.Parallel()
	client := dynamolocal.Client(dynamotest.Endpoint(t))
	in := dynamo.TableDefinition("dynamo-test-" + rand.Text())
	in.GlobalSecondaryIndexes, in.AttributeDefinitions = nil, in.AttributeDefinitions[:1]
	makeTable(t, client, in, "expiration")
	s := dynamo.New(client, *in.TableName)
	require.NoError(t, s.Check(t.Context()), "no request needs it")
	require.NoError(t, dynamo.CreateTable(t.Context(), client, *in.TableName), "a table that exists is left as it is")
	require.Equal(t, []string{`table "` + *in.TableName +
		`": there is no index "attention-index": to find what somebody has to settle, ` +
		`the whole table has to be read`}, adviceOf(t, s))

	for _, q := range []store.Query{
		{Index: true, Attention: true},
		{Index: true, Attention: true, Operation: "charge"},
	} {
		_, err := s.ListCost(t.Context(), q)
		requireStoreError(t, err, "list cost", store.FailureRejected, true)
		require.ErrorIs(t, err, store.ErrNoIndex)
		answers := 0
		for _, err := range s.List(t.Context(), q) {
			answers++
			requireStoreError(t, err, "list", store.FailureRejected, true)
			require.ErrorIs(t, err, store.ErrNoIndex)
		}
		require.Equal(t, 1, answers)
	}

	mustClaim(t, s, attended(record("charge#1")), claimTime)
	require.Equal(t, []string{"charge#1"}, listed(t, s, store.Query{Attention: true}), "the whole table is read")
}

func adviceOf(t *testing.T, s *dynamo.Store) []string {
	t.Helper()
	advice, err := s.Advise(t.Context())
	require.NoError(t, err)
	return advice
}

func TestWhatAListingCosts(t *testing.T) {
	t.Parallel()
	described := reply{status: http.StatusOK, body: `{"Table":{"TableStatus":"ACTIVE","ItemCount":1000000,"TableSizeBytes":900000000,
		"GlobalSecondaryIndexes":[{"IndexName":"other","IndexStatus":"ACTIVE","ItemCount":9},
			{"IndexName":"attention-index","IndexStatus":"ACTIVE","ItemCount":50,"IndexSizeBytes":9000}]}}`}
	for name, c := range map[string]struct {
		query store.Query
		want  store.Cost
	}{
		"the whole table": {store.Query{}, store.Cost{
			Records: 1_000_000, Bytes: 900_000_000, Units: 109863.5, Pages: 1 + 858,
		}},
		"in small pages": {store.Query{PageSize: 100, Operation: "charge"}, store.Cost{
			Records: 1_000_000, Bytes: 900_000_000, Units: 109863.5, Pages: 1 + 10_000,
		}},
		"the whole index": {store.Query{Index: true, Attention: true}, store.Cost{
			Indexed: true, Records: 50, Bytes: 9000, Units: 1.5, Pages: 1,
		}},
		"one operation in the index": {store.Query{Index: true, Attention: true, Operation: "charge"}, store.Cost{
			Indexed: true, Records: 50, Bytes: 9000, Units: 5.5, Pages: 11,
		}},
		"without those that are given up": {
			store.Query{Index: true, Attention: true, Operation: "charge", NotGivenUp: true},
			store.Cost{Indexed: true, Records: 50, Bytes: 9000, Units: 5, Pages: 10},
		},
	} {
		s, tr := scripted(described)
		got, err := s.ListCost(t.Context(), c.query)
		require.NoError(t, err)
		assert.Equal(t, c.want, got, name)
		assert.Equal(t, []string{"DescribeTable"}, tr.calls())
	}
	s, _ := scripted(reply{status: http.StatusOK, body: `{"Table":{"TableStatus":"ACTIVE","GlobalSecondaryIndexes":[
		{"IndexName":"attention-index","IndexStatus":"CREATING"}]}}`})
	_, err := s.ListCost(t.Context(), store.Query{Index: true, Attention: true})
	require.ErrorIs(t, err, store.ErrNoIndex)
	require.Contains(t, adviceOf(t, s)[0], `index "attention-index": status is CREATING, not ACTIVE`)
}

func TestListingsThatFail(t *testing.T) {
	t.Parallel()
	s, _ := scripted(denied)
	for _, err := range s.List(t.Context(), store.Query{Index: true, Attention: true}) {
		requireStoreError(t, err, "list", store.FailureAccessDenied, true)
	}
	_, err := s.ListCost(t.Context(), store.Query{})
	requireStoreError(t, err, "list cost", store.FailureAccessDenied, true)
	_, err = s.Advise(t.Context())
	requireStoreError(t, err, "check", store.FailureAccessDenied, true)

	// An index that is being made cannot be read.
	s, _ = scripted(rejection("ValidationException",
		"Cannot read from backfilling global secondary index: attention-index"))
	for _, err := range s.List(t.Context(), store.Query{Index: true, Attention: true}) {
		require.ErrorIs(t, err, store.ErrNoIndex)
	}

	narrow := dynamo.New(wall(nil), table)
	_, err = narrow.ListCost(t.Context(), store.Query{})
	requireStoreError(t, err, "list cost", store.FailureRejected, true)
	require.ErrorIs(t, err, store.ErrNoListing)
	for _, err := range narrow.List(t.Context(), store.Query{}) {
		require.ErrorIs(t, err, store.ErrNoListing)
	}
	_, err = narrow.Advise(t.Context())
	require.NotEmpty(t, problemsOf(t, err))
}
