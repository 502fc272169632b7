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
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

// The results of handlers, by what JSON makes of them.
type (
	hidden        struct{ id, name string }
	hiddenInside  struct{ Inner hidden }
	hiddenPointer struct{ Inner *hidden }
	ignored       struct {
		ID string `json:"-"`
	}
	embedsHidden  struct{ hidden }
	embedsPlain   struct{ plainResult }
	embedsPointer struct{ *plainResult }
	embedsScalar  struct{ scalar }
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
	ownPointer  struct{ id string }
	ownPointers []ownPointer
	hasPointer  struct{ Own ownPointer }
	stringer    = fmt.Stringer
	ringed      []ringed
)

func (ownJSON) MarshalJSON() ([]byte, error)     { return []byte(`"x"`), nil }
func (ownText) MarshalText() ([]byte, error)     { return []byte("x"), nil }
func (*ownPointer) MarshalJSON() ([]byte, error) { return []byte(`"x"`), nil }

// wrapsResult wraps a handler with this result.
func wrapsResult[Out any]() (t reflect.Type, wrap func()) {
	return reflect.TypeFor[Out](), func() {
		idempotent.Wrap(func(context.Context, order) (out Out, _ error) { return out, nil }, memory.New(),
			keyed[order]("k")...)
	}
}

func TestResultThatJSONCannotCarryIsRefusedWhenWrapping(t *testing.T) {
	t.Parallel()
	refuses := func(why string, t1 reflect.Type, wrap func()) {
		t.Helper()
		problems := problemsOf(t, wrap)
		require.Len(t, problems, 1, "%v", problems)
		assert.Contains(t, problems[0], "the result "+t1.String()+" ")
		assert.Contains(t, problems[0], why)
	}
	of := func(t reflect.Type, wrap func()) func(string, func(string, reflect.Type, func())) {
		return func(why string, f func(string, reflect.Type, func())) { f(why, t, wrap) }
	}
	const nothing = "has no exported field"
	of(wrapsResult[hidden]())(nothing, refuses)
	of(wrapsResult[*hidden]())(nothing, refuses)
	of(wrapsResult[[]hidden]())(nothing, refuses)
	of(wrapsResult[map[string]hidden]())(nothing, refuses)
	of(wrapsResult[hiddenInside]())(nothing, refuses)
	of(wrapsResult[hiddenPointer]())(nothing, refuses)
	of(wrapsResult[ignored]())(nothing, refuses)
	of(wrapsResult[embedsHidden]())(nothing, refuses)
	of(wrapsResult[embedsScalar]())(nothing, refuses)
	of(wrapsResult[list]())(nothing, refuses)
	of(wrapsResult[sync.Mutex]())(nothing, refuses)
	of(wrapsResult[ownPointer]())("MarshalJSON of *idempotent_test.ownPointer", refuses)
	of(wrapsResult[hasPointer]())("MarshalJSON of *idempotent_test.ownPointer", refuses)

	of(wrapsResult[chan int]())("chan int has no JSON form", refuses)
	of(wrapsResult[func()]())("func() has no JSON form", refuses)
	of(wrapsResult[complex64]())("complex64 has no JSON form", refuses)
	of(wrapsResult[unsafe.Pointer]())("unsafe.Pointer has no JSON form", refuses)
	of(wrapsResult[[]chan int]())("chan int has no JSON form", refuses)
	of(wrapsResult[*func()]())("func() has no JSON form", refuses)
	of(wrapsResult[hasChannel]())("Done: chan struct {} has no JSON form", refuses)
	of(wrapsResult[hasFunc]())("after: func() has no JSON form", refuses)
	of(wrapsResult[[]hasFunc]())("after: func() has no JSON form", refuses)
	of(wrapsResult[hasComplex]())("Z: complex128 has no JSON form", refuses)
	of(wrapsResult[hasDeepFunc]())("Inner.Deep.F: func() has no JSON form", refuses)
	of(wrapsResult[byPair]())("byPair has no JSON form", refuses)
	of(wrapsResult[byFlag]())("byFlag has no JSON form", refuses)
}

