package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

// problemPage is where the types of problems lead.
const problemPage = "https://github.com/go-idempotent/idempotent/blob/main/docs/problems.md#"

// The error scenarios of draft-ietf-httpapi-idempotency-key-header-07: its statuses, its media
// type, its language, and a type that leads to a page.
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
		}
	})
}

func TestStatusOfAMismatchCanBeChosen(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for _, status := range []int{400, 409, 422} {
			_, r := trouble["mismatch"](t, d, ask{key: "k"}, idempotent.HTTP{MismatchStatus: status})
			assertProblem(t, r, status, "mismatch")
			for _, kind := range []string{"in-progress", "superseded", "unknown-outcome"} {
				_, r := trouble[kind](t, d, ask{key: "k"}, idempotent.HTTP{MismatchStatus: status})
				assertProblem(t, r, 409, kind)
			}
		}
	})
}

// An error without a response is none of the statuses: what the handler says of its effects
// decides.
func TestErrorsWithoutAResponseAreLeftToTheEffects(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		failed := errors.New("failed")
		a := d.open(t)
		a.do = func(context.Context) (reply, error) { return reply{}, failed }
		for range 2 {
			_, err := a.try(ask{key: "k"})
			assert.Same(t, failed, err)
		}
		a.assertExecuted(2)

		a = d.open(t, idempotent.WithEffects(idempotent.Unrepeatable))
		a.do = func(context.Context) (reply, error) { return reply{}, failed }
		_, err := a.try(ask{key: "k"})
		assert.Same(t, failed, err)
		assertProblem(t, a.send(ask{key: "k"}), 409, "unknown-outcome")

		a = d.open(t)
		a.do = func(context.Context) (reply, error) { return reply{Status: 503}, idempotent.NotExecuted(failed) }
		for range 2 {
			assert.Equal(t, 503, a.send(ask{key: "k"}).Status)
		}
		a.assertExecuted(2)
	})
}

func TestContradictionsWithOtherOptionsAreFound(t *testing.T) {
	t.Parallel()
	for problem, opts := range map[string][]idempotent.Option{
		"WithHTTP: MaxRequestAge 59m1s is more than 59m0s, the retention less 1m0s of clock skew: an old request " +
			"would be executed " +
			"again after its record expired": {
			idempotent.WithHTTP(idempotent.HTTP{
				TimestampHeader: "X-Time",
				MaxRequestAge:   time.Hour - time.Minute + time.Second,
			}),
			idempotent.WithRetention(time.Hour),
		},
		"": { // none
			idempotent.WithHTTP(idempotent.HTTP{TimestampHeader: "X-Time", MaxRequestAge: time.Hour - time.Minute}),
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
	idempotent.Wrap(func(context.Context, requestV2) (responseV2, error) { return responseV2{}, nil },
		memory.New(), opts...)
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

// invoke wraps a handler that answers with its own status, and returns what delivers a payload to
// it.
func invoke[In, Out any](t *testing.T, respond func(reply) Out,
	opts ...idempotent.Option,
) func(event map[string]any) delivered {
	t.Helper()
	h := idempotent.Wrap(func(context.Context, In) (Out,
		error,
	) {
		return respond(reply{Status: 500, Body: "failed"}), nil
	},
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

// changed is an event with another body, and with key in place of its key header, or without one if
// key is empty.
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

func TestGoldenEventsAreAnswered(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"first": "500", "retry": "500", "other": "500", "missing": "400 missing-key", "list": "400 invalid-key",
	}
	for name, payload := range golden(t) {
		kind, _, _ := strings.Cut(name, "-")
		if _, refused := refusedGolden[name]; refused || name == "alb-health-check" {
			continue
		}
		var send func(map[string]any) delivered
		opt := idempotent.WithHTTP(idempotent.HTTP{RequireKey: []string{"POST", "PUT", "PATCH", "DELETE"}})
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
			{"first", `{"a":1}`, "k"},
			{"retry", `{"a":1}`, "k"},
			{"other", `{"a":2}`, "k"},
			{"missing", "", ""},
			{"list", "", "k,l"},
		} {
			assert.Equal(t, answers[step.name], summary(t, send(changed(t, payload, step.body, step.key))), "%s: %s",
				name, step.name)
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
		var document struct{ Type string }
		require.NoError(t, json.Unmarshal([]byte(d.Body), &document))
		words = append(words, strings.TrimPrefix(document.Type, problemPage))
	}
	return strings.TrimSpace(strings.Join(words, " "))
}
