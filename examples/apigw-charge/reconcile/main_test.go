package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/examples/internal/deployed"
	"github.com/go-idempotent/idempotent/examples/internal/front"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
	"github.com/go-idempotent/idempotent/operate"
)

func TestAConfigurationThatCannotWorkEndsTheProcess(t *testing.T) {
	t.Parallel()
	binary := deployed.Build(t)
	fine := []string{"IDEMPOTENCY_TABLE=table", "OPERATION=charge", "PAYMENTS_URL=https://payments.example"}
	for says, environment := range map[string][]string{
		"IDEMPOTENCY_TABLE is not set":        {"OPERATION=charge"},
		"OPERATION is not set":                {"IDEMPOTENCY_TABLE=table"},
		"there is nobody to ask":              {"IDEMPOTENCY_TABLE=table", "OPERATION=charge"},
		"EFFECTS: ":                           append(fine, "EFFECTS=often"),
		"is neither 1.0 nor 2.0":              append(fine, "PAYLOAD_FORMAT=3.0"),
		"FIRST_PAUSE: ":                       append(fine, "FIRST_PAUSE=soon"),
		"MAX_TRIES: ":                         append(fine, "MAX_TRIES=often"),
		"FirstPause: 1ms is less":             append(fine, "FIRST_PAUSE=1ms"),
		"the URL of the queue is not one of ": append(fine, "PARKED_QUEUE_URL=parked"),
	} {
		deployed.RequireRefused(t, binary, says, append([]string{"AWS_LAMBDA_LOG_FORMAT=JSON"}, environment...)...)
	}
}

// shop is the function apigw-charge, the function reconcile, and their provider.
type shop struct {
	t         *testing.T
	ledger    *payments.Ledger
	sandbox   *lambdaruntime.Sandbox
	front     *front.Front
	reconcile deployed.Invoker
	operator  *operate.Operator
	// answers is how the provider behaves.
	answers atomic.Pointer[func(w http.ResponseWriter, req *http.Request, ledger http.Handler)]
}

const operation = "shop-charge"

// limit is how long an execution may take that is to be killed: its lease ends soon.
const limit = 2 * time.Second

func newShop(t *testing.T, environment ...string) *shop {
	t.Helper()
	s := &shop{t: t, ledger: payments.NewLedger()}
	ledger := payments.Serve(s.ledger)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if answers := s.answers.Load(); answers != nil {
			(*answers)(w, req, ledger)
			return
		}
		ledger.ServeHTTP(w, req)
	}))
	t.Cleanup(provider.Close)
	endpoint := dynamolocal.Endpoint(t)
	table := "reconcile-" + strings.ToLower(filepath.Base(t.TempDir())) + "-" + time.Now().Format("150405.000000")
	client := dynamolocal.Client(endpoint)
	require.NoError(t, dynamo.CreateTable(t.Context(), client, table))
	s.operator = operate.New(dynamo.New(client, table))
	shared := []string{
		"IDEMPOTENCY_TABLE=" + table, "PAYMENTS_URL=" + provider.URL, "EFFECTS=unrepeatable", "AWS_ENDPOINT_URL_DYNAMODB=" + endpoint,
		"AWS_ACCESS_KEY_ID=" + dynamolocal.AccessKey, "AWS_SECRET_ACCESS_KEY=" + dynamolocal.AccessKey,
	}
	s.sandbox = lambdaruntime.NewSandbox(lambdaruntime.Function{Name: operation, Bootstrap: buildCharge(t), Environment: shared})
	t.Cleanup(func() { require.NoError(t, s.sandbox.Close()) })
	s.front = &front.Front{Function: deployed.Invoker{Sandbox: s.sandbox}, Routes: []string{charge.Route}}
	s.reconcile = deployed.RunWithoutRecords(t, append(append(shared, "OPERATION="+operation, "FIRST_PAUSE=1s"), environment...)...)
	return s
}

// buildCharge builds the function beside this one.
func buildCharge(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bootstrap")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-tags", "lambda.norpc", "-o", path, "..").CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}

func (s *shop) let(answer func(w http.ResponseWriter, req *http.Request, ledger http.Handler)) {
	s.answers.Store(&answer)
}

// loses lets the provider charge and lose its answer.
func loses(w http.ResponseWriter, req *http.Request, ledger http.Handler) {
	ledger.ServeHTTP(httptest.NewRecorder(), req)
	w.WriteHeader(http.StatusGatewayTimeout)
}

const body = `{"amount":1999,"currency":"usd","source":"tok_visa","metadata":{"order":9007199254740993}}`

func (s *shop) post(key string) *httptest.ResponseRecorder {
	s.t.Helper()
	req := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, "/charges", strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	s.front.ServeHTTP(w, req)
	return w
}

func (s *shop) run(event string) (r operate.Reconciliation) {
	s.t.Helper()
	out, err := s.reconcile.Invoke(s.t.Context(), []byte(event))
	require.NoError(s.t, err)
	require.NoError(s.t, json.Unmarshal(out, &r))
	return r
}

// open are the records that somebody has to settle.
func (s *shop) open() (all []operate.Listed) {
	s.t.Helper()
	for l, err := range s.operator.List(s.t.Context(), operate.Query{}) {
		require.NoError(s.t, err)
		all = append(all, l)
	}
	return all
}

func schedule(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("events/schedule.json")
	require.NoError(t, err)
	return string(text)
}

