package gateway_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/storetest"
)

// balanced is a handler behind a load balancer.
type balanced struct {
	t        *testing.T
	executed int
	handler  *idempotent.Handler[requestALB, responseALB]
}

func balance(t *testing.T, out responseALB, opts ...idempotent.Option) *balanced {
	b := &balanced{t: t}
	b.handler = idempotent.Wrap(func(context.Context, requestALB) (responseALB, error) {
		b.executed++
		return out, nil
	}, memory.New(), opts...)
	return b
}

func (b *balanced) send(e requestALB) responseALB {
	b.t.Helper()
	out, err := deliver(b.t.Context(), b.handler, e, true)
	require.NoError(b.t, err)
	return out
}

func TestProblemIsInTheFormThatTheLoadBalancerReads(t *testing.T) {
	t.Parallel()
	b := balance(t, responseALB{})
	single := b.send(ask{}.alb())
	assert.Equal(t, 400, single.StatusCode)
	assert.Equal(t, "400 Bad Request", single.StatusDescription)
	assert.Equal(t, "application/problem+json", single.Headers["Content-Type"])
	assert.Empty(t, single.MultiValueHeaders)

	multi := b.send(ask{}.albMulti())
	assert.Equal(t, severalOf(single.Headers), multi.MultiValueHeaders)
	assert.Empty(t, multi.Headers)
	assert.Equal(t, single.Body, multi.Body)
	assert.Equal(t, single.StatusDescription, multi.StatusDescription)
	assert.Zero(t, b.executed)
}

// unexpiring is a response without the header that says until when it is replayed.
func unexpiring(r responseALB) responseALB {
	const name = "Idempotency-Key-Expires"
	r.Headers, r.MultiValueHeaders = maps.Clone(r.Headers), maps.Clone(r.MultiValueHeaders)
	delete(r.Headers, name)
	delete(r.MultiValueHeaders, name)
	return r
}

func TestReplayIsInTheFormThatTheLoadBalancerReads(t *testing.T) {
	t.Parallel()
	single := map[string]string{"Content-Type": "text/plain", "X-Tags": "a, b"}
	multi := map[string][]string{"Content-Type": {"text/plain"}, "X-Tags": {"a", "b"}}
	for name, c := range map[string]struct {
		handler    responseALB
		event      requestALB
		wantSingle map[string]string
		wantMulti  map[string][]string
	}{
		"single": {responseALB{Headers: single}, ask{key: "k"}.alb(), single, nil},
		"multi":  {responseALB{MultiValueHeaders: multi}, ask{key: "k"}.albMulti(), nil, multi},
		"both, read single": {
			responseALB{Headers: single, MultiValueHeaders: multi},
			ask{key: "k"}.alb(), single, nil,
		},
		"both, read multi": {
			responseALB{Headers: single, MultiValueHeaders: multi},
			ask{key: "k"}.albMulti(), nil, multi,
		},
		"stored single, read as multi": {
			responseALB{Headers: single},
			ask{key: "k"}.albMulti(), nil,
			severalOf(single),
		},
		"stored multi, read as single": {responseALB{MultiValueHeaders: multi}, ask{key: "k"}.alb(), single, nil},
		"none, single":                 {responseALB{}, ask{key: "k"}.alb(), map[string]string{}, nil},
		"none, multi":                  {responseALB{}, ask{key: "k"}.albMulti(), nil, map[string][]string{}},
	} {
		c.handler.StatusCode = 201
		b := balance(t, c.handler)
		first, replay := unexpiring(b.send(c.event)), unexpiring(b.send(c.event))
		if c.wantMulti != nil {
			assert.Equal(t, c.wantMulti, first.MultiValueHeaders, "%s: the first answer", name)
			c.wantMulti = maps.Clone(c.wantMulti)
			c.wantMulti["Idempotent-Replayed"] = []string{"true"}
			assert.Equal(t, c.wantMulti, replay.MultiValueHeaders, name)
			assert.NotContains(t, replay.Headers, "Idempotent-Replayed", name)
		} else {
			assert.Equal(t, c.wantSingle, first.Headers, "%s: the first answer", name)
			c.wantSingle = maps.Clone(c.wantSingle)
			c.wantSingle["Idempotent-Replayed"] = "true"
			assert.Equal(t, c.wantSingle, replay.Headers, name)
			assert.NotContains(t, replay.MultiValueHeaders, "Idempotent-Replayed", name)
		}
		assert.Equal(t, 1, b.executed, name)
	}
}

