package operate_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// TestWhatIsDoneInEachState: recorded results of steps stay as long as the record has no result of
// its own.
func TestWhatIsDoneInEachState(t *testing.T) {
	t.Parallel()
	records := map[string]store.Record{
		"crashed with steps": halfway(crashed()), "unknown with steps": halfway(unknown()),
		"released with steps": halfway(stopped(crashed())),
	}
	for state, record := range states {
		records[string(state)] = record()
	}
	for name, record := range records {
		state, withSteps := operate.StateOf(record, now), record.Steps != nil
		for action, do := range allChanges() {
			t.Run(name+", "+string(action), func(t *testing.T) {
				t.Parallel()
				d := newDesk(t, nil)
				s := d.shown(record)
				assert.True(t, strings.HasPrefix(name, string(s.State)), s.State)
				assert.Equal(t, now, s.At)
				seen, _ := d.held()
				planned, refusal := do(d, s, dry)
				same, _ := d.held()
				assert.Equal(t, seen, same, "a dry run changes nothing")
				entry, err := do(d, s, act)
				held, found := d.held()
				_, ofStep := stepChanges[action]
				if !withSteps && !slices.Contains(possible[state], action) {
					assert.Equal(t, operate.Entry{}, entry)
					assert.Equal(t, seen, held, "nothing is changed")
					assert.Equal(t, refusal, err)
					switch {
					case state == operate.StateInProgress:
						assert.Equal(t, seen.Lease, refused(t, err, operate.ErrLive).Until)
					case ofStep && slices.Contains(possible[state], operate.ActionExecuted):
						require.ErrorIs(t, err, operate.ErrStep, "it has none")
					default:
						assert.Equal(t, state, refused(t, err, operate.ErrState).State)
						assert.Contains(t, err.Error(), fmt.Sprintf("cannot %s: the record is %s;", action, state))
					}
					return
				}
				require.NoError(t, err)
				assert.True(t, planned.DryRun)
				require.NotEmpty(t, planned.Preview)
				for _, sentence := range planned.Preview {
					assert.True(t, strings.HasSuffix(sentence, "."), sentence)
					assert.NotContains(t, sentence, "secret")
				}
				planned.DryRun, planned.Preview = false, nil
				assert.Equal(t, planned, entry, "but for that it is the entry of the change")
				assert.Equal(t, action, entry.Action)
				assert.Equal(t, state, entry.Before.State)
				assert.Equal(t, s.Steps(), entry.Before.Steps)
				assert.Equal(t, ofStep, entry.Step == "charge")
				digest := ""
				if given := cmp.Or(string(held.Result), string(held.Steps[entry.Step].Result)); given != "" {
					digest = fmt.Sprintf("%x", sha256.Sum256([]byte(given)))
				}
				assert.Equal(t, digest, entry.ResultDigest)
				assert.Equal(t, action != operate.ActionDelete, found)
				assert.Equal(t, found, entry.After != nil)
				text := assertNoResult(t, entry)
				assert.Equal(t, withSteps, strings.Contains(text, `{"name":"charge","state":"open"}`))
				assert.Equal(t, withSteps, strings.Contains(text, `{"name":"reserve","state":"recorded","bytes":18}`))
				if !found {
					return
				}
				after := d.look(key)
				told := after.Story()
				assert.Equal(t, now.Truncate(time.Millisecond).UTC(), told[len(told)-1].At)
				assert.Equal(t, "settled", told[len(told)-1].What)
				assert.Regexp(t, `^((step charge )?(executed|failed)|not executed|released) by dana$`, told[len(told)-1].Detail)
				w := want(seen, action, held.Owner)
				w.Story = held.Story
				assert.Equal(t, w, held)
				assert.NotEqual(t, seen.Owner, held.Owner)
				assert.GreaterOrEqual(t, len(held.Owner), 26, "a token that nobody guesses")
				assert.Equal(t, after.State, entry.After.State)
				assert.Equal(t, after.Steps(), entry.After.Steps)
				assert.Equal(t, "dana", entry.After.SettledBy)
				assert.Equal(t, now.Truncate(time.Millisecond), entry.Time)
			})
		}
	}
}

// assertNoResult checks that an audit log may keep an entry.
func assertNoResult(t *testing.T, e operate.Entry) (text string) {
	t.Helper()
	encoded, err := json.Marshal(e)
	require.NoError(t, err)
	text = string(encoded)
	assert.NotContains(t, text, "secret")
	assert.NotContains(t, text, "owner")
	assert.Contains(t, text, `"by":"dana","why":"ticket 4711: the provider has no charge"`)
	assert.Contains(t, text, `"record_key":"charge#1"`)
	return text
}

