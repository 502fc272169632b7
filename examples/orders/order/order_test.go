package order_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

func TestAnOrderHasTwoEffectsAndIsReplayed(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	f := newFunction(t, w, memory.New())

	first := f.answers(201, post("client-key", body))
	require.Equal(t, "application/json", first.Headers["Content-Type"])
	require.Equal(t, [4]int{1, 1, 0, 0}, w.done())

	var ids map[string]string
	require.NoError(t, json.Unmarshal([]byte(first.Body), &ids))
	require.Len(t, ids, 3)
	require.Len(t, ids["order_id"], 36)
	require.Regexp(t, "^rs_", ids["reservation_id"])
	require.Regexp(t, "^ch_", ids["charge_id"])
	require.True(t, strings.HasPrefix(first.Body, `{"order_id":"`), first.Body)

	again := f.answers(201, post("client-key", " "+body))
	require.True(t, replayed(again))
	require.Equal(t, first.Body, again.Body)
	require.Equal(t, [4]int{1, 1, 0, 0}, w.done())

	keys := map[string]bool{}
	for what, sent := range map[string]string{
		"STOCK POST /v1/reservations": `{"sku":"A-1","quantity":2}`,
		"PAYMENTS POST /v1/charges":   `{"amount":1999,"currency":"usd","source":"tok_visa"}`,
	} {
		requests := w.about(what)
		require.Len(t, requests, 1, what)
		require.Equal(t, sent, requests[0].body)
		require.Equal(t, "application/json", requests[0].mediaType)
		require.Len(t, requests[0].key, 36)
		require.NotContains(t, requests[0].key, "client-key")
		keys[requests[0].key] = true
	}
	keys[ids["order_id"]] = true
	require.Len(t, keys, 3, "each effect has a key of its own")
}

// what the services can do to a request. The client gets 502, and may retry.
var failures = map[string]http.HandlerFunc{
	"500":                 status(500, "secret reason"),
	"503":                 status(503, "secret reason"),
	"400":                 status(400, "secret reason"),
	"401":                 status(401, "secret reason"),
	"404":                 status(404, "secret reason"),
	"409":                 status(409, "secret reason"),
	"422":                 status(422, "secret reason"),
	"429":                 status(429, "secret reason"),
	"a closed connection": hangUp,
	"an answer that breaks off": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		w.WriteHeader(200)
	},
	"a redirect": func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, "/v1/elsewhere", http.StatusTemporaryRedirect)
	},
}

// effects are the steps of an order in turn: their requests, and what has happened before.
var effects = []struct {
	fails, service string
	body           string
	status         int
	done           [4]int
}{
	{"POST /v1/reservations", "STOCK", body, 201, [4]int{0, 0, 0, 0}},
	{"POST /v1/charges", "PAYMENTS", body, 201, [4]int{1, 0, 0, 0}},
	{"DELETE /v1/reservations/rs_", "STOCK", declined, 402, [4]int{1, 0, 0, 0}},
}

func TestAServiceThatFailsIsABadGatewayAndTheRetryGoesOnFromThere(t *testing.T) {
	t.Parallel()
	for _, e := range effects {
		for name, failure := range failures {
			for _, acts := range []bool{false, true} {
				t.Run(e.fails+" "+name, func(t *testing.T) {
					t.Parallel()
					w := newTown(t)
					f := newFunction(t, w, memory.New())
					w.fail(e.fails, failure, acts)
					first := f.answers(502, post("k", e.body))
					require.Contains(t, detail(t, first), "same idempotency key")
					require.NotContains(t, first.Body, "secret")
					require.Equal(t, idempotent.SettledReleased, f.last.Settlement)
					if !acts {
						require.Equal(t, e.done, w.done())
					}

					w.heal()
					second := f.answers(e.status, post("k", e.body))
					require.False(t, replayed(second))
					third := f.answers(e.status, post("k", e.body))
					require.True(t, replayed(third))
					require.Equal(t, second.Body, third.Body)
					assertOnce(t, w, e.service+" "+e.fails, e.body == declined)
				})
			}
		}
	}
}

// assertOnce checks that an order came to its end: each effect happened once, what was recorded was asked for once, and what failed at
// first was asked for again with the same key and the same request.
func assertOnce(t *testing.T, w *town, failed string, declined bool) {
	t.Helper()
	want := [4]int{1, 1, 0, 0}
	if declined {
		want = [4]int{1, 0, 0, 1}
	}
	require.Equal(t, want, w.done())
	for _, what := range []string{"STOCK POST", "PAYMENTS POST", "STOCK DELETE"} {
		requests := w.about(what)
		switch {
		case strings.HasPrefix(failed, what):
			require.GreaterOrEqual(t, len(requests), 2, what)
			for _, again := range requests { // net/http repeats by itself what meets a connection that was closed
				require.Equal(t, requests[0], again, "key and body")
			}
		case what == "STOCK DELETE" && !declined:
			require.Empty(t, requests, what)
		default:
			require.Len(t, requests, 1, what)
		}
	}
}

func TestAServiceThatDoesNotAnswerInTimeIsABadGateway(t *testing.T) {
	t.Parallel()
	for _, e := range effects {
		t.Run(e.fails, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			f := newFunction(t, w, memory.New())
			f.timeout = 500 * time.Millisecond
			w.fail(e.fails, silence, true)
			f.answers(502, post("k", e.body))
			w.heal()
			f.timeout = 10 * time.Second
			f.answers(e.status, post("k", e.body))
			assertOnce(t, w, e.service+" "+e.fails, e.body == declined)
		})
	}
}

