package dynamo_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
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
	held = mustGet(t, s, held.Key)
	return held
}

func claims(t *testing.T, s *dynamo.Store, r store.Record) store.Record {
	t.Helper()
	mustClaim(t, s, r, claimTime)
	return r
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
	for text, want := range map[string]store.Step{
		"started owner-1.47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU": startMark(
			"owner-1"),
		"value owner-1.FR5USngZndbQCI_ZJeH0g1BypN5-rNKP5shxYsNruzE plain {\"id\":\"ch_1\"}": stepValue("owner-1",
			`{"id":"ch_1"}`),
		"value owner-1.47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU": stepValue("owner-1",
			""),
		"value owner%201%2520.HGtnxpCZ8tbmCiFHX_duS2ePCsdx4G1MuG8f_Ns2DI4 plain plain gzip parts ": stepValue(
			"owner 1%20", "plain gzip parts "),
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

		tr := &transport{answer: func(int, *http.Request, request) (*http.Response, error) { return done.send() }}
		seen, next := record("k"), record("k")
		next.Steps = steps{"a/b.c": want}
		_, swapped, err := dynamo.New(scriptedClient(tr), table).Swap(t.Context(), seen, next)
		require.NoError(t, err)
		require.True(t, swapped)
		require.Equal(t, []string{"UpdateItem"}, tr.calls())
		require.Equal(t, map[string]any{"S": text}, valueIn(t, tr, ":step0"), text)
	}
}

func TestStepsThatAreNoTextAreBinary(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	held := claims(t, s, record("charge#binary"))
	held = writeSteps(t, s, held, steps{"odd": stepValue("owner-1", "\"\xff\"")})
	require.Equal(t, steps{"odd": stepValue("owner-1", "\"\xff\"")}, held.Steps)
	it := getItem(t, client, table, held.Key)
	require.Equal(t, B("value "+store.Seal("owner-1", []byte("\"\xff\""))+" plain \"\xff\""), it["step:odd"])
	require.Equal(t, N("1"), it["steps"])
}

func TestStepsThatCannotBeUnderstood(t *testing.T) {
	t.Parallel()
	seal := store.Seal("owner-1", []byte("x"))
	for name, c := range map[string]struct {
		beside item
		reason string
	}{
		"empty":   {item{"step:a": S("")}, `attribute "step:a" is no step that this version knows`},
		"no kind": {item{"step:a": S(secret)}, `attribute "step:a" is no step that this version knows`},
		"a new kind": {
			item{"step:a": S("waits " + seal + " plain x")},
			`attribute "step:a" is no step that this version knows`,
		},
		"no seal": {item{"step:a": S("started")}, `attribute "step:a" is a step without a seal`},
		"a new place": {
			item{"step:a": S("value " + seal + " zstd " + secret)},
			`attribute "step:a" is a step whose result is where this version does not look`,
		},
		"compressed": {
			item{"step:a": S("value " + seal + " gzip " + secret)},
			`attribute "step:a" is a step whose result is where this version does not look`,
		},
		"malformed parts": {
			item{"step:a": S("value " + seal + " parts two")},
			`attribute "step:a" is a step whose list of parts is malformed`,
		},
		"no parts": {
			item{"step:a": S("value " + seal + " parts")},
			`attribute "step:a" is a step whose list of parts is malformed`,
		},
		"N": {item{"step:a": N("1")}, `attribute "step:a" has type N, not S or B`},
		"M": {
			item{"step:a": &types.AttributeValueMemberM{Value: item{"a": S(secret)}}},
			`attribute "step:a" has type M, not S or B`,
		},
		"one of two": {
			item{"step:a": S("started " + seal), "step:b": &types.AttributeValueMemberBOOL{}},
			`attribute "step:b" has type BOOL, not S or B`,
		},
		"steps S":               {item{"steps": S(secret)}, `attribute "steps" has type S, not N`},
		"steps negative":        {item{"steps": N("-1")}, `attribute "steps" of type N`},
		"steps with a fraction": {item{"steps": N("1.5")}, `attribute "steps" of type N is not a whole number`},
		"steps huge":            {item{"steps": N(fmt.Sprint(math.MaxInt32 + 1))}, `attribute "steps" of type N`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, status := range []string{"INPROGRESS", "UNKNOWN"} {
				_, err := read(items(inProgress(c.beside)).with(item{"status": S(status)}))
				requireUnreadable(t, err, c.reason)
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
	for name, set := range map[string]item{
		"an older version": {
			":status": S("COMPLETED"), ":data": S(`"a"`),
			":commit": S(store.Seal("owner-1", []byte(`"a"`))),
		},
		"AWS Powertools": {":status": S("COMPLETED"), ":data": S(`"a"`), ":commit": S("x")},
	} {
		held := claims(t, s, record("charge#"+name))
		held = writeSteps(t, s, held, steps{"charge": stepValue("owner-1", `"b"`), "mail": startMark("owner-1")})
		require.Len(t, held.Steps, 2)
		_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(table), Key: item{"id": S(held.Key)}, ExpressionAttributeValues: set,
			UpdateExpression:         aws.String("SET #s = :status, #d = :data, #c = :commit"),
			ExpressionAttributeNames: map[string]string{"#s": "status", "#d": "data", "#c": "commit"},
		})
		require.NoError(t, err)
		require.Contains(t, getItem(t, client, table, held.Key), "step:charge")

		seen := mustGet(t, s, held.Key)
		require.Equal(t, store.StatusCompleted, seen.Status)
		require.Nil(t, seen.Steps)
		require.Zero(t, seen.StepWrites)
		next := seen
		next.SettledBy = "dana"
		_, swapped, err := s.Swap(t.Context(), seen, next)
		require.NoError(t, err)
		require.True(t, swapped, "it is compared without steps")
		deleted, err := s.Delete(t.Context(), seen)
		require.NoError(t, err)
		require.True(t, deleted)
	}
}

// TestACompletionLeavesNoAttributesOfSteps, or each replay would pay for them.
func TestACompletionLeavesNoAttributesOfSteps(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	held := claims(t, s, record("charge#key"))
	want := getItem(t, client, table, held.Key)
	held = writeSteps(t, s, held,
		steps{"charge": stepValue("owner-1", string(pattern(9000))), "mail": startMark("owner-1")})
	done := completion(held, []byte(`"a"`))
	mustSwap(t, s, held, done)
	maps.Copy(want, item{"status": S("COMPLETED"), "data": S(`"a"`), "commit": S(done.Seal)})
	require.Equal(t, want, getItem(t, client, table, held.Key))
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
		got, err := s.ReadResult(t.Context(), held.OfStep(step))
		require.NoError(t, err)
		require.Equal(t, pattern(1500+n), got)
	}
	part := getItem(t, client, table, held.Key+"#"+store.Seal("owner-1", pattern(1502))+"#1")
	require.Equal(t, N(fmt.Sprint(held.Expiry.Add(60*24*time.Hour).Unix())), part["expiration"],
		"a record that becomes UNKNOWN needs it longer")
}

