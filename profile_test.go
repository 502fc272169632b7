package idempotent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
)

// problemPage is where the types of problems lead.
const problemPage = "https://github.com/go-idempotent/idempotent/blob/main/docs/problems.md#"

// The error scenarios of draft-ietf-httpapi-idempotency-key-header-07: its statuses, its media type, its language,
// and a type that leads to a page.
func TestAnswersOfTheDraft(t *testing.T) {
	statuses := map[string]int{"missing-key": 400, "mismatch": 422, "in-progress": 409}
	everyDoor(t, func(t *testing.T, d door) {
		for kind, status := range statuses {
			_, r := trouble[kind](t, d, ask{key: "k"}, idempotent.HTTP{})
			assert.Equal(t, status, r.Status)
			assert.Equal(t, "application/problem+json", r.Headers["Content-Type"])
			assert.Equal(t, "en", r.Headers["Content-Language"])
			document := r.problem(t)
			assert.Equal(t, problemPage+kind, document["type"])
			assert.NotEmpty(t, document["title"])
			assert.NotEmpty(t, document["detail"])
			assert.NotContains(t, document, "error")
			assert.NotContains(t, r.Headers, "Stripe-Should-Retry")
		}
	})
}

// The error object, statuses and header of docs.stripe.com/api/errors, /error-codes and /error-low-level.
func TestAnswersOfStripe(t *testing.T) {
	want := map[string]struct {
		status           int
		kind, code       string
		retry            string
		wantsARetryAfter bool
	}{
		"missing-key":       {400, "invalid_request_error", "", "false", false},
		"invalid-key":       {400, "invalid_request_error", "", "false", false},
		"stale-request":     {400, "invalid_request_error", "", "false", false},
		"missing-tenant":    {401, "invalid_request_error", "", "false", false},
		"mismatch":          {400, "idempotency_error", "", "false", false},
		"in-progress":       {409, "idempotency_error", "idempotency_key_in_use", "true", true},
		"superseded":        {409, "idempotency_error", "idempotency_key_in_use", "true", true},
		"unknown-outcome":   {409, "api_error", "", "false", false},
		"unreadable-record": {500, "api_error", "", "false", false},
		"store-unavailable": {503, "api_error", "", "true", true},
		"commit-failed":     {503, "api_error", "", "true", true},
		"refused":           {500, "api_error", "", "", false},
	}
	everyDoor(t, func(t *testing.T, d door) {
		for kind, w := range want {
			_, r := trouble[kind](t, d, ask{key: "k"}, idempotent.HTTP{Profile: idempotent.ProfileStripe})
			assertProblem(t, r, w.status, kind)
			var document struct {
				Type, Detail string
				Error        map[string]string
			}
			require.NoError(t, json.Unmarshal([]byte(r.Body), &document), r.Body)
			members := map[string]string{"type": w.kind, "message": document.Detail, "doc_url": document.Type}
			if w.code != "" {
				members["code"] = w.code
			}
			assert.Equal(t, members, document.Error, kind)
			assert.Equal(t, w.retry, r.Headers["Stripe-Should-Retry"], kind)
			assert.Equal(t, w.wantsARetryAfter, r.Headers["Retry-After"] != "", kind)
		}
	})
}

func TestEveryProblemHasAnErrorObjectOfStripe(t *testing.T) {
	t.Parallel()
	kinds := []string{"api_error", "card_error", "idempotency_error", "invalid_request_error"} // all that Stripe documents
	for kind, make := range trouble {
		_, r := make(t, doors()[0], ask{key: "k"}, idempotent.HTTP{Profile: idempotent.ProfileStripe})
		var document struct{ Error struct{ Type string } }
		require.NoError(t, json.Unmarshal([]byte(r.Body), &document), kind)
		assert.Contains(t, kinds, document.Error.Type, kind)
	}
}

func TestStripeProfileStoresServerErrorsOnceTheHandlerRan(t *testing.T) {
	notStored := []int{401, 403, 408, 409, 423, 425, 429}
	everyDoor(t, func(t *testing.T, d door) {
		for _, status := range statuses(d) {
			a := d.open(t, idempotent.WithHTTP(idempotent.HTTP{Profile: idempotent.ProfileStripe}))
			a.answers(reply{Status: status, Body: "b"})
			a.send(ask{key: "k"})
			r := a.send(ask{key: "k"})
			assert.Equal(t, status, r.Status)
			stored := status >= 200 && status < 600 && !slices.Contains(notStored, status)
			assert.Equal(t, stored, r.replayed(), "status %d", status)
		}
	})
}

