package sam

import (
	"slices"
	"strings"
	"time"
)

// Route is what a gateway sends somewhere.
type Route struct {
	// Method is in capital letters; ANY stands for all.
	Method, Path string
	// Function is the id of the function that it reaches. It is empty if Target is none of the template's.
	Function, Target string
	// Gateway says which one it is, in words.
	Gateway string
	// Wait is for how long the gateway waits for an answer, 0 for as long as the function runs, or Unknown.
	Wait time.Duration
}

// What gateways wait for a function if nothing else is set. See
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html,
// https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-execution-service-limits-table.html and
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/edit-load-balancer-attributes.html.
const (
	waitOfHTTPAPI      = 30 * time.Second
	waitOfRESTAPI      = 29 * time.Second
	waitOfLoadBalancer = 60 * time.Second
)

const anyMethod = "ANY"

func (r Route) String() string { return r.Method + " " + r.Path }

// ChangesState reports whether requests of the route may change something: all but those that HTTP calls safe. See
// https://www.rfc-editor.org/rfc/rfc9110#name-safe-methods.
func (r Route) ChangesState() bool {
	return !slices.Contains([]string{"GET", "HEAD", "OPTIONS", "TRACE"}, r.Method)
}

// Routes are all routes, without those that are named twice, as a path of an OpenAPI document and as an event of a function.
func (t *Template) Routes() []Route {
	routes := slices.Concat(t.events(), t.urls(), t.v2(), t.rest(), t.openAPI(), t.loadBalancers())
	unique := []Route{}
	for _, r := range routes {
		r.Method = strings.ToUpper(r.Method)
		if slices.Contains([]string{"", "*", "$DEFAULT", "X-AMAZON-APIGATEWAY-ANY-METHOD"}, r.Method) {
			r.Method = anyMethod
		}
		if !slices.ContainsFunc(unique, func(u Route) bool {
			return u.Method == r.Method && u.Path == r.Path && u.Gateway == r.Gateway && u.Function == r.Function
		}) {
			unique = append(unique, r)
		}
	}
	return unique
}

// reaching is a route to what a text names.
func (t *Template) reaching(r Route, target string) Route {
	r.Function = t.function(target)
	r.Target = target
	return r
}

// events are the routes that functions of SAM name as events, and state machines, which are no functions.
func (t *Template) events() []Route {
	routes := []Route{}
	for _, f := range t.Of(typeFunction, "AWS::Serverless::StateMachine") {
		events, _ := f.At("Events").(map[string]any)
		for _, name := range sorted(events) {
			path, method := text(at(events[name], "Properties", "Path")), text(at(events[name], "Properties", "Method"))
			r := t.reaching(Route{Method: method, Path: path}, "${"+f.ID+"}")
			properties := at(events[name], "Properties")
			switch text(at(events[name], "Type")) {
			case "HttpApi":
				if r.Path == "" {
					r.Path = "$default"
				}
				r.Gateway = kindHTTP + implicit(at(properties, "ApiId"), "ServerlessHttpApi")
				r.Wait = duration(at(properties, "TimeoutInMillis"), time.Millisecond, waitOfHTTPAPI)
			case "Api":
				r.Gateway = kindREST + implicit(at(properties, "RestApiId"), "ServerlessRestApi")
				r.Wait = duration(at(properties, "TimeoutInMillis"), time.Millisecond, waitOfRESTAPI)
			default:
				continue
			}
			routes = append(routes, r)
		}
	}
	return routes
}

// The kinds of gateways, in words.
const (
	kindHTTP = "HTTP API "
	kindREST = "REST API "
)

// implicit is the id of an API that an event names, or of the one that SAM makes where it names none.
func implicit(named any, of string) string {
	if id := text(named); id != "" {
		return plain(id)
	}
	return of
}

// plain is the id of the resource that a reference names, or the text itself.
func plain(named string) string {
	if match := reference.FindStringSubmatch(named); match != nil {
		return match[1]
	}
	return named
}

// urls are function URLs. One takes requests of all methods on all paths.
func (t *Template) urls() []Route {
	routes := []Route{}
	r := Route{Method: anyMethod, Path: "/", Gateway: "function URL"}
	for _, f := range t.Of(typeFunction) {
		if f.At("FunctionUrlConfig") != nil {
			routes = append(routes, t.reaching(r, "${"+f.ID+"}"))
		}
	}
	for _, u := range t.Of("AWS::Lambda::Url") {
		routes = append(routes, t.reaching(r, u.Text("TargetFunctionArn")))
	}
	return routes
}

// v2 are the routes of HTTP APIs that are written out. The routes of a WebSocket API have no method.
func (t *Template) v2() []Route {
	routes := []Route{}
	for _, api := range t.Of(typeV2API) {
		if target := api.Text("Target"); target != "" {
			routes = append(routes, t.reaching(keyed(api.Text("RouteKey"), kindHTTP+api.ID, waitOfHTTPAPI), target))
		}
	}
	for _, r := range t.Of("AWS::ApiGatewayV2::Route") {
		api, key := plain(r.Text("ApiId")), r.Text("RouteKey")
		if t.Resources[api].Text("ProtocolType") == "WEBSOCKET" {
			continue
		}
		target := plain(strings.TrimPrefix(r.Text("Target"), "integrations/"))
		integration := t.Resources[target]
		wait := duration(integration.At("TimeoutInMillis"), time.Millisecond, waitOfHTTPAPI)
		if uri := integration.Text("IntegrationUri"); uri != "" {
			target = uri
		}
		routes = append(routes, t.reaching(keyed(key, kindHTTP+api, wait), target))
	}
	return routes
}

// keyed is the route of a route key: METHOD PATH, or $default.
func keyed(key, gateway string, wait time.Duration) Route {
	method, path, both := strings.Cut(key, " ")
	if !both {
		method, path = anyMethod, "$default"
	}
	return Route{Method: method, Path: path, Gateway: gateway, Wait: wait}
}

// rest are the methods of REST APIs that are written out.
func (t *Template) rest() []Route {
	methods := t.Of("AWS::ApiGateway::Method")
	routes := make([]Route, 0, len(methods))
	for _, m := range methods {
		r := Route{
			Method: m.Text("HttpMethod"), Path: t.path(m.Text("ResourceId"), 0), Gateway: kindREST + plain(m.Text("RestApiId")),
			Wait: duration(m.At("Integration", "TimeoutInMillis"), time.Millisecond, waitOfRESTAPI),
		}
		target := m.Text("Integration", "Uri")
		if target == "" {
			target = m.Text("Integration", "Type")
		}
		routes = append(routes, t.reaching(r, target))
	}
	return routes
}

// deepest bounds how many parts a path has, because a template may contradict itself.
const deepest = 100

// path is that of a resource of a REST API, which names its parent.
func (t *Template) path(id string, depth int) string {
	r := t.Resources[plain(id)]
	if r.Type != "AWS::ApiGateway::Resource" || depth > deepest {
		return "/"
	}
	return strings.TrimSuffix(t.path(r.Text("ParentId"), depth+1), "/") + "/" + r.Text("PathPart")
}
