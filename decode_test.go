package idempotent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
)

// decodes wraps a handler of ledger events whose key is in a member that every payload has.
func decodes() *idempotent.Handler[ledger, receipt] {
	return idempotent.Wrap(func(context.Context, ledger) (receipt, error) { return receipt{}, nil }, memory.New(),
		keyed[ledger]("k")...)
}

func TestPayloadThatIsNoEventIsRefusedBeforeAnyCall(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{``, `{`, `{"id":5}`, `nonsense`} {
		_, want := lambda.NewHandler(func(context.Context, order) (receipt, error) { return receipt{}, nil }).
			Invoke(t.Context(), []byte(payload))
		require.Error(t, want)
		s := newShop()
		_, err := s.handler.Invoke(t.Context(), []byte(payload))
		var decode *idempotent.Error
		require.ErrorAs(t, err, &decode)
		require.ErrorIs(t, err, idempotent.ErrDecode)
		require.ErrorIs(t, err, idempotent.ErrRefused)
		assert.Empty(t, s.store.Ops())
		assert.Equal(t, report.Refused, s.last.Outcome)
	}
}

func TestDecodeErrorNamesFieldAndReason(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"amount":"5"}`:                        `amount: a string does not fit into int64`,
		`  {"id":"o", "amount": 5.5}`:           `amount: a number does not fit into int64`,
		`{"AMOUNT":true}`:                       `amount: a boolean does not fit into int64`,
		`{"small":300}`:                         `small: a number does not fit into int8`,
		`{"id":{"a":1}}`:                        `id: an object does not fit into string`,
		`{"flag":[]}`:                           `flag: an array does not fit into bool`,
		`[1]`:                                   `an array does not fit into idempotent_test.ledger`,
		`{"nested":{"Deep":[{},{"count":-1}]}}`: `nested.Deep.count: a number does not fit into uint8`,
		`{"byName":{"a":1,"b":"x"}}`:            `byName: a string does not fit into int`,
		`{"word":"no"}`:                         `it was refused by the decoder of its type`,
		`{"strict":2}`:                          `it was refused by the decoder of its type, with a idempotent_test.errStrict`,
		`{"when":"5 o'clock"}`:                  `it is no time of RFC 3339`,

		`{"id":}`:       `it is no JSON (byte 7)`,
		`{"id":"a" "b"`: `it is no JSON (byte 11)`,
		`{x`:            `it is no JSON (byte 2)`,
		`nul1`:          `it is no JSON (byte 4)`,
		`{"id"`:         `it ends too early`,
		` `:             `it is empty`,
	} {
		t.Run(payload, func(t *testing.T) {
			t.Parallel()
			_, err := decodes().Invoke(t.Context(), []byte(payload))
			require.ErrorIs(t, err, idempotent.ErrDecode)
			decode, ok := errors.AsType[*idempotent.Error](err)
			require.True(t, ok, "%v", err)
			if decode.Offset > 0 && !strings.Contains(want, "(byte") {
				want += fmt.Sprintf(" (byte %d)", decode.Offset) // whatever the release counts
			}
			assert.EqualError(t, err, "idempotent: the payload is no event of the handler: "+want)
			assert.LessOrEqual(t, decode.Offset, int64(len(payload)))
			if decode.Field != "" {
				assert.Positive(t, decode.Offset)
			}
		})
	}
}

func TestDecodeErrorHoldsWhatIsHarmless(t *testing.T) {
	t.Parallel()
	_, err := decodes().Invoke(t.Context(), []byte(`{"nested":{"Deep":[{"count":4111}]}}`))
	var wrongType *json.UnmarshalTypeError
	require.ErrorAs(t, err, &wrongType)
	assert.Equal(t, "number", wrongType.Value, "and not which")
	assert.Equal(t, "nested.Deep.count", wrongType.Field)
	assert.Equal(t, "uint8", wrongType.Type.String())
	assert.InDelta(t, 30, wrongType.Offset, 2, "where it stands")

	_, err = decodes().Invoke(t.Context(), []byte(`{"id":x`))
	var syntax *json.SyntaxError
	require.ErrorAs(t, err, &syntax)
	assert.EqualValues(t, 7, syntax.Offset)
	_, err = decodes().Invoke(t.Context(), []byte(`{"id":`))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = decodes().Invoke(t.Context(), nil)
	require.ErrorIs(t, err, io.EOF)

	_, err = decodes().Invoke(t.Context(), []byte(`{"strict":4111}`))
	require.ErrorIs(t, err, errNotOne, "an error of the handler's own types")
	require.NotErrorIs(t, err, errCard)
	require.NotErrorAs(t, err, new(errStrict), "which may hold anything, so it is not shown")
}

// TestEventByValueMayHaveNoJSONForm: that of an HTTP API may, in the context of an authorizer.
func TestEventByValueMayHaveNoJSONForm(t *testing.T) {
	t.Parallel()
	type (
		request  = events.APIGatewayV2HTTPRequest
		response = events.APIGatewayV2HTTPResponse
	)
	h := idempotent.Wrap(func(context.Context, request) (response, error) {
		return response{}, errors.New("it was executed")
	}, memory.New(), idempotent.WithOperation("charge"))
	var e request
	e.RequestContext.HTTP.Method = "GET"
	e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
		Lambda: map[string]any{"tier": formless{}},
	}
	_, err := h.Handle(t.Context(), e)
	var refused *idempotent.Error
	require.ErrorAs(t, err, &refused)
	require.ErrorIs(t, err, idempotent.ErrEncode)
	assert.Equal(t, "the event", refused.Field)
}

type formless struct{}

func (formless) MarshalJSON() ([]byte, error) { return nil, errors.New("it has no JSON form") }
