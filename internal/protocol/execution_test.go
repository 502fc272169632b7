package protocol_test

import (
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/store"
)

var uuidText = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// recording is a handler that remembers its derived keys and ends as told.
func recording(keys *[]string, end func() error) handler {
	return func(ctx context.Context, o order) (receipt, error) {
		*keys = append(*keys, idempotent.DerivedKey(ctx, "charge"))
		return receipt{Amount: o.Amount}, end()
	}
}

func TestDerivedKeyIsTheSameForEveryAttemptOfARequest(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var keys []string
		fingerprint := ""
		s := newShop(t, amountFingerprint(), idempotent.WithRetention(time.Hour))
		s.do = recording(&keys, func() error { fingerprint = s.mustRecord().Fingerprint; return errCard })
		s.mustFail(5, errCard) // released
		s.mustFail(5, errCard) // executed again
		s.put(func(r *store.Record) { r.Lease, r.Fingerprint = r.Lease.Add(-time.Hour), fingerprint })
		s.do = recording(&keys, func() error { return nil })
		s.mustHandle(5) // taken over
		time.Sleep(2 * time.Hour)
		s.mustHandle(5) // after the retention

		require.Len(t, keys, 4)
		for _, key := range keys {
			assert.Equal(t, keys[0], key)
			assert.Regexp(t, uuidText, key)
		}
		time.Sleep(2 * time.Hour)
		s.mustHandle(6)
		assert.NotEqual(t, keys[0], keys[4], "another request is another effect")
	})
}

func TestDerivedKeysOfNamesKeysAndOperationsDiffer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		seen := map[string]bool{}
		for _, operation := range []string{"a", "b"} {
			s := newShop(t, idempotent.WithOperation(operation))
			s.doing(func(ctx context.Context, _ order) (receipt, error) {
				for _, name := range []string{"", "charge", "refund", "charge"} {
					seen[idempotent.DerivedKey(ctx, name)] = true
				}
				return receipt{}, nil
			})
			for _, id := range []string{"1", "2"} {
				_, err := s.handler.Handle(t.Context(), order{ID: id})
				require.NoError(t, err)
			}
		}
		assert.Len(t, seen, 12)
	})
}

// The digest behind derived keys is a promise over releases of this module: a change would charge
// twice.
func TestDerivedKeyNeverChanges(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var keys []string
		s := newShop(t, amountFingerprint()).doing(recording(&keys, func() error { return nil }))
		s.mustHandle(1999)
		r := s.mustRecord()
		assert.Equal(t, "shop#uo6_8HE2fRwxZW9tG31ilWIK_ojvMNb_cYFxEqLEF78", r.Key)
		assert.Equal(t, "1:AH7CU3TQePKvbabri5MtzjYwdBZorchn7fOO-GPRwpw", r.Fingerprint)
		assert.Equal(t, []string{"53c40cb1-918e-8738-a88b-0ce2a828253c"}, keys)
	})
}

// Of a process that dies before its record says which keys it has handed out, the claim says which
// ones executions before it have: whoever looks for the effect asks by them.
func TestAClaimTellsTheKeysThatExecutionsBeforeItHandedOut(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var told [][]string
		var keys []string
		s := newShop(t, unrepeatable()).doing(recording(&keys, func() error { return nil }))
		for _, id := range []string{"o-1", "o-2"} {
			_, err := s.handler.Handle(t.Context(), order{ID: id})
			require.NoError(t, err)
		}
		for _, c := range s.store.Calls() {
			if c.Op == claim {
				told = append(told, c.Next.Derived)
			}
		}
		assert.Equal(t, [][]string{nil, {"charge"}}, told)
	})
}

// An adapter that makes a request of its own, and does not pass on the context.
func TestAKeyIsNeverDerivedInAContextThatWasLost(t *testing.T) {
	t.Parallel()
	lost := lostContext(t, func() { _ = idempotent.DerivedKey(context.Background(), "charge") })
	assert.Equal(t, "charge", lost.Name)
}