// want is the record that a change leaves.
func want(seen store.Record, action operate.Action, owner string) store.Record {
	r := seen
	r.Owner, r.SettledBy, r.SettledReason, r.SettledAt = owner, act.By, act.Why, now.Truncate(time.Millisecond)
	r.Attention, r.AttentionAt, r.Derived = "", time.Time{}, nil
	if least := now.Add(24*time.Hour + time.Second).Truncate(time.Second); r.Expiry.Before(least) {
		r.Expiry = least
	}
	r.Steps, r.StepWrites = nil, 0
	failure := []byte(`{"errorType":"CardDeclined","errorMessage":"no \u003cmoney\u003e"}`)
	switch action {
	case operate.ActionExecuted:
		r.Status, r.Reason, r.Result = store.StatusCompleted, "", []byte(result)
	case operate.ActionFailed:
		r.Status, r.Reason, r.Result = store.StatusCompleted, store.ReasonTerminal, failure
	default:
		r.Status, r.Reason, r.Lease = store.StatusInProgress, store.ReasonReleased, now.Truncate(time.Millisecond)
		if seen.Steps == nil {
			return r
		}
		r.Steps, r.StepWrites = resumable(seen).Steps, seen.StepWrites+1
		r.Attention, r.AttentionAt, r.Derived = store.AttentionOf(key),
			now.Add(store.ReleasedWait).Truncate(time.Millisecond), seen.Derived
		switch action { //nolint:exhaustive // the others write no step
		case operate.ActionStepExecuted:
			r.Steps["charge"] = store.Step{
				Kind: store.StepValue, Seal: store.Seal(owner, []byte(result)), Result: []byte(result),
			}
		case operate.ActionStepFailed:
			r.Steps["charge"] = store.Step{Kind: store.StepFailure, Seal: store.Seal(owner, failure), Result: failure}
		}
		return r
	}
	r.Seal, r.CompletedAt = store.Seal(owner, r.Result), now.Truncate(time.Millisecond)
	return r
}

func TestARecordIsNeverKeptForShorterThanBefore(t *testing.T) {
	t.Parallel()
	for retention, wantDays := range map[time.Duration]int{time.Hour: 30, 40 * 24 * time.Hour: 40} {
		d := newDesk(t, nil, operate.Config{Retention: retention})
		_, err := d.Settle(t.Context(), d.shown(unknown()), operate.Executed([]byte(`1`)), act)
		require.NoError(t, err)
		held, _ := d.held()
		assert.InDelta(t, wantDays*24, held.Expiry.Sub(now).Hours(), 0.01)
	}
}

// TestWhatHasChangedSinceItWasShown: nothing happens, and the error shows the record as it is, and
// then that it is gone.
func TestWhatHasChangedSinceItWasShown(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]func(r *store.Record){
		"completed by its owner": func(r *store.Record) { r.Status, r.Result = store.StatusCompleted, []byte("1") },
		"taken over":             func(r *store.Record) { r.Owner = "owner-2" },
		"renewed":                func(r *store.Record) { r.Lease = now.Add(time.Minute).Truncate(time.Millisecond) },
	} {
		for action, do := range changes {
			for _, a := range acts {
				t.Run(name+", "+string(action), func(t *testing.T) {
					t.Parallel()
					d := newDesk(t, nil)
					s := d.shown(crashed())
					next := s.Record
					alter(&next)
					require.True(t, d.swap(s.Record, next))
					_, err := do(d, s, a)
					is := refused(t, err, operate.ErrChanged).Now
					require.NotNil(t, is)
					held, _ := d.held()
					assert.Equal(t, next, held)
					assert.Equal(t, held, is.Record)
					assert.Equal(t, operate.StateOf(held, now), is.State)
					assert.Contains(t, err.Error(), string(is.State))
					_, err = do(d, *is, act)
					require.NotErrorIs(t, err, operate.ErrChanged, "what the error shows can be acted on")

					if held, found := d.held(); found {
						_, err = d.inner.Delete(t.Context(), held)
						require.NoError(t, err)
					}
					_, err = do(d, s, a)
					assert.Nil(t, refused(t, err, operate.ErrChanged).Now)
					assert.ErrorContains(t, err, "gone")
				})
			}
		}
	}
}

