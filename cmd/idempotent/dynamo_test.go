package main_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// What the commands print of records on DynamoDB, where times are those of now.
func TestWhatTheCommandsPrintOfATable(t *testing.T) {
	t.Parallel()
	tb := newTable(t)
	tb.put(t, demoRecords(t)...)
	for _, name := range []string{
		"list", "inspect", "settle", "settled", "settle-again", "release", "live", "delete", "deleted", "list-not-due",
		"stopped", "begun", "begun-again", "begun-then", "doctor",
	} {
		session(t, "table/"+name, []string{tb.endpoint, "<endpoint>", tb.name, "<table>"}, tb.env)
	}
}

// lines decodes JSON lines.
func lines[T any](t *testing.T, text string) []T {
	t.Helper()
	var all []T
	d := json.NewDecoder(strings.NewReader(text))
	for d.More() {
		var v T
		require.NoError(t, d.Decode(&v))
		all = append(all, v)
	}
	return all
}

// line is what tests read of a record.
type line struct {
	RecordKey   string            `json:"record_key"`
	State       operate.State     `json:"state"`
	Reason      string            `json:"reason"`
	DerivedKeys map[string]string `json:"derived_keys"`
	Seen        string            `json:"seen"`
	Error       string            `json:"error"`
}

// The tasks of an operator, each with one command, on the record of a real handler.
func TestEachTaskOfAnOperatorIsOneCommand(t *testing.T) {
	t.Parallel()
	tb := newTable(t)

	// From a client's key to its record.
	event := `{"version":"2.0","routeKey":"POST /charges","rawPath":"/charges","headers":{"idempotency-key":"order-1"},
		"requestContext":{"apiId":"a1b2c3","stage":"$default","requestId":"r","http":{"method":"POST","path":"/charges"}},"body":"{}"}`
	handler := answers(202, tb.store, unhurried(), idempotent.WithEffects(idempotent.Unrepeatable))
	r := tb.runs(t, "key --operation charge -o json --event "+write(t, "event.json", event))
	key := lines[line](t, r.out)[0].RecordKey
	stuck := recordOf(t, "charge#crashed")
	stuck.Key, stuck.Attention, stuck.Fingerprint = key, store.AttentionOf(key), described(t, event).Fingerprint
	tb.put(t, stuck)
	assert.Equal(t, 409, answerOf(t, handler, event).StatusCode)

	// Inspect: what happened, and the derived key to ask the provider with.
	inspected := tb.inspect(t, key)
	assert.Equal(t, operate.StateUnknown, inspected.State)
	assert.Equal(t, described(t, event).DerivedKey("charge"), inspected.DerivedKeys["charge"])

	// Settle as executed: the client gets the result, with the headers of a replay. The file is as
	// a person writes it.
	result := write(t, "result.json",
		"{\n  \"body\": \"{\\\"id\\\":\\\"ch_1\\\"}\",\n  \"headers\": {\"Content-Type\": \"application/json\"},\n  "+
			"\"statusCode\": 201\n}\n")
	tb.runs(t, "settle "+key+" --executed "+result+" --seen "+inspected.Seen+why)
	answer := answerOf(t, handler, event)
	assert.Equal(t, 201, answer.StatusCode)
	assert.Equal(t, `{"id":"ch_1"}`, answer.Body)
	assert.Equal(t, "true", answer.Headers["Idempotent-Replayed"], answer.Headers)
	assert.Equal(t, "application/json", answer.Headers["Content-Type"])
	assert.NotEmpty(t, answer.Headers["Idempotency-Key-Expires"])

	// Cache-bust: the next retry executes.
	tb.runs(t, "delete "+key+why)
	assert.Equal(t, 202, answerOf(t, handler, event).StatusCode)

	// Settle as not executed: the next retry executes. And what failed for good is an error from
	// then on.
	tb.replace(t, stuck)
	assert.Equal(t, 409, answerOf(t, handler, event).StatusCode)
	tb.runs(t, "settle "+key+" --may-repeat-effect --not-executed"+why)
	assert.Equal(t, 202, answerOf(t, handler, event).StatusCode)
	tb.replace(t, stuck)
	tb.runs(t, "settle "+key+" --failed 'Declined: the card was declined'"+why)
	_, err := handler.Invoke(t.Context(), []byte(event))
	require.ErrorContains(t, err, "the card was declined")
}

