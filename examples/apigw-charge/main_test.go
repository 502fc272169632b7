package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-idempotent/idempotent/examples/internal/deployed"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
)

func TestAConfigurationThatCannotWorkEndsTheProcess(t *testing.T) {
	t.Parallel()
	binary := deployed.Build(t)
	for _, c := range []struct {
		name        string
		environment []string
		says        string
	}{
		{"no table", nil, "IDEMPOTENCY_TABLE is not set"},
		{"an impossible table", []string{"IDEMPOTENCY_TABLE=a b"}, `table "a b"`},
		{"an impossible provider", []string{"IDEMPOTENCY_TABLE=table", "PAYMENTS_URL=s3cret"}, "PAYMENTS_URL: "},
		{
			"a password in the environment",
			[]string{"IDEMPOTENCY_TABLE=table", "PAYMENTS_URL=https://user:s3cret@payments.example"},
			"PAYMENTS_URL: it holds a user name or a password",
		},
		{
			"two providers",
			[]string{"IDEMPOTENCY_TABLE=table", "PAYMENTS_URL=https://payments.example", "PAYMENTS_SECRET=arn"},
			"PAYMENTS_URL and PAYMENTS_SECRET",
		},
		{"an impossible answer", []string{"IDEMPOTENCY_TABLE=table", "REQUIRE_TENANT=yes"}, "is neither true nor false"},
		{"an impossible format", []string{"IDEMPOTENCY_TABLE=table", "PAYLOAD_FORMAT=3.0"}, "is neither 1.0 nor 2.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			deployed.RequireRefused(t, binary, c.says, c.environment...)
		})
	}
}

// running is the deployed function.
type running struct{ deployed.Function }

func run(t *testing.T, environment ...string) running {
	t.Helper()
	return running{deployed.Run(t, charge.Route, environment...)}
}

// post sends a charge with this metadata, a JSON object.
func (r running) post(t *testing.T, key, metadata string) *httptest.ResponseRecorder {
	t.Helper()
	return r.Post(t, key, `{"amount":1999,"currency":"usd","source":"tok_visa","metadata":`+metadata+`}`)
}

func TestTheBinaryServesAChargeAndItsReplay(t *testing.T) {
	t.Parallel()
	ledger := payments.NewLedger()
	provider := httptest.NewServer(payments.Serve(ledger))
	t.Cleanup(provider.Close)
	function := run(t, "PAYMENTS_URL="+provider.URL)

	for key, metadata := range map[string]string{
		"small": `{"order":9007199254740993,"weight":1.10}`,
		"large": incompressible(), // more than is kept beside the record
	} {
		charges := ledger.Count()
		first := function.post(t, key, metadata)
		require.Equal(t, 201, first.Code, first.Body)
		require.True(t, strings.HasSuffix(first.Body.String(), `,"metadata":`+metadata+`}`))

		require.NoError(t, function.Kill(), "another process has to find the answer")
		again := function.post(t, key, metadata)
		require.Equal(t, 201, again.Code)
		require.Equal(t, "true", again.Header().Get("Idempotent-Replayed"))
		require.Equal(t, first.Body.String(), again.Body.String())
		require.Equal(t, charges+1, ledger.Count())
	}
	require.Equal(t, 3, function.Starts())
	require.NotContains(t, function.Logs(), "failed to close HTTP response body", "the SDK warns of refused writes")
}

// incompressible is metadata of which nothing is to be saved, as long as a client may send it in letters.
func incompressible() string {
	members := make([]string, 48)
	for i := range members {
		value := ""
		for len(value) < 500 {
			value += rand.Text()
		}
		members[i] = fmt.Sprintf(`"m%d":%q`, i, value[:500])
	}
	return "{" + strings.Join(members, ",") + "}"
}

// TestTheURLOfTheProviderCanBeASecret gives the function a URL with a password by way of Secrets Manager.
func TestTheURLOfTheProviderCanBeASecret(t *testing.T) {
	t.Parallel()
	ledger := payments.NewLedger()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if user, password, _ := req.BasicAuth(); user != "shop" || password != "s3cret" {
			http.Error(w, "who is there?", http.StatusUnauthorized)
			return
		}
		payments.Serve(ledger).ServeHTTP(w, req)
	}))
	t.Cleanup(provider.Close)
	const arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:payments-AbCdEf"
	secrets := serveSecrets(t, arn, strings.Replace(provider.URL, "://", "://shop:s3cret@", 1)+"\n")
	function := run(t, "PAYMENTS_SECRET="+arn, "AWS_ENDPOINT_URL_SECRETS_MANAGER="+secrets)

	require.Equal(t, 201, function.post(t, "k", "{}").Code)
	require.Equal(t, 1, ledger.Count())
	provider.Close()
	require.Equal(t, 502, function.post(t, "another", "{}").Code)
	require.Contains(t, function.Logs(), "payments: no answer")
	require.NotContains(t, function.Logs(), "s3cret")
}

