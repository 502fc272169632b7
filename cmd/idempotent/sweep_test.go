package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// recordItem is a record as it is in the table.
func recordItem(key string, status store.Status, lease, expiry time.Time) map[string]types.AttributeValue {
	number := func(n int64) types.AttributeValue {
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
	}
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	it := map[string]types.AttributeValue{
		"id": text(key), "status": text(string(status)), "owner": text("owner-1"), "expiration": number(expiry.Unix()),
		"in_progress_expiration": number(lease.UnixMilli()), "created_at": number(lease.Add(-time.Minute).UnixMilli()),
	}
	if status == store.StatusCompleted {
		it["data"], it["commit"] = text(`"x"`), text(store.Seal("owner-1", []byte(`"x"`)))
	}
	return it
}

// fill puts so many items, 25 at once.
func (tb table) fill(t *testing.T, n int, item func(i int) map[string]types.AttributeValue) {
	t.Helper()
	var group sync.WaitGroup
	slots := make(chan struct{}, 8)
	for first := 0; first < n; first += 25 {
		var puts []types.WriteRequest
		for i := first; i < min(first+25, n); i++ {
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: item(i)}})
		}
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			out, err := tb.client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{tb.name: puts}})
			if assert.NoError(t, err) {
				assert.Empty(t, out.UnprocessedItems)
			}
		})
	}
	group.Wait()
}

// sweptIn is the report of a sweep in JSON.
func sweptIn(t *testing.T, out string) (s operate.Swept) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(out), &s), out)
	return s
}

// TestASweepOfTenThousandRecordsIsKilledAndGoesOn runs the program, and kills it with SIGKILL once it has written how far it has come.
func TestASweepOfTenThousandRecordsIsKilledAndGoesOn(t *testing.T) {
	t.Parallel()
	tb := newTable(t)
	const records, every = 10_000, 100
	now := time.Now()
	tb.fill(t, records, func(i int) map[string]types.AttributeValue {
		key := fmt.Sprintf("charge#%05d", i)
		switch i % every {
		case 0:
			return recordItem(key, store.StatusInProgress, now.Add(-time.Hour), now.Add(time.Hour))
		case 1:
			return recordItem(key, store.StatusInProgress, now.Add(time.Hour), now.Add(2*time.Hour))
		case 2:
			return recordItem(key, store.StatusCompleted, now.Add(-3*time.Hour), now.Add(-2*time.Hour))
		default:
			return recordItem(key, store.StatusCompleted, now.Add(-time.Hour), now.Add(time.Hour))
		}
	})
	args := []string{"sweep", "--policy", "charge=refuse", "--reason", "ticket 4711", "--by", "dana", "--yes", "-o", "json"}
	dry := tb.run(t, append(args, "--dry-run", "--rate", "0"))
	require.Zero(t, dry.code, dry.err)
	found := sweptIn(t, dry.out)
	assert.Equal(t, operate.SweptOperation{Lapsed: records / every, BecameUnknown: records / every}, found.Operations["charge"])
	assert.Equal(t, records, found.Records)
	assert.Equal(t, store.StatusInProgress, tb.get(t, "charge#00000").Status)

	kill, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := command(kill, append(args, "--rate", "200", "--write-rate", "40")...)
	tb.env()(c)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, os.Stderr
	require.NoError(t, c.Start())
	cursor := tb.cursor(t)
	cancel() // sends SIGKILL
	require.Error(t, c.Wait())
	assert.Empty(t, out.String(), "it was killed")

	busy := tb.run(t, append(args, "--rate", "0"))
	assert.Equal(t, 4, busy.code, busy.err)
	assert.Contains(t, busy.err, "another sweep is at work")

	// Nobody waits for the lease: the dead sweep is dead.
	seen := tb.get(t, cursor)
	lapsed := seen
	lapsed.Owner, lapsed.Lease, lapsed.Steps = "nobody", time.Now(), nil
	_, swapped, err := tb.store.Swap(t.Context(), seen, lapsed)
	require.NoError(t, err)
	require.True(t, swapped)

	rest := tb.run(t, append(args, "--rate", "0", "--write-rate", "0"))
	require.Zero(t, rest.code, rest.err)
	swept := sweptIn(t, rest.out)
	assert.True(t, swept.Done)
	assert.NotEmpty(t, swept.From, "it goes on")
	assert.Less(t, swept.Records, records)
	assert.Contains(t, rest.out, `"why":"ticket 4711"`)
	for i := range records / every {
		r := tb.get(t, fmt.Sprintf("charge#%05d", i*every))
		require.Equal(t, store.StatusUnknown, r.Status, r.Key)
		require.Equal(t, store.ReasonCrashed, r.Reason)
		require.Equal(t, store.AttentionOf(r.Key), r.Attention)
		r = tb.get(t, fmt.Sprintf("charge#%05d", i*every+1))
		require.Equal(t, store.StatusInProgress, r.Status, r.Key)
		require.Empty(t, r.Attention)
	}
	list := tb.run(t, []string{"list", "--operation", "charge"})
	assert.Contains(t, list.err, "100 records")
}

// cursor waits until a sweep has written how far it has come, and returns the key of that record.
func (tb table) cursor(t *testing.T) string {
	t.Helper()
	end := time.Now().Add(time.Minute)
	for time.Now().Before(end) {
		for r, err := range tb.store.List(t.Context(), store.Query{Operation: operate.SweepOperation}) {
			require.NoError(t, err)
			if step, has := tb.get(t, r.Key).Steps["page"]; has && strings.Contains(string(step.Result), `"after"`) {
				return r.Key
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the sweep has not come to the end of a page")
	return ""
}

// TestASweepOfATableWithASortKey has its cursor in the partition of the records.
func TestASweepOfATableWithASortKey(t *testing.T) {
	t.Parallel()
	tb := newTable(t, dynamo.WithCompositeKey("sk", "tenant-1"))
	r := demoRecords()
	tb.put(t, r...)
	swept := tb.run(t, []string{"sweep", "--yes", "--rate", "0", "--sort-key", "sk", "--partition", "tenant-1", "-o", "json"})
	require.Zero(t, swept.code, swept.err)
	assert.True(t, sweptIn(t, swept.out).Done)
	assert.Equal(t, len(r), sweptIn(t, swept.out).Records-1, "and its own cursor")
}

func TestWhatASweepOfTheDemoPrints(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"sweep-dry":    {"sweep", "--demo", "--dry-run", "--policy", "charge=refuse", "--grace", "1s"},
		"sweep":        {"sweep", "--demo", "--policy", "charge=refuse", "--grace", "1s", "--reason", "ticket 4711", "--by", "dana", "--yes"},
		"sweep-json":   {"sweep", "--demo", "--dry-run", "-o", "json"},
		"sweep-help":   {"sweep", "--help"},
		"sweep-policy": {"sweep", "--demo", "--policy", "charge=never", "--yes"},
		"sweep-reason": {"sweep", "--demo", "--policy", "charge=refuse", "--yes"},
		"sweep-ask":    {"sweep", "--demo"},
		"sweep-rate":   {"sweep", "--demo", "--rate", "-1", "--yes"},
		"sweep-grace":  {"sweep", "--demo", "--grace", "0s", "--yes"},
	} {
		golden(t, name, args, run(t, args), nil)
	}
}
