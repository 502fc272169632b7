package idempotent_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
)

func TestPowertoolsResultsAreKeptAsTheLanguageDoes(t *testing.T) {
	t.Parallel()
	type result = json.RawMessage
	for name, c := range map[string]struct {
		option idempotent.Option
		key    string
		out    string
		layout idempotent.Layout
		kept   string
	}{
		"python":            {python(), key1, `{"b": 1, "a":[1.0]}`, idempotent.LayoutText, `{"b":1,"a":[1.0]}`},
		"python, a string":  {python(), key1, `"a"`, idempotent.LayoutText, `"a"`},
		"java":              {java(), key1, `{"b":1,"a":2}`, idempotent.LayoutText, `{"b":1,"a":2}`},
		"typescript":        {typescript(), key1TS, `{"b":1,"a":[1.50,"x"]}`, idempotent.LayoutValue, `{"a":[1.5,"x"],"b":1}`},
		"typescript, text":  {typescript(), key1TS, `"a"`, idempotent.LayoutValue, `"a"`},
		"typescript, false": {typescript(), key1TS, `false`, idempotent.LayoutValue, `false`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNeighbour(t, returns(result(c.out)), c.option)
			first, err := n.invoke()
			require.NoError(t, err)
			assert.JSONEq(t, c.out, first)
			r := n.record(c.key)
			assert.Equal(t, c.layout, r.Layout)
			assert.Equal(t, c.kept, string(r.Result))
			assert.True(t, r.Committed(r.Result))

			replay, err := n.invoke()
			require.NoError(t, err)
			assert.Equal(t, c.kept, replay)
			assert.Equal(t, 1, n.executed)
		})
	}
}

// TestPowertoolsStringsInJava: Java keeps a string without quotes, if the handler's type says that it is one.
func TestPowertoolsStringsInJava(t *testing.T) {
	t.Parallel()
	n := newNeighbour(t, returns(`say "hi"`), java())
	for range 2 {
		got, err := n.invoke()
		require.NoError(t, err)
		assert.Equal(t, `"say \"hi\""`, got)
	}
	assert.Equal(t, 1, n.executed)
	assert.Equal(t, `say "hi"`, string(n.record(key1).Result))

	n = newNeighbour(t, returns("new"), java())
	n.theirs(key1, func(r *idempotent.Record) { r.Result = []byte(`{"a":1}`) })
	got, err := n.invoke()
	require.NoError(t, err)
	assert.Equal(t, `"{\"a\":1}"`, got, "a text, whatever it looks like")
}

// TestPowertoolsResultsThatTheLanguageCannotRead leave the outcome unknown: the effect happened and must not happen again.
func TestPowertoolsResultsThatTheLanguageCannotRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		option idempotent.Option
		key    string
		out    string
	}{
		"a string among objects in Java":    {java(), key1, `"text"`},
		"an integer beyond TypeScript's":    {typescript(), key1TS, `9007199254740993`},
		"a member without a name":           {typescript(), key1TS, `{"":1}`},
		"a member twice":                    {python(), key1, `{"a":1,"a":2}`},
		"a surrogate without its half":      {typescript(), key1TS, `"\ud800"`},
		"a member twice, as a value of AWS": {typescript(), key1TS, `{"a":1,"a":2}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNeighbour(t, returns(json.RawMessage(c.out)), c.option)
			got, err := n.invoke()
			require.NoError(t, err)
			assert.Equal(t, c.out, got, "the first caller gets its answer")
			r := n.record(c.key)
			assert.Equal(t, idempotent.StatusUnknown, r.Status)
			assert.Equal(t, "result-lost", r.Reason)
			require.Len(t, n.seen.seen, 1)
			assert.Error(t, n.seen.seen[0].StoreErr, "the observer learns why")
			assert.Equal(t, idempotent.SettledUnknown, n.seen.seen[0].Settlement)

			_, err = n.invoke()
			require.ErrorIs(t, err, idempotent.ErrUnknownOutcome)
			assert.Equal(t, 1, n.executed)
		})
	}
}

// TestPowertoolsTerminalErrorIsUnknown: their readers would replay it as a result.
func TestPowertoolsTerminalErrorIsUnknown(t *testing.T) {
	t.Parallel()
	n := newNeighbour(t, func() (int, error) { return 0, idempotent.Terminal(errCard) }, python())
	_, err := n.invoke()
	require.Equal(t, errCard, err)
	r := n.record(key1)
	assert.Equal(t, idempotent.StatusUnknown, r.Status)
	assert.Equal(t, "terminal", r.Reason)
	assert.Empty(t, r.Result)
	_, err = n.invoke()
	require.ErrorIs(t, err, idempotent.ErrUnknownOutcome)
	assert.Equal(t, 1, n.executed)
}

// TestPowertoolsRecordsAreRead goes through what a memory store can hold of theirs; internal/interop has the rest.
func TestPowertoolsRecordsAreRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		option idempotent.Option
		key    string
		layout idempotent.Layout
		kept   []byte
		want   string // empty if it cannot be read
	}{
		"python":                        {python(), key1, "", []byte(`{"ok": true}`), `{"ok": true}`},
		"python, nothing":               {python(), key1, "", nil, `null`},
		"python, NaN":                   {python(), key1, "", []byte(`{"x": NaN}`), ""},
		"python, a value of TypeScript": {python(), key1, idempotent.LayoutValue, []byte(`{}`), ""},
		"java, a text that is no JSON":  {java(), key1, "", []byte(`hello`), ""},
		"typescript, object":            {typescript(), key1TS, idempotent.LayoutValue, []byte(`{"a":1}`), `{"a":1}`},
		"typescript, string":            {typescript(), key1TS, "", []byte(`{"a":1}`), `"{\"a\":1}"`},
		"typescript, undefined":         {typescript(), key1TS, "", nil, `null`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNeighbour(t, returns(json.RawMessage(`1`)), c.option)
			n.theirs(c.key, func(r *idempotent.Record) { r.Layout, r.Result = c.layout, c.kept })
			got, err := n.invoke()
			assert.Zero(t, n.executed)
			if c.want == "" {
				require.ErrorIs(t, err, idempotent.ErrUnreadable)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

// TestPowertoolsTakeoverIsCompletedInTheLayout: a record of theirs whose lease lapsed becomes one that both read.
func TestPowertoolsTakeoverIsCompletedInTheLayout(t *testing.T) {
	t.Parallel()
	n := newNeighbour(t, returns(json.RawMessage(`{"b":1,"a":2}`)), typescript())
	n.theirs(key1TS, func(r *idempotent.Record) {
		r.Status, r.Lease = idempotent.StatusInProgress, time.Now().Add(-time.Second).Truncate(time.Millisecond)
	})
	_, err := n.invoke()
	require.NoError(t, err)
	r := n.record(key1TS)
	assert.Equal(t, idempotent.StatusCompleted, r.Status)
	assert.Equal(t, idempotent.LayoutValue, r.Layout)
	assert.Equal(t, 2, r.Attempt)
	assert.JSONEq(t, `{"b":1,"a":2}`, string(r.Result))
}
