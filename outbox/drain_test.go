package outbox_test

import (
	"context"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/report"
)

func ago(d time.Duration) item {
	return item{":at": N(strconv.FormatInt(time.Now().Add(-d).UnixMilli(), 10))}
}

// late makes a message due since a while.
func (p place) late(t *testing.T, it item, d time.Duration) {
	t.Helper()
	p.set(t, idOf(it), "SET outbox_due = :at, created_at = :at", ago(d))
}

func TestDrainDeliversWhatIsDue(t *testing.T) {
	t.Parallel()
	p, r, seen := newPlace(t), receiver{}, reports{}
	var all []item
	for range 12 {
		all = append(all, p.put(t))
	}
	relay := outbox.NewRelay(p.client, p.table, r.deliver, outbox.Config{Observers: seen.observers()})
	told, err := relay.Drain(t.Context())
	require.NoError(t, err)
	require.Empty(t, r.got, "the stream goes first")
	require.Equal(t, 12, told.Left.Pending)
	require.Less(t, told.Left.Oldest, 20*time.Second)

	for _, it := range all[:10] {
		p.late(t, it, time.Minute)
	}
	told, err = relay.Drain(t.Context())
	require.NoError(t, err)
	require.Len(t, r.got, 10)
	require.GreaterOrEqual(t, told.Slowest, time.Minute)
	told.Slowest, told.Left.Oldest = 0, 0
	require.Equal(t, report.Relay{
		Table: p.table, Source: outbox.FromDrain, Delivered: 10,
		Left: &report.Left{Pending: 2},
	}, told)
	require.Equal(t, told.Left, seen.last().Left)
	for n, it := range all {
		it = p.get(t, idOf(it))
		if n < 10 {
			require.Contains(t, it, "done_at")
			require.NotContains(t, it, "tries")
			continue
		}
		require.Contains(t, it, "outbox_due")
	}
}

func TestDrainTriesAgainWithPausesThatGrowAndGivesUp(t *testing.T) {
	t.Parallel()
	p, r, seen := newPlace(t), receiver{}, reports{}
	r.down()
	it := p.put(t)
	relay := outbox.NewRelay(p.client, p.table, r.deliver, outbox.Config{MaxTries: 9, Observers: seen.observers()})
	pauses := []int{1, 1, 1, 1, 1, 1, 2, 4, 8}
	for n, minutes := range pauses {
		pause := time.Duration(minutes) * time.Minute
		p.late(t, it, 3*time.Hour)
		before := time.Now()
		told, err := relay.Drain(t.Context())
		require.NoError(t, err)
		now := p.get(t, idOf(it))
		require.EqualValues(t, n+1, numberOf(t, now, "tries"))
		due := time.UnixMilli(numberOf(t, now, "outbox_due"))
		require.WithinRange(t, due, before.Add(pause*3/4-time.Millisecond), time.Now().Add(pause*5/4))
		if n < len(pauses)-1 {
			require.GreaterOrEqual(t, told.Left.Oldest, 3*time.Hour)
			require.Equal(t, 1, told.Failed)
			require.Equal(t, []report.RelayProblem{{
				ID: idOf(it), Topic: "order-placed", Outcome: "failed",
				Tries: n + 1, Err: errDown,
			}}, told.Problems)
			continue
		}
		require.Equal(t, 1, told.GivenUp)
		require.Equal(t, 1, told.Left.GivenUp)
		require.Zero(t, told.Left.Pending)
	}
	p.late(t, it, 3*time.Hour)
	told, err := relay.Drain(t.Context())
	require.NoError(t, err)
	require.Len(t, r.got, len(pauses), "nobody delivers it any more")
	require.Equal(t, &report.Left{GivenUp: 1}, told.Left)
}

