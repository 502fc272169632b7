package charge_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/idempotenttest"
)

func TestAChargeIsAnsweredWithIDAndWhatWasCharged(t *testing.T) {
	t.Parallel()
	p := newProvider(t, status(200, `{"id":"ch_1","object":"charge","amount":1999,"currency":"usd","source":"tok_visa","status":"succeeded"}`))

	out := handle(t, p, post("", order))

	require.Equal(t, 201, out.StatusCode)
	require.Equal(t, "application/json", out.Headers["Content-Type"])
	require.Equal(t,
		`{"id":"ch_1","amount":1999,"currency":"usd","status":"succeeded","metadata":{"order":9007199254740993,"weight":1.10}}`, out.Body)
}

func TestTheProviderGetsTheSameJSONAndAKeyOfItsOwn(t *testing.T) {
	t.Parallel()
	for name, event := range map[string]events.APIGatewayV2HTTPRequest{
		"as text":   post("client-key", order),
		"in base64": inBase64(post("client-key", order)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, nil)
			require.Equal(t, 201, handle(t, p, event).StatusCode)

			requests := p.requests()
			require.Len(t, requests, 1)
			require.Equal(t, "POST", requests[0].method)
			require.Equal(t, "/v1/charges", requests[0].path)
			require.Equal(t, "application/json", requests[0].mediaType)
			require.Equal(t, order, unmarked(t, requests[0].body))
			require.Len(t, requests[0].key, 36)
			require.NotContains(t, requests[0].key, "client-key")
		})
	}
}

