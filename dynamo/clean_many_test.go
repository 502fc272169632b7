package dynamo_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
)

// warehouse is a client of a table that exists in memory only, whose items expire when it says, in seconds; 0 is no item. It knows what a
// deletion of what has expired asks, and answers after some milliseconds.
type warehouse struct {
	dynamo.Client
	dynamo.Scanner

	mu         sync.Mutex
	expiration []int64
	pages      map[int]int // how often a page was read, by its first item
	deletions  []time.Time
	units      []time.Time // when half a read unit was used
}

func newWarehouse(n int) *warehouse {
	w := &warehouse{expiration: make([]int64, n), pages: map[int]int{}}
	for i := range w.expiration {
		w.expiration[i] = over.Unix() + 1
		if expires(i) {
			w.expiration[i] = over.Unix() - int64(i%1000)
		}
	}
	return w
}

// expires says which items have expired, and renewed which of those somebody writes after their page was read.
func expires(i int) bool { return i%5 < 3 }
func renewed(i int) bool { return i%500 == 1 }

const place = "%08d"

func (w *warehouse) Scan(_ context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	time.Sleep(10 * time.Millisecond)
	w.mu.Lock()
	defer w.mu.Unlock()
	first := 0
	if s, is := in.ExclusiveStartKey["id"].(*types.AttributeValueMemberS); is {
		last, err := strconv.Atoi(s.Value)
		if err != nil {
			return nil, err
		}
		first = last + 1
	}
	w.pages[first]++
	before, err := strconv.ParseInt(in.ExpressionAttributeValues[":before"].(*types.AttributeValueMemberN).Value, 10, 64)
	if err != nil {
		return nil, err
	}
	out := &dynamodb.ScanOutput{}
	end := min(first+int(*in.Limit), len(w.expiration))
	for i := first; i < end; i++ {
		e := w.expiration[i]
		if e != 0 {
			out.ScannedCount++
		}
		if e != 0 && e <= before {
			out.Items = append(out.Items, item{"id": S(fmt.Sprintf(place, i)), "status": S("COMPLETED"), "expiration": N(strconv.FormatInt(e, 10))})
		}
		if e != 0 && e <= before && renewed(i) {
			w.expiration[i] = cleanTime.Unix() + 1
		}
	}
	if end < len(w.expiration) {
		out.LastEvaluatedKey = item{"id": S(fmt.Sprintf(place, end-1))}
	}
	for range end - first { // each item has some 4 KB
		w.units = append(w.units, time.Now())
	}
	out.ConsumedCapacity = &types.ConsumedCapacity{CapacityUnits: aws.Float64(float64(end-first) / 2)}
	return out, nil
}

func (w *warehouse) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	time.Sleep(5 * time.Millisecond)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.deletions = append(w.deletions, time.Now())
	i, err := strconv.Atoi(in.Key["id"].(*types.AttributeValueMemberS).Value)
	if err != nil {
		return nil, err
	}
	if e := w.expiration[i]; e == 0 {
		return nil, &types.ConditionalCheckFailedException{}
	} else if in.ExpressionAttributeValues[":seen"].(*types.AttributeValueMemberN).Value != strconv.FormatInt(e, 10) {
		return nil, &types.ConditionalCheckFailedException{Item: item{"id": in.Key["id"], "expiration": N(strconv.FormatInt(e, 10))}}
	}
	w.expiration[i] = 0
	return &dynamodb.DeleteItemOutput{ConsumedCapacity: &types.ConsumedCapacity{CapacityUnits: aws.Float64(1)}}, nil
}

// TestTwoPassesBesideClients go over one table while records that have expired are claimed, renewed, completed and released in it: of
// the others each is deleted once, and nothing of the clients is.
func TestTwoPassesBesideClients(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long, and the others see as much of each guard")
	}
	t.Parallel()
	s, client, table := local(t)
	const n, expired, each = 2_000, 1_200, 100
	fill(t, client, table, n, expired)
	lives := make([]map[string]store.Record, 8)
	ctx, stop := context.WithCancel(t.Context())
	var clients, passes sync.WaitGroup
	for c := range lives {
		lives[c] = map[string]store.Record{}
		clients.Go(func() {
			for i := 0; i < each && ctx.Err() == nil; i++ {
				key := fmt.Sprintf("charge#%05d", c*each+i)
				lives[c][key] = live(t, s, key, i)
			}
		})
	}
	sums := make([]store.Cleaned, 2)
	for i := range sums {
		passes.Go(func() {
			sums[i] = sum(t, dynamo.New(client, table).DeleteExpired(t.Context(), cleaning()))
		})
	}
	passes.Wait()
	stop()
	clients.Wait()
	touched := 0
	for _, mine := range lives {
		for key, want := range mine {
			touched++
			got, found, err := s.Get(t.Context(), key)
			require.NoError(t, err)
			require.Equal(t, want.Key != "", found, "what the client has left")
			if found {
				require.Equal(t, want, got)
			}
		}
	}
	deleted := sums[0].Deleted + sums[1].Deleted
	assert.LessOrEqual(t, deleted, expired)
	assert.GreaterOrEqual(t, deleted, expired-touched)
	assert.Positive(t, touched)
	rest := sum(t, s.DeleteExpired(t.Context(), cleaning()))
	assert.Zero(t, rest.Deleted)
	t.Logf("%d and %d deleted, %d and %d kept, beside %d of clients; %.1f read and %.1f write units", sums[0].Deleted, sums[1].Deleted,
		sums[0].Kept, sums[1].Kept, touched, sums[0].ReadUnits+sums[1].ReadUnits, sums[0].WriteUnits+sums[1].WriteUnits)
}

// live claims a record that has expired, or is gone, and then releases, renews or completes it. It returns what is left, the zero record
// for nothing.
func live(t *testing.T, s *dynamo.Store, key string, i int) store.Record {
	t.Helper()
	r := record(key)
	r.Lease, r.Expiry = cleanTime.Add(time.Minute), cleanTime.Add(time.Hour)
	_, claimed, err := s.Claim(t.Context(), r, cleanTime)
	if !assert.NoError(t, err) || !assert.True(t, claimed) {
		return store.Record{}
	}
	next := r
	switch i % 3 {
	case 0:
		deleted, err := s.Delete(t.Context(), r)
		assert.NoError(t, err)
		assert.True(t, deleted, "it was still there")
		return store.Record{}
	case 1:
		next.Lease = r.Lease.Add(time.Minute)
	default:
		next = completion(r, []byte("1"))
	}
	_, swapped, err := s.Swap(t.Context(), r, next)
	assert.NoError(t, err)
	assert.True(t, swapped, "it was still there")
	return next
}

// fill writes records, the first ones of which have expired.
func fill(t *testing.T, client *dynamodb.Client, table string, n, expired int) {
	t.Helper()
	var group sync.WaitGroup
	rounds := make(chan int)
	for range 4 {
		group.Go(func() {
			for first := range rounds {
				writes := make([]types.WriteRequest, 25)
				for i := range writes {
					expiration := over.Unix() - int64(i)
					if first+i >= expired {
						expiration = cleanTime.Unix() + 1
					}
					writes[i].PutRequest = &types.PutRequest{Item: item{
						"id": S(fmt.Sprintf("charge#%05d", first+i)), "status": S("COMPLETED"), "data": S(`"a"`), "expiration": N(strconv.FormatInt(expiration, 10)),
					}}
				}
				_, err := client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: writes}})
				assert.NoError(t, err)
			}
		})
	}
	for first := 0; first < n; first += 25 {
		rounds <- first
	}
	close(rounds)
	group.Wait()
}
