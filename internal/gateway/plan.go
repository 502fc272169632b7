package gateway

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/go-idempotent/idempotent/internal/httpfield"
)

// plan reads the events of one type from their JSON without decoding them. A replay needs little of an event, and decoding all
// of it would take longer than the rest of the replay.
//
// A plan is made from the type of the event. It accepts an event only if the decoder accepts it too, and only if a request
// from the decoded event would be the same. So it gives up wherever the decoder has rules of its own: for a name in another
// case, for a member that is there twice, and for invalid UTF-8. An event that a plan gives up on need not be wrong; the
// decoder decides.
type plan struct {
	root *node
	// names are those of the headers that the handler looks at.
	names []string
}

// node says what the JSON at one place of an event has to be. The JSON may also be null, which leaves the place empty.
type node struct {
	kind nodeKind
	// part is what the value is to the request, 0 if the value does not count.
	part part
	// members are those members of an object that have nodes of their own, and rest is the node of all other members. The
	// members of a struct are all of its fields, and its rest accepts anything.
	members []namedNode
	rest    *node
	// folds is true for a struct. The decoder takes a name for that of a field also if they differ in case.
	folds bool
}

type namedNode struct {
	name, lower string
	*node
}

type nodeKind int

const (
	kindAny nodeKind = iota
	kindText
	kindFlag
	kindInteger
	kindTexts
	kindObject
	// The names in the objects below are data: names of headers and of query parameters.
	kindHeaders
	kindMultiHeaders
	kindQuery
	kindMultiQuery
)

// These nodes are the same in every plan.
var (
	anyNode   = anyOfAny()
	textNode  = &node{kind: kindText}
	textsNode = &node{kind: kindTexts}
)

// anyOfAny is a node whose members are any again.
func anyOfAny() *node {
	n := &node{kind: kindAny}
	n.rest = n
	return n
}

// maxMembers limits the members of an object and the headers of a handler. A scan notes which of them it has seen in the bits
// of one word.
const maxMembers = 64

// planOf makes the plan for a type of event that has its parts in the wanted members. It returns nil if it cannot: plans do
// not know a type in the event, or the event lacks a wanted member, say because package events has renamed it.
func planOf(event reflect.Type, wanted []member, names []string) *plan {
	p := planner{wanted: wanted}
	root := p.node(event, "")
	if root == nil || root.kind != kindObject || p.found != len(wanted) || len(names) > maxMembers {
		return nil
	}
	return &plan{root: root, names: names}
}

// planner makes the nodes of a plan, and counts the wanted members that it has found.
type planner struct {
	wanted []member
	found  int
}

// node returns nil for a type that plans do not know.
func (p *planner) node(t reflect.Type, path string) *node {
	if decodesItself(t) {
		return nil
	}
	n := p.typed(t, path)
	if n == nil {
		return nil
	}
	for _, m := range p.wanted {
		if m.path == path && !p.take(n, m.part, t) {
			return nil
		}
	}
	return n
}

func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func (p *planner) typed(t reflect.Type, path string) *node {
	switch t {
	case reflect.TypeFor[string]():
		return &node{kind: kindText}
	case reflect.TypeFor[bool]():
		return &node{kind: kindFlag}
	case reflect.TypeFor[int64]():
		return &node{kind: kindInteger}
	case reflect.TypeFor[[]string]():
		return textsNode
	case reflect.TypeFor[map[string]string]():
		return p.object(t.Elem(), path, textNode)
	case reflect.TypeFor[map[string][]string]():
		return p.object(t.Elem(), path, textsNode)
	case reflect.TypeFor[map[string]any]():
		return p.object(t.Elem(), path, anyNode)
	case reflect.TypeFor[any]():
		n := p.object(t, path, anyNode)
		n.kind = kindAny
		return n
	}
	switch t.Kind() { //nolint:exhaustive // plans know no other kinds
	case reflect.Pointer:
		if t.Elem().Kind() == reflect.Struct && !decodesItself(t.Elem()) {
			return p.typed(t.Elem(), path)
		}
	case reflect.Struct:
		return p.fields(t, path)
	}
	return nil
}

// object makes the node of a map. Only wanted members get nodes of their own.
func (p *planner) object(elem reflect.Type, path string, rest *node) *node {
	n := &node{kind: kindObject, rest: rest}
	for _, m := range p.wanted {
		inner, found := strings.CutPrefix(m.path, path+".")
		if name, _, _ := strings.Cut(inner, "."); found && !n.has(name) {
			n.members = append(n.members, namedNode{name: name, node: p.node(elem, path+"."+name)})
		}
	}
	return n
}

func (n *node) has(name string) bool {
	for _, m := range n.members {
		if m.name == name {
			return true
		}
	}
	return false
}

// fields makes the node of a struct. It returns nil if the decoder would treat a field in a way that plans do not know.
func (p *planner) fields(t reflect.Type, path string) *node {
	n := &node{kind: kindObject, rest: anyNode, folds: true}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" { // the decoder ignores it
			return nil
		}
		if !httpfield.IsToken(name) || options != "" && options != "omitempty" {
			return nil
		}
		field := p.node(f.Type, strings.TrimPrefix(path+"."+name, "."))
		if field == nil || n.has(name) || len(n.members) == maxMembers {
			return nil
		}
		n.members = append(n.members, namedNode{name: name, lower: strings.ToLower(name), node: field})
	}
	return n
}

// take makes the value of n a part of the request. It reports false if the type of the value does not fit the part.
func (p *planner) take(n *node, as part, t reflect.Type) bool {
	kinds := map[part]struct {
		from reflect.Type
		kind nodeKind
	}{
		partBase64:       {reflect.TypeFor[bool](), kindFlag},
		partHeaders:      {reflect.TypeFor[map[string]string](), kindHeaders},
		partMultiHeaders: {reflect.TypeFor[map[string][]string](), kindMultiHeaders},
		partQuery:        {reflect.TypeFor[map[string]string](), kindQuery},
		partMultiQuery:   {reflect.TypeFor[map[string][]string](), kindMultiQuery},
	}
	if special, ok := kinds[as]; ok {
		n.kind = special.kind
		if t != special.from {
			return false
		}
	} else if as == partAuthorizer {
		if n.kind != kindObject {
			return false
		}
	} else if n.kind != kindText && n.kind != kindAny {
		return false
	}
	n.part = as
	p.found++
	return true
}
