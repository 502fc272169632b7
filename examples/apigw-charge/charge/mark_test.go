package charge_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/idempotenttest"
	"github.com/go-idempotent/idempotent/memory"
)

// marks are the two members as the handler writes them, in either order.
var marks = regexp.MustCompile(`,?"idempotency_(record|check)":"[^"]*"`)

// unmarked is a request as it would be without the two members. It checks that they are there.
func unmarked(t *testing.T, request string) string {
	t.Helper()
	require.Len(t, marks.FindAllString(request, -1), 2, request)
	return strings.Replace(marks.ReplaceAllString(strings.TrimSpace(request), ""), `,"metadata":{}`, "", 1)
}

func TestTheMetadataOfAChargeNameItsRecord(t *testing.T) {
	t.Parallel()
	p, s := newProvider(t, nil), memory.New()
	f := newFunction(t, p, s, idempotent.WithOperation("shop-charge"))
	require.Equal(t, 201, f.invoke(post("k", order)).StatusCode)
	d, err := f.handler.Describe(t.Context(), post("k", order))
	require.NoError(t, err)
	requests := p.requests()
	require.Len(t, requests, 1)
	var sent struct{ Metadata map[string]any }
	require.NoError(t, json.Unmarshal([]byte(requests[0].body), &sent))
	require.Equal(t, d.RecordKey, sent.Metadata[charge.MemberRecord])
	require.Equal(t, d.DerivedKey("charge of 1999 usd"), sent.Metadata[charge.MemberCheck])
	require.NotEqual(t, requests[0].key, sent.Metadata[charge.MemberCheck])
	require.Len(t, sent.Metadata, 4)
}

// Nobody could find a record by a random key.
func TestWithoutARecordTheMetadataNameNone(t *testing.T) {
	t.Parallel()
	ledger := payments.NewLedger()
	out, err := charge.Handler(ledger)(idempotent.Unprotected(t.Context()), post("", order))
	require.NoError(t, err)
	require.Equal(t, 201, out.StatusCode)
	require.JSONEq(t, `{"order":9007199254740993,"weight":1.10}`, string(ledger.Book()[0].Metadata))
	require.Empty(t, charge.Metadata(idempotent.Unprotected(t.Context()), 1999, "usd"))
}

// Whoever could write these names could name the record of another.
func TestAClientCannotNameARecord(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"idempotency_record", "idempotency_check", `idempotency\u005frecord`, `\u0069dempotency_check`} {
		p := newProvider(t, nil)
		out := handle(t, p, post("", `{"amount":1,"currency":"eur","source":"s","metadata":{"a":1,"`+name+`":"shop-charge#x"}}`))
		require.Equal(t, 400, out.StatusCode, name)
		require.Contains(t, detail(t, out), "which is taken")
		require.Empty(t, p.requests(), name)
	}
	out := handle(t, newProvider(t, nil), post("", `{"amount":1,"currency":"eur","source":"s","metadata":{"Idempotency_Record":"a"}}`))
	require.Equal(t, 201, out.StatusCode, "another name")
}

// Whether the function or the resolver answers, the client gets its metadata as it has written them.
func TestAnAnsweredChargeHasTheMetadataOfTheClient(t *testing.T) {
	t.Parallel()
	for _, metadata := range []string{
		"", "null", `{}`, `{"a":1}`, `{"order":9007199254740993,"weight":1.10}`, `{ "b" : 1.0 , "a" : [ 1, {"x":2} ] }`,
		`{"twice":1,"twice":2}`, `{"html":"<a href='x'>&</a>","line":"\u2028","umlaut":"ü"}`, `{"text":"\"idempotency_record\":\"x\",}"}`,
		`{"deep":{"idempotency_record":"stays"},",":","}`, members(48, `"x"`),
	} {
		body := `{"amount":1,"currency":"eur","source":"s"}`
		if metadata != "" {
			body = strings.Replace(body, "}", `,"metadata":`+metadata+"}", 1)
		}
		ledger := payments.NewLedger()
		server := newProvider(t, nil)
		direct := handle(t, server, post("", body))
		require.Equal(t, 201, direct.StatusCode, metadata)
		require.NotContains(t, direct.Body, "idempotency_check", metadata)

		_, err := charge.Handler(ledger)(idempotenttest.Context(t), post("", body))
		require.NoError(t, err)
		entry := ledger.Book()[0]
		made, found, err := ledger.Find(t.Context(), entry.Key)
		require.NoError(t, err)
		require.True(t, found)
		require.Contains(t, string(made.Metadata), "idempotency_check", metadata)
		answered, ended, err := charge.Answered(made)
		require.NoError(t, err)
		require.True(t, ended)
		want := regexp.MustCompile(`"ch_[^"]*"`).ReplaceAllString(direct.Body, `"`+entry.ID+`"`)
		require.Equal(t, want, answered.Body, metadata)
	}
}

// A provider may write the members as it likes.
func TestTheMembersAreFoundWhereverTheyAre(t *testing.T) {
	t.Parallel()
	for kept, want := range map[string]string{
		`{"idempotency_check":"c","a":1.10,"idempotency_record":"r","b":2}`:          `{"a":1.10,"b":2}`,
		"{\n \"a\" : 1 ,\n \"idempotency_record\" : \"r\" , \"b\" : [ 1.0 ] \n}":     `{"a":1,"b":[1.0]}`,
		`{"a":1,"idempotency\u005frecord":{"any":["value"]},"idempotency_check":""}`: `{"a":1}`,
		`{"idempotency_record":"r","idempotency_record":"r","a":1}`:                  `{"a":1}`,
		`{"a":1}`: `{"a":1}`, `{}`: `{}`, `"text"`: `"text"`,
	} {
		out, ended, err := charge.Answered(payments.Made{
			Charge: payments.Charge{ID: "ch_1", Status: payments.Succeeded}, Amount: 1, Currency: "usd", Metadata: json.RawMessage(kept),
		})
		require.NoError(t, err)
		require.True(t, ended)
		require.Equal(t, `{"id":"ch_1","amount":1,"currency":"usd","status":"succeeded","metadata":`+want+`}`, out.Body, kept)
	}
	_, ended, err := charge.Answered(payments.Made{Charge: payments.Charge{Status: payments.Succeeded}, Metadata: json.RawMessage(`{"a":}`)})
	require.Error(t, err)
	require.False(t, ended)
}