func TestResultThatJSONCarriesIsTaken(t *testing.T) {
	t.Parallel()
	takes := func(out reflect.Type, wrap func()) { t.Helper(); assert.NotPanics(t, wrap, "%v", out) }
	takes(wrapsResult[struct{}]())
	takes(wrapsResult[*struct{}]())
	takes(wrapsResult[[0]int]())
	takes(wrapsResult[marker]())
	takes(wrapsResult[markers]())
	takes(wrapsResult[any]())
	takes(wrapsResult[error]())
	takes(wrapsResult[stringer]())
	takes(wrapsResult[int]())
	takes(wrapsResult[uintptr]())
	takes(wrapsResult[[]byte]())
	takes(wrapsResult[json.RawMessage]())
	takes(wrapsResult[json.Number]())
	takes(wrapsResult[time.Time]())
	takes(wrapsResult[*time.Time]())
	takes(wrapsResult[*big.Float]())
	takes(wrapsResult[*big.Int]())
	takes(wrapsResult[[]big.Int]())
	takes(wrapsResult[netip.Addr]())
	takes(wrapsResult[plainResult]())
	takes(wrapsResult[partlyHidden]())
	takes(wrapsResult[embedsPlain]())
	takes(wrapsResult[embedsPointer]())
	takes(wrapsResult[hasFuncs]())
	takes(wrapsResult[hasFuncIfAny]())
	takes(wrapsResult[hasFuncAside]())
	takes(wrapsResult[tree]())
	takes(wrapsResult[treeOf[tree]]())
	takes(wrapsResult[ringed]())
	takes(wrapsResult[byAddress]())
	takes(wrapsResult[byScalar]())
	takes(wrapsResult[ownJSON]())
	takes(wrapsResult[ownText]())
	takes(wrapsResult[*ownPointer]())
	takes(wrapsResult[ownPointers]())
	takes(wrapsResult[*hasPointer]())
	takes(wrapsResult[events.SQSEventResponse]())
	takes(wrapsResult[events.APIGatewayCustomAuthorizerResponse]())
	takes(wrapsResult[map[string]events.DynamoDBAttributeValue]())
	takes(wrapsResult[events.CognitoEventUserPoolsPreTokenGenV2_0]())
}

// TestWhatIsRefusedOfResultsIsWhatTheEncoderRefuses holds the rule against encoding/json itself, of
// whatever release.
func TestWhatIsRefusedOfResultsIsWhatTheEncoderRefuses(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{
		"hidden": hidden{"a", "b"}, "inside": hiddenInside{hidden{"a", "b"}}, "ignored": ignored{"a"},
		"embedded": embedsHidden{hidden{"a", "b"}},
		"scalar":   embedsScalar{5}, "by value": ownPointer{"a"}, "in a field": hasPointer{ownPointer{"a"}},
	} {
		text, err := json.Marshal(v)
		require.NoError(t, err, name)
		assert.Empty(t, strings.Trim(string(text), `{}"Iner:Ow`), "%s: %s says nothing of it", name, text)
	}
	for name, v := range map[string]any{
		"channel": hasChannel{}, "func": hasFunc{}, "complex": hasComplex{}, "deep": hasDeepFunc{},
		"pairs": byPair{{}: ""}, "flags": byFlag{true: ""},
	} {
		_, err := json.Marshal(v)
		require.Error(t, err, name)
	}
	for name, v := range map[string]any{
		"funcs": hasFuncs{}, "if any": hasFuncIfAny{}, "aside": hasFuncAside{}, "pointers": ownPointers{{"a"}},
		"pointer":   &hasPointer{},
		"addresses": byAddress{netip.IPv6Loopback(): "x"}, "scalars": byScalar{1: "x"},
	} {
		_, err := json.Marshal(v)
		require.NoError(t, err, name)
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
