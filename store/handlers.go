package store

import (
	"fmt"
	"reflect"
	"sync"
)

// Registrar is implemented by stores that notice handlers which share records by mistake. idempotent.Wrap calls it for
// each handler whose records nothing but the operation keeps apart from those of another handler: one that is not for HTTP. It
// finds only what is wrapped in one process, on one store value.
type Registrar interface {
	// Register remembers that a handler of these types has this operation. The error says that another one of other types has it
	// already; it is part of a configuration error. A pointer to a type counts as the type. Safe for concurrent use.
	Register(operation string, in, out reflect.Type) error
}

// Handlers is a [Registrar] for the authors of stores to keep in their own. The zero value is ready. It must not be copied.
type Handlers struct {
	mu    sync.Mutex
	known map[string]handlerTypes
}

type handlerTypes struct{ in, out reflect.Type }

var _ Registrar = (*Handlers)(nil)

// Register implements [Registrar].
func (h *Handlers) Register(operation string, in, out reflect.Type) error {
	types := handlerTypes{pointedTo(in), pointedTo(out)}
	h.mu.Lock()
	defer h.mu.Unlock()
	held, found := h.known[operation]
	switch {
	case !found && h.known == nil:
		h.known = map[string]handlerTypes{operation: types}
	case !found:
		h.known[operation] = types
	case held != types:
		return fmt.Errorf("operation %q has a handler of %v with result %v on this store, and one of %v with result %v cannot share its "+
			"records: give each an operation of its own", operation, held.in, held.out, types.in, types.out)
	}
	return nil
}

func pointedTo(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
