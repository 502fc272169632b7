package gateway_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
)

// exempting protects all requests but those with these paths.
func exempting(paths ...string) idempotent.Option {
	return idempotent.WithHTTP(
		idempotent.HTTP{Protect: func(_, path string) bool { return !slices.Contains(paths, path) }})
}

// Where every method is protected, Protect is asked about each of them; otherwise it has no say in
// GET, HEAD and OPTIONS.
func TestProtectIsAskedOnlyAboutWhatCanBeProtected(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		var mu sync.Mutex
		var asked []string
		a := d.open(t, idempotent.WithHTTP(idempotent.HTTP{Protect: func(method, path string) bool {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, method+" "+path)
			return true
		}}))
		for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
			a.send(ask{method: method, key: "k"})
			assert.Equal(t, report.Unprotected, a.event().Outcome)
		}
		assert.Empty(t, asked)
		a.send(ask{method: "POST", path: "/charges/caf%C3%A9", key: "k"})
		a.send(ask{method: "PUT"})
		assert.Equal(t, []string{"POST /charges/café", "PUT /charges"}, asked)
	})
	selected := ""
	a := doors()[0].open(t, idempotent.WithKeyPath("headers.\"idempotency-key\""),
		idempotent.WithHTTP(idempotent.HTTP{Protect: func(method, path string) bool {
			selected = method + " " + path
			return true
		}}))
	a.send(ask{method: "GET", key: "k"})
	assert.Equal(t, "GET /charges", selected)
}

// Nobody gets around the protection by spelling a path in another way that its router takes for the
// same. All readings of a path are in path_test.go.
func TestSpellingOfAPathIsNoWayAroundProtection(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		all := exempting("/health", "/public/x")
		protecting := func(protect func(path string) bool) idempotent.Option {
			return idempotent.WithHTTP(idempotent.HTTP{Protect: func(_, path string) bool { return protect(path) }})
		}
		under := protecting(func(path string) bool { return !strings.HasPrefix(path, "/public/") })
		only := protecting(func(path string) bool { return strings.HasPrefix(path, "/charges") })
		suffix := protecting(func(path string) bool { return !strings.HasSuffix(path, "/x") })
		for path, opt := range map[string]idempotent.Option{
			"/public/..%2fcharges": under, // routers clean it
			"//charges":            only,
			"/publi%63/x":          all, // routers that match the encoded path take it for something else
			"/Health":              all,
			"/charges?/x":          suffix, // adapters cut it off
		} {
			r, _ := d.refused(t, ask{path: path}, opt)
			assertProblem(t, r, 400, "missing-key")
		}
		for path, opt := range map[string]idempotent.Option{
			"/health": all, "/public/caf%C3%A9": under, "/public//x": under, "/x": only,
		} {
			a := d.open(t, opt)
			assert.Equal(t, 201, a.send(ask{path: path}).Status, "%s is not protected in any reading", path)
		}
	})
}

// Neither Protect nor Route is part of what is stored or derived.
func TestProtectAndRouteChangeNoRecord(t *testing.T) {
	t.Parallel()
	for name, payload := range golden(t) {
		plain, _ := familyOf(name).identify(t.Context(), t, payload)
		with, _ := familyOf(name).identify(t.Context(), t, payload, idempotent.WithHTTP(idempotent.HTTP{
			Protect: func(string, string) bool { return true },
			Route:   func(string, string) string { return "route" },
		}))
		assert.Equal(t, plain, with, name)
	}
}

// The panic of such a function is one of the configuration: nothing was asked of the store, and the
// observer hears of it.
func TestPanicOfProtectOrRouteComesBeforeAnyIO(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for name, h := range map[string]idempotent.HTTP{
			"Protect": {Protect: func(string, string) bool { panic("boom") }},
			"Route":   {Route: func(string, string) string { panic("boom") }},
		} {
			a := d.open(t, idempotent.WithHTTP(h))
			assert.PanicsWithValue(t, "boom", func() { _, _ = a.try(ask{key: "k"}) }, name)
			assert.Equal(t, report.Panicked, a.event().Outcome)
			a.assertNoIO()
			a.assertExecuted(0)
		}
		a := d.open(t, idempotent.WithHTTP(idempotent.HTTP{Protect: func(string, string) bool { panic("boom") }}))
		assert.Panics(t, func() { _, _ = a.try(ask{key: "k"}) })
		assert.NotEmpty(t, a.event().Route, "the route is known all the same")
	})
}

func TestRouteIsTheTemplateOfTheGatewayAndNeverAPath(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		routes := !strings.Contains(d.name, "URL") && !strings.Contains(d.name, "ALB")
		a := d.open(t)
		for _, tc := range []struct {
			q    ask
			want string // where there are routes
			none string // where there are none
		}{
			{ask{route: "/charges/{id}", path: "/charges/ch-1", key: "k"}, "POST /charges/{id}", "POST (any)"},
			{ask{method: "DELETE", route: "/charges/{id}", path: "/charges/1"}, "DELETE /charges/{id}", "DELETE (any)"},
			// which is refused
			{ask{route: "/charges/{id}", path: "/charges/ch-2"}, "POST /charges/{id}", "POST (any)"},
			{ask{route: "/{proxy+}", path: "/charges/ch-1"}, "POST (any)", "POST (any)"},
			{ask{method: "FROBNICATE", route: "/charges", path: "/charges"}, "(other) /charges", "(other) (any)"},
		} {
			a.send(tc.q)
			want := tc.none
			if routes {
				want = tc.want
			}
			assert.Equal(t, want, a.event().Route)
		}
	})
}