// why is who changes something and for what reason, and that nobody has to be asked.
const why = " --reason 'ticket 4711' --by dana --yes"

// inspect is a record as inspect shows it to a program.
func (tb table) inspect(t *testing.T, key string) line {
	t.Helper()
	return lines[line](t, tb.runs(t, "inspect -o json '"+key+"'").out)[0]
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

type httpHandler = *idempotent.Handler[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse]

// answers is a handler that answers with a status.
func answers(status int, s store.Store, opts ...idempotent.Option) httpHandler {
	answer := func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		return events.APIGatewayV2HTTPResponse{StatusCode: status}, nil
	}
	return idempotent.Wrap(answer, s, append(opts, idempotent.WithOperation("charge"))...)
}

func described(t *testing.T, event string) idempotent.Description {
	t.Helper()
	d, err := answers(0, memory.New()).DescribeEvent(t.Context(), []byte(event))
	require.NoError(t, err)
	return d
}

func answerOf(t *testing.T, h httpHandler, event string) events.APIGatewayV2HTTPResponse {
	t.Helper()
	out, err := h.Invoke(t.Context(), []byte(event))
	require.NoError(t, err)
	var answer events.APIGatewayV2HTTPResponse
	require.NoError(t, json.Unmarshal(out, &answer))
	return answer
}

func TestBadTargetsAreOneClearSentence(t *testing.T) {
	t.Parallel()
	tb := newTable(t)
	other := newTable(t, dynamo.Config{Attributes: dynamo.Attributes{Key: "pk"}})
	down := httptest.NewServer(nil)
	down.Close()
	const missing = `there is no table "nobody" in this account and Region: check --table, --region, --profile and ` +
		`--endpoint-url`
	for _, c := range []struct{ args, endpoint, says string }{
		{"inspect a#b --table nobody", tb.endpoint, missing},
		{"list --table nobody", tb.endpoint, missing},
		{"doctor --table nobody", tb.endpoint, missing},
		{
			"inspect a#b --table " + other.name, tb.endpoint,
			`" has another key than expected: check --sort-key, --partition and --attribute`,
		},
		{"inspect a#b --table records", down.URL, "connection refused"},
		{
			"inspect a#b --table records",
			answering(t, 400, "AccessDeniedException", "User: dana is not authorized to perform: dynamodb:GetItem"),
			`not allowed on table "records": AccessDeniedException: User: dana is not authorized to perform: dynamodb:GetItem`,
		},
		{
			"inspect a#b --table records", answering(t, 400, "ThrottlingException", "Rate exceeded"),
			`table "records" throttles: try again later`,
		},
		{
			"inspect a#b --table records", answering(t, 400, "ExpiredTokenException", "The security token is expired"),
			"The security token is expired",
		},
		{
			"inspect a#b --table records", answering(t, 500, "InternalServerError", "oops"),
			`no answer for table "records": InternalServerError`,
		},
	} {
		t.Run(c.says, func(t *testing.T) {
			t.Parallel()
			r := run(t, c.args+" --endpoint-url "+c.endpoint)
			assert.Equal(t, 1, r.code)
			assert.Empty(t, r.out)
			assert.Contains(t, r.err, c.says)
			assert.Equal(t, 2, strings.Count(r.err, "\n"), "where it acts, and one line: %s", r.err)
			assert.NotContains(t, r.err, "operation error")
		})
	}
}

