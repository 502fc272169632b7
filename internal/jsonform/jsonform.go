// Package jsonform knows by the types of events and results what encoding/json makes of them.
package jsonform

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Problem says why results of a type cannot be stored and replayed as JSON. It is empty if they
// can, as far as the type tells: it does not tell what is in an interface, in a list or behind a
// pointer inside of a struct. What only a run can show, the encoder refuses then.
func Problem(t reflect.Type) string {
	if path, what := formless(t, 8); what != nil {
		return fmt.Sprintf("the result %v cannot be stored and replayed: %s%v has no JSON form", t,
			strings.TrimPrefix(path+": ", ": "), what)
	}
	h := hidden{known: map[place]bool{}}
	if !h.is(t, false) {
		return ""
	}
	return fmt.Sprintf("the result %v has no exported field with a content, so that nothing of it could be replayed%s",
		t, h.hint)
}

// formless returns the type within t of which each value has no JSON form, and the path of the
// field that has it. It returns nil if there is none. Pointers, lists and maps are looked into
// around a value only, and only so many, because a type may be a list of itself. In a struct they
// may be empty.
func formless(t reflect.Type, around int) (path string, what reflect.Type) {
	if encodesItself(t) || encodesItself(reflect.PointerTo(t)) {
		return "", nil
	}
	switch kind := t.Kind(); kind { //nolint:exhaustive // the others have a form
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return "", t
	case reflect.Map, reflect.Pointer, reflect.Slice:
		switch {
		case around == 0:
			return "", nil
		case kind == reflect.Map && !isName(t.Key()):
			return "", t
		}
		return formless(t.Elem(), around-1)
	case reflect.Array:
		return formless(t.Elem(), 0)
	case reflect.Struct:
		for f := range t.Fields() {
			if tag := f.Tag.Get("json"); !f.IsExported() || tag == "-" || strings.Contains(tag, ",omit") {
				continue
			}
			if path, what = formless(f.Type, 0); what != nil {
				return strings.TrimSuffix(nameOf(f)+"."+path, "."), what
			}
		}
	}
	return "", nil
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

func (h *hidden) is(t reflect.Type, addressable bool) (is bool) {
	here := place{t, addressable}
	if known, looked := h.known[here]; looked {
		return known
	}
	h.known[here] = false // of a type within itself
	defer func() { h.known[here] = is }()
	pointerDoes := t.Kind() != reflect.Pointer && encodesItself(reflect.PointerTo(t))
	if encodesItself(t) || pointerDoes && addressable {
		return false
	}
	switch t.Kind() { //nolint:exhaustive // the others hide nothing
	case reflect.Pointer, reflect.Slice:
		return h.is(t.Elem(), true)
	case reflect.Array:
		return h.is(t.Elem(), addressable)
	case reflect.Map:
		return h.is(t.Elem(), false)
	case reflect.Struct:
		is = h.hides(t, addressable)
	}
	if is && pointerDoes {
		h.hint = fmt.Sprintf(": the MarshalJSON of *%v is not called for a value, return a pointer", t)
	}
	return is
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

// Fields returns the names on a path of encoding/json that are those of fields which a type can
// reach. Any other name comes from the payload: releases of Go differ in whether a path has
// indices, and the names of a map's members.
func Fields(t reflect.Type, path string) string {
	names := map[string]string{}
	collect(names, t, map[reflect.Type]bool{})
	var fields []string
	for sent := range strings.SplitSeq(path, ".") {
		if name, known := names[strings.ToLower(sent)]; known {
			fields = append(fields, name)
		}
	}
	return strings.Join(fields, ".")
}

// collect adds the names of all fields in a type, by their names in lower case.
func collect(names map[string]string, t reflect.Type, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() { //nolint:exhaustive // the others have no fields
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		collect(names, t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			name := nameOf(f)
			names[strings.ToLower(name)] = name
			collect(names, f.Type, seen)
		}
	}
}

func nameOf(f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
		return name
	}
	return f.Name
}
