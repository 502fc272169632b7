package sam

import (
	"slices"
	"time"
)

// loadBalancers are the rules of load balancers that send requests to functions.
func (t *Template) loadBalancers() []Route {
	listeners := t.Of("AWS::ElasticLoadBalancingV2::Listener")
	routes := make([]Route, 0, len(listeners))
	for _, listener := range listeners {
		r := Route{Method: anyMethod, Path: "/*", Gateway: "load balancer, listener " + listener.ID, Wait: t.idle(listener)}
		routes = append(routes, t.forwarded(listener.At("DefaultActions"), []Route{r})...)
	}
	for _, rule := range t.Of("AWS::ElasticLoadBalancingV2::ListenerRule") {
		r := Route{Gateway: "load balancer, rule " + rule.ID, Wait: t.idle(t.Resources[plain(rule.Text("ListenerArn"))])}
		routes = append(routes, t.forwarded(rule.At("Actions"), matched(r, rule.At("Conditions")))...)
	}
	return routes
}

// matched are the methods and paths that the conditions of a rule let through.
func matched(r Route, conditions any) []Route {
	methods, paths := []any{anyMethod}, []any{"/*"}
	for _, c := range list(conditions) {
		values := at(c, "Values")
		switch text(at(c, "Field")) {
		case "http-request-method":
			methods = firstOf(at(c, "HttpRequestMethodConfig", "Values"), values)
		case "path-pattern":
			paths = firstOf(at(c, "PathPatternConfig", "Values"), values)
		}
	}
	routes := make([]Route, 0, len(methods)*len(paths))
	for _, method := range methods {
		for _, path := range paths {
			matching := r
			matching.Method, matching.Path = text(method), text(path)
			routes = append(routes, matching)
		}
	}
	return routes
}

func firstOf(lists ...any) []any {
	for _, l := range lists {
		if len(list(l)) > 0 {
			return list(l)
		}
	}
	return []any{anyMethod}
}

// forwarded are the routes to the functions that actions forward to.
func (t *Template) forwarded(actions any, routes []Route) []Route {
	found := []Route{}
	for _, action := range list(actions) {
		groups := []any{at(action, "TargetGroupArn")}
		for _, g := range list(at(action, "ForwardConfig", "TargetGroups")) {
			groups = append(groups, at(g, "TargetGroupArn"))
		}
		for _, g := range groups {
			group := t.Resources[plain(text(g))]
			if group.Text("TargetType") != "lambda" {
				continue
			}
			for _, target := range list(group.At("Targets")) {
				for _, r := range routes {
					found = append(found, t.reaching(r, text(at(target, "Id"))))
				}
			}
		}
	}
	return slices.Clip(found)
}

// idle is for how long the load balancer of a listener waits. That of one that is not in the template is unknown.
func (t *Template) idle(listener Resource) time.Duration {
	balancer, here := t.Resources[plain(listener.Text("LoadBalancerArn"))]
	attributes := balancer.At("LoadBalancerAttributes")
	if !here || attributes != nil && list(attributes) == nil {
		return Unknown
	}
	for _, a := range list(attributes) {
		if text(at(a, "Key")) == "idle_timeout.timeout_seconds" {
			return duration(at(a, "Value"), time.Second, waitOfLoadBalancer)
		}
	}
	return waitOfLoadBalancer
}