// answering is an endpoint that answers everything with an error.
func answering(t *testing.T, status int, code, message string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":%q}`, code, message)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestRenamedAttributesAndSortKeys(t *testing.T) {
	t.Parallel()
	names := dynamo.Attributes{Key: "pk", Status: "state", Expiration: "ttl"}
	tb := newTable(t, dynamo.Config{SortKey: "sk", Partition: "idempotency#shop", Attributes: names})
	r := recordOf(t, "charge#uncertain")
	tb.put(t, r)
	flags := " --sort-key sk --partition 'idempotency#shop' --attribute id=pk,status=state --attribute expiration=ttl"
	listed := tb.runs(t, "list -o json"+flags)
	assert.Equal(t, r.Key, lines[line](t, listed.out)[0].RecordKey)
	tb.runs(t, "settle "+r.Key+" --not-executed --may-repeat-effect"+why+flags)
	assert.Equal(t, store.ReasonReleased, tb.get(t, r.Key).Reason)
	tb.runs(t, "doctor"+flags)
	wrong := tb.run(t, "doctor")
	assert.Equal(t, 1, wrong.code)
	assert.Contains(t, wrong.out, "problem")
}

// Garbage is listed and shown as what it is, and nothing that it holds reaches the terminal as it
// is.
func TestARecordThatCannotBeUnderstoodIsListedAndLeftAlone(t *testing.T) {
	t.Parallel()
	tb := newTable(t)
	const key = "charge#\x1b[2Jbad"
	bad := item{
		"id": text(key), "status": text("UNKNOWN"), "expiration": text("tomorrow"),
		"attention":    text("charge#0"),
		"attention_at": &types.AttributeValueMemberN{Value: "1"},
	}
	tb.putItem(t, bad)
	listed := tb.runs(t, "list")
	assert.Contains(t, listed.out, "unreadable")
	assert.Contains(t, listed.out, `charge#\x1b[2Jbad`)
	assert.NotContains(t, listed.out, "\x1b")
	assert.Contains(t, listed.err, "1 of them cannot be understood")
	for _, args := range []string{"inspect '" + key + "'", "delete '" + key + "'" + why} {
		r := tb.run(t, args)
		assert.Equal(t, 1, r.code)
		assert.Contains(t, r.err, "the record is there, but it cannot be understood")
	}
	assert.Equal(t, bad, tb.item(t, key))
}

func TestATableWithoutTheIndexIsListedByAScan(t *testing.T) {
	t.Parallel()
	tb := newTable(t)
	tb.put(t, demoRecords(t)...)
	_, err := tb.client.UpdateTable(t.Context(),
		&dynamodb.UpdateTableInput{TableName: &tb.name, GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{
			{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: aws.String(dynamo.AttentionIndex)}},
		}})
	require.NoError(t, err)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		r := tb.run(t, "list")
		assert.Equal(c, 1, r.code)
		assert.Contains(c, r.err,
			"has no index of the records with attention that can be used; --scan finds them by reading the whole table")
	}, 30*time.Second, 200*time.Millisecond)
	assert.Len(t, lines[line](t, tb.runs(t, "list --scan -o json").out), 12)
	assert.Contains(t, tb.runs(t, "doctor").out, "warning")
}

// A result of any size that a function can return is settled with, shown and replayed.
func TestALargeResultIsSettledShownAndReplayed(t *testing.T) {
	t.Parallel()
	tb := newTable(t)
	body := make([]byte, 0, 1<<20)
	for n := 0; len(body) < 1<<20; n++ {
		body = fmt.Appendf(body, "%x", sha256.Sum256([]byte{byte(n), byte(n >> 8), byte(n >> 16)}))
	}
	result, err := json.Marshal(map[string]any{"statusCode": 201, "body": string(body)})
	require.NoError(t, err)
	stuck := recordOf(t, "charge#result-lost")
	stuck.Key, stuck.Fingerprint = described(t, eventOfV2).RecordKey, described(t, eventOfV2).Fingerprint
	tb.put(t, stuck)
	tb.runs(t, "settle "+stuck.Key+" --executed -"+why, in(string(result)+"\n"))
	assert.NotEmpty(t, tb.get(t, stuck.Key).Parts, "it does not fit into the record")

	assert.Contains(t, tb.runs(t, "inspect "+stuck.Key).out, "kept beside the record; --result shows it")
	var shown struct{ Result json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(tb.runs(t, "inspect --result -o json "+stuck.Key).out), &shown))
	assert.JSONEq(t, string(result), string(shown.Result))
	assert.Equal(t, string(body), answerOf(t, answers(500, tb.store, unhurried()), eventOfV2).Body)
}
