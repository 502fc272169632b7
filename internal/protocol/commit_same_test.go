package protocol_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

// A list of nothing and none say the same: an adapter may have made one of the other between the
// commit and the answer.
func TestAnAnswerThatSaysTheSameIsTheCommittedOne(t *testing.T) {
	type answer struct {
		Lines []string          `json:"lines"`
		Notes map[string]string `json:"notes,omitempty"`
		Text  *string           `json:"text"`
		Sums  []any             `json:"sums"`
	}
	empty, big := "", []any{9007199254740993}
	for name, c := range map[string]struct {
		committed, returned answer
		same                bool
	}{
		"no list, an empty one":      {answer{}, answer{Lines: []string{}}, true},
		"an empty list, none":        {answer{Lines: []string{}}, answer{}, true},
		"no notes, empty ones":       {answer{}, answer{Notes: map[string]string{}}, true},
		"a list with one item":       {answer{}, answer{Lines: []string{"a"}}, false},
		"a list with an empty text":  {answer{}, answer{Lines: []string{""}}, false},
		"an empty text":              {answer{}, answer{Text: &empty}, false},
		"an item that is nothing":    {answer{Sums: []any{nil, 1}}, answer{Sums: []any{1}}, false},
		"another order":              {answer{Sums: []any{1, 2}}, answer{Sums: []any{2, 1}}, false},
		"a number beyond a float's":  {answer{Sums: big}, answer{Sums: []any{9007199254740992}}, false},
		"a list deep in another one": {answer{Sums: []any{[]any{}}}, answer{Sums: []any{nil}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			told := new(seenEvents)
			h := idempotent.Wrap(func(ctx context.Context, _ order) (answer, error) {
				_, err := commit(ctx, c.committed, "row")
				require.NoError(t, err)
				return c.returned, nil
			}, new(till).over(memory.New()), idempotent.WithOperation("shop"), idempotent.WithObserver(told.see),
				idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }))
			first, err := h.Invoke(t.Context(), []byte(`{"id":"o-1"}`))
			require.NoError(t, err)
			if c.same {
				assert.NoError(t, told.seen[0].Err)
			} else {
				require.ErrorIs(t, told.seen[0].Err, idempotent.ErrOtherAnswer)
			}
			again, err := h.Invoke(t.Context(), []byte(`{"id":"o-1"}`))
			require.NoError(t, err)
			assert.Equal(t, string(again), string(first), "what is replayed is what was sent")
		})
	}
}

// A body that is no JSON is told once, and where.
func TestAKeyInATextThatIsNoJSONIsToldOnce(t *testing.T) {
	const invalid, path = "idempotent: shop: idempotency key is invalid: ", "powertools_json(body).id"
	h := idempotent.Wrap(func(context.Context, events.SQSMessage) (int, error) { return 1, nil }, memory.New(),
		idempotent.WithOperation("shop"), idempotent.WithKeyPath(path))
	_, err := h.Handle(t.Context(), events.SQSMessage{Body: "{nope"})
	require.ErrorIs(t, err, idempotent.ErrInvalidKey)
	require.EqualError(t, err, invalid+`the selection of WithKeyPath "`+path+
		`" decodes a text that is no JSON: expected a key in quotes at offset 1`)
	assert.Equal(t, 1, strings.Count(err.Error(), "JSON"))

	_, err = h.Invoke(t.Context(), []byte("{nope"))
	require.EqualError(t, err, invalid+"the event is no JSON: expected a key in quotes at offset 1")
}
