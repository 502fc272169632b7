package idempotent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
	"weak"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// The results of handlers, by what JSON makes of them.
type (
	hidden        struct{ id string } //nolint:unused // the encoder must not see it
	hiddenInside  struct{ Inner hidden }
	hiddenPointer struct{ Inner *hidden }
	ignored       struct {
		ID string `json:"-"`
	}
	embedsHidden  struct{ hidden } //nolint:unused // the encoder must not see it
	embedsPlain   struct{ plainResult }
	embedsPointer struct{ *plainResult }
	embedsScalar  struct{ scalar } //nolint:unused // the encoder must not see it
	scalar        int
	plainResult   struct{ ID string }
	partlyHidden  struct {
		ID string
		mu sync.Mutex //nolint:unused // the encoder must not see it
	}
	hasChannel struct {
		ID   string
		Done chan struct{}
	}
	hasFunc struct {
		ID    string
		After func() `json:"after"`
	}
	hasFuncs     struct{ After []func() }
	hasFuncIfAny struct {
		ID    string
		After func() `json:",omitzero"`
	}
	hasFuncAside struct {
		ID    string
		After func() `json:"-"`
	}
	hasComplex  struct{ Z complex128 }
	hasDeepFunc struct {
		Inner struct{ Deep [1]struct{ F func() } }
	}
	list          struct{ next *list } //nolint:unused // the encoder must not see it
	tree          struct{ Left, Right *tree }
	treeOf[T any] struct {
		Value T
		Next  *treeOf[T]
	}
	marker      struct{ _ struct{} }
	markers     struct{ Done struct{} }
	byPair      map[[2]int]string
	hasByPair   struct{ Names map[[2]int]string }
	byAddress   map[netip.Addr]string
	byFlag      map[bool]string
	byScalar    map[scalar]string
	ownJSON     struct{ id string } //nolint:unused // the encoder must not see it
	ownText     struct{ id string } //nolint:unused // the encoder must not see it
	ownPointer  struct{ id string } //nolint:unused // the encoder must not see it
	ownPointers []ownPointer
	hasPointer  struct{ Own ownPointer }
	stringer    = fmt.Stringer
	ringed      []ringed
)

func (ownJSON) MarshalJSON() ([]byte, error)     { return []byte(`"x"`), nil }
func (ownText) MarshalText() ([]byte, error)     { return []byte("x"), nil }
func (*ownPointer) MarshalJSON() ([]byte, error) { return []byte(`"x"`), nil }

// result is the type of a result, and wraps a handler that has it.
type result struct {
	reflect.Type

	wrap func()
}

func of[Out any]() result {
	return result{reflect.TypeFor[Out](), func() {
		idempotent.Wrap(func(context.Context, order) (out Out, _ error) { return out, nil }, memory.New(),
			keyed[order]("k")...)
	}}
}

func TestResultThatJSONCannotCarryIsRefusedWhenWrapping(t *testing.T) {
	t.Parallel()
	for why, results := range map[string][]result{
		"has no exported field": {
			of[hidden](), of[*hidden](), of[[]hidden](), of[map[string]hidden](), of[hiddenInside](),
			of[hiddenPointer](), of[ignored](), of[embedsHidden](), of[embedsScalar](), of[list](), of[sync.Mutex](),
		},
		"MarshalJSON of *idempotent_test.ownPointer": {of[ownPointer](), of[hasPointer]()},

		"chan int has no JSON form":             {of[chan int](), of[[]chan int]()},
		"func() has no JSON form":               {of[func()](), of[*func()]()},
		"complex64 has no JSON form":            {of[complex64]()},
		"unsafe.Pointer has no JSON form":       {of[unsafe.Pointer]()},
		"Done: chan struct {} has no JSON form": {of[hasChannel]()},
		"after: func() has no JSON form":        {of[hasFunc](), of[[]hasFunc]()},
		"Z: complex128 has no JSON form":        {of[hasComplex]()},
		"Inner.Deep.F: func() has no JSON form": {of[hasDeepFunc]()},
		"byPair has no JSON form":               {of[byPair]()},
		"byFlag has no JSON form":               {of[byFlag]()},
	} {
		for _, r := range results {
			problems := problemsOf(t, r.wrap)
			require.Len(t, problems, 1, "%v", problems)
			assert.Contains(t, problems[0], "the result "+r.String()+" ")
			assert.Contains(t, problems[0], why)
			if r.Kind() == reflect.Struct { // hold the rule against encoding/json itself, of whatever release
				text, err := json.Marshal(reflect.Zero(r.Type).Interface())
				says := strings.Trim(string(text), `{}"Iner:Owul`)
				assert.True(t, err != nil || says == "", "%v: %s says nothing of it", r, text)
			}
		}
	}
}

func TestResultThatJSONCarriesIsTaken(t *testing.T) {
	t.Parallel()
	for _, r := range []result{
		of[struct{}](), of[*struct{}](), of[[0]int](), of[marker](), of[markers](),
		of[any](), of[error](), of[stringer](), of[int](), of[uintptr](), of[[]byte](),
		of[json.RawMessage](), of[json.Number](), of[time.Time](), of[*time.Time](), of[netip.Addr](),
		of[*big.Float](), of[*big.Int](), of[[]big.Int](),
		of[plainResult](), of[partlyHidden](), of[embedsPlain](), of[embedsPointer](),
		of[hasFuncs](), of[hasFuncIfAny](), of[hasFuncAside](), of[tree](), of[treeOf[tree]](), of[ringed](),
		of[byAddress](), of[byScalar](), of[ownJSON](), of[ownText](),
		of[*ownPointer](), of[ownPointers](), of[*hasPointer](),
		of[events.SQSEventResponse](), of[events.APIGatewayCustomAuthorizerResponse](),
		of[map[string]events.DynamoDBAttributeValue](), of[events.CognitoEventUserPoolsPreTokenGenV2_0](),
	} {
		assert.NotPanics(t, r.wrap, r)
		_, err := json.Marshal(reflect.Zero(r.Type).Interface())
		require.NoError(t, err, r)
	}
}

