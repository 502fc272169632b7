package routers

import (
	"net/http"
	"strings"
	"testing"

	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"
	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

// pieces are what paths are made of that a router, an adapter or a gateway may read in another way than we do.
var pieces = []string{
	"/", "/charges", "charges", "/search", "/webhooks", "/x", "/..", "/.", "%2F", "%2f", "/%63harges", "%2e%2e", "#", "?", "%23", "%3F",
	"%25", ";", "/prod", " ",
}

// spellings calls f with everything that up to three pieces make: some 8,000 paths.
func spellings(f func(path string)) {
	var add func(path string, left int)
	add = func(path string, left int) {
		f(path)
		if left == 0 {
			return
		}
		for _, piece := range pieces {
			add(path+piece, left-1)
		}
	}
	add("", 3)
}

// TestNoSpellingGetsAProtectedRouteToRunWithoutAKey asks the real routers what they make of each spelling. A handler that runs without a
// key has to be one that Protect exempts.
func TestNoSpellingGetsAProtectedRouteToRunWithoutAKey(t *testing.T) {
	t.Parallel()
	protects := map[string]func(method, path string) bool{
		"what is exempt is listed": func(_, path string) bool {
			return path != "/search" && !strings.HasPrefix(path, "/webhooks/")
		},
		"what is protected is listed": func(_, path string) bool {
			return path != "/search" && strings.Count(path, "/") == 1
		},
	}
	for rule, protect := range protects {
		for _, stage := range []string{"$default", "prod"} {
			for name, routed := range map[string]func(http.HandlerFunc, http.HandlerFunc) http.Handler{"ServeMux": onServeMux, "chi": onChi} {
				t.Run(rule+", "+name+", stage "+stage, func(t *testing.T) {
					t.Parallel()
					ran, exempt := false, 0
					router := routed(
						func(w http.ResponseWriter, _ *http.Request) { ran = true; w.WriteHeader(http.StatusOK) },
						func(w http.ResponseWriter, _ *http.Request) { exempt++; w.WriteHeader(http.StatusOK) })
					adapter := httpadapter.NewV2(router)
					if stage != "$default" {
						adapter.StripBasePath(stage)
					}
					handler := idempotent.Wrap(adapter.ProxyWithContext, memory.New(), idempotent.WithHTTP(idempotent.HTTP{Protect: protect}))
					event := post("", "")
					event.RequestContext.Stage = stage
					spellings(func(path string) {
						event.RawPath = path
						if stage != "$default" {
							event.RawPath = "/" + stage + path
						}
						_, _ = handler.Handle(t.Context(), event) // a path that no URL can have is an error
						if ran {
							require.Fail(t, "a protected route ran without a key", "%q", event.RawPath)
						}
					})
					require.Positive(t, exempt)
				})
			}
		}
	}
}

func onServeMux(protected, exempt http.HandlerFunc) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /charges", protected)
	mux.HandleFunc("POST /{anything}", protected)
	mux.HandleFunc("POST /search", exempt)
	mux.HandleFunc("POST /webhooks/{provider}", exempt)
	return mux
}

func onChi(protected, exempt http.HandlerFunc) http.Handler {
	r := chi.NewRouter()
	r.Post("/charges", protected)
	r.Post("/{anything}", protected)
	r.Post("/search", exempt)
	r.Post("/webhooks/{provider}", exempt)
	return r
}