func TestStripeProfileLeavesErrorsWithoutAResponseToThePolicies(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		stripe := idempotent.WithHTTP(idempotent.HTTP{Profile: idempotent.ProfileStripe})
		failed := errors.New("failed")

		a := d.open(t, stripe)
		a.do = func(context.Context) (reply, error) { return reply{}, failed }
		for range 2 {
			_, err := a.try(ask{key: "k"})
			assert.Same(t, failed, err)
		}
		a.assertExecuted(2)

		a = d.open(t, stripe, idempotent.WithErrorPolicy(idempotent.UnknownOnError))
		a.do = func(context.Context) (reply, error) { return reply{}, failed }
		_, err := a.try(ask{key: "k"})
		assert.Same(t, failed, err)
		assertProblem(t, a.send(ask{key: "k"}), 409, "unknown-outcome")

		a = d.open(t, stripe)
		a.do = func(context.Context) (reply, error) { return reply{Status: 503}, idempotent.NotExecuted(failed) }
		for range 2 {
			assert.Equal(t, 503, a.send(ask{key: "k"}).Status)
		}
		a.assertExecuted(2)
	})
}

func TestStripeProfileStillRequiresAKeyUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	_, r := trouble["missing-key"](t, doors()[0], ask{}, idempotent.HTTP{Profile: idempotent.ProfileStripe})
	assertProblem(t, r, 400, "missing-key")
	a := doors()[0].open(t, idempotent.WithHTTP(idempotent.HTTP{Profile: idempotent.ProfileStripe, RequireKey: []string{}}))
	assert.Equal(t, 201, a.send(ask{}).Status)
}

func TestStatusesOfAProfileCanBeOverridden(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for _, profile := range []idempotent.Profile{idempotent.ProfileIETF, idempotent.ProfileStripe} {
			for _, status := range []int{400, 409, 422} {
				_, r := trouble["mismatch"](t, d, ask{key: "k"}, idempotent.HTTP{Profile: profile, MismatchStatus: status})
				assertProblem(t, r, status, "mismatch")
			}
			for _, status := range []int{409, 425} {
				for _, kind := range []string{"in-progress", "superseded"} {
					_, r := trouble[kind](t, d, ask{key: "k"}, idempotent.HTTP{Profile: profile, InProgressStatus: status})
					assertProblem(t, r, status, kind)
					assert.NotEmpty(t, r.Headers["Retry-After"])
				}
				_, r := trouble["unknown-outcome"](t, d, ask{key: "k"}, idempotent.HTTP{Profile: profile, InProgressStatus: status})
				assertProblem(t, r, 409, "unknown-outcome")
			}
		}
	})
}

func TestAcceptedIsNoProblem(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for _, profile := range []idempotent.Profile{idempotent.ProfileIETF, idempotent.ProfileStripe} {
			a, r := trouble["in-progress"](t, d, ask{key: "k"}, idempotent.HTTP{Profile: profile, InProgressStatus: 202})
			a.assertExecuted(0)
			assert.Equal(t, 202, r.Status)
			assert.Equal(t, "60", r.Headers["Retry-After"])
			delete(r.Headers, "Retry-After")
			assert.Equal(t, map[string]string{
				"Content-Type": "application/json", "Content-Language": "en", "Cache-Control": "no-store",
			}, r.Headers)
			var document map[string]any
			require.NoError(t, json.Unmarshal([]byte(r.Body), &document))
			assert.Equal(t, problemPage+"in-progress", document["type"])
			assert.InDelta(t, 202, document["status"], 0)
			assert.NotContains(t, document, "error")
			assert.Equal(t, report.InProgress, a.event().Outcome)
		}
	})
}

func TestStoreStatusReplacesTheRuleOfTheProfile(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for _, profile := range []idempotent.Profile{idempotent.ProfileIETF, idempotent.ProfileStripe} {
			for _, status := range []int{0, 100, 199, 200, 299, 401, 404, 500, 503, 599, 600, 999} {
				a := d.open(t, idempotent.WithHTTP(idempotent.HTTP{Profile: profile, StoreStatus: func(status int) bool {
					return status != 299 && status != 503
				}}))
				a.answers(reply{Status: status})
				a.send(ask{key: "k"})
				stored := status >= 200 && status < 600 && status != 299 && status != 503
				assert.Equal(t, stored, a.send(ask{key: "k"}).replayed(), "status %d", status)
			}
		}
	})
}

func TestContradictionsWithOtherOptionsAreFound(t *testing.T) {
	t.Parallel()
	all := func(int) bool { return true }
	for problem, opts := range map[string][]idempotent.Option{
		"WithStoreIf and WithHTTP: StoreStatus contradict each other: one of them decides what is stored": {
			idempotent.WithHTTP(idempotent.HTTP{StoreStatus: all}),
			idempotent.WithStoreIf(func(responseV2) bool { return true }),
		},
		"WithHTTP: MaxRequestAge 59m1s is more than 59m0s, the retention less 1m0s of clock skew: an old request would be executed " +
			"again after its record expired": {
			idempotent.WithHTTP(idempotent.HTTP{TimestampHeader: "X-Time", MaxRequestAge: time.Hour - time.Minute + time.Second}),
			idempotent.WithRetention(time.Hour),
		},
		"": { // none
			idempotent.WithHTTP(idempotent.HTTP{StoreStatus: all, TimestampHeader: "X-Time", MaxRequestAge: time.Hour - time.Minute}),
			idempotent.WithRetention(time.Hour),
		},
		" ": {idempotent.WithRetention(time.Second)}, // none either, without a limit
	} {
		var config *idempotent.ConfigError
		err := wrapV2(opts...)
		if problem == "" || problem == " " {
			assert.NoError(t, err)
		} else if assert.ErrorAs(t, err, &config) {
			assert.Equal(t, []string{problem}, config.Problems)
		}
	}
}

