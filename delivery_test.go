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
	"github.com/aws/aws-lambda-go/lambda/handlertrace"
	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
)

var _ lambda.Handler = (*idempotent.Handler[order, receipt])(nil)

func TestWireFormIsThatOfLambdaNewHandler(t *testing.T) {
	t.Parallel()
	type odd struct {
		A string `json:"a"`
		B any    `json:"b"`
	}
	results := map[string]any{
		"struct": odd{"<&>\u2028", 1.5}, "nil": nil, "text": "a\"b", "number": 1e21, "list": []int{1, 2},
		"html": "<script>",
		"raw":  json.RawMessage(`{"z": 1,  "a":2}`), "empty": struct{}{}, "bytes": []byte{1, 2, 3},
	}
	for name, result := range results {
		for _, payload := range []string{`{"a":1}`, ` [1, 2]  `, `"x"`, `null`, `{"a":1} trailing`} {
			t.Run(name+" "+payload, func(t *testing.T) {
				t.Parallel()
				var seen [2]any
				want, wantErr := lambda.NewHandler(func(_ context.Context, in any) (any, error) {
					seen[0] = in
					return result, nil
				}).Invoke(t.Context(), []byte(payload))
				handler := idempotent.Wrap(func(_ context.Context, in any) (any, error) {
					seen[1] = in
					return result, nil
				}, memory.New(), keyed[any]("k")...)
				sent := []byte(payload)
				got, err := handler.Invoke(t.Context(), sent)
				require.Equal(t, wantErr, err)
				assert.Equal(t, string(want), string(got))
				assert.Equal(t, seen[0], seen[1])
				assert.Equal(t, payload, string(sent), "the payload is not modified")

				again, err := handler.Invoke(t.Context(), sent)
				require.NoError(t, err)
				assert.Equal(t, string(want), string(again), "a replay is byte for byte the first answer")
			})
		}
	}
}

// codedError is an error type that retry rules know by name.
type codedError struct{ code string }

func (e codedError) Error() string { return "failed with " + e.code }

func TestErrorsOnTheWireAreTheHandlersOwn(t *testing.T) {
	t.Parallel()
	custom := messages.InvokeResponse_Error{Type: "Custom.Type", Message: "custom"}
	for name, tc := range map[string]struct {
		err  error
		want messages.InvokeResponse_Error
	}{
		"value":   {codedError{"E42"}, messages.InvokeResponse_Error{Type: "codedError", Message: "failed with E42"}},
		"pointer": {&codedError{"E42"}, messages.InvokeResponse_Error{Type: "codedError", Message: "failed with E42"}},
		"custom":  {custom, custom},
		"plain":   {errors.New("x"), messages.InvokeResponse_Error{Type: "errorString", Message: "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop()
			s.do = func(context.Context, order) (receipt, error) { return receipt{}, idempotent.Terminal(tc.err) }
			_, err := s.handler.Invoke(t.Context(), []byte(`{"id":"o-1"}`))
			assert.Equal(t, tc.err, err)
			_, err = s.handler.Invoke(t.Context(), []byte(`{"id":"o-1"}`))
			assert.Equal(t, tc.want, err, "Lambda reports this value as it is")
			assertExecuted(t, s, 1)
		})
	}
}

func TestInputThatTheHandlerMutatesChangesNothing(t *testing.T) {
	t.Parallel()
	executed := 0
	handler := idempotent.Wrap(func(_ context.Context, o *order) (*order, error) {
		executed++
		o.ID, o.Amount = "changed", 0
		return o, nil
	}, memory.New(), idempotent.WithOperation("test"),
		idempotent.WithKey(func(o *order) (string, error) { return o.ID, nil }),
		idempotent.WithFingerprint(func(o *order) (any, error) { return o.Amount, nil }))
	for range 3 {
		out, err := handler.Handle(t.Context(), &order{ID: "o-1", Amount: 5})
		require.NoError(t, err)
		assert.Equal(t, "changed", out.ID)
	}
	assert.Equal(t, 1, executed)
}

func TestResultThatTheCallerMutatesChangesNoReplay(t *testing.T) {
	t.Parallel()
	handler := idempotent.Wrap(func(context.Context, string) (map[string]int, error) {
		return map[string]int{"a": 1}, nil
	}, memory.New(), keyed[string]("k")...)
	wire, err := handler.Invoke(t.Context(), []byte(`""`))
	require.NoError(t, err)
	copy(wire, "XXXXXXX")
	wire, err = handler.Invoke(t.Context(), []byte(`""`))
	require.NoError(t, err)
	assert.JSONEq(t, `{"a":1}`, string(wire))
	copy(wire, "XXXXXXX")
	value, err := handler.Handle(t.Context(), "")
	require.NoError(t, err)
	value["a"] = 2
	value, err = handler.Handle(t.Context(), "")
	require.NoError(t, err)
	assert.Equal(t, 1, value["a"])
}

func TestStreamInsideAnInterfaceIsNotStoredAsAnEmptyObject(t *testing.T) {
	t.Parallel()
	handler := idempotent.Wrap(func(context.Context, string) (any, error) {
		return io.Reader(strings.NewReader("stream")), nil
	}, memory.New(), keyed[string]("k")...)
	_, err := handler.Invoke(t.Context(), []byte(`""`))
	require.ErrorContains(t, err, "stream")
	_, err = handler.Invoke(t.Context(), []byte(`""`))
	require.ErrorIs(t, err, idempotent.ErrUnknownOutcome)
}

