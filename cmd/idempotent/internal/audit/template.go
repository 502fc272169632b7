// Package audit looks at a template of AWS SAM, or of CloudFormation as AWS CDK writes it, before
// it is deployed. It finds the routes that change state and reach a function that does not wrap,
// and what the template itself says of tables, permissions and time limits. It asks AWS nothing.
//
// Parameters have their defaults, and every condition is taken to hold. What only a deployment
// knows becomes ${Name} or ${Name.Attribute}. A template is not validated.
package audit

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// template is what a file makes of parameters.
type template struct {
	folder    string
	resources map[string]resource
	// unread says what is not looked at.
	unread []string

	document document
}

type resource struct {
	id, kind             string
	properties, metadata map[string]any
}

// document is a template as it is written, with intrinsic functions in their long form.
type document struct {
	Parameters map[string]map[string]any `yaml:"Parameters"`
	Globals    map[string]any            `yaml:"Globals"`
	Resources  map[string]any            `yaml:"Resources"`
}

// read reads the template in a file.
func read(file string) (*template, error) {
	content, err := os.ReadFile(file) //nolint:gosec // the user names it
	if err != nil {
		return nil, fmt.Errorf("the template cannot be read: %w", err)
	}
	t := &template{folder: filepath.Dir(file), resources: map[string]resource{}}
	var n yaml.Node
	if err := yaml.Unmarshal(content, &n); err != nil {
		return nil, fmt.Errorf("%s is no template: %w", file, err)
	}
	longForm(&n)
	if err := n.Decode(&t.document); err != nil || len(t.document.Resources) == 0 {
		return nil, fmt.Errorf("%s is no template: it has no Resources that can be read", file)
	}
	for _, id := range sorted(t.document.Resources) {
		t.add(id, t.document.Resources[id])
	}
	return t, nil
}

func (t *template) add(id string, definition any) {
	r := resource{id: id, kind: text(at(definition, "Type"))}
	r.properties, _ = t.resolve(at(definition, "Properties")).(map[string]any)
	r.metadata, _ = t.resolve(at(definition, "Metadata")).(map[string]any)
	if section, ofSAM := strings.CutPrefix(r.kind, "AWS::Serverless::"); ofSAM {
		globals, _ := t.resolve(t.document.Globals[section]).(map[string]any)
		r.properties = merge(globals, r.properties)
	}
	t.resources[id] = r
	switch {
	case r.kind == "":
		t.unread = append(t.unread, id+" is no resource with a type: macros and loops are not expanded")
	case r.kind == "AWS::CloudFormation::Stack", r.kind == "AWS::Serverless::Application":
		t.unread = append(t.unread, id+" is a stack of its own: look at its template, too")
	case r.properties["DefinitionBody"] != nil, r.properties["DefinitionUri"] != nil,
		strings.HasPrefix(r.kind, "AWS::ApiGateway") && r.properties["Body"] != nil:
		t.unread = append(t.unread, "the routes of "+id+" are in an OpenAPI document, which is not read")
	}
}

// merge puts the properties of a resource over those of Globals, objects member by member.
func merge(global, own map[string]any) map[string]any {
	out := make(map[string]any, len(global)+len(own))
	maps.Copy(out, global)
	for name, value := range own {
		out[name] = value
		below, isObject := global[name].(map[string]any)
		if above, is := value.(map[string]any); is && isObject {
			out[name] = merge(below, above)
		}
	}
	return out
}

// of are the resources of some types, in the order of their ids.
func (t *template) of(kinds ...string) (found []resource) {
	for _, id := range slices.Sorted(maps.Keys(t.resources)) {
		if slices.Contains(kinds, t.resources[id].kind) {
			found = append(found, t.resources[id])
		}
	}
	return found
}

const refers = "Ref"

// longForm rewrites a function from the short form, "!Sub text", into the long {"Fn::Sub": text}.
func longForm(n *yaml.Node) {
	for _, child := range n.Content {
		longForm(child)
	}
	name, is := strings.CutPrefix(n.Tag, "!")
	if !is || strings.HasPrefix(name, "!") {
		return
	}
	if name != refers && name != "Condition" {
		name = "Fn::" + name
	}
	argument := *n
	argument.Tag, argument.Anchor = "", ""
	if argument.Kind == yaml.ScalarNode {
		argument.Tag = "!!str"
	}
	key := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}
	*n = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{&key, &argument}, Anchor: n.Anchor}
}

// resolve computes the intrinsic functions in a value. A member without a value becomes nil.
func (t *template) resolve(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for name, member := range value {
			if name == refers || strings.HasPrefix(name, "Fn::") {
				return t.call(name, member)
			}
			out[name] = t.resolve(member)
		}
		return out
	case []any:
		out := make([]any, 0, len(value))
		for _, element := range value {
			if v := t.resolve(element); v != nil {
				out = append(out, v)
			}
		}
		return out
	}
	return value
}

// call computes one function. One that only a deployment can compute becomes ${Fn::Name}.
func (t *template) call(name string, argument any) any {
	switch arguments := list(argument); {
	case name == refers:
		return t.reference(text(argument))
	case name == "Fn::GetAtt":
		return "${" + joined(argument, ".") + "}"
	case name == "Fn::Sub" && len(arguments) > 0:
		return variable.ReplaceAllStringFunc(text(arguments[0]), func(v string) string {
			return text(t.reference(v[2 : len(v)-1]))
		})
	case name == "Fn::Join" && len(arguments) == 2:
		return joined(t.resolve(arguments[1]), text(arguments[0]))
	case name == "Fn::If" && len(arguments) == 3:
		return t.resolve(arguments[1])
	}
	return "${" + name + "}"
}

