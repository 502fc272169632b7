package store_test

import (
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/store"
)

func TestHandlersAreToldApartByTheirTypes(t *testing.T) {
	t.Parallel()
	var h store.Handlers
	text, number := reflect.TypeFor[string](), reflect.TypeFor[int]()
	require.NoError(t, h.Register("a", text, number))
	require.NoError(t, h.Register("a", text, number))
	require.NoError(t, h.Register("a", reflect.TypeFor[*string](), reflect.TypeFor[*int]()))
	require.NoError(t, h.Register("b", number, text))
	require.ErrorContains(t, h.Register("a", number, number), `operation "a" has a handler of string with result int`)
	require.ErrorContains(t, h.Register("a", text, text), "one of string with result string")
	require.NoError(t, h.Register("a", text, number), "the first one stays")
}

func TestHandlersMayBeRegisteredAtOnce(t *testing.T) {
	t.Parallel()
	var h store.Handlers
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for n := range 100 {
				if err := h.Register(fmt.Sprint(n), reflect.TypeFor[string](), reflect.TypeFor[int]()); err != nil {
					t.Error(i, err)
				}
			}
		})
	}
	group.Wait()
}