// TestOfTwoOperatorsOneWins: also where both have been shown the same.
func TestOfTwoOperatorsOneWins(t *testing.T) {
	t.Parallel()
	for first, one := range changes {
		for second, other := range changes {
			d := newDesk(t, nil)
			s := d.shown(unknown())
			_, err := one(d, s, act)
			require.NoError(t, err)
			held, found := d.held()
			_, err = other(d, s, operate.Act{By: "eve", Why: "I know better"})
			require.ErrorIs(t, err, operate.ErrChanged, "%s, then %s", first, second)
			after, stays := d.held()
			assert.Equal(t, found, stays)
			assert.Equal(t, held, after)
		}
	}
}

// told is what the preview of a change says, and what it does not say.
type told struct {
	record     store.Record
	change     change
	says, hush []string
}

func (c told) check(t *testing.T, name string) {
	t.Helper()
	d := newDesk(t, nil)
	entry, err := c.change(d, d.shown(c.record), dry)
	require.NoError(t, err, name)
	all := strings.Join(entry.Preview, " ")
	for _, says := range c.says {
		assert.Contains(t, all, says, name)
	}
	for _, hush := range append(c.hush, "secret") {
		assert.NotContains(t, all, hush, name)
	}
}

func TestWhatThePreviewSays(t *testing.T) {
	t.Parallel()
	without := unknown()
	without.Fingerprint = ""
	const rows = "The rows that were committed with its answer stay"
	for name, c := range map[string]told{
		"executed": {unknown(), changes[operate.ActionExecuted], []string{
			"completed with the given result of 18 bytes, and kept until 2086-07-31T12:00:00Z",
			"every request with this key and the same content gets this result. The handler does not run",
			"other content is refused as a mismatch",
			"If the handler commits rows with its answer, they are not written",
		}, []string{rows}},
		"failed": {
			unknown(), changes[operate.ActionFailed],
			[]string{`an error of type "CardDeclined"`, "gets this error"},
			[]string{rows},
		},
		"not executed": {unknown(), changes[operate.ActionNotExecuted], []string{
			"kept as released", "runs the handler, whatever its effects, as attempt 3",
			"the effect is repeated, with the same derived keys",
		}, []string{rows}},
		"deleted": {crashed(), remove, []string{
			"removed", "whatever its content, as if the key were new", "If it comes back first, its result is stored again",
		}, []string{rows, "mismatch"}},
		"deleted, committed": {committed(), remove, []string{rows}, nil},
		"deleted, completed": {completed(), remove, []string{
			"A process that remembers the record (package cache) may go on answering with it until 2086-07-01T13:00:00Z",
		}, []string{rows}},
		"without a fingerprint no content is compared": {without, release, []string{"as attempt 3"}, []string{"content"}},
	} {
		c.check(t, name)
	}
}