var variable = regexp.MustCompile(`\$\{[^}]+\}`)

func (t *template) reference(name string) any {
	if value := t.document.Parameters[name]["Default"]; value != nil || name == "AWS::NoValue" {
		return value
	}
	return "${" + name + "}"
}

// at is the value at the end of a path of names, nil if there is none.
func at(value any, path ...string) any {
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

func (r resource) text(path ...string) string { return text(at(r.properties, path...)) }

func (r resource) ref() string { return "${" + r.id + "}" }

func text(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// list are the elements of a list, or a value alone.
func list(value any) []any {
	if l, is := value.([]any); is || value == nil {
		return l
	}
	return []any{value}
}

func joined(value any, by string) string {
	texts := make([]string, 0, len(list(value)))
	for _, e := range list(value) {
		texts = append(texts, text(e))
	}
	return strings.Join(texts, by)
}

func sorted(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }

const (
	kindServerless = "AWS::Serverless::Function"
	kindFunction   = "AWS::Lambda::Function"
)

// route is what a gateway sends somewhere.
type route struct {
	// method is in capital letters; ANY stands for all.
	method, path string
	// function is the function that the route reaches, empty if target names none of the template.
	function, target string
	gateway          string
}

// routes are the routes that may change something: those of all methods but the ones that HTTP
// calls safe. See https://www.rfc-editor.org/rfc/rfc9110#name-safe-methods.
func (t *template) routes() (all int, changing []route) {
	add := func(target, method, path, gateway string) {
		if method = strings.ToUpper(method); method == "" || method == "*" {
			method = "ANY"
		}
		all++
		r := route{method, path, t.functionOf(target), target, gateway}
		if !slices.Contains([]string{"GET", "HEAD", "OPTIONS", "TRACE"}, method) && !slices.Contains(changing, r) {
			changing = append(changing, r)
		}
	}
	t.events(add)
	for _, u := range t.of("AWS::Lambda::Url") {
		add(u.text("TargetFunctionArn"), "", "/", functionURL)
	}
	t.written(add)
	t.methods(add)
	return all, changing
}

// functionURL takes requests of all methods on all paths.
const functionURL = "function URL"

// adding adds a route to what has this target.
type adding func(target, method, path, gateway string)

// events are the routes that functions of SAM name as events, and their URLs.
func (t *template) events(add adding) {
	for _, f := range t.of(kindServerless) {
		events, _ := f.properties["Events"].(map[string]any)
		for _, name := range sorted(events) {
			p := at(events[name], "Properties")
			method, path := text(at(p, "Method")), text(at(p, "Path"))
			switch text(at(events[name], "Type")) {
			case "HttpApi":
				add(f.ref(), method, cmp.Or(path, "$default"),
					"HTTP API "+cmp.Or(named(at(p, "ApiId")), "ServerlessHttpApi"))
			case "Api":
				add(f.ref(), method, path, "REST API "+cmp.Or(named(at(p, "RestApiId")), "ServerlessRestApi"))
			}
		}
		if f.properties["FunctionUrlConfig"] != nil {
			add(f.ref(), "", "/", functionURL)
		}
	}
}

// written are the written-out routes of HTTP APIs. Those of a WebSocket API have no method.
func (t *template) written(add adding) {
	for _, r := range t.of("AWS::ApiGatewayV2::Route") {
		api := named(r.properties["ApiId"])
		if t.resources[api].text("ProtocolType") == "WEBSOCKET" {
			continue
		}
		integration := t.resources[named(strings.TrimPrefix(r.text("Target"), "integrations/"))]
		method, path, both := strings.Cut(r.text("RouteKey"), " ")
		if !both {
			method, path = "", "$default"
		}
		add(integration.text("IntegrationUri"), method, path, "HTTP API "+api)
	}
}

// methods are the written-out ones of REST APIs. The gateway itself answers one that is mocked.
func (t *template) methods(add adding) {
	for _, m := range t.of("AWS::ApiGateway::Method") {
		if m.text("Integration", "Type") != "MOCK" {
			add(m.text("Integration", "Uri"), m.text("HttpMethod"), t.path(m.properties["ResourceId"], 0),
				"REST API "+named(m.properties["RestApiId"]))
		}
	}
}

// path is the path of a resource of a REST API, which names its parent.
func (t *template) path(id any, depth int) string {
	r := t.resources[named(id)]
	if r.kind != "AWS::ApiGateway::Resource" || depth > 50 { // a template may contradict itself
		return "/"
	}
	return strings.TrimSuffix(t.path(r.properties["ParentId"], depth+1), "/") + "/" + r.text("PathPart")
}

// reference is what a reference to a resource has become, or to an attribute of one.
var reference = regexp.MustCompile(`\$\{([A-Za-z0-9]+)(\.[A-Za-z0-9.]+)?\}`)

// named is the id of the resource that a value refers to, the value itself if it refers to none.
func named(value any) string {
	if match := reference.FindStringSubmatch(text(value)); match != nil {
		return match[1]
	}
	return text(value)
}

// functionOf is the id of the function that a target names: by ARN, within a URI, or by an alias.
func (t *template) functionOf(target string) string {
	for _, match := range reference.FindAllStringSubmatch(target, -1) {
		switch r := t.resources[match[1]]; r.kind {
		case kindServerless, kindFunction:
			return r.id
		case "AWS::Lambda::Alias":
			return named(r.properties["FunctionName"])
		}
	}
	return ""
}
