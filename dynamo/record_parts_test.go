package dynamo_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
)

const partSize = 384 << 10

// pattern is a result that no encoding makes smaller, and of which no two parts are equal.
func pattern(size int) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b)
	return b
}

func TestResultsComeBack(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	for name, c := range map[string]struct {
		result []byte
		parts  int
	}{
		"empty":             {[]byte{}, 0},
		"one byte":          {pattern(1), 0},
		"the inline limit":  {pattern(4 << 10), 0},
		"a byte more":       {pattern(4<<10 + 1), 1},
		"5 KB":              {pattern(5 << 10), 1},
		"one part":          {pattern(partSize), 1},
		"a part and a byte": {pattern(partSize + 1), 2},
		"400 KB":            {pattern(400 << 10), 2},
		"1 MB":              {pattern(1 << 20), 3},
		"6 MB":              {pattern(6 << 20), 17}, // gzip adds to noise
		"12 MB":             {pattern(12 << 20), 33},
		"no UTF-8":          {[]byte("\"\xff\xfe\x00\""), 0},
		"large, all alike":  {bytes.Repeat([]byte{0xff}, 5<<10), 0},
	} {
		t.Run(name, func(t *testing.T) {
			first := claims(t, s, record("charge#"+name))
			want := completion(first, c.result)
			held := completes(t, s, first, c.result)
			require.Equal(t, want.Seal, held.Seal)
			if c.parts == 0 {
				require.True(t, bytes.Equal(c.result, held.Result))
				return
			}
			require.Nil(t, held.Result)
			require.True(t, strings.HasPrefix(held.Parts, fmt.Sprintf("%d:", c.parts)), held.Parts)
			require.True(t, bytes.Equal(c.result, resultOf(t, s, held)))

			last := getItem(t, client, table, fmt.Sprintf("%s#%s#%d", first.Key, want.Seal, c.parts))
			require.Equal(t, N(fmt.Sprint(want.Expiry.Add(24*time.Hour).Unix())), last["expiration"])
		})
	}
}

func TestInlineLimit(t *testing.T) {
	t.Parallel()
	for limit, calls := range map[int][]string{
		-1: {"BatchWriteItem", "PutItem"}, 9: {"BatchWriteItem", "PutItem"}, 10: {"PutItem"}, 384 << 10: {"PutItem"},
	} {
		tr := answering(done)
		s := dynamo.New(scriptedClient(tr), table, dynamo.Config{InlineLimit: limit})
		_, _, err := s.Claim(t.Context(), completion(record("k"), pattern(10)), claimTime)
		require.NoError(t, err)
		require.Equal(t, calls, tr.calls(), limit)
	}
}

func TestPartsThatAreMissingOrAltered(t *testing.T) {
	t.Parallel()
	m, r := newMemoryTable(), completion(record("k"), pattern(1<<20))
	s := dynamo.New(m, table)
	id := func(n int) string { return fmt.Sprintf("k#%s#%d", r.Seal, n) }
	part := func(n int) item { return m.items[id(n)] }
	for name, c := range map[string]struct {
		spoil  func(record item)
		reason string
	}{
		"missing": {func(item) { delete(m.items, id(2)) }, "part 2 of 3 is missing"},
		"altered": {func(item) { dataOf(part(2))[100]++ }, "the 3 parts do not match the commit"},
		"longer": {
			func(item) { part(2)["data"] = B(string(dataOf(part(2))) + "x") }, "the 3 parts do not match the commit",
		},
		"far longer than the record says": {
			func(record item) { record["parts"] = S("3:1000"); dataOf(part(2))[100]++ },
			"the 3 parts do not match the commit",
		},
		"without data":    {func(item) { delete(part(3), "data") }, `attribute "data" of a part has type unknown, not B`},
		"shortened":       {func(item) { part(3)["data"] = B("x") }, "do not match the commit"},
		"of another type": {func(item) { part(3)["data"] = S(secret) }, `attribute "data" of a part has type S, not B`},
		"swapped": {
			func(item) { part(1)["data"], part(2)["data"] = part(2)["data"], part(1)["data"] },
			"the 3 parts do not match the commit",
		},
		"fewer by the record": {
			func(record item) { record["parts"] = S(fmt.Sprintf("2:%d", 2*partSize)) },
			"the 2 parts do not match the commit",
		},
		"of another commit": {
			func(record item) { record["commit"] = S(store.Seal(r.Owner, []byte("x"))) }, "part 1 of 3 is missing",
		},
		"of another owner": {
			func(record item) { record["owner"] = S("owner-2") }, "the 3 parts do not match the commit",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.spoil(m.keep(t, s, pattern(1<<20)))
			_, err := s.ReadResult(t.Context(), mustGet(t, s, "k"))
			requireUnreadable(t, err, c.reason)
		})
	}
}