func TestSwitchingMultiValueHeadersFindsTheSameRecord(t *testing.T) {
	t.Parallel()
	b := balance(t, responseALB{StatusCode: 200, Headers: map[string]string{"X": "1"}})
	b.send(ask{key: "k", query: "a=1"}.alb())
	replay := b.send(ask{key: "k", query: "a=1"}.albMulti())
	assert.Equal(t, []string{"true"}, replay.MultiValueHeaders["Idempotent-Replayed"])
	assert.Equal(t, []string{"1"}, replay.MultiValueHeaders["X"])
	assert.Equal(t, 1, b.executed)
}

func TestCookiesThatCannotBeJoinedAreNot(t *testing.T) {
	t.Parallel()
	b := balance(t, responseALB{
		StatusCode:        200,
		MultiValueHeaders: map[string][]string{"Set-Cookie": {"a=1", "b=2"}, "Vary": {"A", "B"}, "None": {}},
	})
	assert.Equal(t, map[string]string{"Set-Cookie": "b=2", "Vary": "A, B"},
		unexpiring(b.send(ask{key: "k"}.alb())).Headers)
	replay := unexpiring(b.send(ask{key: "k"}.alb())).Headers
	assert.Equal(t, map[string]string{"Vary": "A, B", "Idempotent-Replayed": "true"}, replay)
}

func TestStatusDescriptionIsThatOfTheHandler(t *testing.T) {
	t.Parallel()
	for _, description := range []string{"201 Made", ""} {
		b := balance(t, responseALB{StatusCode: 201, StatusDescription: description})
		assert.Equal(t, description, b.send(ask{key: "k"}.alb()).StatusDescription)
		replay := b.send(ask{key: "k"}.alb())
		assert.Equal(t, description, replay.StatusDescription)
		assert.Equal(t, "true", replay.Headers["Idempotent-Replayed"])
	}
}

func TestStatusDescriptionOfEveryProblem(t *testing.T) {
	t.Parallel()
	inProgress := func() responseALB {
		store := storetest.NewFaulty(memory.New(), nil)
		running, finish, done := make(chan struct{}), make(chan struct{}), make(chan error)
		h := idempotent.Wrap(func(context.Context, requestALB) (responseALB, error) {
			close(running)
			<-finish
			return responseALB{StatusCode: 200}, nil
		}, store)
		go func() {
			_, err := h.Handle(t.Context(), ask{key: "k"}.alb())
			done <- err
		}()
		<-running
		out, err := h.Handle(t.Context(), ask{key: "k"}.alb())
		close(finish)
		require.NoError(t, err)
		require.NoError(t, <-done)
		return out
	}
	assert.Equal(t, "409 Conflict", inProgress().StatusDescription)
	d := newDoor("ALB", false, ask.alb, reply.alb, func(r responseALB) reply {
		descriptions := map[int]string{
			400: "400 Bad Request", 401: "401 Unauthorized", 409: "409 Conflict", 422: "422 Unprocessable Content",
			500: "500 Internal Server Error", 503: "503 Service Unavailable",
		}
		if r.StatusCode != 200 {
			assert.Equal(t, descriptions[r.StatusCode], r.StatusDescription)
		}
		return ofALB(r)
	})
	for kind, make := range trouble {
		if kind == "wrapped-twice" {
			continue // what arrives is the answer of the outer handler, which is that of this kit
		}
		_, r := make(t, d, ask{key: "k"}, idempotent.HTTP{})
		assert.NotEqual(t, 200, r.Status)
	}
}

