package payments_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/routers/payments"
)

func TestAChargeIsMadeOnceForEachKey(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *function) {
		first := f.post("/charges", "k", order)
		require.Equal(t, 201, first.StatusCode)
		require.JSONEq(t, `{"id":"ch_1","amount":1999}`, first.Body)
		requireReplay(t, first, f.post("/charges", "k", order))

		mismatch := f.post("/charges", "k", `{"amount":9900,"source":"tok_visa"}`)
		require.Equal(t, 422, mismatch.StatusCode)
		require.NotContains(t, mismatch.Body, `"error"`)
		require.Equal(t, 400, f.post("/charges", "", order).StatusCode)
		require.Equal(t, idempotent.OutcomeMissingKey, f.last.Outcome)
		require.Equal(t, []string{"ch_1"}, f.bank.Find(""))
	})
}

// TestARetryAfterALostAnswerOfTheBankGetsTheCharge: the bank has charged before it fell silent, and knows the derived key.
func TestARetryAfterALostAnswerOfTheBankGetsTheCharge(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *function) {
		silent := `{"amount":1999,"source":"` + payments.SilentSource + `"}`
		require.Equal(t, 502, f.post("/charges", "k", silent).StatusCode)
		require.Equal(t, idempotent.SettledReleased, f.last.Settlement)
		again := f.post("/charges", "k", silent)
		require.Equal(t, 201, again.StatusCode)
		require.Empty(t, again.Headers["Idempotent-Replayed"])
		require.Equal(t, []string{"ch_1"}, f.bank.Find(""))
	})
}

func TestADeclinedSourceIsReplayed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *function) {
		declined := `{"amount":1999,"source":"` + payments.DeclinedSource + `"}`
		first := f.post("/charges", "k", declined)
		require.Equal(t, 402, first.StatusCode)
		requireReplay(t, first, f.post("/charges", "k", declined))
	})
}

// TestThatAChargeIsRefundedAlreadyIsFinal: without the mark a 409 frees the key.
func TestThatAChargeIsRefundedAlreadyIsFinal(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *function) {
		f.post("/charges", "k", order)
		first := f.post("/charges/ch_1/refund", "one", "")
		require.Equal(t, 201, first.StatusCode)
		requireReplay(t, first, f.post("/charges/ch_1/refund", "one", ""))

		final := f.post("/charges/ch_1/refund", "another", "")
		require.Equal(t, 409, final.StatusCode)
		require.Equal(t, idempotent.SettledCompleted, f.last.Settlement)
		require.ErrorIs(t, f.last.Err, payments.ErrRefunded)
		requireReplay(t, final, f.post("/charges/ch_1/refund", "another", ""))
		require.Equal(t, []string{"ch_1"}, f.bank.Find("refunded"))
	})
}

// TestOneKeyOnTwoRoutesIsTwoKeys although the gateway has one route for both.
func TestOneKeyOnTwoRoutesIsTwoKeys(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *function) {
		require.Equal(t, 201, f.post("/charges", "k", order).StatusCode)
		require.Equal(t, 201, f.post("/charges/ch_1/refund", "k", "").StatusCode)
		require.Equal(t, 201, f.post("/v1/transfers", "k", `{"amount":1,"account":"acc_1"}`).StatusCode)
	})
}

func TestTransfersAreAnsweredInTheWordsOfTheStripeAPI(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *function) {
		first := f.post("/v1/transfers", "k", `{"amount":1999,"account":"acc_1"}`)
		require.Equal(t, 201, first.StatusCode)
		requireReplay(t, first, f.post("/v1/transfers", "k", `{"amount":1999,"account":"acc_1"}`))

		mismatch := f.post("/v1/transfers", "k", `{"amount":9900,"account":"acc_1"}`)
		require.Equal(t, 400, mismatch.StatusCode)
		require.Contains(t, mismatch.Body, `"error":{"type":"idempotency_error"`)
		require.Equal(t, "false", mismatch.Headers["Stripe-Should-Retry"])
		require.Equal(t, 1, f.bank.Transfers())
	})
}