// TestWhatIsBeyondWhatPartsHold is refused before anything is written, also what there is beside
// it.
func TestWhatIsBeyondWhatPartsHold(t *testing.T) {
	t.Parallel()
	r, stepped := record("k"), record("k")
	stepped.Steps = steps{
		"a": stepValue("owner-1", string(pattern(9000))),
		"b": stepValue("owner-1", string(make([]byte, 100*partSize+1))),
	}
	for name, next := range map[string]store.Record{
		"result": completion(r, make([]byte, 99*partSize+1)),
		"step":   stepped,
	} {
		t.Run(name, func(t *testing.T) {
			s, tr := scripted(done)
			_, swapped, err := s.Swap(t.Context(), r, next)
			require.False(t, swapped)
			requireStoreError(t, err, "swap", store.FailureTooLarge, true)
			require.Empty(t, tr.calls())
		})
	}
	s, tr := scripted(done)
	mustSwap(t, s, r, completion(r, pattern(99*partSize)))
	require.Len(t, tr.calls(), 34+1)
}

// TestPartsAreWrittenWhileTheResultIsCompressed: when the first ones are sent, most of the result
// has not been looked at. A batch that fails ends it, and is the error.
func TestPartsAreWrittenWhileTheResultIsCompressed(t *testing.T) {
	t.Parallel()
	r, noise := record("k"), pattern(12*partSize)
	client := newMemoryTable()
	clearing := fake(func(ctx context.Context, in any) (any, error) {
		if client.rounds == 0 {
			clear(noise[len(noise)/2:])
		}
		return client.answer(ctx, in)
	})
	mustSwap(t, dynamo.New(clearing, table), r, completion(r, noise))
	require.Len(t, client.items, 7, "the half that was cleared takes nearly nothing")

	s, tr := scripted(done, rejection("AccessDeniedException", "m"))
	_, swapped, err := s.Swap(t.Context(), r, completion(r, pattern(12*partSize)))
	require.False(t, swapped)
	requireStoreError(t, err, "swap", store.FailureAccessDenied, true)
	require.Equal(t, []string{"BatchWriteItem", "BatchWriteItem"}, tr.calls())
}

func TestBatchesAreRepeatedUntilAllIsProcessed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		client := newMemoryTable()
		client.perRound = 1
		s := dynamo.New(client, table, dynamo.Config{NoCompression: true})
		r := record("k")
		want := completion(r, pattern(26*partSize))
		mustSwap(t, s, r, want)
		require.Equal(t, 26, client.rounds)
		require.Equal(t, 3, client.most)

		client.rounds = 0
		want.Parts = fmt.Sprintf("26:%d", 26*partSize)
		begin := time.Now()
		got := resultOf(t, s, want)
		require.True(t, bytes.Equal(want.Result, got))
		require.Equal(t, 26, client.rounds)
		require.Less(t, time.Since(begin), 19*25*time.Millisecond, "the pauses do not grow while there is progress")
	})
}

// TestBatchesWithoutProgressAreGivenUp, after some rounds or when the context ends.
func TestBatchesWithoutProgressAreGivenUp(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		client := newMemoryTable()
		client.perRound = 0
		s := dynamo.New(client, table)
		r := record("k")
		done := completion(r, pattern(5<<10))
		begin := time.Now()
		_, swapped, err := s.Swap(t.Context(), r, done)
		require.False(t, swapped)
		requireStoreError(t, err, "swap", store.FailureThrottled, true)
		require.Equal(t, 11, client.rounds)
		require.WithinDuration(t, begin.Add(4*time.Second), time.Now(), 2*time.Second)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err = s.Swap(ctx, r, done)
		requireStoreError(t, err, "swap", store.FailureThrottled, true)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		done.Parts = "1:5120"
		_, err = s.ReadResult(t.Context(), done)
		requireStoreError(t, err, "read result", store.FailureThrottled, true)
	})
}

// TestPartsPrecedeTheUpdate, those of a result and of a step: what fails before it has changed
// nothing, however it failed.
func TestPartsPrecedeTheUpdate(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		seen, stepped := record("k"), record("k")
		stepped.Steps = steps{"a": stepValue("owner-1", string(pattern(9000)))}
		for _, next := range []store.Record{completion(seen, pattern(5<<10)), stepped} {
			for answer, kind := range map[*reply]store.Failure{
				&lost: store.FailureUnavailable, &broken: store.FailureUnavailable, &throttled: store.FailureThrottled,
			} {
				s, tr := scripted(*answer)
				_, swapped, err := s.Swap(t.Context(), seen, next)
				require.False(t, swapped)
				requireStoreError(t, err, "swap", kind, true)
				require.NotContains(t, tr.calls(), "UpdateItem")
			}
		}
	})
}