func TestAnAnswerWithoutAnIDIsABadGateway(t *testing.T) {
	t.Parallel()
	for _, e := range effects[:2] {
		for _, answer := range []string{"", "secret", `{}`, `{"id":""}`, `{"id":7}`, `[]`} {
			w := newTown(t)
			f := newFunction(t, w, memory.New())
			w.fail(e.fails, status(200, answer), true)
			f.answers(502, post("k", e.body))
			w.heal()
			f.answers(e.status, post("k", e.body))
			assertOnce(t, w, e.service+" "+e.fails, false)
		}
	}
}

func TestADeclinedOrderIsCancelledAndItsAnswerIsReplayed(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	f := newFunction(t, w, memory.New())
	first := f.answers(402, post("k", declined))
	require.Contains(t, detail(t, first), "declined")
	require.Equal(t, [4]int{1, 0, 0, 1}, w.done())
	cancelled := w.about("STOCK DELETE")[0]
	require.Empty(t, cancelled.body)
	require.Len(t, cancelled.key, 36)
	require.NotEqual(t, w.about("STOCK POST")[0].key, cancelled.key)

	again := f.answers(402, post("k", declined))
	require.True(t, replayed(again))
	require.Equal(t, first.Body, again.Body)
	require.Equal(t, [4]int{1, 0, 0, 1}, w.done())
}

// A provider may forget that it has declined. The record does not.
func TestWhatWasDeclinedIsNotChargedByARetry(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	f := newFunction(t, w, memory.New())
	w.fail("POST /v1/charges", status(402, ""), false)
	w.fail("DELETE /v1/reservations/", status(500, ""), false)
	f.answers(502, post("k", body))
	w.heal() // now it would charge
	f.answers(402, post("k", body))
	require.Equal(t, [4]int{1, 0, 0, 1}, w.done())
	require.Len(t, w.about("PAYMENTS"), 1)
}

func TestAnInvalidBodyIsRefusedBeforeAnybodyIsAsked(t *testing.T) {
	t.Parallel()
	const object = "the body must be a JSON object"
	with := func(field, value string) string {
		var fields map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(body), &fields))
		if fields[field] = json.RawMessage(value); value == "" {
			delete(fields, field)
		}
		text, err := json.Marshal(fields)
		require.NoError(t, err)
		return string(text)
	}
	for _, c := range []struct{ body, says string }{
		{"", object},
		{"null", object},
		{"[]", object},
		{"{", object},
		{body + "{}", object},
		{with("sku", ""), "sku must be a non-empty string"},
		{with("sku", `""`), "sku must be"},
		{with("sku", "7"), "sku must be"},
		{with("quantity", ""), "quantity must be a positive integer"},
		{with("quantity", "0"), "quantity must be"},
		{with("quantity", "-1"), "quantity must be"},
		{with("quantity", "1.5"), "quantity must be"},
		{with("quantity", `"2"`), "quantity must be"},
		{with("amount", ""), "amount must be a positive integer"},
		{with("amount", "0"), "amount must be"},
		{with("amount", "9223372036854775808"), "amount must be"},
		{with("currency", ""), "currency must be"},
		{with("currency", `"USD"`), "currency must be"},
		{with("source", ""), "source must be"},
		{with("source", "null"), "source must be"},
		{with("email", ""), "email must be an address"},
		{with("email", `"a"`), "email must be"},
		{with("email", `"@example.com"`), "email must be"},
		{with("email", `"a@"`), "email must be"},
		{with("email", `"a@b@c"`), "email must be"},
		{with("email", `"a b@c"`), "email must be"},
		{with("email", `"a@c\r\nBcc: d@e"`), "email must be"},
		{with("SKU", `"A-2"`), `"SKU" is unknown`},
		{with("price", "1"), `"price" is unknown`},
	} {
		w := newTown(t)
		f := newFunction(t, w, memory.New())
		out := f.answers(400, post("k", c.body))
		require.Contains(t, detail(t, out), c.says, c.body)
		require.Empty(t, w.about(""), c.body)
		require.True(t, replayed(f.answers(400, post("k", c.body))), c.body)
	}
}

func TestTheLogNamesTheCauseAndNoSecret(t *testing.T) {
	// Not parallel: it looks at the default logger.
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })

	w := newTown(t)
	w.fail("POST /v1/charges", status(500, "secret reason"), false)
	newFunction(t, w, memory.New()).answers(502, post("client-key", body))
	require.Contains(t, log.String(), "payments: the service answered with status 500")
	for _, secret := range []string{"secret", "client-key", "tok_visa", "a@example.com"} {
		require.NotContains(t, log.String(), secret)
	}
}

// Without protection an order is taken all the same.
func TestWithoutProtectionEachRequestIsAnOrder(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	f := newFunction(t, w, memory.New(), idempotent.WithDisabled(true))
	first, second := f.answers(201, post("k", body)), f.answers(201, post("k", body))
	require.NotEqual(t, first.Body, second.Body)
	f.answers(402, post("k", declined))
	require.Equal(t, [4]int{3, 2, 0, 1}, w.done())
}
