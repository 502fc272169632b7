// Package jsonform knows by the types of events and results what encoding/json makes of them.
package jsonform

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Problem says why results of a type cannot be stored and replayed as JSON. It is empty if they
// can, as far as the type tells: it does not tell what is in an interface, in a list or behind a
// pointer inside of a struct. What only a run can show, the encoder refuses then.
func Problem(t reflect.Type) string {
	if path, what := formless(t); what != nil {
		place := ""
		if len(path) > 0 {
			place = strings.Join(path, ".") + ": "
		}
		return fmt.Sprintf("the result %v cannot be stored and replayed: %s%v has no JSON form", t, place, what)
	}
	h := hidden{known: map[place]bool{}}
	if !h.is(t, false) {
		return ""
	}
	return fmt.Sprintf("the result %v has no exported field with a content, so that nothing of it could be replayed%s",
		t, h.hint)
}

// formless returns the type within t of which each value has no JSON form, and the path of the
// field that has it. It returns nil if there is none.
func formless(t reflect.Type) (path []string, what reflect.Type) {
	for depth := 0; depth < 8 && !encodesItself(t); depth++ { // bounded, because a type may be a list of itself
		switch t.Kind() { //nolint:exhaustive // the others are no lists
		case reflect.Map:
			if !isName(t.Key()) {
				return nil, t
			}
			t = t.Elem()
		case reflect.Pointer, reflect.Slice:
			t = t.Elem()
		}
	}
	return formlessField(t, nil)
}

// formlessField is formless for a value that may be empty, so that what is behind a pointer or in a
// list does not count.
func formlessField(t reflect.Type, at []string) (path []string, what reflect.Type) {
	if encodesItself(t) || encodesItself(reflect.PointerTo(t)) {
		return nil, nil
	}
	switch t.Kind() { //nolint:exhaustive // the others have a form
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return at, t
	case reflect.Array:
		return formlessField(t.Elem(), at)
	case reflect.Struct:
		for f := range t.Fields() {
			if tag := f.Tag.Get("json"); !f.IsExported() || tag == "-" || strings.Contains(tag, ",omit") {
				continue
			}
			if path, what = formlessField(f.Type, append(slices.Clone(at), nameOf(f))); what != nil {
				return path, what
			}
		}
	}
	return nil, nil
}

// isName reports whether JSON can have a value of a type as the name of a member.
func isName(key reflect.Type) bool {
	kind := key.Kind()
	return kind == reflect.String || kind >= reflect.Int && kind <= reflect.Uintptr || key.Implements(textMarshaler)
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func encodesItself(t reflect.Type) bool {
	return t.Implements(marshaler) || t.Implements(textMarshaler)
}

// place is a type, and whether the encoder can take the address of a value there: only then it
// calls methods of the pointer.
type place struct {
	t           reflect.Type
	addressable bool
}

// hidden knows of which types JSON carries nothing, although their values have a content.
type hidden struct {
	known map[place]bool
	hint  string
}

func (h *hidden) is(t reflect.Type, addressable bool) bool {
	here := place{t, addressable}
	if _, known := h.known[here]; !known {
		h.known[here] = false // of a type within itself
		h.known[here] = h.look(t, addressable)
	}
	return h.known[here]
}

func (h *hidden) look(t reflect.Type, addressable bool) bool {
	pointerDoes := t.Kind() != reflect.Pointer && encodesItself(reflect.PointerTo(t))
	if encodesItself(t) || pointerDoes && addressable {
		return false
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return h.is(t.Elem(), true)
	case reflect.Array:
		return h.is(t.Elem(), addressable)
	case reflect.Map:
		return h.is(t.Elem(), false)
	case reflect.Struct:
	default:
		return false
	}
	if !h.hides(t, addressable) {
		return false
	}
	if pointerDoes {
		h.hint = fmt.Sprintf(": the MarshalJSON of *%v is not called for a value, return a pointer", t)
	}
	return true
}

// hides reports whether a struct has fields with a content, and JSON none of them.
func (h *hidden) hides(t reflect.Type, addressable bool) bool {
	content := false
	for f := range t.Fields() {
		if f.Type.Size() == 0 {
			continue
		}
		content = true
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		embedded := f.Anonymous && of.Kind() == reflect.Struct
		if f.Tag.Get("json") != "-" && (f.IsExported() || embedded) && !h.is(f.Type, addressable) {
			return false
		}
	}
	return content
}
