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
