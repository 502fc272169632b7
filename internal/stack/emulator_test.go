package stack_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/examples/orders/counting"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/stack"
)

// emulatorsVariable names the folder with Lambda's Runtime Interface Emulators.
const emulatorsVariable = "IDEMPOTENT_SAM_EMULATORS"

// TestTheBuildServesTheSampleEvents runs the build as Lambda does, on the template's table and with its settings, and looks
// at answers, logs and metrics.
func TestTheBuildServesTheSampleEvents(t *testing.T) {
	t.Parallel()
	ledger := payments.NewLedger()
	provider := httptest.NewServer(payments.Serve(ledger))
	t.Cleanup(provider.Close)
	table := newTable(t)

	for _, c := range []struct {
		event     string
		variant   string
		status    int
		replayed  bool
		metric    string
		chargesBy int
	}{
		{"charge.json", "defaults", 201, false, "Created", 1},
		{"charge.json", "defaults", 201, true, "Replayed", 0},
		{"mismatch.json", "defaults", 422, false, "Mismatch", 0},
		{"no-key.json", "defaults", 400, false, "KeyMisuse", 0},
		{"declined.json", "defaults", 402, false, "Created", 0},
		{"jwt.json", "tokens", 201, false, "Created", 1},
		{"jwt.json", "tokens", 201, true, "Replayed", 0},
		{"charge.json", "tokens", 401, false, "MissingTenant", 0}, // nobody: the authorizer of this variant names everybody
		{"rest.json", "REST", 201, false, "Created", 1},
		{"rest.json", "REST", 201, true, "Replayed", 0},
	} {
		before := ledger.Count()
		// Each event meets a new process: what it knows is in the table.
		sandbox := emulate(t, "ChargeFunction", c.variant, map[string]string{"IDEMPOTENCY_TABLE": table, "PAYMENTS_URL": provider.URL})
		out := sandbox.invoke(t, "apigw-charge/events/"+c.event)
		sandbox.stop()

		require.Equal(t, c.status, out.StatusCode, "%s: %s\n%s", c.event, out.Body, sandbox.output.String())
		require.Equal(t, c.replayed, out.Headers["Idempotent-Replayed"] == "true", c.event)
		require.Equal(t, before+c.chargesBy, ledger.Count(), c.event)
		require.Contains(t, metricsIn(t, operation, sandbox.output.String()), c.metric, c.event)
		for _, secret := range []string{"order-1", "order-2", "tok_"} {
			require.NotContains(t, sandbox.output.String(), secret, "logs hold no keys and no payloads")
		}
	}
}

// TestTheBuildTakesOrders runs the function of the orders likewise.
func TestTheBuildTakesOrders(t *testing.T) {
	t.Parallel()
	built(t, "OrdersFunction", "arm64") // or it is skipped, before anything is made
	services := counting.New()
	server := httptest.NewServer(services)
	t.Cleanup(server.Close)
	table, rows, messages := newTable(t), newTableOf(t, stack.Orders), newMailing(t)
	for _, c := range []struct {
		event    string
		status   int
		replayed bool
		metric   string
	}{
		{"order.json", 201, false, "Created"},
		{"order.json", 201, true, "Replayed"},
		{"declined.json", 402, false, "Created"},
		{"declined.json", 402, true, "Replayed"},
	} {
		sandbox := emulate(t, "OrdersFunction", "orders", map[string]string{
			"IDEMPOTENCY_TABLE": table, "ORDERS_TABLE": rows, "OUTBOX_TABLE": messages.table, "STOCK_URL": server.URL,
			"PAYMENTS_URL": server.URL, "PAYMENTS_SECRET": "",
		})
		out := sandbox.invoke(t, "orders/events/"+c.event)
		sandbox.stop()
		require.Equal(t, c.status, out.StatusCode, "%s: %s\n%s", c.event, out.Body, sandbox.output.String())
		require.Equal(t, c.replayed, out.Headers["Idempotent-Replayed"] == "true", c.event)
		require.Contains(t, metricsIn(t, ordering, sandbox.output.String()), c.metric, c.event)
		for _, secret := range []string{"order-1", "order-2", "tok_", "a@example.com"} {
			require.NotContains(t, sandbox.output.String(), secret, "logs hold no keys and no payloads")
		}
	}
	for kind, count := range map[counting.Kind]int{counting.Reservation: 2, counting.Charge: 1, counting.Message: 0, counting.Cancellation: 1} {
		require.Equal(t, count, services.Done(kind), kind)
	}
	require.Len(t, messages.event().Records, 1, "the message of the order that was not declined")
	kept, err := dynamolocal.Client(dynamolocal.Endpoint(t)).Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(rows)})
	require.NoError(t, err)
	require.Len(t, kept.Items, 1, "the order that was not declined")
}

