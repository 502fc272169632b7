package dynamo_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
)

type steps = map[string]store.Step

// startMark is a step that has begun.
func startMark(owner string) store.Step {
	return store.Step{Kind: store.StepStarted, Seal: store.Seal(owner, nil)}
}

// writeSteps changes steps of a held record, as its owner does, and returns what is held then.
func writeSteps(t *testing.T, s *dynamo.Store, held store.Record, changes steps) store.Record {
	t.Helper()
	seen, next := held, held
	seen.StepWrites, next.Steps = store.AnyStepWrites, changes
	mustSwap(t, s, seen, next)
	return mustGet(t, s, held.Key)
}

// inProgress is an item of a record in progress with these attributes beside.
func inProgress(beside item) item {
	it := item{
		"id": S("k"), "status": S("INPROGRESS"), "expiration": N("1800086400"),
		"in_progress_expiration": N("1800000030123"),
		"validation":             S("1:print"), "owner": S("owner-1"), "attempt": N("1"),
		"created_at": N("1800000000007"),
	}
	maps.Copy(it, beside)
	return it
}

// TestTextOfSteps is the form in which steps are stored: what one version has written, every later
// one has to read.
func TestTextOfSteps(t *testing.T) {
	t.Parallel()
	const nothing = "owner-1.47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
	const result, escaped = "FR5USngZndbQCI_ZJeH0g1BypN5-rNKP5shxYsNruzE", "HGtnxpCZ8tbmCiFHX_duS2ePCsdx4G1MuG8f_Ns2DI4"
	for text, want := range map[string]store.Step{
		"started " + nothing: startMark("owner-1"),
		"value " + nothing:   stepValue("owner-1", ""),
		"value owner-1." + result + ` plain {"id":"ch_1"}`:             stepValue("owner-1", `{"id":"ch_1"}`),
		"value owner%201%2520." + escaped + " plain plain gzip parts ": stepValue("owner 1%20", "plain gzip parts "),
		"failure owner-1.another plain  no JSON": {
			Kind: store.StepFailure, Seal: "owner-1.another", Result: []byte(" no JSON"),
		},
		"value owner-1.digest parts 2:1000": {
			Kind: store.StepValue, Seal: "owner-1.digest", Parts: "2:1000",
		},
		"failure owner-1.digest parts 1:999 gzip": {
			Kind: store.StepFailure, Seal: "owner-1.digest", Parts: "1:999 gzip",
		},
		"value  plain x": {Kind: store.StepValue, Result: []byte("x")},
	} {
		got, err := read(inProgress(item{"step:a/b.c": S(text), "steps": N("1")}))
		require.NoError(t, err, text)
		if len(want.Result) == 0 {
			want.Result = nil
		}
		require.Equal(t, steps{"a/b.c": want}, got.Steps, text)
		require.Equal(t, 1, got.StepWrites)

		s, tr := scripted(done)
		next := record("k")
		next.Steps = steps{"a/b.c": want}
		mustSwap(t, s, record("k"), next)
		require.Equal(t, []string{"UpdateItem"}, tr.calls())
		require.Equal(t, map[string]any{"S": text}, valueIn(t, tr, ":step0"), text)
	}
}

