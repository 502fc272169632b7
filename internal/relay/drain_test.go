package relay_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
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

// box has messages in the lists of its shards, and notes its calls.
type box struct {
	relay.Box[string]

	shards map[int][]relay.Entry[string]
	// pending: the messages are not done.
	pending bool
	// fails are the calls that fail, and listing is called when a list is read.
	fails   []string
	listing func()

	mu    sync.Mutex
	calls []string
}

func (b *box) called(what string, of any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	call := fmt.Sprint(what, " ", of)
	b.calls = append(b.calls, call)
	if slices.Contains(b.fails, call) {
		return errRead
	}
	return nil
}

func (b *box) List(_ context.Context, shard int) iter.Seq2[relay.Entry[string], error] {
	return func(yield func(relay.Entry[string], error) bool) {
		if b.listing != nil {
			b.listing()
		}
		if err := b.called("list", shard); err != nil {
			yield(relay.Entry[string]{}, err)
			return
		}
		for _, listed := range b.shards[shard] {
			if !yield(listed, nil) {
				return
			}
		}
		if len(b.shards[shard]) > 0 {
			_ = b.called("end of", shard)
		}
	}
}

func (b *box) Get(_ context.Context, id string) (relay.Entry[string], bool, error) {
	return relay.Entry[string]{ID: id, Due: now}, b.pending, b.called("get", id)
}

func (b *box) Take(_ context.Context, e relay.Entry[string], _ time.Time) (bool, error) {
	err := b.called("take", e.ID)
	return err == nil, err
}

func (b *box) GiveUp(_ context.Context, e relay.Entry[string], _ error, _ time.Time) (bool, error) {
	return true, b.called("give up", e.ID)
}

// drain drains the box with a delivery that can never succeed. It returns what is reported.
func (b *box) drain(ctx context.Context) (told []string, err error) {
	r := relay.Relay[string]{
		Concurrency: 1, Timeout: time.Minute, MaxTries: 2, Grace: time.Minute,
		Pause: func(int) time.Duration { return time.Minute },
		Now:   func() time.Time { return now.Add(time.Minute) },
		Box:   b,
		Deliver: func(_ context.Context, e relay.Entry[string]) error {
			return &relay.PermanentError{Err: b.called("deliver", e.ID)}
		},
		Report: func(e relay.Entry[string], o relay.Outcome, err error) {
			told = append(told, fmt.Sprint(e.ID, " is ", o, ": ", err))
		},
	}
	err = r.Drain(ctx)
	return told, err
}

// everywhere has a message that is due in each shard.
func everywhere(ids ...string) map[int][]relay.Entry[string] {
	shards := map[int][]relay.Entry[string]{}
	for shard := range relay.Shards {
		for _, id := range ids {
			shards[shard] = append(shards[shard], relay.Entry[string]{ID: id, Due: now})
		}
	}
	return shards
}

func TestDrainOfAList(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		list    []time.Duration // when a, b, c and d are due
		pending bool
		fails   []string
		calls   []string
		told    []string
	}{
		"what is not due yet, and what is behind it, costs no read": {
			list:  []time.Duration{-time.Hour, 0, time.Millisecond, time.Hour},
			calls: []string{"get a", "get b"},
		},
		"what cannot be read is reported": {
			list: []time.Duration{0, 0, 0}, fails: []string{"get b"},
			calls: []string{"get a", "get b", "get c", "end of 3"}, told: []string{"b is uncounted: it cannot be read"},
		},
		"what cannot be taken is not delivered": {
			list: []time.Duration{0}, pending: true, fails: []string{"take a"},
			calls: []string{"get a", "take a", "end of 3"}, told: []string{"a is uncounted: it cannot be read"},
		},
		"what can never succeed is given up": {
			list: []time.Duration{0}, pending: true, fails: []string{"deliver a"},
			calls: []string{"get a", "take a", "deliver a", "give up a", "end of 3"},
			told:  []string{"a is given up: it cannot be read"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &box{shards: map[int][]relay.Entry[string]{}, pending: c.pending, fails: c.fails}
			for n, due := range c.list {
				b.shards[3] = append(b.shards[3], relay.Entry[string]{ID: string(rune('a' + n)), Due: now.Add(due)})
			}
			told, err := b.drain(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.told, told)
			calls := slices.DeleteFunc(b.calls, func(call string) bool { return strings.HasPrefix(call, "list") })
			require.ElementsMatch(t, c.calls, calls)
		})
	}
}

func TestDrainSaysWhichListsItCouldNotRead(t *testing.T) {
	t.Parallel()
	b := &box{shards: everywhere("a"), fails: []string{"list 0", "list 7"}}
	_, err := b.drain(t.Context())
	require.ErrorIs(t, err, errRead)
	require.ErrorContains(t, err, "list shard 0")
	require.ErrorContains(t, err, "list shard 7")
	require.Len(t, b.calls, relay.Shards+2*(relay.Shards-2), "the other lists are read nevertheless")
}

func TestDrainThatIsLateReadsNothing(t *testing.T) {
	t.Parallel()
	b := &box{shards: everywhere("a")}
	ended, end := context.WithCancel(t.Context())
	end()
	// one second is kept, and one is for a delivery
	short, cancel := context.WithTimeout(t.Context(), 1900*time.Millisecond)
	defer cancel()
	for _, ctx := range []context.Context{ended, short} {
		_, err := b.drain(ctx)
		require.NoError(t, err)
	}
	require.Empty(t, b.calls)
}

// A drain that becomes late while it reads a list leaves the rest of it.
func TestDrainThatBecomesLateReadsNoFurther(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	b := &box{shards: everywhere("a", "b"), listing: end}
	_, err := b.drain(ctx)
	require.NoError(t, err)
	require.Len(t, b.calls, 1)
}