// TestResultThatOnlyARunCanShow is taken when wrapping, and refused when a handler returns it.
func TestResultThatOnlyARunCanShow(t *testing.T) {
	t.Parallel()
	for name, invoke := range map[string]func() error{
		"func in a list": func() error { return failsWith(t, hasFuncs{After: []func(){func() {}}}) },
		"field of pairs": func() error { return failsWith[any](t, hasByPair{Names: byPair{{1, 2}: "x"}}) },
		"number":         func() error { return failsWith(t, math.NaN()) },
		"any":            func() error { return failsWith[any](t, make(chan int)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := invoke()
			var unsupported *json.UnsupportedTypeError
			var value *json.UnsupportedValueError
			assert.True(t, errors.As(err, &unsupported) || errors.As(err, &value), "%v", err)
		})
	}
}

// failsWith invokes a handler with this result.
func failsWith[Out any](t *testing.T, out Out) error {
	t.Helper()
	h := idempotent.Wrap(func(context.Context, order) (Out, error) { return out, nil }, memory.New(),
		keyed[order]("k")...)
	_, err := h.Invoke(t.Context(), []byte(`{"id":"o"}`))
	return err
}

// whenStored calls done when an answer is being stored.
type whenStored struct {
	store.Store
	done func()
}

func (w *whenStored) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	if next.Status == store.StatusCompleted {
		w.done()
	}
	return w.Store.Swap(ctx, seen, next)
}

// TestALargeAnswerIsNotKeptTwiceWhileItIsStored: the value of the handler may be collected, because
// its text is all that is needed.
func TestALargeAnswerIsNotKeptTwiceWhileItIsStored(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	var text weak.Pointer[byte]
	large := func() string {
		body := strings.Repeat("x", size)
		text = weak.Make(unsafe.StringData(body))
		return body
	}
	stored := 0
	s := &whenStored{memory.New(), func() {
		stored++
		runtime.GC()
		assert.Nil(t, text.Value(), "the value is in memory beside its text")
	}}
	plain := idempotent.Wrap(func(context.Context, order) (string, error) { return large(), nil }, s,
		keyed[order]("k")...)
	answer, err := plain.Invoke(t.Context(), []byte(`{"id":"o"}`))
	require.NoError(t, err)
	assert.Len(t, answer, size+len(`""`))

	type response = events.APIGatewayV2HTTPResponse
	charge := idempotent.Wrap(func(context.Context, events.APIGatewayV2HTTPRequest) (response, error) {
		return response{StatusCode: 201, Body: large()}, nil
	}, s)
	answer, err = charge.Invoke(t.Context(), jsonOf(t, httpEvent))
	require.NoError(t, err)
	var got response
	require.NoError(t, json.Unmarshal(answer, &got))
	assert.Len(t, got.Body, size)
	assert.Equal(t, 2, stored)
}

var httpEvent = events.APIGatewayV2HTTPRequest{
	Version: "2.0", RouteKey: "POST /charges", RawPath: "/charges",
	Headers: map[string]string{"idempotency-key": "k", "content-type": "application/json"}, Body: `{"amount":1}`,
	RequestContext: events.APIGatewayV2HTTPRequestContext{
		HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: "POST", Path: "/charges"},
	},
}

func jsonOf(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return text
}

// TestALargeAnswerOnTheWireIsTheAnswerByValue: also where it cannot be announced in its text.
func TestALargeAnswerOnTheWireIsTheAnswerByValue(t *testing.T) {
	body := strings.Repeat("x", 100<<10)
	headers := map[string]string{"idempotent-replayed": "true", "Set-Cookie": "a=b", "X-Order": "1"}
	single := map[string]string{"idempotency-key": "k"}
	for name, same := range map[string]func(t *testing.T, headers map[string]string){
		"HTTP API": func(t *testing.T, headers map[string]string) {
			t.Helper()
			sameOnTheWire(t, httpEvent, events.APIGatewayV2HTTPResponse{StatusCode: 201, Headers: headers, Body: body})
		},
		"REST API": func(t *testing.T, headers map[string]string) {
			t.Helper()
			sameOnTheWire(t, events.APIGatewayProxyRequest{
				HTTPMethod: "POST", Path: "/charges", Resource: "/charges", Headers: single,
			}, events.APIGatewayProxyResponse{StatusCode: 201, Headers: headers, Body: body})
		},
		"load balancer": func(t *testing.T, headers map[string]string) {
			t.Helper()
			sameOnTheWire(t, events.ALBTargetGroupRequest{HTTPMethod: "POST", Path: "/charges", Headers: single},
				events.ALBTargetGroupResponse{StatusCode: 201, Headers: headers, Body: body})
		},
	} {
		t.Run(name, func(t *testing.T) {
			same(t, nil)
			same(t, headers)
		})
	}
}

// sameOnTheWire answers one event by value and on the wire, the first time and again.
func sameOnTheWire[In, Out any](t *testing.T, in In, out Out) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		handler := func(context.Context, In) (Out, error) { return out, nil }
		wire, value := idempotent.Wrap(handler, memory.New()), idempotent.Wrap(handler, memory.New())
		for range 2 {
			text, err := wire.Invoke(t.Context(), jsonOf(t, in))
			require.NoError(t, err)
			want, err := value.Handle(t.Context(), in)
			require.NoError(t, err)
			assert.JSONEq(t, string(jsonOf(t, want)), string(text))
		}
	})
}