// A message that ends its process each time is given up: a drain counts before it delivers.
func TestDrainGivesUpWhatKillsItsProcess(t *testing.T) {
	t.Parallel()
	p, r := newPlace(t), receiver{}
	it := p.put(t)
	p.late(t, it, time.Hour)
	p.set(t, idOf(it), "SET tries = :n", item{":n": N("3")})
	var during item
	relay := outbox.NewRelay(p.client, p.table, func(_ context.Context, m outbox.Message) error {
		during = p.get(t, m.ID)
		require.Equal(t, 4, m.Tries)
		return errDown
	}, outbox.Config{MaxTries: 5})
	_, err := relay.Drain(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 4, numberOf(t, during, "tries"))
	require.Greater(t, numberOf(t, during, "outbox_due"), time.Now().UnixMilli())
	p.late(t, it, time.Hour)
	p.set(t, idOf(it), "SET tries = :n", item{":n": N("5")})
	told, err := outbox.NewRelay(p.client, p.table, r.deliver, outbox.Config{MaxTries: 5}).Drain(t.Context())
	require.NoError(t, err)
	require.Empty(t, r.got)
	require.Equal(t, 1, told.GivenUp)
	require.NotContains(t, p.get(t, idOf(it)), "last_error", "nobody has seen the end of its last delivery")
}

func TestTwoDrainsDeliverOnce(t *testing.T) {
	t.Parallel()
	p, r := newPlace(t), receiver{}
	for range 40 {
		p.late(t, p.put(t), time.Hour)
	}
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			_, err := outbox.NewRelay(p.client, p.table, r.deliver).Drain(t.Context())
			assert.NoError(t, err)
		})
	}
	running.Wait()
	require.Len(t, r.got, 40)
}

func TestDrainReadsAllPages(t *testing.T) {
	t.Parallel()
	p, r := newPlace(t), receiver{}
	one := p.put(t)
	const many = 600 // more than a page, in one shard
	for first := 0; first < many; first += 25 {
		var writes []types.WriteRequest
		for n := range 25 {
			it := maps.Clone(one)
			it["id"], it["outbox_shard"] = S("m-"+strconv.Itoa(first+n)), S("0")
			writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
		}
		out, err := p.client.BatchWriteItem(t.Context(),
			&dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{p.table: writes}})
		require.NoError(t, err)
		require.Empty(t, out.UnprocessedItems)
	}
	told, err := outbox.NewRelay(p.client, p.table, r.deliver, outbox.Config{NoStream: true}).Drain(t.Context())
	require.NoError(t, err)
	require.Equal(t, many+1, told.Delivered)
	require.Equal(t, &report.Left{}, told.Left)
}

// What is left is counted over all pages of a shard, up to a bound.
func TestDrainCountsWhatIsLeftPageByPage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	one := p.put(t)
	put := func(n int, age time.Duration) {
		it := maps.Clone(one)
		it["id"], it["outbox_shard"] = S("m-"+strconv.Itoa(n)), S("0")
		it["created_at"], it["outbox_due"] = ago(age)[":at"], ago(-time.Duration(n+1) * time.Hour)[":at"]
		_, err := p.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &p.table, Item: it})
		require.NoError(t, err)
	}
	left := func() *report.Left {
		told, err := outbox.NewRelay(&paged{Client: p.client}, p.table, (&receiver{}).deliver).Drain(t.Context())
		require.NoError(t, err)
		return told.Left
	}
	p.set(t, idOf(one), "SET outbox_shard = :s", item{":s": S("1")})
	for n, age := range []time.Duration{time.Hour, 3 * time.Hour, 2 * time.Hour} {
		put(n, age)
	}
	some := left()
	require.InDelta(t, 3*time.Hour, some.Oldest, float64(time.Hour/2))
	some.Oldest = 0
	require.Equal(t, &report.Left{Pending: 4}, some)
	for n := range 21 {
		put(n, time.Hour)
	}
	many := left()
	require.Equal(t, &report.Left{Pending: 21, Oldest: many.Oldest, Partial: true}, many, "twenty pages of a shard")
}