func TestTheBinarySettlesWhatTheProviderDidNotAnswer(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.let(loses)
	require.Equal(t, 502, s.post("charged").Code)
	s.let(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	require.Equal(t, 502, s.post("refused").Code)
	require.Len(t, s.open(), 2)
	require.Equal(t, 409, s.post("charged").Code, "a retry does not charge again")

	vain := s.run(schedule(t))
	require.Equal(t, 2, vain.Scheduled, "%+v", vain)
	require.Equal(t, 2, vain.Failed)
	s.answers.Store(nil)
	time.Sleep(1100 * time.Millisecond) // until both are due again
	done := s.run(schedule(t))
	require.Equal(t, []int{2, 1, 1}, []int{done.Asked, done.Completed, done.Released}, "%+v", done)
	require.Empty(t, s.open())

	again := s.post("charged")
	require.Equal(t, 201, again.Code)
	require.Equal(t, "true", again.Header().Get("Idempotent-Replayed"))
	require.Contains(t, again.Body.String(), s.ledger.Book()[0].ID)
	require.Contains(t, again.Body.String(), `"metadata":{"order":9007199254740993}`)
	require.Equal(t, 1, s.ledger.Book()[0].Calls)
	first := s.post("refused")
	require.Equal(t, 201, first.Code)
	require.Empty(t, first.Header().Get("Idempotent-Replayed"))
	require.Equal(t, 2, s.ledger.Count())
	require.Contains(t, s.reconcile.Logs(), `"ReconcileResolved":2,"ReconcileReleased":1`)
	require.Contains(t, s.reconcile.Logs(), `"ReconcileScheduled":2`)
	require.Contains(t, s.reconcile.Logs(), "payments: the service answered with status 503")
}

// The function is killed after the charge. One retry of the client makes the record UNKNOWN, and then nobody comes any more.
func TestTheBinarySettlesWhatACrashHasLeft(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	charged, gone := make(chan struct{}), make(chan struct{})
	s.let(func(_ http.ResponseWriter, req *http.Request, ledger http.Handler) {
		ledger.ServeHTTP(httptest.NewRecorder(), req)
		close(charged)
		<-gone
	})
	go s.crashing("k")
	<-charged
	require.NoError(t, s.sandbox.Kill())
	close(gone)
	s.answers.Store(nil)
	require.Eventually(t, func() bool { // the lease has to lapse
		w := s.post("k")
		return w.Code == 409 && strings.Contains(w.Body.String(), "unknown")
	}, 20*time.Second, 200*time.Millisecond)
	require.Len(t, s.open(), 1)
	require.Equal(t, 1, s.run("{}").Completed)
	again := s.post("k")
	require.Equal(t, 201, again.Code)
	require.Contains(t, again.Body.String(), s.ledger.Book()[0].ID)
	require.Equal(t, 1, s.ledger.Book()[0].Calls)
}

// crashing sends a charge to a function that has little time. The request fails.
func (s *shop) crashing(key string) {
	f := &front.Front{Function: hurried{s.sandbox}, Routes: []string{charge.Route}}
	req := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, "/charges", strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	f.ServeHTTP(httptest.NewRecorder(), req)
}

func TestTheBinaryParksWhatNobodyCanTellAndAsksAgainOnDemand(t *testing.T) {
	t.Parallel()
	sent := make(chan string, 10)
	queue := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		text, err := io.ReadAll(req.Body)
		if err == nil {
			sent <- string(text)
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = io.WriteString(w, `{"MessageId":"2e1424d4-f796-459a-8184-9c92662be6da"}`)
	}))
	t.Cleanup(queue.Close)
	s := newShop(t, "MAX_TRIES=1", "PARKED_QUEUE_URL="+queue.URL+"/123456789012/parked", "AWS_ENDPOINT_URL_SQS="+queue.URL)
	s.let(loses)
	require.Equal(t, 502, s.post("k").Code)
	require.Equal(t, 1, s.run("{}").Scheduled, "it is handed over under a claim of its own")
	require.Equal(t, 1, s.run("{}").Parked)
	var message struct{ MessageBody string }
	require.NoError(t, json.Unmarshal([]byte(<-sent), &message))
	open := s.open()
	require.Len(t, open, 1)
	require.True(t, open[0].Parked)
	require.Contains(t, message.MessageBody, `"record_key":"`+open[0].Record.Key+`"`)
	require.NotContains(t, message.MessageBody, "1999")

	require.Zero(t, s.run("{}").Asked, "a parked record is not due")
	s.answers.Store(nil)
	require.Equal(t, 1, s.run(`{"all":true}`).Completed)
	require.Empty(t, s.open())
	require.Empty(t, sent, "one message")
	require.Contains(t, s.reconcile.Logs(), `"ReconcileParked":1`)
}

func TestATableWithoutAnIndexFailsTheInvocation(t *testing.T) {
	t.Parallel()
	_, err := deployed.RunWithoutRecords(t, "IDEMPOTENCY_TABLE=nowhere", "OPERATION=charge", "PAYMENTS_URL=http://127.0.0.1:1").
		Invoke(t.Context(), []byte("{}"))
	require.ErrorContains(t, err, "reconcile")
}

// hurried invokes with little time.
type hurried struct{ *lambdaruntime.Sandbox }

func (h hurried) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	return h.Sandbox.Invoke(ctx, payload, limit)
}
