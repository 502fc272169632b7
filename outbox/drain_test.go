package outbox_test

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
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
	r := newRig(t)
	r = r.via(r.with(paged))
	var all []item
	for range 12 { // more than there are shards, so that one has several pages
		all = append(all, r.put(t))
	}
	told := r.drain()
	require.Empty(t, r.got, "the stream goes first")
	require.Equal(t, 12, told.Left.Pending)
	require.Less(t, told.Left.Oldest, 20*time.Second)

	for _, it := range all[:10] {
		r.late(t, it, time.Minute)
	}
	told = r.drain()
	require.Len(t, r.got, 10)
	require.GreaterOrEqual(t, told.Slowest, time.Minute)
	told.Slowest, told.Left.Oldest = 0, 0
	require.Equal(t, report.Relay{
		Table: r.table, Source: "drain", Delivered: 10,
		Left: &report.Left{Pending: 2},
	}, told)
	require.Equal(t, told.Left, r.last().Left)
	for n, it := range all {
		it = r.now(it)
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
	r := newRig(t, outbox.Config{MaxTries: 9})
	r.fail = down
	it := r.put(t)
	pauses := []int{1, 1, 1, 1, 1, 1, 2, 4, 8}
	for n, minutes := range pauses {
		pause := time.Duration(minutes) * time.Minute
		r.late(t, it, 3*time.Hour)
		before := time.Now()
		told := r.drain()
		now := r.now(it)
		require.EqualValues(t, n+1, numberOf(t, now, "tries"))
		due := time.UnixMilli(numberOf(t, now, "outbox_due"))
		require.WithinRange(t, due, before.Add(pause*3/4-time.Millisecond), time.Now().Add(pause*5/4))
		if n < len(pauses)-1 {
			require.GreaterOrEqual(t, told.Left.Oldest, 3*time.Hour)
			require.Equal(t, 1, told.Failed)
			require.Equal(t, failed(it, n+1), told.Problems)
			continue
		}
		require.Equal(t, 1, told.GivenUp)
		require.Equal(t, 1, told.Left.GivenUp)
		require.Zero(t, told.Left.Pending)
	}
	r.late(t, it, 3*time.Hour)
	told := r.drain()
	require.Len(t, r.got, len(pauses), "nobody delivers it any more")
	require.Equal(t, &report.Left{GivenUp: 1}, told.Left)
}

// failed is what a relay tells of a message that has failed so often.
func failed(it item, tries int) []report.RelayProblem {
	return []report.RelayProblem{{
		ID: idOf(it), Topic: "order-placed", Outcome: "failed", Tries: tries, Err: errDown,
	}}
}

// A message that ends its process each time is given up: a drain counts before it delivers.
func TestDrainGivesUpWhatKillsItsProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t, outbox.Config{MaxTries: 5})
	it := r.put(t)
	r.late(t, it, time.Hour)
	r.set(t, idOf(it), "SET tries = :n", item{":n": N("3")})
	var during item
	r.fail = func(_ context.Context, m outbox.Message) error {
		during = r.get(t, m.ID)
		require.Equal(t, 4, m.Tries)
		return errDown
	}
	r.drain()
	require.EqualValues(t, 4, numberOf(t, during, "tries"))
	require.Greater(t, numberOf(t, during, "outbox_due"), time.Now().UnixMilli())
	r.late(t, it, time.Hour)
	r.set(t, idOf(it), "SET tries = :n", item{":n": N("5")})
	require.Equal(t, 1, r.drain().GivenUp)
	require.Len(t, r.got, 1)
	require.NotContains(t, r.now(it), "last_error", "nobody has seen the end of its last delivery")
}

// What is left is counted over all pages of a shard, up to a bound.
func TestDrainCountsWhatIsLeftPageByPage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r = r.via(r.with(paged))
	one := r.put(t)
	put := func(n int, age time.Duration) {
		it := maps.Clone(one)
		it["id"], it["outbox_shard"] = S("m-"+strconv.Itoa(n)), S("0")
		it["created_at"], it["outbox_due"] = ago(age)[":at"], ago(-time.Duration(n+1) * time.Hour)[":at"]
		r.putItem(t, it)
	}
	r.set(t, idOf(one), "SET outbox_shard = :s", item{":s": S("1")})
	for n, age := range []time.Duration{time.Hour, 3 * time.Hour, 2 * time.Hour} {
		put(n, age)
	}
	some := r.drain().Left
	require.InDelta(t, 3*time.Hour, some.Oldest, float64(time.Hour/2))
	some.Oldest = 0
	require.Equal(t, &report.Left{Pending: 4}, some)
	r = r.via(r.with(paged, dynamotest.After(func(out *dynamodb.QueryOutput) {
		out.Items = slices.Repeat(out.Items, 4000)
	})))
	many := r.drain().Left
	require.Equal(t, &report.Left{Pending: 14_000, Oldest: many.Oldest, Partial: true}, many, "ten thousand of a shard")
}

// putItem writes an item that no commit wrote.
func (p place) putItem(t *testing.T, it item) {
	t.Helper()
	_, err := p.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &p.table, Item: it})
	require.NoError(t, err)
}

