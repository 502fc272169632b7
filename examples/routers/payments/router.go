package payments

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"
)

// Router routes requests, and can say where it would route one.
type Router struct {
	http.Handler

	// Route returns the pattern of the route that serves a request, such as "POST /charges/{id}/refund", empty if none does. It is safe
	// for concurrent use.
	Route func(method, path string) string
}

// ServeMux returns the API on the router of the standard library.
func ServeMux(a *API) Router {
	mux := http.NewServeMux()
	for route, handler := range a.handlers() {
		mux.HandleFunc(route, handler)
	}
	return Router{mux, func(method, path string) string {
		_, pattern := mux.Handler(&http.Request{Method: method, URL: &url.URL{Path: path}})
		return pattern
	}}
}

// Chi returns the API on the router of github.com/go-chi/chi.
func Chi(a *API) Router {
	r := chi.NewRouter()
	for route, handler := range a.handlers() {
		method, pattern, _ := strings.Cut(route, " ")
		r.Method(method, pattern, handler)
	}
	return Router{r, func(method, path string) string {
		matched := chi.NewRouteContext() // one for each question: Match writes into it
		if !r.Match(matched, method, path) {
			return ""
		}
		return method + " " + matched.RoutePattern()
	}}
}
