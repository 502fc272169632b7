package audit

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// The types of functions.
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
	t.urls(add)
	t.written(add)
	t.methods(add)
	return all, changing
}

// adding adds a route to what has this target.
type adding func(target, method, path, gateway string)

// events are the routes that functions of SAM name as events.
func (t *template) events(add adding) {
	for _, f := range t.of(kindServerless) {
		events, _ := f.properties["Events"].(map[string]any)
		for _, name := range sorted(events) {
			p := at(events[name], "Properties")
			method, path := text(at(p, "Method")), text(at(p, "Path"))
			switch text(at(events[name], "Type")) {
			case "HttpApi":
				add(f.ref(), method, cmp.Or(path, "$default"), "HTTP API "+named(at(p, "ApiId"), "ServerlessHttpApi"))
			case "Api":
				add(f.ref(), method, path, "REST API "+named(at(p, "RestApiId"), "ServerlessRestApi"))
			}
		}
	}
}

// urls are function URLs. One takes requests of all methods on all paths.
func (t *template) urls(add adding) {
	for _, f := range t.of(kindServerless) {
		if f.properties["FunctionUrlConfig"] != nil {
			add(f.ref(), "", "/", "function URL")
		}
	}
	for _, u := range t.of("AWS::Lambda::Url") {
		add(u.text("TargetFunctionArn"), "", "/", "function URL")
	}
}

// written are the routes of HTTP APIs that are written out. The routes of a WebSocket API have no
// method.
func (t *template) written(add adding) {
	for _, r := range t.of("AWS::ApiGatewayV2::Route") {
		api := named(r.properties["ApiId"], "")
		if t.resources[api].text("ProtocolType") == "WEBSOCKET" {
			continue
		}
		integration := t.resources[named(strings.TrimPrefix(r.text("Target"), "integrations/"), "")]
		method, path, both := strings.Cut(r.text("RouteKey"), " ")
		if !both {
			method, path = "", "$default"
		}
		add(integration.text("IntegrationUri"), method, path, "HTTP API "+api)
	}
}

// methods are the methods of REST APIs that are written out. One that is mocked is answered by the
// gateway itself.
func (t *template) methods(add adding) {
	for _, m := range t.of("AWS::ApiGateway::Method") {
		if m.text("Integration", "Type") != "MOCK" {
			add(m.text("Integration", "Uri"), m.text("HttpMethod"), t.path(m.properties["ResourceId"], 0),
				"REST API "+named(m.properties["RestApiId"], ""))
		}
	}
}

// deepest bounds how far resources refer to each other, because a template may contradict itself.
const deepest = 50

// path is the path of a resource of a REST API, which names its parent.
func (t *template) path(id any, depth int) string {
	r := t.resources[named(id, "")]
	if r.kind != "AWS::ApiGateway::Resource" || depth > deepest {
		return "/"
	}
	return strings.TrimSuffix(t.path(r.properties["ParentId"], depth+1), "/") + "/" + r.text("PathPart")
}

// reference is what a reference to a resource has become, or to an attribute of one.
var reference = regexp.MustCompile(`\$\{([A-Za-z0-9]+)(\.[A-Za-z0-9.]+)?\}`)

// named is the id of the resource that a value refers to, the value itself if it refers to none, or
// usual if there is no value.
func named(value any, usual string) string {
	name := text(value)
	if match := reference.FindStringSubmatch(name); match != nil {
		return match[1]
	}
	if name == "" {
		return usual
	}
	return name
}

// functionOf is the id of the function that a target names: by its ARN, within a URI, or by an
// alias of it.
func (t *template) functionOf(target string) string {
	for _, match := range reference.FindAllStringSubmatch(target, -1) {
		switch r := t.resources[match[1]]; r.kind {
		case kindServerless, kindFunction:
			return r.id
		case "AWS::Lambda::Alias":
			return named(r.properties["FunctionName"], "")
		}
	}
	return ""
}
