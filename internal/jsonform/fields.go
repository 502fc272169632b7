package jsonform

import (
	"reflect"
	"strings"
)

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

// nameOf returns the name that a field has in JSON.
func nameOf(f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
		return name
	}
	return f.Name
}