func TestASecretThatCannotBeUsedEndsTheProcess(t *testing.T) {
	t.Parallel()
	binary := deployed.Build(t)
	for _, c := range []struct{ name, text, says string }{
		{"another one", "", "PAYMENTS_SECRET: operation error Secrets Manager: GetSecretValue"},
		{"no URL", "s3cret", "the URL in PAYMENTS_SECRET: "},
		{"nothing", " ", "the URL in PAYMENTS_SECRET: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			id := "arn"
			if c.text == "" {
				id = "another"
			}
			deployed.RequireRefused(t, binary, c.says,
				"IDEMPOTENCY_TABLE=table", "PAYMENTS_SECRET=arn", "AWS_ENDPOINT_URL_SECRETS_MANAGER="+serveSecrets(t, id, c.text),
				"AWS_ACCESS_KEY_ID=none", "AWS_SECRET_ACCESS_KEY=none")
		})
	}
}

// serveSecrets is Secrets Manager with one secret. It returns its endpoint.
func serveSecrets(t *testing.T, id, text string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var asked struct{ SecretId string }
		err := json.NewDecoder(req.Body).Decode(&asked)
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		if err != nil || req.Header.Get("X-Amz-Target") != "secretsmanager.GetSecretValue" || asked.SecretId != id {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"__type":"ResourceNotFoundException"}`)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"ARN": id, "SecretString": text})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestACallerIsKnownOrRefused sends one key from callers that an authorizer names, and from others.
func TestACallerIsKnownOrRefused(t *testing.T) {
	t.Parallel()
	charges := payments.NewLedger()
	provider := httptest.NewServer(payments.Serve(charges))
	t.Cleanup(provider.Close)
	jwt := func(claims string) string { return `{"jwt":{"claims":{` + claims + `},"scopes":null}}` }
	iam := func(user string) string {
		return `{"iam":{"accountId":"123456789012","callerId":"` + user + `","userId":"` + user + `","cognitoIdentity":null}}`
	}
	guarded := run(t, "PAYMENTS_URL="+provider.URL, "REQUIRE_TENANT=true")
	open := run(t, "PAYMENTS_URL="+provider.URL, "REQUIRE_TENANT=false")
	for _, c := range []struct {
		name       string
		function   running
		authorizer string
		status     int
		replayed   bool
	}{
		{"a token", guarded, jwt(`"iss":"https://issuer.example","sub":"one"`), 201, false},
		{"the same again", guarded, jwt(`"iss":"https://issuer.example","sub":"one"`), 201, true},
		{"another subject", guarded, jwt(`"iss":"https://issuer.example","sub":"two"`), 201, false},
		{"another issuer", guarded, jwt(`"iss":"https://another.example","sub":"one"`), 201, false},
		{"a user", guarded, iam("AIDAIOSFODNN7EXAMPLE"), 201, false},
		{"another user", guarded, iam("AIDAIOSFODNN8EXAMPLE"), 201, false},
		{"a token without subject", guarded, jwt(`"iss":"https://issuer.example","client_id":"one"`), 401, false},
		{"nobody", guarded, "null", 401, false},
		{"nobody, where nobody is known", open, "null", 201, false},
		{"nobody again", open, "null", 201, true},
	} {
		before := charges.Count()
		out := c.function.as(t, c.authorizer)
		require.Equal(t, c.status, out.StatusCode, "%s: %s", c.name, out.Body)
		require.Equal(t, c.replayed, out.Headers["Idempotent-Replayed"] == "true", c.name)
		require.Equal(t, c.status == 201 && !c.replayed, charges.Count() == before+1, c.name)
	}
}

// as sends the charge of events/charge.json as the caller that an authorizer names in this way.
func (r running) as(t *testing.T, authorizer string) (out events.APIGatewayV2HTTPResponse) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("events", "charge.json"))
	require.NoError(t, err)
	var event, requestContext map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &event))
	require.NoError(t, json.Unmarshal(event["requestContext"], &requestContext))
	requestContext["authorizer"] = json.RawMessage(authorizer)
	event["requestContext"], err = json.Marshal(requestContext)
	require.NoError(t, err)
	payload, err := json.Marshal(event)
	require.NoError(t, err)
	result, err := deployed.Invoker{Sandbox: r.Sandbox}.Invoke(t.Context(), payload)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(result, &out))
	return out
}