func TestWhoHasSeenOnlyResultsKnowsWhichAreInParts(t *testing.T) {
	t.Parallel()
	s, tr := scripted(done)
	seen := record("k")
	seen.Steps = steps{"large": stepValue("owner-1", string(pattern(9000)))} // as its owner has recorded it
	next := seen
	next.Steps = steps{"small": stepValue("owner-1", `{"id":"ch_1"}`)}
	mustSwap(t, s, seen, next)
	require.Equal(t, []string{"UpdateItem"}, tr.calls())
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

func TestStepBeyondWhatPartsHold(t *testing.T) {
	t.Parallel()
	s, tr := scripted(done)
	r := record("k")
	next := r
	next.Steps = steps{
		"a": stepValue("owner-1", string(pattern(9000))),
		"b": stepValue("owner-1", string(make([]byte, 100*partSize+1))),
	}
	_, swapped, err := s.Swap(t.Context(), r, next)
	require.False(t, swapped)
	requireStoreError(t, err, "swap", store.FailureTooLarge, true)
	require.Empty(t, tr.calls(), "not even the parts of the other one are written")
}

// TestStepThatItsSealDoesNotCoverStaysInTheRecord: in parts nobody could verify it.
func TestStepThatItsSealDoesNotCoverStaysInTheRecord(t *testing.T) {
	t.Parallel()
	s, tr := scripted(done)
	r := record("k")
	next := r
	step := stepValue("owner-1", string(pattern(9000)))
	step.Seal = "owner-1.of another result"
	next.Steps = steps{"a": step}
	mustSwap(t, s, r, next)
	require.Equal(t, []string{"UpdateItem"}, tr.calls())
}

// TestPartsOfAStepPrecedeTheUpdate: what fails before the update has changed nothing, however it
// failed.
func TestPartsOfAStepPrecedeTheUpdate(t *testing.T) {
	inBubble(t, partsOfAStepPrecedeTheUpdate)
}

func partsOfAStepPrecedeTheUpdate(t *testing.T) {
	for _, answer := range []reply{lost, broken, throttled} {
		s, tr := scripted(answer)
		next := record("k")
		next.Steps = steps{"a": stepValue("owner-1", string(pattern(9000)))}
		_, swapped, err := s.Swap(t.Context(), record("k"), next)
		require.False(t, swapped)
		var se *store.Error
		require.ErrorAs(t, err, &se)
		require.True(t, se.NotApplied)
		require.NotContains(t, strings.Join(tr.calls(), " "), "UpdateItem")
	}
}

// TestATakeoverWithoutTheRecordReadsIt: some implementations of DynamoDB's API, and clients that
// something wraps, do not pass it on.
func TestATakeoverWithoutTheRecordReadsIt(t *testing.T) {
	t.Parallel()
	taken := record("k")
	taken.Owner, taken.Attempt = "owner-2", 2
	held := `{"Item":{"id":{"S":"k"},"status":{"S":"INPROGRESS"},"owner":{"S":"owner-2"},"expiration":{"N":"1800086400"},` +
		`"step:a":{"S":"started owner-1.x"},"steps":{"N":"1"}}}`
	s, tr := scripted(done, reply{status: http.StatusOK, body: held})
	got, swapped, err := s.Swap(t.Context(), record("k"), taken)
	require.NoError(t, err)
	require.True(t, swapped)
	require.Equal(t, []string{"UpdateItem", "GetItem"}, tr.calls())
	require.Equal(t, "owner-2", got.Owner)
	require.Equal(t, steps{"a": {Kind: store.StepStarted, Seal: "owner-1.x"}}, got.Steps)

	for name, answer := range map[string]reply{
		"gone":             done,
		"of another owner": {status: http.StatusOK, body: strings.Replace(held, "owner-2", "owner-3", 1)},
		"completed since":  {status: http.StatusOK, body: strings.Replace(held, "INPROGRESS", "COMPLETED", 1)},
		"lost":             lost,
	} {
		s, _ := scripted(done, answer)
		_, swapped, err := s.Swap(t.Context(), record("k"), taken)
		require.False(t, swapped, name)
		requireStoreError(t, err, "swap", store.FailureUnavailable, false)
	}
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