// A row that is no message, at the head of a shard, keeps no message from being delivered, and is
// counted.
func TestDrainPassesByWhatIsNoMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	it := r.put(t)
	r.set(t, idOf(it), "SET outbox_shard = :s", item{":s": S("0")})
	r.late(t, it, time.Hour)
	for n, foreign := range []item{
		{"outbox_due": N("1.5"), "created_at": N("1")},
		{"outbox_due": N("1e30")},
		{"outbox_due": N("2"), "created_at": S("yesterday")},
		{"outbox_due": N("3")},
	} {
		for _, shard := range []string{"0", "given-up"} {
			foreign["id"], foreign["outbox_shard"] = S("foreign "+strconv.Itoa(n)+shard), S(shard)
			r.putItem(t, foreign)
		}
	}
	told := r.drain()
	require.Len(t, r.got, 1)
	require.Equal(t, 6, told.Foreign, "three cannot be read even in the index, in either shard")
	require.Equal(t, &report.Left{Pending: 1, GivenUp: 1}, told.Left, "nobody knows how old the fourth is")
	for _, err := range outbox.GivenUp(t.Context(), r.client, r.table) {
		require.NoError(t, err)
		require.Fail(t, "nothing is given up")
	}
}

// What was counted is reported also where the time did not suffice for all of it. A machine that
// stalls for the last 300 ms, which are kept for the report, gets another chance.
func TestDrainReportsWhatItHasCountedInTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put(t)
	slow := r.via(r.with(dynamotest.Before(func(ctx context.Context, _ *dynamodb.QueryInput) error {
		select {
		case <-time.After(400 * time.Millisecond):
		case <-ctx.Done():
		}
		return ctx.Err()
	})))
	inTime := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		told, err := slow.relay.Drain(ctx)
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

// A number that is too small is worse than none.
func TestDrainThatCannotCountAShardSaysSo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	left := 0
	r = r.via(r.with(downAt[dynamodb.QueryInput](&left)))
	r.drain()
	left = -left - 1 // the last one counts what is given up
	told, err := r.relay.Drain(t.Context())
	require.ErrorIs(t, err, errDown)
	require.ErrorContains(t, err, "read the index outbox-index")
	require.Equal(t, err, r.last().Err)
	require.Nil(t, told.Left)
	require.Nil(t, r.last().Left)
}

// A message that waits for its turn until there is no time left is neither taken nor counted.
func TestDrainLeavesWhatWaitsForItsTurnTooLong(t *testing.T) {
	t.Parallel()
	r := newRig(t, outbox.Config{Concurrency: 1})
	r.fail = hang
	for range 3 {
		it := r.put(t)
		r.set(t, idOf(it), "SET outbox_shard = :s", item{":s": S("0")})
		r.late(t, it, time.Hour)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 16*time.Second) // four are for counting
	defer cancel()
	told, err := r.relay.Drain(ctx)
	require.NoError(t, err)
	require.Equal(t, &report.Left{Pending: 3, Oldest: told.Left.Oldest}, told.Left, "there was time to count")
	require.Equal(t, 1, told.Failed)
	require.Zero(t, told.Uncounted)
	require.Zero(t, told.Elsewhere)
}

// What another drain has taken since the item was read is left to it.
func TestDrainTakesOnlyWhatIsAsItWasRead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for update, values := range map[string]item{
		"SET outbox_due = outbox_due + :n": {":n": N("1")},
		"SET outbox_shard = :n":            {":n": S("given-up")},
		"SET #owner = :n":                  {":n": S("LATER")},
		"REMOVE outbox_due, outbox_shard":  nil,
	} {
		it := r.put(t)
		r.late(t, it, time.Hour)
		var once sync.Once // before the first write
		client := r.with(dynamotest.Before(func(context.Context, *dynamodb.UpdateItemInput) error {
			once.Do(func() { r.set(t, idOf(it), update, values) })
			return nil
		}))
		require.Equal(t, 1, r.via(client).drain().Elsewhere, update)
		require.Empty(t, r.got, update)
		r.set(t, idOf(it), "REMOVE outbox_due, outbox_shard", nil)
	}
}

// The index may list what was put off, or given up, or done since.
func TestDrainWhoseListIsLate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var late []item
	for update, values := range map[string]item{
		"SET outbox_due = :at":            ago(-time.Hour),
		"SET outbox_shard = :givenUp":     {":givenUp": S("given-up")},
		"REMOVE outbox_due, outbox_shard": nil,
	} {
		it := r.put(t)
		r.late(t, it, time.Hour)
		late = append(late, item{
			"id": it["id"], "outbox_shard": S("0"), "outbox_due": ago(time.Hour)[":at"],
			"created_at": ago(time.Hour)[":at"],
		})
		r.set(t, idOf(it), update, values)
	}
	r = r.via(r.with(dynamotest.After(func(out *dynamodb.QueryOutput) {
		if late != nil { // of the first query
			out.Items, late = late, nil
		}
	})))
	require.Zero(t, r.drain().Elsewhere)
	require.Empty(t, r.got)
}

func TestDrainReadsAsItIs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.late(t, r.put(t), time.Hour)
	var consistent []bool
	r = r.via(r.with(dynamotest.Before(func(_ context.Context, in *dynamodb.GetItemInput) error {
		consistent = append(consistent, aws.ToBool(in.ConsistentRead))
		return nil
	})))
	r.drain()
	require.Len(t, r.got, 1)
	require.Equal(t, []bool{true}, consistent)
}