func TestStepsThatCannotBeUnderstood(t *testing.T) {
	t.Parallel()
	seal := store.Seal("owner-1", []byte("x"))
	const noStep, noPlace = "is no step that this version knows", "is a step whose result is where this version does not look"
	const noList = "is a step whose list of parts is malformed"
	step := func(text string) item { return item{"step:a": S(text)} }
	for name, c := range map[string]struct {
		beside    item
		attribute string
		reason    string
	}{
		"empty":           {step(""), "step:a", noStep},
		"no kind":         {step(secret), "step:a", noStep},
		"a new kind":      {step("waits " + seal + " plain x"), "step:a", noStep},
		"no seal":         {step("started"), "step:a", "is a step without a seal"},
		"a new place":     {step("value " + seal + " zstd " + secret), "step:a", noPlace},
		"compressed":      {step("value " + seal + " gzip " + secret), "step:a", noPlace},
		"malformed parts": {step("value " + seal + " parts two"), "step:a", noList},
		"no parts":        {step("value " + seal + " parts"), "step:a", noList},
		"N":               {item{"step:a": N("1")}, "step:a", "has type N, not S or B"},
		"M":               {item{"step:a": M(item{"a": S(secret)})}, "step:a", "has type M, not S or B"},
		"one of two": {
			item{"step:a": S("started " + seal), "step:b": BOOL(true)}, "step:b", "has type BOOL, not S or B",
		},
		"steps S":               {item{"steps": S(secret)}, "steps", "has type S, not N"},
		"steps negative":        {item{"steps": N("-1")}, "steps", "of type N"},
		"steps with a fraction": {item{"steps": N("1.5")}, "steps", "of type N is not a whole number"},
		"steps huge":            {item{"steps": N(fmt.Sprint(math.MaxInt32 + 1))}, "steps", "of type N"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, status := range []string{"INPROGRESS", "UNKNOWN"} {
				_, err := read(items(inProgress(c.beside)).with(item{"status": S(status)}))
				requireUnreadable(t, err, fmt.Sprintf("attribute %q %s", c.attribute, c.reason))
			}
			want, err := read(native())
			require.NoError(t, err)
			got, err := read(items(native()).with(c.beside))
			require.NoError(t, err, "what is completed has no steps, whatever is left over")
			require.Equal(t, want, got)
		})
	}
}

func TestAttributesThatOnlyLookLikeSteps(t *testing.T) {
	t.Parallel()
	got, err := read(inProgress(item{"step:": N("1"), "step": N("1"), "stepper": N("1"), "Step:a": N("1")}))
	require.NoError(t, err)
	require.Equal(t, record("k"), got)
}

// TestStepsThatAreLeftOver: an older version completes a record, and AWS Powertools does, without a
// look at its steps.
func TestStepsThatAreLeftOver(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	for name, commit := range map[string]string{
		"an older version": store.Seal("owner-1", []byte(`"a"`)),
		"AWS Powertools":   "x",
	} {
		held := claims(t, s, record("charge#"+name))
		held = writeSteps(t, s, held, steps{"charge": stepValue("owner-1", `"b"`), "mail": startMark("owner-1")})
		require.Len(t, held.Steps, 2)
		complete(t, client, table, held.Key, S(`"a"`))
		it := items(getItem(t, client, table, held.Key)).with(item{"commit": S(commit)})
		require.Contains(t, it, "step:charge")
		putItem(t, client, table, it)

		seen := mustGet(t, s, held.Key)
		require.Equal(t, store.StatusCompleted, seen.Status)
		require.Nil(t, seen.Steps)
		require.Zero(t, seen.StepWrites)
		next := seen
		next.SettledBy = "dana"
		mustSwap(t, s, seen, next) // it is compared without steps
		mustDelete(t, s, seen)
	}
}

