package dynamo_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// bill is an event whose handler is counted.
type bill struct{ ID, Text string }

// till counts the executions of a handler on a store.
type till struct {
	*idempotent.Handler[bill, string]
	executed  int
	recordKey string
}

func newTill(records store.Store, opts ...idempotent.Option) *till {
	u := &till{}
	defaults := []idempotent.Option{
		idempotent.WithOperation("garbage"), unhurried(),
		idempotent.WithKey(func(b bill) (string, error) { return b.ID, nil }),
		idempotent.WithFingerprint(func(b bill) (any, error) { return b.Text, nil }),
		idempotent.WithObserver(func(_ context.Context, e report.Delivery) { u.recordKey = e.RecordKey }),
	}
	u.Handler = idempotent.Wrap(func(_ context.Context, b bill) (string, error) {
		u.executed++
		return b.Text, nil
	}, records, append(defaults, opts...)...)
	return u
}

// answerable are the errors that a record which nobody wrote may be answered with.
var answerable = []error{
	idempotent.ErrUnreadable, idempotent.ErrInProgress, idempotent.ErrUnknownOutcome, idempotent.ErrMismatch,
}

// requireRefused checks an answer that was given without an execution: a clear error, or what the
// record says the result is.
func requireRefused(t *testing.T, records store.Store, key, out string, err error) {
	t.Helper()
	if err == nil {
		r := mustGet(t, records, key)
		if r.Parts == "" { // what parts hold is vouched for by the commit
			require.Equal(t, store.StatusCompleted, r.Status)
			var stored string
			require.NoError(t, json.Unmarshal(r.Result, &stored))
			require.Equal(t, stored, out)
		}
		return
	}
	require.True(t, slices.ContainsFunc(answerable, func(target error) bool { return errors.Is(err, target) }), "%v",
		err)
	if unknown, ok := errors.AsType[*idempotent.Error](err); ok && unknown.Reason == secret {
		return // the reason is told, whoever wrote it
	}
	require.NotContains(t, err.Error(), secret)
}

// spoil returns variants of an item in which one attribute is missing, of each wrong type, cut
// short, or somebody else's. The key stays, and so does what would rightly let the record be taken.
func spoil(it, other item) map[string]item {
	variants := map[string]item{}
	for name := range it {
		if name == "id" {
			continue
		}
		put := func(how string, v types.AttributeValue) {
			variants[name+" "+how] = items(it).with(item{name: v})
		}
		put("missing", nil)
		for how, v := range map[string]types.AttributeValue{
			"S": S(secret), "N": N("7777777777777"), "B": B(secret),
			"BOOL": &types.AttributeValueMemberBOOL{Value: true},
			"NULL": &types.AttributeValueMemberNULL{Value: true},
			"M":    &types.AttributeValueMemberM{Value: item{"a": S(secret)}},
			"L":    &types.AttributeValueMemberL{Value: []types.AttributeValue{S(secret)}},
			"SS":   &types.AttributeValueMemberSS{Value: []string{secret}},
			"NS":   &types.AttributeValueMemberNS{Value: []string{"1"}},
			"BS":   &types.AttributeValueMemberBS{Value: [][]byte{{1}}}, "S empty": S(""), "N negative": N("-1"),
			"N fraction": N("0.5"),
		} {
			// an expiry that has come is no garbage
			if name != "expiration" || !strings.HasPrefix(how, "N") || how == "N" {
				put(how, v)
			}
		}
		if s, ok := it[name].(*types.AttributeValueMemberS); ok {
			put("cut short", S(s.Value[:len(s.Value)/2]))
			put("of another record", other[name])
		}
	}
	return variants
}

// TestGarbageInTheTableIsAnsweredClearlyAndNeverExecutedOver spoils records of each state, one
// attribute after the other, in a real table, and delivers the request again.
func TestGarbageInTheTableIsAnsweredClearlyAndNeverExecutedOver(t *testing.T) {
	records, client, table := local(t)
	large := strings.Repeat("x", 10_000) // kept in parts
	lease := N(strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10))
	states := map[string]struct {
		text    string
		changes item
	}{
		"completed":           {"small", nil},
		"completed, in parts": {large, nil},
		"in progress": {"small", item{
			"status": S("INPROGRESS"), "in_progress_expiration": lease, "data": nil, "commit": nil,
		}},
		"unknown": {"small", item{"status": S("UNKNOWN"), "reason": S("panic"), "data": nil, "commit": nil}},
		"in progress, with steps": {"small", item{
			"status": S("INPROGRESS"), "in_progress_expiration": lease, "data": nil, "commit": nil, "steps": N("2"),
			"step:charge": S("value " + store.Seal("o", []byte(`"a"`)) + ` plain "a"`),
			"step:mail":   S("started " + store.Seal("o", nil)),
		}},
		"unknown, with steps": {"small", item{
			"status": S("UNKNOWN"), "reason": S("panic"), "data": nil, "commit": nil, "steps": N("1"),
			"step:mail": S("failure " + store.Seal("o", []byte("x")) + " parts 1:1000 gzip"),
		}},
	}
	tried := 0
	for state, c := range states {
		u := newTill(records)
		complete := func(b bill) item {
			_, err := u.Handle(t.Context(), b)
			require.NoError(t, err)
			return getItem(t, client, table, u.recordKey)
		}
		b := bill{ID: state, Text: c.text}
		whole := items(complete(b)).with(c.changes)
		other := complete(bill{ID: state + " of someone else", Text: c.text + "!"})
		before := u.executed
		for how, it := range spoil(whole, other) {
			tried++
			putItem(t, client, table, it)
			out, err := u.Handle(t.Context(), b)
			require.Equal(t, before, u.executed, "%s, %s: executions", state, how)
			requireRefused(t, records, u.recordKey, out, err)
			if _, ok := it["parts"]; ok && it["data"] == nil && err == nil {
				require.Equal(t, c.text, out, "%s, %s", state, how)
			}
			assert.Equal(t, it, getItem(t, client, table, it["id"].(*types.AttributeValueMemberS).Value),
				"%s, %s: is left alone", state, how)
		}
	}
	t.Log(tried, "spoiled records")
}

// FuzzInvokeOverGarbage: whatever item refuses a claim, the handler does not run, and the answer is
// a clear error or the result that the item holds.
func FuzzInvokeOverGarbage(f *testing.F) {
	f.Add([]byte("\x00\x0aCOMPLETED.\x01\x0a1800086400"))
	f.Add([]byte(strings.Repeat("\x02\x05abcde", 13)))
	f.Fuzz(func(t *testing.T, in []byte) {
		it := arbitrary(in)
		before := maps.Clone(it)
		records := dynamo.New(wall(it), table)
		u := newTill(records, idempotent.WithTiming(idempotent.Timing{ClaimBudget: 200 * time.Millisecond}))
		out, err := u.Handle(t.Context(), bill{ID: "k", Text: "x"})
		require.Zero(t, u.executed)
		// it would be claimed or taken over, and every attempt is refused
		if !errors.Is(err, idempotent.ErrStoreUnavailable) {
			requireRefused(t, records, u.recordKey, out, err)
		}
		require.Equal(t, before, it)
	})
}