func TestMetadataIsOptional(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"amount":1,"currency":"eur","source":"s"}`,
		`{"amount":1,"currency":"eur","source":"s","metadata":null}`,
	} {
		p := newProvider(t, nil)
		out := handle(t, p, post("", body))
		require.Equal(t, 201, out.StatusCode)
		require.NotContains(t, out.Body, "metadata")
		require.NotContains(t, unmarked(t, p.requests()[0].body), "metadata")
	}
}

func TestMetadataComesBackAsItWasSent(t *testing.T) {
	t.Parallel()
	for _, metadata := range []string{
		`{}`,
		`{"big":123456789012345678901234567890,"small":1e-400,"same":1.0}`,
		`{"html":"<a href='x'>&</a>","line":"\u2028","umlaut":"ü"}`,
		`{"twice":1,"twice":2}`,
		`{"deep":[{"er":[null,true,""]}]}`,
	} {
		out := handle(t, newProvider(t, nil), post("", `{"amount":1,"currency":"eur","source":"s","metadata":`+metadata+`}`))
		require.Equal(t, 201, out.StatusCode, metadata)
		require.True(t, strings.HasSuffix(out.Body, `"metadata":`+metadata+`}`), out.Body)
	}
}

// members are the members of an object, numbered names with one value.
func members(count int, value string) string {
	all := make([]string, count)
	for i := range all {
		all[i] = fmt.Sprintf(`"m%d":%s`, i, value)
	}
	return "{" + strings.Join(all, ",") + "}"
}

func TestMetadataIsBounded(t *testing.T) {
	t.Parallel()
	text := func(of string, count int) string { return `"` + strings.Repeat(of, count) + `"` }
	const most, name, value = "metadata has more than 48 members", "which is longer than 40 characters", "which is longer than 500 characters"
	for _, c := range []struct{ what, metadata, refusal string }{
		{"48 members", members(48, "1"), ""},
		{"49 members", members(49, "1"), most},
		{"one name 48 times", "{" + strings.Repeat(`"m":1,`, 47) + `"m":1}`, ""},
		{"one name 49 times", "{" + strings.Repeat(`"m":1,`, 48) + `"m":1}`, most},
		{"a name of 40 characters", "{" + text("ü", 40) + ":1}", ""},
		{"a name of 41 characters", "{" + text("ü", 41) + ":1}", name},
		{"a name of 40 escapes", "{" + text(`\u00fc`, 40) + ":1}", ""},
		{"a name of 41 escapes", "{" + text(`\u00fc`, 41) + ":1}", name},
		{"500 characters", `{"m":` + text("😀", 500) + `}`, ""},
		{"501 characters", `{"m":` + text("😀", 501) + `}`, value},
		{"500 characters beyond the first plane, as escapes", `{"m":` + text(`\ud83d\ude00`, 500) + `}`, ""},
		{"501 of them", `{"m":` + text(`\ud83d\ude00`, 501) + `}`, value},
		{"500 digits", `{"m":` + strings.Repeat("1", 500) + `}`, ""},
		{"501 digits", `{"m":` + strings.Repeat("1", 501) + `}`, value},
		{"a value within a value", `{"m":[` + text("x", 496) + `]}`, ""},
		{"one that is longer", `{"m":[` + text("x", 497) + `]}`, value},
		{"names within a value", `{"m":{` + text("x", 500) + `:1}}`, value},
		{"space between the parts of a value", `{"m":[1` + strings.Repeat(" ", 400_000) + `]}`, ""},
		{"the last one is too long", `{"a":1,"b":` + text("x", 501) + `}`, `"b" in metadata`},
		{"4 MB", `{"m":` + text("x", 4_000_000) + `}`, value},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, nil)
			out := handle(t, p, post("", `{"amount":1,"currency":"eur","source":"s","metadata":`+c.metadata+`}`))
			if c.refusal == "" {
				require.Equal(t, 201, out.StatusCode, out.Body)
				require.Less(t, len(out.Body), charge.MaxAnswer)
				return
			}
			require.Equal(t, 400, out.StatusCode)
			require.Contains(t, detail(t, out), c.refusal)
			require.Less(t, len(out.Body), 1000)
			require.Empty(t, p.requests())
		})
	}
}

// TestTheLargestAnswer looks at what is stored: the answer repeats the metadata, and nothing else of any length.
func TestTheLargestAnswer(t *testing.T) {
	t.Parallel()
	const escaped = `\ud83d\ude00` // the longest way to write one character
	all := make([]string, 48)
	for i := range all {
		all[i] = `"` + strings.Repeat(escaped, 40) + `":"` + strings.Repeat(escaped, 500) + `"`
	}
	body := `{"amount":9223372036854775807,"currency":"usd","source":"s","metadata":{` + strings.Join(all, ",") + `}}`
	out := handle(t, newProvider(t, nil), post("", body))
	require.Equal(t, 201, out.StatusCode, out.Body)
	require.Greater(t, len(out.Body), 310_000)
	require.Less(t, len(out.Body), charge.MaxAnswer)
}

func TestAnInvalidBodyIsRefusedBeforeTheProviderIsAsked(t *testing.T) {
	t.Parallel()
	with := func(field, value string) string {
		fields := map[string]string{"amount": "1999", "currency": `"usd"`, "source": `"tok_visa"`}
		if fields[field] = value; value == "" {
			delete(fields, field)
		}
		var members []string
		for name, value := range fields {
			members = append(members, `"`+name+`":`+value)
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	const amount, currency, source = "amount must be a positive integer", "currency must be", "source must be"
	const object, unknown, metadata = "the body must be a JSON object", "is unknown", "metadata must be an object"
	for _, c := range []struct{ body, says string }{
		{"", object},
		{"null", object},
		{"[]", object},
		{`"text"`, object},
		{"{", object},
		{with("amount", "1") + "{}", object},
		{with("amount", "1") + "x", object},
		{"\ufeff" + with("amount", "1"), object},
		{"{\"source\":\"\xff\"}", "UTF-8"},
		{with("amount", ""), amount},
		{with("amount", "0"), amount},
		{with("amount", "-1"), amount},
		{with("amount", "1.5"), amount},
		{with("amount", "1999.0"), amount},
		{with("amount", "1e3"), amount},
		{with("amount", `"1999"`), amount},
		{with("amount", "null"), amount},
		{with("amount", "9223372036854775808"), amount},
		{with("currency", ""), currency},
		{with("currency", `"USD"`), currency},
		{with("currency", `"us"`), currency},
		{with("currency", `"usd\n"`), currency},
		{with("currency", `"dollar"`), currency},
		{with("currency", "840"), currency},
		{with("source", ""), source},
		{with("source", `""`), source},
		{with("source", "{}"), source},
		{with("metadata", `"text"`), metadata},
		{with("metadata", `[]`), metadata},
		{with("metadata", "1"), metadata},
		{with("AMOUNT", "1"), unknown},
		{with("capture", "false"), `"capture" is unknown`},
	} {
		p := newProvider(t, nil)
		out := handle(t, p, post("", c.body))
		require.Equal(t, 400, out.StatusCode, c.body)
		require.Contains(t, detail(t, out), c.says, c.body)
		require.Empty(t, p.requests(), c.body)
	}
}

func TestABodyThatIsNotTheBase64ItSaysIsRefused(t *testing.T) {
	t.Parallel()
	event := post("", order)
	event.IsBase64Encoded = true
	out := handle(t, newProvider(t, nil), event)
	require.Equal(t, 400, out.StatusCode)
	require.Contains(t, detail(t, out), "base64")
}

func TestTheLargestAmountIsCharged(t *testing.T) {
	t.Parallel()
	out := handle(t, newProvider(t, nil), post("", `{"amount":9223372036854775807,"currency":"usd","source":"s"}`))
	require.Equal(t, 201, out.StatusCode)
	require.Contains(t, out.Body, `"amount":9223372036854775807,`)
}

func TestTheProvidersAnswerDecidesTheStatus(t *testing.T) {
	t.Parallel()
	const charged = `{"id":"ch_1","status":"succeeded"}`
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		want   int
	}{
		{"200", status(200, charged), 201},
		{"201", status(201, charged), 201},
		{"a pending charge", status(202, `{"id":"ch_1","status":"pending"}`), 201},
		{"402", status(402, `{"error":"secret reason"}`), 402},
		{"500", status(500, "secret reason"), 502},
		{"503", status(503, "secret reason"), 502},
		{"400", status(400, "secret reason"), 502},
		{"401", status(401, "secret reason"), 502},
		{"409", status(409, "secret reason"), 502},
		{"429", status(429, "secret reason"), 502},
		{"a redirect", func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, "/v1/elsewhere", http.StatusTemporaryRedirect)
		}, 502},
		{"no JSON", status(200, "secret reason"), 502},
		{"no charge", status(200, `{"error":"secret reason"}`), 502},
		{"nothing", status(200, ""), 502},
		{"no end", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			w.WriteHeader(200)
		}, 502},
		{"a closed connection", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 502},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, c.answer)
			out := handle(t, p, post("", order))
			require.Equal(t, c.want, out.StatusCode)
			require.Len(t, p.requests(), 1)
			if c.want != 201 {
				require.NotContains(t, detail(t, out), "secret", "nothing of the provider's text reaches the client")
			}
		})
	}
}

func TestAProviderThatDoesNotAnswerInTimeIsABadGateway(t *testing.T) {
	t.Parallel()
	p := newProvider(t, silence)
	ctx, cancel := context.WithTimeout(idempotenttest.Context(t), 100*time.Millisecond)
	defer cancel()
	out, err := charge.Handler(p)(ctx, post("", order))
	require.NoError(t, err)
	require.Equal(t, 502, out.StatusCode)
	require.Contains(t, detail(t, out), "same idempotency key")
}

func TestOnlyTheRouteIsServed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		route, method, path string
		want                int
	}{
		{"POST /charges", "POST", "/charges", 201},
		{"POST /charges", "POST", "/prod/charges", 201}, // a named stage is part of the path
		{"$default", "POST", "/charges", 201},
		{"$default", "GET", "/charges", 405},
		{"$default", "PUT", "/charges", 405},
		{"$default", "POST", "/", 404},
		{"$default", "POST", "/charges/", 404},
		{"$default", "GET", "/other", 404},
	} {
		event := post("", order)
		event.RouteKey, event.RawPath, event.RequestContext.HTTP.Method = c.route, c.path, c.method
		p := newProvider(t, nil)
		out := handle(t, p, event)
		require.Equal(t, c.want, out.StatusCode, c)
		if c.want != 201 {
			require.Contains(t, detail(t, out), "POST /charges")
			require.Empty(t, p.requests())
		}
		require.Equal(t, c.want == 405, out.Headers["Allow"] == "POST", c)
	}
}

func TestTheLogNamesTheCauseAndNoSecret(t *testing.T) {
	// Not parallel: it looks at the default logger.
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })

	for code, says := range map[int]string{500: "status 500", 402: "", 200: "not the JSON"} {
		log.Reset()
		handle(t, newProvider(t, status(code, "secret reason")), post("client-key", order))
		require.Contains(t, log.String(), says)
		for _, secret := range []string{"secret", "tok_visa", "client-key", "9007199254740993"} {
			require.NotContains(t, log.String(), secret)
		}
	}
}