// TestTheBuildDeliversMessages runs the functions of the outbox likewise: a relay that cannot reach the mail, one that can, and a drain.
func TestTheBuildDeliversMessages(t *testing.T) {
	t.Parallel()
	built(t, "RelayFunction", "arm64") // or it is skipped, before anything is made
	services := counting.New()
	server := httptest.NewServer(services)
	t.Cleanup(server.Close)
	m := newMailing(t)
	m.commit(map[string]string{"order_id": "or_1", "email": "a@example.com"})
	payload, err := json.Marshal(m.event())
	require.NoError(t, err)

	relay := func(mail string) (answer events.DynamoDBEventResponse, log string) {
		sandbox := emulate(t, "RelayFunction", "orders", map[string]string{"OUTBOX_TABLE": m.table, "MAIL_URL": mail})
		require.NoError(t, json.Unmarshal(sandbox.post(t, payload), &answer), sandbox.output)
		sandbox.stop()
		return answer, sandbox.output.String()
	}
	failed, log := relay("http://127.0.0.1:1")
	require.Len(t, failed.BatchItemFailures, 1, log)
	require.Contains(t, metricsIn(t, m.table, log), "MessageFailed")
	require.Contains(t, log, `"message":"outbox message"`, "the runbook searches for it")
	delivered, log := relay(server.URL)
	require.Empty(t, delivered.BatchItemFailures, log)
	require.Contains(t, metricsIn(t, m.table, log), "MessageDelivered")
	require.Equal(t, 1, services.Done(counting.Message))
	require.NotContains(t, log, "a@example.com", "logs hold no payloads")

	sandbox := emulate(t, "DrainFunction", "orders", map[string]string{"OUTBOX_TABLE": m.table, "MAIL_URL": server.URL})
	require.Equal(t, "null", string(sandbox.post(t, []byte(`{"detail-type":"Scheduled Event"}`))), sandbox.output)
	sandbox.stop()
	for _, left := range []string{"PendingMessages", "OldestMessage", "ParkedMessages"} {
		require.Contains(t, metricsIn(t, m.table, sandbox.output.String()), left)
	}
}

// TestTheBuildShipsOrders runs the function of the queue likewise: a message that cannot be shipped, then can, and comes again.
func TestTheBuildShipsOrders(t *testing.T) {
	t.Parallel()
	built(t, "ShippingFunction", "arm64") // or it is skipped, before anything is made
	services := counting.New()
	server := httptest.NewServer(services)
	t.Cleanup(server.Close)
	for variant, file := range map[string]string{"shipping": "placed.json", "shipping in order": "placed-fifo.json"} {
		table := newTable(t)
		for _, c := range []struct {
			service string
			failed  int
			metric  string
		}{{"http://127.0.0.1:1", 1, "FailedRetry"}, {server.URL, 0, "Created"}, {server.URL, 0, "Replayed"}} {
			sandbox := emulate(t, "ShippingFunction", variant, map[string]string{"IDEMPOTENCY_TABLE": table, "SHIP_URL": c.service, "SHIP_SECRET": ""})
			payload, err := os.ReadFile("../../examples/orders/consumer/events/" + file)
			require.NoError(t, err)
			var answer events.SQSEventResponse
			require.NoError(t, json.Unmarshal(sandbox.post(t, payload), &answer), sandbox.output)
			sandbox.stop()
			require.Len(t, answer.BatchItemFailures, c.failed, sandbox.output)
			require.Contains(t, metricsIn(t, shipping, sandbox.output.String()), c.metric)
			require.NotContains(t, sandbox.output.String(), "a@example.com", "logs hold no payloads")
			require.NotContains(t, sandbox.output.String(), "5f0d3c1e-8a7b-4c2d-9e6f-1a2b3c4d5e6f", "logs hold no keys")
		}
	}
	require.Equal(t, 1, services.Done(counting.Shipment), "one function and one key have one derived key, in whatever table")
}