func TestInstanceOfALoadBalancersProblemHasTheTraceID(t *testing.T) {
	t.Parallel()
	e := load[requestALB](t, "alb-single")
	delete(e.Headers, "idempotency-key")
	b := balance(t, responseALB{})
	var document struct{ Instance string }
	require.NoError(t, json.Unmarshal([]byte(b.send(e).Body), &document))
	assert.Equal(t, "/charges#Self=1-65f1c0df-00112233445566778899aabb;Root=1-65f1c0de-3a7b1c2d4e5f60718293a4b5",
		document.Instance)
}

func TestHostileTraceIDIsOnlyEverAFragment(t *testing.T) {
	t.Parallel()
	b := balance(t, responseALB{})
	for _, id := range []string{
		`"><script>alert(1)</script>`, "a#b?c", "x\r\nSet-Cookie: a=1", "//evil.example", "%zz",
		"\x00\u2028",
	} {
		e := ask{}.alb()
		e.Headers["x-amzn-trace-id"] = id
		out := b.send(e)
		var document struct{ Instance string }
		require.NoError(t, json.Unmarshal([]byte(out.Body), &document))
		u, err := url.Parse(document.Instance)
		require.NoError(t, err)
		assert.Equal(t, "/charges", u.Path)
		assert.Equal(t, id, u.Fragment)
		assert.NotRegexp(t, "[<>\x00-\x1f]", document.Instance)
	}
}

func TestHealthCheckRunsUnprotected(t *testing.T) {
	t.Parallel()
	b := balance(t, responseALB{StatusCode: 200})
	for n := range 3 {
		assert.Equal(t, responseALB{StatusCode: 200}, b.send(load[requestALB](t, "alb-health-check")))
		assert.Equal(t, n+1, b.executed)
	}
}

func TestQueryOfALoadBalancerIsDecodedHere(t *testing.T) {
	t.Parallel()
	of := func(single map[string]string) string {
		e := ask{key: "k"}.alb()
		e.QueryStringParameters = single
		multi := ask{key: "k"}.albMulti()
		multi.MultiValueQueryStringParameters = severalOf(single)
		first := identifyALB(t, e).fingerprint
		for range 10 { // maps are ranged over in random order
			assert.Equal(t, first, identifyALB(t, e).fingerprint)
			assert.Equal(t, first, identifyALB(t, multi).fingerprint)
		}
		return first
	}
	for _, same := range [][2]map[string]string{
		{{"a": "b%20c"}, {"a": "b+c"}},
		{{"a": "%31"}, {"a": "1"}},
		{{"%61": "1"}, {"a": "1"}},
		{{"%C3%BC": "1"}, {"ü": "1"}},
		{nil, {}},
	} {
		assert.Equal(t, of(same[0]), of(same[1]), same)
	}
	for _, other := range [][2]map[string]string{
		{{"a": "1+1"}, {"a": "1%2B1"}},
		{{"a": "%zz"}, {"a": "%25zz"}},
		{{"a": "%zz", "b": "%31"}, {"a": "%zz", "b": "1"}}, // not decodable: all as it was sent
		{{"a": "1", "%61": "2"}, {"a": "2", "%61": "1"}},
		{{"a": ""}, {}},
	} {
		assert.NotEqual(t, of(other[0]), of(other[1]), other)
	}
	for _, query := range []string{"", "a=b%20c&%C3%BC=1", "a=1+1"} {
		assert.Equal(t, identifyURL(t, ask{key: "k", query: query}.url()).fingerprint,
			identifyALB(t, ask{key: "k", query: query}.alb()).fingerprint, "as in other families: %s", query)
	}
}

func TestRepeatedKeyBehindALoadBalancerIsRefused(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{{"k", "k"}, {"k", "l"}, {"k,k"}, {""}, {"k", ""}} {
		e := ask{}.albMulti()
		e.MultiValueHeaders["idempotency-key"] = keys
		id, out, err := identify[requestALB, responseALB](t.Context(), e, true)
		require.NoError(t, err)
		assert.Empty(t, id.key)
		assertProblem(t, ofALBMulti(out), 400, "invalid-key")
	}
}

