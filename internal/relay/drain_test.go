package relay_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/relay"
)

var (
	now     = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	errRead = errors.New("it cannot be read")
)

// box has messages in the lists of its shards. Its other methods are those of a nil interface: a
// drain that calls one panics.
type box struct {
	relay.Box[string]

	mu sync.Mutex
	// shards are the messages of each shard.
	shards map[int][]relay.Listed
	fails  map[int]bool
	// unreadable is the id of a message that cannot be read.
	unreadable string
	// listed counts the lists that were begun and the messages that were taken from them, and read
	// has the ids of the messages.
	listed int
	read   []string
}

func (b *box) List(_ context.Context, shard int) iter.Seq2[relay.Listed, error] {
	return func(yield func(relay.Listed, error) bool) {
		b.listed++
		if b.fails[shard] {
			yield(relay.Listed{}, errRead)
			return
		}
		for _, listed := range b.shards[shard] {
			if !yield(listed, nil) {
				return
			}
			b.listed++
		}
	}
}

// Get says that the message is done.
func (b *box) Get(_ context.Context, id string) (relay.Entry[string], bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read = append(b.read, id)
	if id == b.unreadable {
		return relay.Entry[string]{}, false, errRead
	}
	return relay.Entry[string]{ID: id}, false, nil
}

func (b *box) drain(t *testing.T, ctx context.Context) error {
	t.Helper()
	return relay.New(b, nil, func(context.Context, relay.Entry[string], relay.Outcome, error) {
		require.Fail(t, "a message that is done is not reported")
	}, relay.Settings{
		Concurrency: 1, Reserve: time.Second, Grace: time.Minute, Now: func() time.Time { return now },
	}).Drain(ctx)
}

// due is a message that a drain delivers from an instant on.
func due(id string, at time.Time) relay.Listed {
	return relay.Listed{ID: id, Due: at.Add(-time.Minute)}
}

func TestDrainSaysWhichListsItCouldNotRead(t *testing.T) {
	t.Parallel()
	b := &box{fails: map[int]bool{0: true, 7: true}, shards: map[int][]relay.Listed{}}
	for shard := range relay.Shards {
		b.shards[shard] = []relay.Listed{due("a", now)}
	}
	err := b.drain(t, t.Context())
	require.ErrorIs(t, err, errRead)
	require.ErrorContains(t, err, "list shard 0")
	require.ErrorContains(t, err, "list shard 7")
	require.Len(t, b.read, relay.Shards-2, "the other lists are read nevertheless")
}

func TestDrainReportsWhatItCouldNotRead(t *testing.T) {
	t.Parallel()
	b := &box{unreadable: "b", shards: map[int][]relay.Listed{3: {due("a", now), due("b", now), due("c", now)}}}
	var told []string
	err := relay.New(b, nil, func(_ context.Context, e relay.Entry[string], o relay.Outcome, err error) {
		require.ErrorIs(t, err, errRead)
		told = append(told, e.ID+" is "+string(o))
	}, relay.Settings{Concurrency: 1, Now: func() time.Time { return now }}).Drain(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"b is uncounted"}, told)
	require.Equal(t, []string{"a", "b", "c"}, b.read)
}

// A list is in the order in which its messages are due. What is not due yet, and what is behind it,
// costs no read.
func TestDrainReadsNothingThatIsNotDue(t *testing.T) {
	t.Parallel()
	b := &box{shards: map[int][]relay.Listed{3: {
		due("a", now.Add(-time.Hour)), due("b", now), due("c", now.Add(time.Millisecond)), due("d", now.Add(time.Hour)),
	}}}
	require.NoError(t, b.drain(t, t.Context()))
	require.Equal(t, []string{"a", "b"}, b.read)
	require.Equal(t, relay.Shards-1+3, b.listed)
}

func TestDrainThatIsLateReadsNothing(t *testing.T) {
	t.Parallel()
	b := &box{shards: map[int][]relay.Listed{3: {due("a", now)}}}
	ended, end := context.WithCancel(t.Context())
	end()
	// one second is kept, and one is for a delivery
	short, cancel := context.WithTimeout(t.Context(), 1900*time.Millisecond)
	defer cancel()
	for _, ctx := range []context.Context{ended, short} {
		require.NoError(t, b.drain(t, ctx))
	}
	require.Zero(t, b.listed)
}

// A drain that becomes late while it reads a list leaves the rest of it.
func TestDrainThatBecomesLateReadsNoFurther(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	b := &ending{box: box{shards: map[int][]relay.Listed{}}, end: end}
	for shard := range relay.Shards {
		b.shards[shard] = []relay.Listed{due("a", now), due("b", now)}
	}
	require.NoError(t, relay.New(b, nil, nil, relay.Settings{
		Concurrency: 1, Now: func() time.Time { return now },
	}).Drain(ctx))
	require.Equal(t, 1, b.listed)
	require.Empty(t, b.read)
}

// ending ends the context of a drain while a list is read.
type ending struct {
	box

	end func()
}

func (b *ending) List(ctx context.Context, shard int) iter.Seq2[relay.Listed, error] {
	b.end()
	return b.box.List(ctx, shard)
}

// one has a single message, which is due, and takes it unless it is to fail.
type one struct {
	box

	take   error
	writes []string
}

func newOne() *one { return &one{box: box{shards: map[int][]relay.Listed{3: {due("a", now)}}}} }

func (b *one) Get(_ context.Context, id string) (relay.Entry[string], bool, error) {
	return relay.Entry[string]{ID: id, Due: now}, true, nil
}

func (b *one) Take(context.Context, relay.Entry[string], time.Time) (bool, error) {
	b.writes = append(b.writes, "take")
	return b.take == nil, b.take
}

func (b *one) GiveUp(context.Context, relay.Entry[string], time.Time) (bool, error) {
	b.writes = append(b.writes, "give up")
	return true, nil
}

// drain returns what a drain reports of the message.
func (b *one) drain(t *testing.T, deliver relay.Deliver[string]) (told relay.Outcome, failure error) {
	t.Helper()
	report := func(_ context.Context, _ relay.Entry[string], o relay.Outcome, err error) { told, failure = o, err }
	require.NoError(t, relay.New(b, deliver, report, relay.Settings{
		Concurrency: 1, Timeout: time.Minute, Reserve: time.Second, MaxTries: 2,
		Pause: func(int) time.Duration { return time.Minute }, Now: func() time.Time { return now },
	}).Drain(t.Context()))
	return told, failure
}

func TestDrainThatCannotTakeAMessageDeliversNothing(t *testing.T) {
	t.Parallel()
	b := newOne()
	b.take = errRead
	told, err := b.drain(t, func(context.Context, relay.Entry[string]) error {
		require.Fail(t, "it was not taken")
		return nil
	})
	require.ErrorIs(t, err, errRead)
	require.Equal(t, relay.Uncounted, told)
	require.Equal(t, []string{"take"}, b.writes)
}

func TestDrainGivesUpWhatCanNeverSucceed(t *testing.T) {
	t.Parallel()
	b := newOne()
	told, err := b.drain(t, func(context.Context, relay.Entry[string]) error {
		return &relay.PermanentError{Err: errRead}
	})
	require.ErrorIs(t, err, errRead)
	require.Equal(t, relay.GivenUp, told)
	require.Equal(t, []string{"take", "give up"}, b.writes)
}
