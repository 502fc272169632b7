package idempotent

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// eventPlan reads the events of one type from their JSON, without decoding them: that would take longer than all the rest
// of a replay, which needs little of an event.
//
// A plan follows from the type. It accepts what decodes into that without an error, and of this nothing that the decoder
// treats in a way of its own: names in another case, members that are there twice, invalid UTF-8. So what a plan has read
// is what the decoded event would have said. An event that it does not accept is left to the decoder, and need not be wrong.
type eventPlan struct {
	root *node
	// names are those of the headers that the handler looks at.
	names []string
}

// node is what the JSON at one place of an event has to be. It may also be null, which leaves the place empty.
type node struct {
	kind nodeKind
	// part is what the value is to the request, 0 if nothing.
	part part
	// members are those that an object is looked at for, and rest is what all others have to be. In a struct these are all
	// of its fields; others do not count.
	members []namedNode
	rest    *node
	// folds says that the decoder takes names for those of members if they differ in case only. It does so in a struct.
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
	// These are objects whose names are data.
	kindHeaders
	kindMultiHeaders
	kindQuery
	kindMultiQuery
)

// Nodes without members of their own.
var (
	anyNode   = anyOfAny()
	textNode  = &node{kind: kindText}
	textsNode = &node{kind: kindTexts}
)

func anyOfAny() *node {
	n := &node{kind: kindAny}
	n.rest = n
	return n
}

// maxMembers is how many members or headers are told apart: their numbers are bits of one word.
const maxMembers = 64

// planOf is the plan for a type of event that has its parts at these members, nil if there is none: the type is not
// made of what plans know, or does not have the members.
func planOf(event reflect.Type, wanted []member, names []string) *eventPlan {
	p := planner{wanted: wanted}
	root := p.node(event, "")
	if root == nil || root.kind != kindObject || p.found != len(wanted) || len(names) > maxMembers {
		return nil
	}
	return &eventPlan{root: root, names: names}
}

type planner struct {
	wanted []member
	found  int
}

// node is nil for a type that plans do not know.
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
	switch t.Kind() { //nolint:exhaustive // all others are none
	case reflect.Pointer:
		if t.Elem().Kind() == reflect.Struct && !decodesItself(t.Elem()) {
			return p.typed(t.Elem(), path)
		}
	case reflect.Struct:
		return p.fields(t, path)
	}
	return nil
}

// object is one whose names are data: it is looked at for the wanted ones.
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

func (p *planner) fields(t reflect.Type, path string) *node {
	n := &node{kind: kindObject, rest: anyNode, folds: true}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" { // the decoder ignores it
			return nil
		}
		if !isToken(name) || options != "" && options != "omitempty" {
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

// take makes n one that is kept as a part, if its type fits.
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
	} else if n.kind != kindText && n.kind != kindAny {
		return false
	}
	n.part = as
	p.found++
	return true
}