// A row that is no message, at the head of a shard, keeps no message from being delivered, and is
// counted.
func TestDrainPassesByWhatIsNoMessage(t *testing.T) {
	t.Parallel()
	p, r := newPlace(t), receiver{}
	it := p.put(t)
	p.set(t, idOf(it), "SET outbox_shard = :s", item{":s": S("0")})
	p.late(t, it, time.Hour)
	for n, foreign := range []item{
		{"outbox_due": N("1.5"), "created_at": N("1")},
		{"outbox_due": N("1e30")},
		{"outbox_due": N("2"), "created_at": S("yesterday")},
		{"outbox_due": N("3")},
	} {
		for shard := range 2 {
			foreign["id"], foreign["outbox_shard"] = S("foreign "+strconv.Itoa(n)+strconv.Itoa(shard)),
				S([]string{"0", "given-up"}[shard])
			_, err := p.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &p.table, Item: foreign})
			require.NoError(t, err)
		}
	}
	told, err := outbox.NewRelay(p.client, p.table, r.deliver).Drain(t.Context())
	require.NoError(t, err)
	require.Len(t, r.got, 1)
	require.Equal(t, 6, told.Foreign, "three cannot be read even in the index, in either shard")
	for _, err := range outbox.GivenUp(t.Context(), p.client, p.table) {
		require.NoError(t, err)
		require.Fail(t, "nothing is given up")
	}
}

// What was counted is reported also where the time did not suffice for all of it. A machine that
// stalls for the last 300 ms, which are kept for the report, gets another chance.
func TestDrainReportsWhatItHasCountedInTime(t *testing.T) {
	t.Parallel()
	p, r := newPlace(t), receiver{}
	p.put(t)
	inTime := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		told, err := outbox.NewRelay(&slowly{Client: p.client, by: 400 * time.Millisecond}, p.table,
			r.deliver).Drain(ctx)
		require.NoError(t, err)
		require.True(t, told.Left.Partial)
		return ctx.Err() == nil
	}
	for range 5 {
		if inTime() {
			return
		}
	}
	require.Fail(t, "the report is never made in time")
}

// slowly answers queries late.
type slowly struct {
	outbox.Client

	by time.Duration
}

func (s *slowly) Query(ctx context.Context, in *dynamodb.QueryInput,
	opts ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	select {
	case <-time.After(s.by):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.Client.Query(ctx, in, opts...)
}

// A number that is too small is worse than none.
func TestDrainThatCannotCountAShardSaysSo(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	client := &refusing{Client: p.client}
	relay := outbox.NewRelay(client, p.table, (&receiver{}).deliver)
	_, err := relay.Drain(t.Context())
	require.NoError(t, err)
	client.at, client.queries = client.queries-1, 0 // the last one counts what is given up
	told, err := relay.Drain(t.Context())
	require.ErrorIs(t, err, errDown)
	require.Nil(t, told.Left)
}

// refusing refuses one query.
type refusing struct {
	outbox.Client

	queries, at int
}

func (r *refusing) Query(ctx context.Context, in *dynamodb.QueryInput,
	opts ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	if r.queries++; r.queries == r.at {
		return nil, errDown
	}
	return r.Client.Query(ctx, in, opts...)
}

func TestDrainWithoutAnIndexSaysSo(t *testing.T) {
	t.Parallel()
	p, seen := newPlace(t), reports{}
	in := outbox.TableDefinition(p.table + "-2")
	in.GlobalSecondaryIndexes, in.AttributeDefinitions = nil, in.AttributeDefinitions[:1]
	_, err := p.client.CreateTable(t.Context(), in)
	require.NoError(t, err)
	dropAfter(t, p.client, *in.TableName)
	_, err = outbox.NewRelay(p.client, *in.TableName, (&receiver{}).deliver,
		outbox.Config{Observers: seen.observers()}).Drain(t.Context())
	require.ErrorContains(t, err, "read the index outbox-index")
	require.Equal(t, err, seen.last().Err)
	require.Nil(t, seen.last().Left)
}

// A message that waits for its turn until there is no time left is neither taken nor counted.
func TestDrainLeavesWhatWaitsForItsTurnTooLong(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for range 3 {
		it := p.put(t)
		p.set(t, idOf(it), "SET outbox_shard = :s", item{":s": S("0")})
		p.late(t, it, time.Hour)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 16*time.Second) // four are for counting
	defer cancel()
	told, err := outbox.NewRelay(p.client, p.table, hang, outbox.Config{Concurrency: 1}).Drain(ctx)
	require.NoError(t, err)
	require.Equal(t, &report.Left{Pending: 3, Oldest: told.Left.Oldest}, told.Left, "there was time to count")
	require.Equal(t, 1, told.Failed)
	require.Zero(t, told.Uncounted)
	require.Zero(t, told.Elsewhere)
}

// What another drain has taken since the item was read is left to it.
func TestDrainTakesOnlyWhatIsAsItWasRead(t *testing.T) {
	t.Parallel()
	p, r, seen := newPlace(t), receiver{}, reports{}
	for _, change := range []string{
		"SET outbox_due = outbox_due + :n", "SET outbox_shard = :n", "SET #o = :n",
		"REMOVE outbox_due, outbox_shard",
	} {
		it := p.put(t)
		p.late(t, it, time.Hour)
		c := &between{Client: p.client, do: func() {
			switch change {
			case "REMOVE outbox_due, outbox_shard":
				p.set(t, idOf(it), change, nil)
			case "SET #o = :n":
				p.set(t, idOf(it), change, item{":n": S("LATER")}, "#o", "owner")
			case "SET outbox_shard = :n":
				p.set(t, idOf(it), change, item{":n": S("given-up")})
			default:
				p.set(t, idOf(it), change, item{":n": N("1")})
			}
		}}
		_, err := outbox.NewRelay(c, p.table, r.deliver, outbox.Config{Observers: seen.observers()}).Drain(t.Context())
		require.NoError(t, err)
		require.Empty(t, r.got, change)
		require.Equal(t, 1, seen.last().Elsewhere, change)
		p.set(t, idOf(it), "REMOVE outbox_due, outbox_shard", nil)
	}
}

// between does something before the first write.
type between struct {
	outbox.Client

	once sync.Once
	do   func()
}

func (b *between) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	b.once.Do(b.do)
	return b.Client.UpdateItem(ctx, in, opts...)
}

