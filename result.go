package idempotent

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// resultProblem says why results of a type cannot be stored and replayed as JSON. It is empty if they can, as far as the type
// tells: what an interface, a nil pointer or an empty list will hold is not known before.
func resultProblem(t reflect.Type) string {
	what, why := (&carriage{known: map[place]verdict{}}).of(t, false)
	switch what {
	case carriesNothing:
		if why != "" {
			why = ": " + why
		}
		return fmt.Sprintf("the result %v has no exported field with a content, so that nothing of it could be replayed%s", t, why)
	case hasNoForm:
		return fmt.Sprintf("the result %v cannot be stored and replayed: %s has no JSON form", t, why)
	default:
		return ""
	}
}

// carried is what JSON carries of the values of a type.
type carried int

const (
	nothingToCarry carried = iota // they have no content, as struct{}
	carriesNothing                // they have a content, and JSON has none of it
	carries
	hasNoForm // the encoder always fails
)

// carriage looks at types as encoding/json does. Types may be recursive: one that it is just looking at carries something.
type carriage struct{ known map[place]verdict }

// place is where a type stands. addressable says whether the encoder can take the address of a value there, which decides
// whether it calls the methods of the pointer.
type place struct {
	t           reflect.Type
	addressable bool
}

type verdict struct {
	what carried
	why  string // what the verdict is about, if there is something to say
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func encodesItself(t reflect.Type) bool {
	return t.Implements(marshaler) || t.Implements(textMarshaler)
}

func (c *carriage) of(t reflect.Type, addressable bool) (what carried, why string) {
	here := place{t, addressable}
	v, known := c.known[here]
	if !known {
		c.known[here] = verdict{what: carries}
		v.what, v.why = c.look(t, addressable)
		c.known[here] = v
	}
	return v.what, v.why
}

func (c *carriage) look(t reflect.Type, addressable bool) (what carried, why string) {
	pointerDoes := t.Kind() != reflect.Pointer && encodesItself(reflect.PointerTo(t))
	if encodesItself(t) || pointerDoes && addressable {
		return carries, ""
	}
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return hasNoForm, t.String()
	case reflect.Pointer, reflect.Slice:
		return c.of(t.Elem(), true)
	case reflect.Array:
		return c.of(t.Elem(), addressable)
	case reflect.Map:
		if !isKey(t.Key()) {
			return hasNoForm, fmt.Sprintf("a map with keys of %v", t.Key())
		}
		return c.of(t.Elem(), false)
	case reflect.Struct:
		what, why = c.fields(t, addressable)
		if what == carriesNothing && pointerDoes {
			why = fmt.Sprintf("the MarshalJSON of *%v is not called for a value, return a pointer", t)
		}
		return what, why
	default:
		return carries, ""
	}
}

// isKey reports whether encoding/json takes keys of a type.
func isKey(t reflect.Type) bool {
	return t.Kind() == reflect.String || t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr || t.Implements(textMarshaler)
}

func (c *carriage) fields(t reflect.Type, addressable bool) (what carried, why string) {
	for f := range t.Fields() {
		has, about := c.field(f, addressable)
		if has > what || has == what && why == "" {
			what, why = has, about
		}
		if what == hasNoForm {
			return what, why
		}
	}
	return what, why
}

// field returns what is carried of one field of a struct.
func (c *carriage) field(f reflect.StructField, addressable bool) (what carried, why string) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	embedded := f.Anonymous && name == "" && elemOf(f.Type).Kind() == reflect.Struct
	if f.Tag.Get("json") == "-" || !f.IsExported() && !embedded {
		if what, _ = c.of(f.Type, addressable); what == nothingToCarry {
			return nothingToCarry, ""
		}
		return carriesNothing, ""
	}
	what, why = c.of(f.Type, addressable)
	if what != hasNoForm {
		return what, why
	}
	if mayBeLeftOut(f.Type, options) {
		return carries, ""
	}
	switch {
	case embedded:
		return what, why
	case name == "":
		name = f.Name
	}
	if strings.Contains(why, ": ") {
		return what, name + "." + why
	}
	return what, name + ": " + why
}

// mayBeLeftOut reports whether the encoder need not look at a field that it cannot encode, or at what is in it.
func mayBeLeftOut(t reflect.Type, options string) bool {
	switch t.Kind() { //nolint:exhaustive // the others are always encoded
	case reflect.Pointer, reflect.Slice:
		return true
	case reflect.Map:
		if isKey(t.Key()) || slices.Contains(strings.Split(options, ","), "omitempty") {
			return true
		}
	}
	return slices.Contains(strings.Split(options, ","), "omitzero")
}

func elemOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