// TestStepsStayInTheRecordWhileThereIsRoom: the limit is for all of them together, and what was
// seen counts.
func TestStepsStayInTheRecordWhileThereIsRoom(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	held := claims(t, s, record("charge#key"))
	for n, parts := range []bool{false, false, true, true} { // of 1,500 bytes, which compression makes no smaller
		name := fmt.Sprint("item-", n)
		held = writeSteps(t, s, held, steps{name: stepValue("owner-1", string(pattern(1500+n)))})
		require.Equal(t, parts, held.Steps[name].Parts != "", name)
	}
	held = writeSteps(t, s, held, steps{"small": stepValue("owner-1", `{"id":"ch_1"}`)})
	require.Empty(t, held.Steps["small"].Parts,
		"there is room for a small one, and those in parts are known to be there")
	held = writeSteps(t, s, held, steps{"item-0": removal(), "item-9": stepValue("owner-1", string(pattern(1400)))})
	require.Empty(t, held.Steps["item-9"].Parts, "one that is removed makes room")
	require.NotContains(t, held.Steps, "item-0")
	require.Equal(t, 6, held.StepWrites)

	for n := 1; n < 4; n++ {
		step := held.Steps[fmt.Sprint("item-", n)]
		if step.Parts == "" {
			continue
		}
		require.Equal(t, pattern(1500+n), resultOf(t, s, held.OfStep(step)))
	}
	part := getItem(t, client, table, held.Key+"#"+store.Seal("owner-1", pattern(1502))+"#1")
	require.Equal(t, N(fmt.Sprint(held.Expiry.Add(60*24*time.Hour).Unix())), part["expiration"],
		"a record that becomes UNKNOWN needs it longer")
}

// TestWhatNeedsNoParts: whoever has seen only results knows which of them are in parts, and in
// parts nobody could verify what its seal does not cover.
func TestWhatNeedsNoParts(t *testing.T) {
	t.Parallel()
	large := stepValue("owner-1", string(pattern(9000)))
	unsealed, result := large, completion(record("k"), pattern(5<<10))
	unsealed.Seal, result.Seal = "owner-1.of another result", "owner-1.of another result"
	with := func(all steps) store.Record {
		r := record("k")
		r.Steps = all
		return r
	}
	for name, c := range map[string]struct{ seen, next store.Record }{
		"a small one beside a large one": {
			with(steps{"large": large}), with(steps{"small": stepValue("owner-1", `{"id":"ch_1"}`)}),
		},
		"one that its seal does not cover":      {record("k"), with(steps{"a": unsealed})},
		"a result that its seal does not cover": {record("k"), result},
	} {
		t.Run(name, func(t *testing.T) {
			s, tr := scripted(done)
			mustSwap(t, s, c.seen, c.next)
			require.Equal(t, []string{"UpdateItem"}, tr.calls())
		})
	}
}

// removal is what removes a step.
func removal() store.Step { return store.Step{} }

// TestPartsOfAStepOutliveACompletionThatFails: the completing update may never come, and its parts
// are those of the step.
func TestPartsOfAStepOutliveACompletionThatFails(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	result := pattern(9000)
	held := claims(t, s, record("charge#key"))
	held = writeSteps(t, s, held, steps{"charge": stepValue("owner-1", string(result))})
	stale := held
	stale.Lease = stale.Lease.Add(time.Second)
	_, swapped, err := s.Swap(t.Context(), stale, completion(held, result))
	require.NoError(t, err)
	require.False(t, swapped)
	part := getItem(t, client, table, held.Key+"#"+store.Seal("owner-1", result)+"#1")
	require.Equal(t, N(fmt.Sprint(held.Expiry.Add(60*24*time.Hour).Unix())), part["expiration"])
}

// TestATakeoverOfADamagedStepIsUnreadable: it was added since the record was seen.
func TestATakeoverOfADamagedStepIsUnreadable(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	seen := claims(t, s, record("charge#key"))
	putItem(t, client, table, items(getItem(t, client, table, seen.Key)).with(item{"step:a": S(secret)}))
	taken := seen
	taken.Owner, taken.Attempt = "owner-2", 2
	_, _, err := s.Swap(t.Context(), seen, taken)
	requireUnreadable(t, err, `attribute "step:a" is no step that this version knows`)
}

// valueIn returns a value of the last request.
func valueIn(t *testing.T, tr *transport, name string) any {
	t.Helper()
	request := decoded(t, tr.requests[len(tr.requests)-1].Body).(map[string]any)
	return request["ExpressionAttributeValues"].(map[string]any)[name]
}

func decoded(t *testing.T, text []byte) (v any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(text, &v))
	return v
}