// TestTheBuildCountsWhatIsOpen runs the function that counts likewise.
func TestTheBuildCountsWhatIsOpen(t *testing.T) {
	t.Parallel()
	built(t, "AttentionFunction", "arm64") // or it is skipped, before anything is made
	table := newTable(t)
	handler := idempotent.Wrap(charges, dynamo.New(dynamolocal.Client(dynamolocal.Endpoint(t)), table),
		idempotent.WithOperation(operation), idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }))
	for open := range 3 {
		_, err := handler.Handle(t.Context(), order{ID: strconv.Itoa(open), Fails: true})
		require.Error(t, err)
	}
	sandbox := emulate(t, "AttentionFunction", "defaults", map[string]string{"IDEMPOTENCY_TABLE": table})
	require.Equal(t, "null", string(sandbox.post(t, []byte(`{"detail-type":"Scheduled Event"}`))), sandbox.output)
	sandbox.stop()
	require.Equal(t, []string{"OpenAttention", "OldestAttention", "ParkedAttention"}, metricsIn(t, operation, sandbox.output.String()))
	require.Contains(t, sandbox.output.String(), `"OpenAttention":3,`)
}

// sandbox is one process of the function under an emulator, which takes one invocation at a time.
type sandbox struct {
	address string
	output  *output
	stop    func()
}

// emulate starts the function of a variant. What a deployment would fill in comes from here; the rest of the environment is
// the template's.
func emulate(t *testing.T, name, variant string, filled map[string]string) sandbox {
	t.Helper()
	architecture := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]
	emulators := os.Getenv(emulatorsVariable)
	bootstrap := built(t, name, architecture)
	require.NotEmpty(t, emulators, "%s is not set", emulatorsVariable)

	function := deployed(t, variants[variant]).Resources[name]
	address := freeAddress(t)
	cmd := exec.CommandContext(t.Context(), filepath.Join(emulators, "aws-lambda-rie-"+architecture),
		"--runtime-interface-emulator-address", address, "--runtime-api-address", freeAddress(t), bootstrap)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=" + dynamolocal.AccessKey, "AWS_SECRET_ACCESS_KEY=" + dynamolocal.AccessKey,
		"AWS_ENDPOINT_URL_DYNAMODB=" + dynamolocal.Endpoint(t),
		fmt.Sprintf("AWS_LAMBDA_FUNCTION_NAME=%v", function.At("FunctionName")),
		fmt.Sprintf("AWS_LAMBDA_FUNCTION_TIMEOUT=%v", function.At("Timeout")),
		fmt.Sprintf("AWS_LAMBDA_FUNCTION_MEMORY_SIZE=%v", function.At("MemorySize")),
		fmt.Sprintf("AWS_LAMBDA_LOG_FORMAT=%v", function.At("LoggingConfig", "LogFormat")),
	}
	for name, value := range function.At("Environment", "Variables").(map[string]any) {
		if other, is := filled[name]; is {
			value = other
			delete(filled, name)
		}
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%v", name, value))
	}
	require.Empty(t, filled, "the template does not set these")

	out := &output{}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, out, 5*time.Second
	require.NoError(t, cmd.Start())
	stop := sync.OnceFunc(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it ends the function with itself
		_ = cmd.Wait()
	})
	t.Cleanup(stop)
	return sandbox{address: address, output: out, stop: stop}
}

// response is what the function returns, in either payload format.
type response struct {
	StatusCode int
	Headers    map[string]string
	Body       string
}

func (s sandbox) invoke(t *testing.T, event string) response {
	t.Helper()
	payload, err := os.ReadFile(filepath.Join("../../examples", event))
	require.NoError(t, err)
	body := s.post(t, payload)
	var out response
	require.NoError(t, json.Unmarshal(body, &out), "%s\n%s", body, s.output.String())
	return out
}

func (s sandbox) post(t *testing.T, payload []byte) (body []byte) {
	t.Helper()
	require.Eventually(t, func() bool {
		resp, err := http.Post("http://"+s.address+"/2015-03-31/functions/function/invocations", "application/json", bytes.NewReader(payload))
		if err != nil {
			return false // it does not listen yet
		}
		defer resp.Body.Close()
		body, err = io.ReadAll(resp.Body)
		return err == nil
	}, 30*time.Second, 20*time.Millisecond)
	return body
}

// metricsIn are the names of the metrics in a log, which are those of an operation or of an outbox.
func metricsIn(t *testing.T, of, log string) (names []string) {
	t.Helper()
	for line := range strings.Lines(log) {
		var emf struct {
			Operation, Outbox string

			AWS struct {
				CloudWatchMetrics []struct {
					Namespace string
					Metrics   []struct{ Name string }
				}
			} `json:"_aws"`
		}
		if json.Unmarshal([]byte(line), &emf) != nil {
			continue // a line of the emulator
		}
		for _, m := range emf.AWS.CloudWatchMetrics {
			require.Equal(t, namespace, m.Namespace)
			require.Equal(t, of, emf.Operation+emf.Outbox)
			for _, metric := range m.Metrics {
				names = append(names, metric.Name)
			}
		}
	}
	return names
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// output collects what a process writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
