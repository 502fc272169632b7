package gateway_test

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

// balance is a handler behind a load balancer that answers out, and the number of its executions.
func balance(t *testing.T, out responseALB) (send func(requestALB) responseALB, executed *int) {
	t.Helper()
	executed = new(int)
	handler := idempotent.Wrap(func(context.Context, requestALB) (responseALB, error) {
		*executed++
		return out, nil
	}, memory.New())
	return func(e requestALB) responseALB {
		t.Helper()
		out, err := deliver(t.Context(), handler, e, true)
		require.NoError(t, err)
		return out
	}, executed
}

func TestProblemIsInTheFormThatTheLoadBalancerReads(t *testing.T) {
	t.Parallel()
	send, executed := balance(t, responseALB{})
	single := send(ask{}.alb())
	assert.Equal(t, 400, single.StatusCode)
	assert.Equal(t, "400 Bad Request", single.StatusDescription)
	assert.Equal(t, "application/problem+json", single.Headers["Content-Type"])
	assert.Empty(t, single.MultiValueHeaders)

	multi := send(ask{}.albMulti())
	assert.Equal(t, severalOf(single.Headers), multi.MultiValueHeaders)
	assert.Empty(t, multi.Headers)
	assert.Equal(t, single.Body, multi.Body)
	assert.Equal(t, single.StatusDescription, multi.StatusDescription)
	assert.Zero(t, *executed)
}

func TestSwitchingMultiValueHeadersFindsTheSameRecord(t *testing.T) {
	t.Parallel()
	send, executed := balance(t, responseALB{StatusCode: 200, Headers: map[string]string{"X": "1"}})
	send(ask{key: "k", query: "a=1"}.alb())
	replay := send(ask{key: "k", query: "a=1"}.albMulti())
	assert.Equal(t, []string{"true"}, replay.MultiValueHeaders["Idempotent-Replayed"])
	assert.Equal(t, []string{"1"}, replay.MultiValueHeaders["X"])
	assert.Equal(t, 1, *executed)
}

func TestStatusDescriptionIsThatOfTheHandler(t *testing.T) {
	t.Parallel()
	for _, description := range []string{"201 Made", ""} {
		own := map[string]string{"Date": "now"} // which is not stored
		send, _ := balance(t, responseALB{StatusCode: 201, StatusDescription: description, Headers: own})
		assert.Equal(t, description, send(ask{key: "k"}.alb()).StatusDescription)
		replay := send(ask{key: "k"}.alb())
		assert.Equal(t, description, replay.StatusDescription)
		assert.Equal(t, "true", replay.Headers["Idempotent-Replayed"])
	}
}

func TestStatusDescriptionOfEveryProblem(t *testing.T) {
	t.Parallel()
	describing := func(r responseALB) reply {
		assert.Regexp(t, "^"+strconv.Itoa(r.StatusCode)+" [A-Z]|^$", r.StatusDescription)
		assert.Equal(t, r.StatusCode == 200, r.StatusDescription == "")
		return read(r)
	}
	d := doorOf("ALB", false, ask.alb, respond[responseALB], describing)
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
	send, _ := balance(t, responseALB{})
	var document struct{ Instance string }
	require.NoError(t, json.Unmarshal([]byte(send(e).Body), &document))
	assert.Equal(t, "/charges#Self=1-65f1c0df-00112233445566778899aabb;Root=1-65f1c0de-3a7b1c2d4e5f60718293a4b5",
		document.Instance)
}

func TestHealthCheckRunsUnprotected(t *testing.T) {
	t.Parallel()
	send, executed := balance(t, responseALB{StatusCode: 200})
	for n := range 3 {
		assert.Equal(t, responseALB{StatusCode: 200}, send(load[requestALB](t, "alb-health-check")))
		assert.Equal(t, n+1, *executed)
	}
}

func TestRepeatedKeyBehindALoadBalancerIsRefused(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{{"k", "k"}, {"k", "l"}, {"k,k"}, {""}, {"k", ""}} {
		e := ask{}.albMulti()
		e.MultiValueHeaders["idempotency-key"] = keys
		id, r := familyOf("alb-multi").identify(t.Context(), t, e)
		assert.Empty(t, id.key)
		assertProblem(t, r, 400, "invalid-key")
	}
}

func TestIdentityThatAnyClientCanSendNamesNobody(t *testing.T) {
	t.Parallel()
	e := load[requestALB](t, "alb-oidc")
	first := identified(t, e)
	e.Headers["x-amzn-oidc-identity"], e.Headers["x-amzn-oidc-data"] = "eve", "forged"
	assert.Equal(t, first, identified(t, e))
	assert.Equal(t, identified(t, load[requestALB](t, "alb-single")), identified(t, e))

	authenticated := idempotent.WithTenant(func(_ context.Context, e requestALB) (string, error) {
		return e.Headers["x-amzn-oidc-identity"], nil
	})
	eve := identified(t, e, authenticated).key
	e.Headers["x-amzn-oidc-identity"] = "ada"
	assert.NotEqual(t, eve, identified(t, e, authenticated).key)
}

func TestEventThatATestMadeUpNeedsNeitherAPINorTargetGroup(t *testing.T) {
	t.Parallel()
	headers := map[string]string{"Idempotency-Key": "k"}
	identified(t, requestV1{HTTPMethod: "POST", Path: "/charges", Headers: headers})
	identified(t, requestALB{HTTPMethod: "POST", Path: "/charges", Headers: headers})
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
