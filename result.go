package idempotent

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// resultProblem says why results of a type cannot be stored and replayed as JSON. It is empty if they can, as far as an
// empty result tells. The encoder refuses what only a run can show.
func resultProblem(t reflect.Type) string {
	if path, what := refusedIn(sample(t, 0), nil); what != nil {
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
	return fmt.Sprintf("the result %v has no exported field with a content, so that nothing of it could be replayed%s", t, h.hint)
}

// refusedIn returns the type for which the encoder refuses v, and the path of the field that has it, nil if it takes v.
func refusedIn(v reflect.Value, outside []string) (path []string, what reflect.Type) {
	if !isRefused(v) {
		return nil, nil
	}
	switch v.Kind() { //nolint:exhaustive // the others have nothing in them that could be the reason
	case reflect.Pointer:
		path, what = refusedIn(v.Elem(), outside)
	case reflect.Slice, reflect.Array:
		if v.Len() > 0 {
			path, what = refusedIn(v.Index(0), outside)
		}
	case reflect.Struct:
		for f, value := range v.Fields() {
			if !f.IsExported() || what != nil {
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			path, what = refusedIn(value, append(slices.Clone(outside), cmp.Or(name, f.Name)))
		}
	}
	if what == nil {
		return outside, v.Type()
	}
	return path, what
}

// isRefused reports whether the encoder refuses a value for its types.
func isRefused(v reflect.Value) (refused bool) {
	defer func() { _ = recover() }()                           // a method of the handler's own types may not expect an empty value
	switch _, err := json.Marshal(v.Interface()); err.(type) { //nolint:errorlint // see encodeErrorOf
	case *json.UnsupportedTypeError, *json.UnsupportedValueError: // the latter from Go 1.27 on, of the key of a map
		return true
	default:
		return false
	}
}

// sample returns a value of type t. On the outside each list has one element, to a bounded depth.
func sample(t reflect.Type, depth int) reflect.Value {
	v := reflect.New(t).Elem()
	if depth == maxSample {
		return v
	}
	switch t.Kind() { //nolint:exhaustive // the others are fine as they are
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(sample(t.Elem(), depth+1))
	case reflect.Slice:
		v.Set(reflect.Append(v, sample(t.Elem(), depth+1)))
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(reflect.New(t.Key()).Elem(), sample(t.Elem(), depth+1))
	}
	return v
}

// maxSample bounds the samples of types that are lists of themselves.
const maxSample = 8

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func encodesItself(t reflect.Type) bool {
	return t.Implements(marshaler) || t.Implements(textMarshaler)
}

// place is a type, and whether the encoder can take the address of a value there: only then it calls methods of the pointer.
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
	is, known := h.known[here]
	if !known {
		h.known[here] = false // of a type within itself
		is = h.look(t, addressable)
		h.known[here] = is
	}
	return is
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
		embedded := f.Anonymous && elemOf(f.Type).Kind() == reflect.Struct
		if f.Tag.Get("json") != "-" && (f.IsExported() || embedded) && !h.is(f.Type, addressable) {
			return false
		}
	}
	return content
}

func elemOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