func TestRouteOfTheUserNamesEveryDelivery(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		a := d.open(t, idempotent.WithHTTP(idempotent.HTTP{
			Protect: func(_, path string) bool { return path != "/webhooks" },
			Route: func(method, path string) string {
				if path == "/nameless" {
					return ""
				}
				return strings.ToLower(method) + strings.ReplaceAll(path, "/", "-")
			},
		}))
		for _, tc := range []struct {
			q       ask
			route   string
			outcome report.Outcome
		}{
			{ask{key: "k"}, "post-charges", report.Executed},
			{ask{key: "k"}, "post-charges", report.Replayed},
			{ask{key: "k", body: "other"}, "post-charges", report.Mismatch},
			{ask{}, "post-charges", report.MissingKey},
			{ask{method: "GET"}, "get-charges", report.Unprotected},
			{ask{path: "/webhooks"}, "post-webhooks", report.Unprotected},
			{ask{path: "/nameless", key: "n"}, "", report.Executed},
		} {
			a.send(tc.q)
			assert.Equal(t, tc.outcome, a.event().Outcome)
			assert.Equal(t, tc.route, a.event().Route)
		}
	})
}

func TestEventWithoutARequestHasNoRoute(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		a := d.open(t)
		a.send(ask{formless: true})
		assert.Equal(t, report.Refused, a.event().Outcome)
		assert.Empty(t, a.event().Route)
		a = d.open(t, idempotent.WithDisabled(true))
		a.send(ask{key: "k"})
		assert.Empty(t, a.event().Route)
	})
	var seen seenEvents
	h := idempotent.Wrap(func(context.Context, order) (receipt, error) { return receipt{}, nil }, memory.New(),
		idempotent.WithOperation("shop"), idempotent.WithKeyPath("id"), idempotent.WithObserver(seen.see))
	_, err := h.Handle(t.Context(), order{ID: "o-1"})
	require.NoError(t, err)
	assert.Empty(t, seen.seen[0].Route)
}

// What a Route returns, or a gateway has for a template, fills neither the memory nor the bill of a
// metric.
func TestHandlerHasAHundredRoutes(t *testing.T) {
	t.Parallel()
	route := idempotent.WithHTTP(idempotent.HTTP{Route: func(_, path string) string { return path }})
	for name, opts := range map[string][]idempotent.Option{"path": {route}, "template": nil} {
		open := func() (a *api, named func(n int) string) {
			a = doors()[0].open(t, opts...)
			return a, func(n int) string {
				text := "/" + strconv.Itoa(n)
				_, err := a.try(ask{method: "GET", route: text, path: text})
				assert.NoError(t, err)
				return strings.TrimPrefix(a.event().Route, "GET ")
			}
		}
		_, named := open()
		for n := range 120 {
			want := "/" + strconv.Itoa(n)
			if n >= 100 {
				want = "other"
			}
			require.Equal(t, want, named(n), name)
			require.Equal(t, want, named(n), "a name counts once")
		}
		assert.Equal(t, "/99", named(99), "the names of before stay")

		a, at := open() // each handler has its own
		var group sync.WaitGroup
		for n := range 400 {
			group.Go(func() { at(n % 200) })
		}
		group.Wait()
		seen := map[string]int{}
		for _, e := range a.seen.seen {
			seen[e.Route]++
		}
		assert.Len(t, seen, 101)
		assert.Equal(t, 200, seen["other"])
	}
}

func TestRouteIsAskedOnlyForAnObserver(t *testing.T) {
	t.Parallel()
	done := func(context.Context) (reply, error) { return reply{Status: 201}, nil }
	send := doors()[0].wrap(done, memory.New(), idempotent.WithHTTP(idempotent.HTTP{Route: func(string, string) string {
		assert.Fail(t, "nobody wants to know")
		return ""
	}}))
	_, err := send(t.Context(), ask{key: "k"})
	require.NoError(t, err)
}