func TestTraceOfLambdaSeesEventAndResponse(t *testing.T) {
	t.Parallel()
	var events, responses []any
	ctx := handlertrace.NewContext(t.Context(), handlertrace.HandlerTrace{
		RequestEvent:  func(_ context.Context, e any) { events = append(events, e) },
		ResponseEvent: func(_ context.Context, r any) { responses = append(responses, r) },
	})
	s := newShop()
	_, err := s.handler.Invoke(ctx, []byte(`{"id":"o-1","amount":5}`))
	require.NoError(t, err)
	assert.Equal(t, []any{order{"o-1", 5}}, events)
	assert.Equal(t, []any{receipt{1, 5}}, responses)
}

func TestMissingAndRefusedKeys(t *testing.T) {
	t.Parallel()
	s := newShop()
	_, err := s.handler.Handle(t.Context(), order{})
	var missing *idempotent.Error
	require.ErrorAs(t, err, &missing)
	require.ErrorIs(t, err, idempotent.ErrMissingKey)
	assert.Equal(t, report.MissingKey, s.last.Outcome)
	assert.Empty(t, s.store.Ops(), "no I/O")

	s = newShop(idempotent.WithOptionalKey())
	for range 2 {
		_, err = s.handler.Handle(t.Context(), order{})
		require.NoError(t, err)
	}
	assertExecuted(t, s, 2)
	assert.Equal(t, report.Unprotected, s.last.Outcome)
	assert.Empty(t, s.store.Ops())

	secret := errors.New("the key sk_live_1 is bad")
	s = newShop(idempotent.WithKey(func(order) (string, error) { return "sk_live_1", secret }))
	_, err = s.handler.Handle(t.Context(), order{})
	require.ErrorIs(t, err, idempotent.ErrInvalidKey)
	require.ErrorIs(t, err, secret)
	assert.NotContains(t, err.Error(), "sk_live")
	assert.Empty(t, s.store.Ops())
	assertExecuted(t, s, 0)
}

func TestTenantIsPartOfTheScopeAndFailsClosed(t *testing.T) {
	t.Parallel()
	type tenantKey struct{}
	s := newShop(idempotent.WithTenant(func(ctx context.Context, _ order) (string, error) {
		tenant, ok := ctx.Value(tenantKey{}).(string)
		if !ok {
			return "", errors.New("no session")
		}
		return tenant, nil
	}))
	for _, tenant := range []string{"a", "b", "a"} {
		_, err := s.handler.Handle(context.WithValue(t.Context(), tenantKey{}, tenant), order{ID: "o-1"})
		require.NoError(t, err)
	}
	assertExecuted(t, s, 2)
	_, err := s.handler.Handle(t.Context(), order{ID: "o-1"})
	require.ErrorIs(t, err, idempotent.ErrRefused)
	_, err = s.handler.Handle(context.WithValue(t.Context(), tenantKey{}, ""), order{ID: "o-1"})
	require.ErrorIs(t, err, idempotent.ErrRefused)
	assertExecuted(t, s, 2)
}

func TestTenantsOfLambdaShareNoRecord(t *testing.T) {
	t.Parallel()
	s := newShop()
	for _, tenant := range []string{"a", "b", "", "a"} {
		ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{TenantID: tenant})
		_, err := s.handler.Handle(ctx, order{ID: "o-1"})
		require.NoError(t, err)
	}
	assertExecuted(t, s, 3)
}

func TestFingerprintFunctionThatFailsRefuses(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(order) (any, error){
		"error":        func(order) (any, error) { return nil, errors.New("odd") },
		"no JSON":      func(order) (any, error) { return func() {}, nil },
		"no canonical": func(order) (any, error) { return json.RawMessage(`{"a":1,"a":2}`), nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(idempotent.WithFingerprint(f))
			_, err := s.handler.Handle(t.Context(), order{ID: "o-1"})
			require.ErrorIs(t, err, idempotent.ErrRefused)
			assert.Empty(t, s.store.Ops())
			assertExecuted(t, s, 0)
		})
	}
}

func TestDisabledRunsEveryDeliveryAndSaysSo(t *testing.T) {
	t.Parallel()
	s := newShop(idempotent.WithDisabled(true))
	for range 2 {
		got, err := s.handler.Invoke(t.Context(), []byte(`{"id":"o-1","amount":5}`))
		require.NoError(t, err)
		assert.True(t, bytes.Contains(got, []byte(`"amount":5`)))
	}
	assertExecuted(t, s, 2)
	assert.Empty(t, s.store.Ops())
	assert.Equal(t, report.Disabled, s.last.Outcome)
	s.do = func(context.Context, order) (receipt, error) { return receipt{}, idempotent.Terminal(errCard) }
	_, err := s.handler.Invoke(t.Context(), []byte(`{}`))
	assert.Same(t, errCard, err)
}

func TestADescriptionOfWhatIsNoEventFailsAsTheDecoderDoes(t *testing.T) {
	t.Parallel()
	s := newShop()
	_, want := s.handler.Invoke(t.Context(), []byte(`{"id":7}`))
	require.Error(t, want)
	_, err := s.handler.DescribeEvent(t.Context(), []byte(`{"id":7}`))
	assert.EqualError(t, err, want.Error())
	require.ErrorIs(t, err, idempotent.ErrDecode)
}
