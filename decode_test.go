package idempotent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
)

// decodes wraps a handler of ledger events whose key is in a member that every payload has.
func decodes() *idempotent.Handler[ledger, receipt] {
	return idempotent.Wrap(func(context.Context, ledger) (receipt, error) { return receipt{}, nil }, memory.New(), keyed[ledger]("k")...)
}

func TestPayloadThatIsNoEventIsRefusedBeforeAnyCall(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{``, `{`, `{"id":5}`, `nonsense`} {
		_, want := lambda.NewHandler(func(context.Context, order) (receipt, error) { return receipt{}, nil }).
			Invoke(t.Context(), []byte(payload))
		require.Error(t, want)
		s := newShop(t)
		_, err := s.handler.Invoke(t.Context(), []byte(payload))
		var decode *idempotent.DecodeError
		require.ErrorAs(t, err, &decode)
		require.ErrorIs(t, err, idempotent.ErrRefused)
		assert.Empty(t, s.store.Ops())
		assert.Equal(t, report.Refused, s.event().Outcome)
	}
}

func TestDecodeErrorNamesFieldAndOffsetAndReason(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"amount":<"5"}`:                        `amount: a string does not fit into int64 (byte 10)`,
		`  {"id":"o", "amount": <5.5}`:           `amount: a number does not fit into int64 (byte 23)`,
		`{"AMOUNT":<true}`:                       `amount: a boolean does not fit into int64 (byte 10)`,
		`{"small":<300}`:                         `small: a number does not fit into int8 (byte 9)`,
		`{"id":<{"a":1}}`:                        `id: an object does not fit into string (byte 6)`,
		`{"flag":<[]}`:                           `flag: an array does not fit into bool (byte 8)`,
		`<[1]`:                                   `an array does not fit into idempotent_test.ledger`,
		`{"nested":{"Deep":[{},{"count":<-1}]}}`: `nested.Deep.1.count: a number does not fit into uint8 (byte 31)`,
		`{"byName":{"a":1,"b":<"x"}}`:            `byName.*: a string does not fit into int (byte 21)`,
		`{"byNumber":{"nine":<"x"}}`:             `byNumber.*: a number does not fit into int8 (byte 20)`,
		`{"when":<"5 o'clock"}`:                  `when: it is no time of RFC 3339 (byte 8)`,
		`{"quoted":<"5x"}`:                       `quoted: a number does not fit into int (byte 10)`,
		`{"word":<"no"}`:                         `word: it was refused by the decoder of its type (byte 8)`,
		`{"strict":<2}`:                          `strict: it was refused by the decoder of its type, with a idempotent_test.errStrict (byte 10)`,
		`{"shadowed":{"when":"2026-01-01T00:00:00Z","amount":<"x"}}`: `shadowed.amount: a string does not fit into int64 (byte 52)`,
		`{"epoch":<"noon"}`: `epoch: a string does not fit into float64 (byte 9)`,

		`{"id":<}`:       `it is no JSON (byte 7)`,
		`{"id":"a"< "b"`: `it is no JSON (byte 11)`,
		`{x`:             `it is no JSON (byte 2)`,
		`nul1`:           `it is no JSON (byte 4)`,
		`{"id"`:          `it ends too early`,
		` `:              `it is empty`,
	} {
		t.Run(payload, func(t *testing.T) {
			t.Parallel()
			_, err := decodes().Invoke(t.Context(), []byte(strings.Replace(payload, "<", "", 1)))
			assert.EqualError(t, err, "idempotent: the payload is no event of the handler: "+want)
			if at := strings.Index(payload, "<"); at > 0 && strings.Contains(want, ": ") && !strings.HasPrefix(want, "it is no JSON") {
				decode, ok := errors.AsType[*idempotent.DecodeError](err)
				require.True(t, ok)
				assert.EqualValues(t, at, decode.Offset, "the value begins here")
				assert.True(t, strings.HasPrefix(want, decode.Field+": "+decode.Reason))
			}
		})
	}
}

// TestDecodeErrorNamesFieldAndOffsetWhateverTheRelease has the values that releases of Go refuse with errors of different types.
func TestDecodeErrorNamesFieldAndOffsetWhateverTheRelease(t *testing.T) {
	t.Parallel()
	for payload, field := range map[string]string{
		`{"blob":<"?4111"}`: "blob", `{"number":<"4111x"}`: "number", `{"quoted":<4111}`: "quoted", `{"byNumber":{"4111":<1}}`: "byNumber.*",
		`{"id":"o","when":<"4111","amount":"4111"}`: "when", `{"amount":<1e4111}`: "amount",
	} {
		t.Run(payload, func(t *testing.T) {
			t.Parallel()
			_, err := decodes().Invoke(t.Context(), []byte(strings.Replace(payload, "<", "", 1)))
			decode, ok := errors.AsType[*idempotent.DecodeError](err)
			require.True(t, ok, "%v", err)
			assert.Equal(t, field, decode.Field)
			assert.EqualValues(t, strings.Index(payload, "<"), decode.Offset)
			assert.NotEmpty(t, decode.Reason)
			for shown := error(decode); shown != nil; shown = errors.Unwrap(shown) {
				assert.NotContains(t, shown.Error(), "4111")
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
	assert.Equal(t, "nested.Deep.0.count", wrongType.Field)
	assert.Equal(t, "uint8", wrongType.Type.String())
	assert.EqualValues(t, 28, wrongType.Offset)

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

// TestDecodeErrorOfALargePayload is found in what the decoder says, and costs little.
func TestDecodeErrorOfALargePayload(t *testing.T) {
	t.Parallel()
	large := []byte(`{"byName":{"a":1},"id":"` + strings.Repeat("x", 1<<20) + `","amount":"x"}`)
	_, err := decodes().Invoke(t.Context(), large)
	assert.EqualError(t, err, "idempotent: the payload is no event of the handler: amount: a string does not fit into int64")

	many := bytes.Repeat([]byte(`"a":1,`), 10_000)
	many = append(append([]byte(`{"byName":{`), many...), `"b":"x"}}`...)
	_, err = decodes().Invoke(t.Context(), many)
	require.ErrorContains(t, err, "a string does not fit into int")
}