// What needs no protection asks no store and is refused for nothing. The client gets what the
// handler returns, also where that says that it is a replay. What the handler notes counts for
// nobody.
func TestRequestThatNeedsNoProtectionGetsWhatTheHandlerReturns(t *testing.T) {
	var safe, keyed []ask
	for _, key := range []string{"", "k", "not, one"} {
		keyed = append(keyed, ask{key: key})
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "get"} {
			safe = append(safe, ask{method: method, key: key})
		}
	}
	keyless := slices.Concat(safe, []ask{{method: "PUT"}, {method: "DELETE"}, {method: "delete"}})
	never, noKey := func(string, string) bool { return false }, idempotent.HTTP{RequireKey: []string{}}
	own := reply{
		Status: 502, Headers: map[string]string{"Idempotent-Replayed": "true", "Idempotency-Key-Expires": "never"},
		Body: "b",
	}
	everyDoor(t, func(t *testing.T, d door) {
		for name, c := range map[string]struct {
			asks []ask
			opts []idempotent.Option
		}{
			"no option":       {keyless, nil},
			"no key required": {[]ask{{}}, []idempotent.Option{idempotent.WithHTTP(noKey)}},
			"optional key":    {[]ask{{}}, []idempotent.Option{idempotent.WithOptionalKey()}},
			"tenant required": {keyless, []idempotent.Option{requireTenant}},
			"nor a key":       {[]ask{{}}, []idempotent.Option{requireTenant, idempotent.WithOptionalKey()}},
			"limited age":     {keyless, limited(clockAt)},
			"Protect":         {keyed, []idempotent.Option{exempting("/charges")}},
			"Protect before all else": {keyed, []idempotent.Option{idempotent.WithHTTP(idempotent.HTTP{
				Protect: never, RequireTenant: true, TimestampHeader: "X-Sent",
				MaxRequestAge: protocol.DefaultRetention / 2,
			})}},
			"Protect before a key of a function": {keyed, []idempotent.Option{
				exempting("/charges"), d.keyed(func(string) (string, error) { return "", errDownstream }),
			}},
			"Protect before a path": {keyed, []idempotent.Option{
				exempting("/charges"), idempotent.WithKeyPath("powertools_json(body).id"),
			}},
			"Protect before Powertools": {keyed, []idempotent.Option{
				exempting("/charges"), idempotent.WithKeyPath("headers.missing"), idempotent.WithPowertools(
					idempotent.Powertools{Language: idempotent.PowertoolsPython, Prefix: "p", AllCallers: true}),
			}},
			"disabled": {keyed, []idempotent.Option{idempotent.WithDisabled(true)}},
		} {
			for _, q := range c.asks {
				a := d.open(t, c.opts...)
				a.do = func(ctx context.Context) (reply, error) {
					_, protected := idempotent.FromContext(ctx)
					assert.False(t, protected)
					first := idempotent.DerivedKey(ctx, "a")
					assert.NotEqual(t, first, idempotent.DerivedKey(ctx, "a"), "derived keys are random")
					return noting(own, idempotent.Uncertain(errDownstream))(ctx)
				}
				for range 2 {
					assert.Equal(t, own, a.send(q), name)
					assert.Equal(t, name == "disabled", a.event().Outcome == report.Disabled)
					assert.Equal(t, name != "disabled", a.event().Outcome == report.Unprotected)
					assert.Empty(t, a.event().RecordKey)
					assert.NoError(t, a.event().Err)
				}
				a.assertExecuted(2)
				a.assertNoIO()
			}
		}
	})
	idempotent.Mark(idempotent.Unprotected(t.Context()), errDownstream) // a job
}

func TestMethodAndOptionsSayWhetherAKeyIsNeeded(t *testing.T) {
	optional := []idempotent.Option{idempotent.WithOptionalKey()}
	once := []string{"201", "201 replayed"}
	everyDoor(t, func(t *testing.T, d door) {
		methods := []string{"PUT"}
		put := []idempotent.Option{idempotent.WithHTTP(idempotent.HTTP{RequireKey: methods})}
		for _, c := range []struct {
			q    ask
			opts []idempotent.Option
			gets []string
		}{
			{ask{method: "POST"}, nil, []string{"400 missing-key"}},
			{ask{method: "PATCH"}, nil, []string{"400 missing-key"}},
			{ask{method: "post"}, nil, []string{"400 missing-key"}},
			{ask{method: "Patch"}, nil, []string{"400 missing-key"}},
			{ask{method: "PUT", key: "k"}, nil, once},
			{ask{method: "DELETE", key: "k"}, nil, once},
			{ask{method: "delete", key: "k"}, nil, once},
			{ask{method: "PUT"}, put, []string{"400 missing-key"}},
			{ask{method: "POST"}, put, []string{"201", "201"}},
			{ask{key: "a,b"}, optional, []string{"400 invalid-key"}},
			{ask{key: "k"}, optional, once},
			{ask{key: "k"}, append(optional, requireTenant), []string{"401 missing-tenant"}},
			{ask{}, limited(clockAt), []string{"400 missing-key"}},
			{ask{method: "PUT", key: "k"}, limited(clockAt), []string{"400 stale-request"}},
			{ask{key: "k"}, []idempotent.Option{exempting("/webhooks")}, once},
			{ask{}, []idempotent.Option{exempting("/webhooks")}, []string{"400 missing-key"}},
		} {
			d.open(t, c.opts...).gets(c.q, c.gets...)
		}
		a := d.open(t, put...)
		methods[0] = "POST" // the configuration has its own copy
		a.gets(ask{method: "PUT"}, "400 missing-key")
		_, event := d.refused(t, ask{})
		assert.Equal(t, report.MissingKey, event.Outcome)
	})
}