func TestIdentityThatAnyClientCanSendNamesNobody(t *testing.T) {
	t.Parallel()
	e := load[requestALB](t, "alb-oidc")
	first := identifyALB(t, e)
	e.Headers["x-amzn-oidc-identity"], e.Headers["x-amzn-oidc-data"] = "eve", "forged"
	assert.Equal(t, first, identifyALB(t, e))
	assert.Equal(t, identifyALB(t, load[requestALB](t, "alb-single")), identifyALB(t, e))

	authenticated := idempotent.WithTenant(func(_ context.Context, e requestALB) (string, error) {
		return e.Headers["x-amzn-oidc-identity"], nil
	})
	eve := identifyALB(t, e, authenticated).key
	e.Headers["x-amzn-oidc-identity"] = "ada"
	assert.NotEqual(t, eve, identifyALB(t, e, authenticated).key)
}

func TestEventsOfLoadBalancersAndRESTAPIsAreToldApart(t *testing.T) {
	t.Parallel()
	for name, payload := range golden(t) {
		kind, _, _ := strings.Cut(name, "-")
		for handler, invoke := range map[string]func() (reply, error){
			"v1": func() (reply, error) { r, err := run[requestV1, responseV1](t, payload); return ofV1(r), err },
			"v2": func() (reply, error) { r, err := run[requestV2, responseV2](t, payload); return ofV2(r), err },
			"url": func() (reply, error) {
				r, err := run[requestURL, responseURL](t, payload)
				return ofURL(r), err
			},
			"alb": func() (reply, error) {
				r, err := run[requestALB, responseALB](t, payload)
				if len(r.MultiValueHeaders) > 0 {
					return ofALBMulti(r), err
				}
				return ofALB(r), err
			},
		} {
			serves := handler == kind || handler == "v2" && kind == "url"
			if serves || name == "alb-health-check" || name == "v1-console-test" {
				continue // neither has a header that a gateway adds; one is a GET, the other has no key
			}
			r, err := invoke()
			require.NoError(t, err)
			assert.Equal(t, 500, r.Status, "%s as %s", name, handler)
			assert.Contains(t, r.Body, "problems.md#refused", "%s as %s", name, handler)
		}
	}
}

func TestEitherHeaderOfAGatewayTellsARealEvent(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"X-Amzn-Trace-Id", "x-forwarded-for"} {
		headers := map[string]string{"Idempotency-Key": "k", name: "v"}
		_, old, err := identify[requestV1, responseV1](t.Context(),
			requestV1{HTTPMethod: "POST", Headers: headers}, false)
		require.NoError(t, err)
		assertProblem(t, ofV1(old), 500, "refused")
		_, alb, err := identify[requestALB, responseALB](t.Context(),
			requestALB{HTTPMethod: "POST", Headers: headers}, false)
		require.NoError(t, err)
		assertProblem(t, ofALB(alb), 500, "refused")
	}
}

func TestEventThatATestMadeUpNeedsNeitherAPINorTargetGroup(t *testing.T) {
	t.Parallel()
	old := requestV1{HTTPMethod: "POST", Path: "/charges", Headers: map[string]string{"Idempotency-Key": "k"}}
	assert.NotEmpty(t, identifyV1(t, old).key)
	alb := requestALB{HTTPMethod: "POST", Path: "/charges", Headers: map[string]string{"Idempotency-Key": "k"}}
	assert.NotEmpty(t, identifyALB(t, alb).key)
}

func TestHandlerThatChangesItsEventDoesNotChangeTheFormOfTheAnswer(t *testing.T) {
	t.Parallel()
	handler := idempotent.Wrap(func(_ context.Context, e *requestALB) (responseALB, error) {
		*e = requestALB{}
		return responseALB{StatusCode: 201}, nil
	}, memory.New())
	event := ask{key: "k"}.albMulti()
	for _, replayed := range []bool{false, true} {
		out, err := handler.Handle(t.Context(), &event)
		require.NoError(t, err)
		assert.NotEmpty(t, out.MultiValueHeaders["Idempotency-Key-Expires"])
		assert.Equal(t, replayed, out.MultiValueHeaders["Idempotent-Replayed"] != nil)
		assert.Empty(t, out.Headers)
		event = ask{key: "k"}.albMulti()
	}
}