func TestBadInputIsRefusedBeforeAnythingIsRead(t *testing.T) {
	t.Parallel()
	type by = operate.Act
	none, long, tooLong := operate.NotExecuted(), strings.Repeat("b", 257), strings.Repeat("m", 4097)
	executed := func(result string) operate.Verdict { return operate.Executed([]byte(result)) }
	responded := func(response string) operate.Verdict { return operate.Responded([]byte(response)) }
	const breaks = "a header or cookie has a line break"
	for name, c := range map[string]struct {
		act            operate.Act
		verdict        operate.Verdict
		field, problem string
	}{
		"nobody":                {by{Why: "w"}, none, "by", "is empty"},
		"no reason":             {by{By: "b"}, none, "why", "is empty"},
		"blank":                 {by{By: " ", Why: "w"}, none, "by", "is empty"},
		"long by":               {by{By: long, Why: "w"}, none, "by", "has 257 bytes, more than 256"},
		"long why":              {by{By: "b", Why: long + long}, none, "why", "has 514 bytes, more than 512"},
		"a line break":          {by{By: "b", Why: "a\nb"}, none, "why", "cannot be printed"},
		"an escape sequence":    {by{By: "\x1b[31mroot", Why: "w"}, none, "by", "cannot be printed"},
		"no UTF-8":              {by{By: "\xff", Why: "w"}, none, "by", "is not UTF-8"},
		"no verdict":            {act, operate.Verdict{}, "verdict", "is none"},
		"no result":             {act, executed(""), "result", "of 0 bytes is no JSON"},
		"no JSON":               {act, executed(`{"secret":`), "result", "of 10 bytes is no JSON"},
		"two values":            {act, executed(`1 2`), "result", "is no JSON"},
		"JSON that is no UTF-8": {act, executed("\"\xff\""), "result", "is no JSON"},
		"no error type":         {act, operate.Failed("", "m"), "error type", "is empty"},
		"no error message":      {act, operate.Failed("t", ""), "error message", "is empty"},
		"a long message":        {act, operate.Failed("t", tooLong), "error message", "more than 4096"},
		"no response":           {act, responded(`"secret"`), "result", "it is no object"},
		"no status":             {act, responded(`{"body":"secret"}`), "result", "statusCode 0 is not from 200 to 599"},
		"status as text":        {act, responded(`{"statusCode":"201"}`), "result", "statusCode has another type"},
		"body as object": {
			act, responded(`{"statusCode":201,"body":{"secret":1}}`), "result", "body has another type",
		},
		"body that is no base64": {
			act, responded(`{"statusCode":200,"isBase64Encoded":true,"body":"secret!"}`), "result", "body is no base64",
		},
		"header with a line":  {act, responded(`{"statusCode":200,"headers":{"a":"secret\r\nb: c"}}`), "result", breaks},
		"header with DEL":     {act, responded(`{"statusCode":200,"headers":{"a":"\u007f"}}`), "result", breaks},
		"name with a line":    {act, responded(`{"statusCode":200,"multiValueHeaders":{"a\nb":["c"]}}`), "result", breaks},
		"cookie with a line":  {act, responded(`{"statusCode":200,"cookies":["a=b\r\nc"]}`), "result", breaks},
		"status out of range": {act, responded(`{"statusCode":600}`), "result", "statusCode 600"},
		// It would end the retries of a client for nothing.
		"status that is not stored": {act, responded(`{"statusCode":409}`), "result", "a handler does not store"},
		"status of a failure":       {act, responded(`{"statusCode":500}`), "result", "a handler does not store"},
		"no step":                   {act, operate.StepExecuted("", []byte(`1`)), "step", "is empty"},
		"no step that failed":       {act, operate.StepFailed("", "T", "m"), "step", "is empty"},
		"a step without JSON":       {act, operate.StepExecuted("charge", nil), "result", "of 0 bytes is no JSON"},
		"a step's failure of many": {
			act, operate.StepFailed("charge", "T", "a\nb"), "error message",
			"cannot be printed",
		},
	} {
		d := newDesk(t, nil)
		s := d.shown(halfway(unknown()))
		held, _ := d.held()
		_, err := d.Settle(t.Context(), s, c.verdict, c.act)
		input := refused(t, err, operate.ErrInput)
		assert.Equal(t, c.field, input.Field, name)
		assert.Contains(t, input.Problem, c.problem, name)
		assert.NotContains(t, err.Error(), "secret", name)
		after, _ := d.held()
		assert.Equal(t, held, after, name)
	}
	d := newDesk(t, func(calls.Call) calls.Fault { t.Error("the store is asked"); return calls.Pass })
	_, err := d.Inspect(t.Context(), "")
	require.ErrorIs(t, err, operate.ErrInput)
	_, err = d.Release(t.Context(), operate.Shown{Record: unknown()}, act)
	require.ErrorIs(t, err, operate.ErrInput, "a record that nobody was shown")
	_, err = d.Result(t.Context(), operate.Shown{Record: completed()})
	require.ErrorIs(t, err, operate.ErrInput)
}

func TestResponsesOfEveryGatewayAreAccepted(t *testing.T) {
	t.Parallel()
	for _, response := range []string{
		`{"statusCode":200,"body":"{}"}`, `{"statusCode":200,"headers":{"a":"b\tc"}}`, `{"statusCode":499,"headers":null,"body":""}`,
		`{"statusCode":201,"statusDescription":"201 Created","headers":{"a":"b"},"multiValueHeaders":{"a":["b"]},"cookies":["c=d"],` +
			`"body":"e30=","isBase64Encoded":true}`,
	} {
		d := newDesk(t, nil)
		_, err := d.Settle(t.Context(), d.shown(unknown()), operate.Responded([]byte(response)), act)
		require.NoError(t, err)
		held, _ := d.held()
		assert.Equal(t, response, string(held.Result))
	}
}

// TestWhatIsShownIsWhatCounts: whoever alters the record that was shown alters no condition.
func TestWhatIsShownIsWhatCounts(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	s := d.shown(live())
	s.Record.Lease, s.State = now.Add(-time.Hour), operate.StateCrashed
	_, err := d.Release(t.Context(), s, act)
	require.ErrorIs(t, err, operate.ErrLive)
}

// TestALeaseThatIsMissing: then the expiry protects.
func TestALeaseThatIsMissing(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	r := crashed()
	r.Lease = time.Time{}
	_, err := d.Release(t.Context(), d.shown(r), act)
	assert.Equal(t, r.Expiry, refused(t, err, operate.ErrLive).Until)
}
