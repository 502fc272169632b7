package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

const (
	owner = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	key   = "order#5"
)

var result = []byte(`{"id":"o-1"}`)

// TestSealOfACommit pins the text: it is stored, and what another version computes is compared with
// it.
func TestSealOfACommit(t *testing.T) {
	t.Parallel()
	require.Equal(t, "ABCDEFGHIJKLMNOPQRSTUVWXYZ.pQwb-4ENPvGyzXtg1BO4s2A1hzVePx3zFVJPo0m2BhM.1",
		store.CommitSeal(owner, result, 1))
	seals := map[string]string{"completion": store.Seal(owner, result)}
	for name, seal := range map[string]string{
		"commit":        store.CommitSeal(owner, result, 1),
		"other owner":   store.CommitSeal("B", result, 1),
		"other answer":  store.CommitSeal(owner, []byte(`{}`), 1),
		"a second one":  store.CommitSeal(owner, result, 2),
		"nothing in it": store.CommitSeal(owner, nil, 1),
	} {
		for other, taken := range seals {
			require.NotEqual(t, taken, seal, "%s and %s", name, other)
		}
		seals[name] = seal
	}
	require.Len(t, seals, 6)
}

func TestSealedHoldsForACompletionAndForACommit(t *testing.T) {
	t.Parallel()
	plain, committed := store.Seal(owner, result), store.CommitSeal(owner, result, 10)
	tail := committed[len(plain):]
	for name, tc := range map[string]struct {
		owner, seal string
		want        bool
	}{
		"completion":                  {owner, plain, true},
		"commit":                      {owner, committed, true},
		"commit of an owner with dot": {"a.b", store.CommitSeal("a.b", result, 10), true},
		"no seal":                     {owner, "", false},
		"no owner and no seal":        {"", "", false},
		"another owner":               {"B", committed, false},
		"another owner's tail":        {owner, store.CommitSeal("B", result, 10), false},
		"another result":              {owner, store.CommitSeal(owner, []byte(`{}`), 10), false},
		"the commit of nobody":        {owner, plain + ".0", false},
		"a number in another form":    {owner, plain + ".010", false},
		"a number with a sign":        {owner, plain + ".+10", false},
		"a tail that is longer":       {owner, committed + "A", false},
		"a dot alone":                 {owner, plain + ".", false},
		"a tail without its dot":      {owner, plain + "A" + tail[1:], false},
		"two tails":                   {owner, committed + tail, false},
		"the beginning of a seal":     {owner, plain[:len(plain)-1], false},
		"the tail alone":              {owner, tail, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := store.Record{Key: key, Owner: tc.owner, Seal: tc.seal, Result: result}
			assert.Equal(t, tc.want, r.Sealed(result))
			assert.False(t, r.Sealed(append([]byte(" "), result...)), "of another result")
		})
	}
}

// TestSealOfAStepIsNoCommit: a step has no writes beside it, so its owner is all that stands before
// the last dot.
func TestSealOfAStepIsNoCommit(t *testing.T) {
	t.Parallel()
	step := store.Step{Kind: store.StepValue, Seal: store.CommitSeal(owner, result, 10), Result: result}
	require.False(t, step.Sealed())
	step.Seal = store.Seal(owner, result)
	require.True(t, step.Sealed())
	require.Equal(t, owner, step.Owner())
}

func TestCommitterOfAStoreThatIsNone(t *testing.T) {
	t.Parallel()
	c, err := store.CommitterOf(memory.New())
	require.Nil(t, c)
	require.ErrorIs(t, err, store.ErrNoCommit)
	require.ErrorContains(t, err, "*memory.Store")
	var failed *store.Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "commit", failed.Op)
	assert.Equal(t, store.FailureRejected, failed.Kind, "which does not pass")
	assert.True(t, failed.NotApplied)
}

func TestCommitterOfAStoreThatIsOne(t *testing.T) {
	t.Parallel()
	s := struct {
		store.Store
		store.Committer
	}{Store: memory.New()}
	c, err := store.CommitterOf(s)
	require.NoError(t, err)
	require.Equal(t, s, c)
}

// The parts of a step live as long as its record can, which may be longer than the record says when
// they are written.
func TestThePartsOfAStepLiveAsLongAsItAsks(t *testing.T) {
	t.Parallel()
	expiry := time.Unix(1_800_000_000, 0)
	r := store.Record{Key: "k", Expiry: expiry}
	assert.Equal(t, expiry, r.OfStep(store.Step{}).Expiry)
	assert.Equal(t, expiry, r.OfStep(store.Step{Until: expiry.Add(-time.Hour)}).Expiry)
	assert.Equal(t, expiry.Add(90*24*time.Hour), r.OfStep(store.Step{Until: expiry.Add(90 * 24 * time.Hour)}).Expiry)
}