// lostContext is what a handler panics with that does this in a context which is not its own.
// Nothing has happened yet: the key is free.
func lostContext(t *testing.T, do func()) (lost *idempotent.LostContextError) {
	t.Helper()
	s := newShop(t).doing(after(func(*shop) { do() }, returns(receipt{})))
	func() {
		defer func() { lost, _ = recover().(*idempotent.LostContextError) }()
		_, _ = s.handle(1)
	}()
	require.NotNil(t, lost, "it panics with a type of its own")
	require.ErrorContains(t, lost, "Unprotected")
	s.assertGone()
	return lost
}

func TestOutsideAProtectedExecutionKeysAreRandom(t *testing.T) {
	t.Parallel()
	job := idempotent.Unprotected(t.Context())
	a, b := idempotent.DerivedKey(job, "charge"), idempotent.DerivedKey(job, "charge")
	assert.Regexp(t, uuidText, a)
	assert.NotEqual(t, a, b)
	_, ok := idempotent.FromContext(job)
	assert.False(t, ok)

	s := newShop(t, idempotent.WithDisabled(true)).doing(func(ctx context.Context, _ order) (receipt, error) {
		_, ok := idempotent.FromContext(ctx)
		assert.False(t, ok)
		assert.NotEmpty(t, idempotent.DerivedKey(ctx, "charge"))
		return receipt{}, nil
	})
	s.mustHandle(5)
}

func TestUnprotectedHandlerInsideAProtectedOneHasKeysOfItsOwn(t *testing.T) {
	t.Parallel()
	var keys []string
	inner := newShop(t, idempotent.WithOptionalKey()).doing(recording(&keys, func() error { return nil }))
	outer := newShop(t).doing(func(ctx context.Context, _ order) (receipt, error) {
		for range 2 { // two effects, which the downstream must not take for one
			if _, err := inner.handler.Handle(ctx, order{}); err != nil {
				return receipt{}, err
			}
		}
		keys = append(keys, idempotent.DerivedKey(ctx, "charge"))
		return receipt{}, nil
	})
	outer.mustHandle(5)
	require.Len(t, keys, 3)
	assert.NotEqual(t, keys[0], keys[1])
	assert.NotContains(t, keys[:2], keys[2])
}

func TestHandlerCanSeeItsExecution(t *testing.T) {
	deliveryCase{
		do: func(ctx context.Context, _ order) (receipt, error) {
			s := shopIn(ctx)
			x, ok := idempotent.FromContext(ctx)
			assert.True(s.t, ok)
			assert.Equal(s.t, "shop", x.Operation)
			assert.Equal(s.t, s.mustRecord().Key, x.RecordKey)
			assert.Equal(s.t, 1, x.Attempt)
			assert.False(s.t, x.Recovered)
			assert.Equal(s.t, idempotent.DerivedKey(ctx, "n"), x.DerivedKey("n"))
			return receipt{}, nil
		},
		runs: 1, left: store.StatusCompleted,
	}.deliver(t, "the first one")
}

func TestTheDerivedKeyOfADescriptionIsThatOfTheExecution(t *testing.T) {
	t.Parallel()
	s := newShop(t, amountFingerprint())
	var handed string
	s.do = func(ctx context.Context, _ order) (receipt, error) {
		handed = idempotent.DerivedKey(ctx, "charge")
		return receipt{}, nil
	}
	s.mustHandle(100)
	d, err := s.handler.Describe(t.Context(), order{ID: "o-1", Amount: 100})
	require.NoError(t, err)
	assert.Equal(t, handed, d.DerivedKey("charge"))
	assert.NotEqual(t, handed, d.DerivedKey("refund"))
	other, err := s.handler.Describe(t.Context(), order{ID: "o-1", Amount: 101})
	require.NoError(t, err)
	assert.Equal(t, d.RecordKey, other.RecordKey)
	assert.NotEqual(t, handed, other.DerivedKey("charge"), "another request has other keys")
}