// The index may list what was put off, or given up, or done since.
func TestDrainWhoseListIsLate(t *testing.T) {
	t.Parallel()
	p, r := newPlace(t), receiver{}
	var late []item
	for _, update := range []string{
		"SET outbox_due = :at", "SET outbox_shard = :givenUp",
		"REMOVE outbox_due, outbox_shard",
	} {
		it := p.put(t)
		p.late(t, it, time.Hour)
		late = append(late, item{
			"id": it["id"], "outbox_shard": S("0"), "outbox_due": ago(time.Hour)[":at"],
			"created_at": ago(time.Hour)[":at"],
		})
		values := map[string]item{
			"SET outbox_due = :at":        ago(-time.Hour),
			"SET outbox_shard = :givenUp": {":givenUp": S("given-up")},
		}[update]
		p.set(t, idOf(it), update, values)
	}
	var seen reports
	_, err := outbox.NewRelay(&lists{Client: p.client, first: late}, p.table, r.deliver,
		outbox.Config{Observers: seen.observers()}).Drain(t.Context())
	require.NoError(t, err)
	require.Empty(t, r.got)
	require.Zero(t, seen.last().Elsewhere)
}

// lists answers the first query with what there was.
type lists struct {
	outbox.Client

	first []item
}

func (l *lists) Query(ctx context.Context, in *dynamodb.QueryInput,
	opts ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	out, err := l.Client.Query(ctx, in, opts...)
	if err == nil && l.first != nil {
		out.Items, l.first = l.first, nil
	}
	return out, err
}

func TestDrainReadsAsItIs(t *testing.T) {
	t.Parallel()
	p, r := newPlace(t), receiver{}
	p.late(t, p.put(t), time.Hour)
	c := &reads{Client: p.client}
	_, err := outbox.NewRelay(c, p.table, r.deliver).Drain(t.Context())
	require.NoError(t, err)
	require.Len(t, r.got, 1)
	require.Equal(t, []bool{true}, c.consistent)
}

// reads notes how messages are read.
type reads struct {
	outbox.Client

	consistent []bool
}

func (r *reads) GetItem(ctx context.Context, in *dynamodb.GetItemInput,
	opts ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	r.consistent = append(r.consistent, in.ConsistentRead != nil && *in.ConsistentRead)
	return r.Client.GetItem(ctx, in, opts...)
}