// TestNobodyRepeatsATransferOfWhichNobodyKnows: the profile alone would store the 504 and replay it, as if it were final.
func TestNobodyRepeatsATransferOfWhichNobodyKnows(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *function) {
		silent := `{"amount":1999,"account":"` + payments.SilentAccount + `"}`
		require.Equal(t, 504, f.post("/v1/transfers", "k", silent).StatusCode)
		require.Equal(t, idempotent.SettledUnknown, f.last.Settlement)
		require.ErrorIs(t, f.last.Err, payments.ErrSilent)
		again := f.post("/v1/transfers", "k", silent)
		require.Equal(t, 409, again.StatusCode)
		require.Contains(t, again.Body, "unknown-outcome")
		require.Equal(t, 1, f.bank.Transfers())
	})
}

// TestATransferThatWasNotMadeCanBeRetried: the profile alone would store the 503.
func TestATransferThatWasNotMadeCanBeRetried(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *function) {
		for range 2 {
			closed := f.post("/v1/transfers", "k", `{"amount":1999,"account":"`+payments.ClosedAccount+`"}`)
			require.Equal(t, 503, closed.StatusCode)
			require.Equal(t, idempotent.OutcomeExecuted, f.last.Outcome)
			require.Equal(t, idempotent.SettledReleased, f.last.Settlement)
		}
	})
}

// TestASearchNeedsNoKeyAndIsNeverReplayed: a key has no effect.
func TestASearchNeedsNoKeyAndIsNeverReplayed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *function) {
		require.JSONEq(t, `{"charges":[]}`, f.post("/search", "k", `{}`).Body)
		f.post("/charges", "k", order)
		for _, key := range []string{"k", ""} {
			require.JSONEq(t, `{"charges":["ch_1"]}`, f.post("/search", key, `{}`).Body)
			require.Equal(t, idempotent.OutcomeUnprotected, f.last.Outcome)
		}
	})
}

func TestAWebhookNeedsASignatureAndNoKey(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *function) {
		f.post("/charges", "k", order)
		send := func(path, signed string) int {
			e := event(path, "", `{"charge":"ch_1","status":"disputed"}`)
			mac := hmac.New(sha256.New, []byte(secret))
			mac.Write([]byte("1767323045." + signed))
			e.Headers["webhook-signature"] = "t=1767323045,v1=" + hex.EncodeToString(mac.Sum(nil))
			return f.deliver(e).StatusCode
		}
		require.Equal(t, 401, send("/webhooks/acme", "another body"))
		require.Empty(t, f.bank.Find("acme: disputed"))
		for range 2 {
			require.Equal(t, 204, send("/webhooks/acme", `{"charge":"ch_1","status":"disputed"}`))
			require.Equal(t, idempotent.OutcomeUnprotected, f.last.Outcome)
		}
		require.Equal(t, []string{"ch_1"}, f.bank.Find("acme: disputed"))
	})
}

// TestEventsNameTheRouteOfTheRouter although the gateway knows only one. A path is never a name: what no route takes has none.
func TestEventsNameTheRouteOfTheRouter(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *function) {
		for path, route := range map[string]string{
			"/charges":              "POST /charges",
			"/charges/ch_1/refund":  "POST /charges/{id}/refund",
			"/charges/ch_2/refund":  "POST /charges/{id}/refund",
			"/v1/transfers":         "POST /v1/transfers",
			"/search":               "POST /search",
			"/webhooks/acme":        "POST /webhooks/{provider}",
			"/nobody/knows/of/this": "",
		} {
			f.post(path, "k", order)
			require.Equal(t, route, f.last.Route, path)
		}
	})
}

// TestNoSpellingOfAPathGetsAroundTheKey: whatever a client writes, a charge is not made without one.
func TestNoSpellingOfAPathGetsAroundTheKey(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *function) {
		for _, path := range []string{
			"/charges", "/charges#/search", "/charges?/search", "/charges#", "/search/../charges", "//charges", "/charges/", "/./charges",
			"/%63harges", "/charges%23/search", "/charges%2F..%2Fsearch", "/webhooks/../charges", "/webhooks/x%2F..%2F..%2Fcharges", "charges", "",
		} {
			out := f.post(path, "", order)
			require.NotEqual(t, 201, out.StatusCode, path)
			require.Empty(t, f.bank.Find(""), path)
		}
	})
}

// TestAPathThatNoRouteTakesIsProtected: what nobody has thought of is not exempt.
func TestAPathThatNoRouteTakesIsProtected(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *function) {
		require.Equal(t, 400, f.post("/charge", "", order).StatusCode)
		require.Equal(t, idempotent.OutcomeMissingKey, f.last.Outcome)
		require.Equal(t, 404, f.post("/charge", "k", order).StatusCode)
	})
}
