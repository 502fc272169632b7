package fingerprint

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// steady returns an error if two releases of Go encode a value differently: from Go 1.27 on,
// encoding/json calls more methods, takes more keys of maps, and reads more of tags than before.
// The value must be one that [json.Marshal] has encoded: then it has no cycles.
func steady(v reflect.Value) error {
	if !v.IsValid() || scalar(v.Type()) {
		return nil
	}
	encodes, err := encodesItself(v)
	if encodes || err != nil {
		return err
	}
	switch v.Kind() { //nolint:exhaustive // the others hold no values
	case reflect.Pointer, reflect.Interface:
		return steady(v.Elem())
	case reflect.Map:
		if err := steadyKeys(v.Type()); err != nil {
			return err
		}
		fallthrough
	case reflect.Slice, reflect.Array:
		if scalar(v.Type().Elem()) {
			return nil
		}
		for _, value := range v.Seq2() {
			if err := steady(value); err != nil {
				return err
			}
		}
	case reflect.Struct:
		return steadyFields(v)
	}
	return nil
}

// scalar reports whether a type is one of the language that has no other values in it.
func scalar(t reflect.Type) bool {
	kind := t.Kind()
	return t.PkgPath() == "" && (kind >= reflect.Bool && kind <= reflect.Float64 || kind == reflect.String)
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	textAppender  = reflect.TypeFor[encoding.TextAppender]()
)

// encodesItself reports whether encoding/json leaves a value to a method of its type. Only
// MarshalJSON and MarshalText are methods that each release calls.
func encodesItself(v reflect.Value) (bool, error) {
	t := v.Type()
	if v.CanAddr() {
		t = reflect.PointerTo(t)
	}
	switch {
	case t.Kind() == reflect.Interface: // what it holds counts
		return false, nil
	case t.Implements(jsonMarshaler), t.Implements(textMarshaler):
		return true, nil
	case t.Implements(textAppender):
		return false, fmt.Errorf("%v has AppendText without MarshalText", v.Type())
	}
	if _, has := t.MethodByName("MarshalJSONTo"); has && v.Type() != reflect.TypeFor[json.Number]() {
		return false, fmt.Errorf("%v has MarshalJSONTo without MarshalJSON", v.Type())
	}
	return false, nil
}

func steadyKeys(of reflect.Type) error {
	key := of.Key()
	switch {
	case key.Kind() == reflect.String:
		if key.Implements(textMarshaler) || key.Implements(textAppender) {
			return fmt.Errorf("the keys of %v are strings with a method for their text", of)
		}
	case key.Implements(textMarshaler):
	case key.Kind() < reflect.Int, key.Kind() > reflect.Uintptr, key.Implements(textAppender):
		return fmt.Errorf("the keys of %v are no strings, integers or texts of MarshalText", of)
	}
	return nil
}

func steadyFields(v reflect.Value) error {
	for f, value := range v.Fields() {
		tag := f.Tag.Get("json")
		if tag == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if strings.ContainsFunc(name, oddInName) || embeds(options) {
			return fmt.Errorf("the field %s of %v has a tag that not every release of Go reads", f.Name, v.Type())
		}
		if err := steady(value); err != nil {
			return err
		}
	}
	return nil
}

// oddInName reports whether a character makes encoding/json of Go 1.26 ignore the name in a tag.
func oddInName(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) ||
		r == unicode.ReplacementChar
}

// embeds reports whether the options in a tag have one that changes what Go 1.27 writes.
func embeds(options string) bool {
	return slices.ContainsFunc(strings.Split(options, ","), func(option string) bool {
		return option == "embed" || strings.HasPrefix(option, "format")
	})
}
