package gateway

import (
	"encoding/json"
	"reflect"
	"unicode/utf8"
)

// Read reads a request from an event that is decoded. in points to it, whether the handler takes it
// by value or by pointer. The request is the one of the JSON that encoding/json makes of the event.
// Its texts are not copied, because a string of the event stays what it is.
//
// What few events have, and what may be anything, such as the context of an authorizer, is encoded
// and scanned: its rules stand in one place. Read reports false if that fails. Then the request is
// refused.
func (f *Family) Read(in any, r *Request) bool {
	return f.read(r, func(e *event) bool {
		rest := map[*node]any{}
		e.take(f.root, reflect.ValueOf(in), rest)
		// The order is a matter of chance: each of them has parts of its own.
		for n, value := range rest {
			text, err := json.Marshal(value)
			s := scanner{text: text, encoded: true, event: e}
			if err != nil || s.value(n, 0) < 0 {
				return false
			}
		}
		return true
	})
}

// take takes what the decoder has put into the field of a node: a part, or what has parts in it.
// What is nil leaves its part as it is, as a null does in JSON. rest gets what has to be scanned.
func (e *event) take(n *node, v reflect.Value, rest map[*node]any) {
	switch kind := v.Kind(); {
	case kind == reflect.Pointer:
		e.take(n, v.Elem(), rest)
	case kind == reflect.Struct:
		e.authorized = e.authorized || n.part == partAuthorizer
		for _, m := range n.members {
			e.take(m, v.Field(int(m.field)), rest)
		}
	case kind == reflect.Map && v.Len() == 0:
	case n.part == partHeaders || n.part == partMultiHeaders:
		e.takeHeaders(n.part, v.Interface())
	case kind == reflect.Map && n.part == 0 && v.Type() == reflect.TypeFor[map[string]string](): // claims
		for _, m := range n.members {
			e.text[m.part] = valid(v.Interface().(map[string]string)[m.name]) //nolint:forcetypeassert // its type is that
		}
	case kind == reflect.Map:
		rest[n] = v.Interface()
	case n.part == partBase64:
		e.isBase64 = v.Bool()
	case n.part == partBody:
		e.body = []byte(valid(v.String()))
	case kind == reflect.String:
		e.text[n.part] = valid(v.String())
	}
}

// takeHeaders takes a map of headers. One that is there in several spellings was sent several
// times, in the order in which encoding/json writes them. In all families, headers come before
// multiValueHeaders, whose values replace theirs.
func (e *event) takeHeaders(from part, of any) {
	single, _ := of.(map[string]string)
	multi, _ := of.(map[string][]string)
	e.hasMulti = multi != nil
	for _, f := range fieldsOf(single, multi, func(name string) bool { return e.header(name) != nil }) {
		e.header(f.name).add(from, valid(f.value))
	}
}

// valid is what encoding/json makes of a text: each byte that is no UTF-8 becomes U+FFFD. Two texts
// may become one, so that U+FFFD is in no name of a caller.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}