// wrapV2 is what Wrap panics with.
func wrapV2(opts ...idempotent.Option) (err error) {
	defer func() { err, _ = recover().(error) }()
	idempotent.Wrap(func(context.Context, requestV2) (responseV2, error) { return responseV2{}, nil }, memory.New(), opts...)
	return nil
}

// delivered is an answer as the gateway reads it from the wire.
type delivered struct {
	StatusCode        int
	Headers           map[string]string
	MultiValueHeaders map[string][]string
	Body              string
}

func (d delivered) header(name string) string {
	if values := d.MultiValueHeaders[name]; len(values) > 0 {
		return strings.Join(values, ",")
	}
	return d.Headers[name]
}

// invoke wraps a handler that answers with its own status, and returns what delivers a payload to it.
func invoke[In, Out any](t *testing.T, respond func(reply) Out, opts ...idempotent.Option) func(event map[string]any) delivered {
	t.Helper()
	h := idempotent.Wrap(func(context.Context, In) (Out, error) { return respond(reply{Status: 500, Body: "failed"}), nil },
		memory.New(), opts...)
	return func(event map[string]any) (d delivered) {
		t.Helper()
		payload, err := json.Marshal(event)
		require.NoError(t, err)
		result, err := h.Invoke(t.Context(), payload)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(result, &d))
		return d
	}
}

// changed is an event with another body, and with key in place of its key header, or without one if key is empty.
func changed(t *testing.T, payload []byte, body, key string) map[string]any {
	t.Helper()
	event := map[string]any{}
	require.NoError(t, json.Unmarshal(payload, &event))
	event["body"], event["isBase64Encoded"] = body, false
	for _, m := range []string{"headers", "multiValueHeaders"} {
		headers, _ := event[m].(map[string]any)
		for name := range headers {
			if strings.EqualFold(name, "Idempotency-Key") {
				delete(headers, name)
			}
		}
		switch {
		case key == "" || event[m] == nil:
		case m == "headers":
			headers["Idempotency-Key"] = key
		default:
			headers["Idempotency-Key"] = []string{key}
		}
	}
	return event
}

func TestGoldenEventsAreAnsweredByTheProfile(t *testing.T) {
	t.Parallel()
	want := map[idempotent.Profile]map[string]string{
		idempotent.ProfileIETF: {
			"first": "500", "retry": "500", "other": "500", "missing": "400 missing-key", "list": "400 invalid-key",
		},
		idempotent.ProfileStripe: {
			"first": "500 kept", "retry": "500 kept replayed", "other": "400 mismatch idempotency_error",
			"missing": "400 missing-key invalid_request_error", "list": "400 invalid-key invalid_request_error",
		},
	}
	for name, payload := range golden(t) {
		kind, _, _ := strings.Cut(name, "-")
		if _, refused := refusedGolden[name]; refused || name == "alb-health-check" {
			continue
		}
		for profile, answers := range want {
			var send func(map[string]any) delivered
			opt := idempotent.WithHTTP(idempotent.HTTP{Profile: profile, RequireKey: []string{"POST", "PUT", "PATCH", "DELETE"}})
			switch kind {
			case "v2":
				send = invoke[requestV2](t, reply.v2, opt)
			case "v1":
				send = invoke[requestV1](t, reply.v1, opt)
			case "url":
				send = invoke[requestURL](t, reply.url, opt)
			case "alb":
				send = invoke[requestALB](t, reply.alb, opt)
			default:
				t.Fatalf("golden event %s is of no known kind", name)
			}
			for _, step := range []struct{ name, body, key string }{
				{"first", `{"a":1}`, "k"}, {"retry", `{"a":1}`, "k"}, {"other", `{"a":2}`, "k"}, {"missing", "", ""}, {"list", "", "k,l"},
			} {
				assert.Equal(t, answers[step.name], summary(t, send(changed(t, payload, step.body, step.key))), "%s: %s", name, step.name)
			}
		}
	}
}

// summary is the status of an answer, and what tells it from others.
func summary(t *testing.T, d delivered) string {
	t.Helper()
	words := []string{strconv.Itoa(d.StatusCode)}
	if d.header("Idempotency-Key-Expires") != "" {
		words = append(words, "kept")
	}
	if d.header("Idempotent-Replayed") == "true" {
		words = append(words, "replayed")
	}
	if d.header("Content-Type") == "application/problem+json" {
		var document struct {
			Type  string
			Error struct{ Type string }
		}
		require.NoError(t, json.Unmarshal([]byte(d.Body), &document))
		words = append(words, strings.TrimPrefix(document.Type, problemPage), document.Error.Type)
	}
	return strings.TrimSpace(strings.Join(words, " "))
}
