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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/demo"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// What the commands print of records on DynamoDB, where times are those of now.
func TestWhatTheCommandsPrintOfATable(t *testing.T) {
	t.Parallel()
	tb := newTable(t)
	tb.put(t, demoRecords(t)...)
	why := []string{"--reason", "ticket 4711", "--by", "dana", "--yes"}
	for _, c := range []struct {
		name string
		args []string
		code int
	}{
		{name: "list", args: []string{"list", "--operation", "charge"}},
		{name: "inspect", args: []string{"inspect", "charge#result-lost"}},
		{name: "settle", args: append([]string{"settle", "charge#result-lost", "--not-executed", "--may-repeat-effect"},
			why...)},
		{name: "settled", args: []string{"inspect", "charge#result-lost"}},
		{name: "settle-again", args: append([]string{"settle", "charge#result-lost", "--failed", "A: b"}, why...)},
		{name: "release", args: append([]string{"settle", "charge#died", "--released"}, why...)},
		{name: "live", args: append([]string{"delete", "charge#in-progress"}, why...), code: 1},
		{name: "delete", args: append([]string{"delete", "charge#completed"}, why...)},
		{name: "deleted", args: []string{"inspect", "charge#completed"}, code: 3},
		{name: "list-not-due", args: []string{"list", "--operation", "order", "--state", "released"}},
		{name: "stopped", args: []string{"inspect", "order#stopped", "--step", "reserve"}},
		{name: "begun", args: append([]string{"settle", "order#begun", "--step", "charge", "--failed", "A: b"},
			why...)},
		{name: "begun-again", args: append([]string{"settle", "order#begun", "--step", "charge", "--failed", "A: b"},
			why...), code: 1},
		{name: "begun-then", args: []string{"inspect", "order#begun", "--step", "charge"}},
		{name: "doctor", args: []string{"doctor"}},
	} {
		r := tb.run(t, c.args)
		golden(t, "table-"+c.name, c.args, r, func(text string) string {
			return strings.NewReplacer(tb.endpoint, "<endpoint>", tb.name, "<table>").Replace(timeless(text))
		})
		assert.Equal(t, c.code, r.code, "%s: %s", c.name, r.err)
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

// The six tasks of an operator, each with one command, on a table with a thousand records in all
// states.
func TestEachTaskOfAnOperatorIsOneCommand(t *testing.T) {
	t.Parallel()
	tb := newTable(t)
	var records []store.Record
	open := 0
	for n := range 56 {
		for _, r := range demoRecords(t) {
			r.Key += fmt.Sprintf("-%d", n)
			if r.Attention != "" {
				r.Attention = store.AttentionOf(r.Key)
				if !r.AttentionAt.After(time.Now()) {
					open++
				}
			}
			records = append(records, r)
		}
	}
	require.Greater(t, len(records), 1000)
	putAll(t, tb, records)
	in := func(state operate.State) int {
		n := 0
		for _, r := range records {
			if operate.StateOf(r, time.Now()) == state {
				n++
			}
		}
		return n
	}

	// List what is stuck: with the index, and any state with a scan.
	r := tb.run(t, []string{"list", "-o", "json"})
	require.Zero(t, r.code, r.err)
	assert.Len(t, lines[line](t, r.out), open)
	assert.Contains(t, r.err, "Reads the index of records with attention")
	all := 0
	for _, state := range []operate.State{
		operate.StateUnknown, operate.StateCrashed, operate.StateReleased,
		operate.StateInProgress, operate.StateCompleted, operate.StateExpired,
	} {
		r := tb.run(t, []string{"list", "-o", "json", "--scan", "--state", string(state), "--rate", "0"})
		require.Zero(t, r.code, r.err)
		listed := lines[line](t, r.out)
		assert.Len(t, listed, in(state), state)
		all += len(listed)
	}
	assert.Equal(t, len(records), all)

	// From a client's key to its record.
	event := `{"version":"2.0","routeKey":"POST /charges","rawPath":"/charges","headers":{"idempotency-key":"order-1"},
		"requestContext":{"apiId":"a1b2c3","stage":"$default","requestId":"r","http":{"method":"POST","path":"/charges"}},"body":"{}"}`
	handler := idempotent.Wrap(func(context.Context,
		events.APIGatewayV2HTTPRequest,
	) (events.APIGatewayV2HTTPResponse, error) {
		return events.APIGatewayV2HTTPResponse{StatusCode: 202}, nil
	}, tb.store, idempotent.WithOperation("charge"), unhurried(), idempotent.WithEffects(idempotent.Unrepeatable))
	file := write(t, "event.json", event)
	r = run(t, []string{"key", "--operation", "charge", "--event", file, "-o", "json"})
	require.Zero(t, r.code, r.err)
	key := lines[line](t, r.out)[0].RecordKey
	stuck := recordOf(t, "charge#crashed")
	stuck.Key, stuck.Attention, stuck.Fingerprint = key, store.AttentionOf(key), fingerprintOf(t, event)
	tb.put(t, stuck)
	assert.Equal(t, 409, statusOf(t, handler, event))

	// Inspect: what happened, and the derived key to ask the provider with.
	r = tb.run(t, []string{"inspect", key, "-o", "json"})
	require.Zero(t, r.code, r.err)
	inspected := lines[line](t, r.out)[0]
	assert.Equal(t, operate.StateUnknown, inspected.State)
	assert.Equal(t, described(t, event).DerivedKey("charge"), inspected.DerivedKeys["charge"])

	// Settle as executed: the client gets the result, with the headers of a replay. The file is as
	// a person writes it.
	why := []string{"--reason", "ticket 4711", "--by", "dana", "--yes"}
	result := write(t, "result.json",
		"{\n  \"body\": \"{\\\"id\\\":\\\"ch_1\\\"}\",\n  \"headers\": {\"Content-Type\": \"application/json\"},\n  "+
			"\"statusCode\": 201\n}\n")
	r = tb.run(t, append([]string{"settle", key, "--executed", result, "--seen", inspected.Seen}, why...))
	require.Zero(t, r.code, r.err)
	answer := answerOf(t, handler, event)
	assert.Equal(t, 201, answer.StatusCode)
	assert.Equal(t, `{"id":"ch_1"}`, answer.Body)
	assert.Equal(t, "true", answer.Headers["Idempotent-Replayed"], answer.Headers)
	assert.Equal(t, "application/json", answer.Headers["Content-Type"])
	assert.NotEmpty(t, answer.Headers["Idempotency-Key-Expires"])

	// Cache-bust: the next retry executes.
	r = tb.run(t, append([]string{"delete", key}, why...))
	require.Zero(t, r.code, r.err)
	assert.Equal(t, 202, statusOf(t, handler, event))

	// Settle as not executed, and release: the next retry executes.
	for _, command := range [][]string{
		{"settle", key, "--not-executed", "--may-repeat-effect"},
		{"settle", key, "--released", "--may-repeat-effect"},
	} {
		stuck.Owner = "OWNEROWNEROWNEROWNEROWNER" + command[2][2:3]
		deleteItem(t, tb, key)
		tb.put(t, stuck)
		assert.Equal(t, 409, statusOf(t, handler, event))
		r = tb.run(t, append(command, why...))
		require.Zero(t, r.code, r.err)
		assert.Equal(t, 202, statusOf(t, handler, event))
	}

	// And what failed for good is an error from then on.
	deleteItem(t, tb, key)
	tb.put(t, stuck)
	r = tb.run(t, append([]string{"settle", key, "--failed", "Declined: the card was declined"}, why...))
	require.Zero(t, r.code, r.err)
	_, err := handler.Invoke(t.Context(), []byte(event))
	require.ErrorContains(t, err, "the card was declined")
}

func putAll(t *testing.T, tb table, records []store.Record) {
	t.Helper()
	var wait sync.WaitGroup
	for part := range slices.Chunk(records, len(records)/8+1) {
		wait.Go(func() {
			for _, r := range part {
				assert.NoError(t, demo.Put(context.Background(), tb.store, r))
			}
		})
	}
	wait.Wait()
}

func deleteItem(t *testing.T, tb table, key string) {
	t.Helper()
	_, err := tb.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String(tb.name),
		Key:       map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: key}},
	})
	require.NoError(t, err)
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func described(t *testing.T, event string) idempotent.Description {
	t.Helper()
	h := idempotent.Wrap(func(context.Context,
		events.APIGatewayV2HTTPRequest,
	) (events.APIGatewayV2HTTPResponse, error) {
		return events.APIGatewayV2HTTPResponse{}, nil
	}, newMemory(), idempotent.WithOperation("charge"))
	d, err := h.DescribeEvent(t.Context(), []byte(event))
	require.NoError(t, err)
	return d
}

func fingerprintOf(t *testing.T, event string) string { return described(t, event).Fingerprint }

type httpHandler = *idempotent.Handler[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse]

func answerOf(t *testing.T, h httpHandler, event string) events.APIGatewayV2HTTPResponse {
	t.Helper()
	out, err := h.Invoke(t.Context(), []byte(event))
	require.NoError(t, err)
	var answer events.APIGatewayV2HTTPResponse
	require.NoError(t, json.Unmarshal(out, &answer))
	return answer
}

func statusOf(t *testing.T, h httpHandler, event string) int {
	t.Helper()
	return answerOf(t, h, event).StatusCode
}

// A person has looked at the record with inspect; a script acts on that later.
func TestAScriptIsConditionalOnWhatAPersonSaw(t *testing.T) {
	t.Parallel()
	tb := newTable(t)
	r := recordOf(t, "charge#uncertain")
	tb.put(t, r)
	seen := lines[line](t, tb.run(t, []string{"inspect", r.Key, "-o", "json"}).out)[0].Seen
	settle := []string{
		"settle", r.Key, "--not-executed", "--may-repeat-effect", "--reason", "ticket 4711", "--by",
		"dana", "--yes", "--seen", seen, "-o", "json",
	}
	first := tb.run(t, settle)
	require.Zero(t, first.code, first.err)
	after := tb.get(t, r.Key)
	second := tb.run(t, settle)
	assert.Equal(t, 4, second.code)
	assert.Empty(t, second.out)
	var refused struct {
		Exit int
		Now  line
	}
	require.NoError(t, json.Unmarshal([]byte(second.err), &refused))
	assert.Equal(t, 4, refused.Exit)
	assert.Equal(t, operate.StateReleased, refused.Now.State)
	assert.Equal(t, after, tb.get(t, r.Key))

	entry := lines[operate.Entry](t, first.out)[0]
	assert.Equal(t, "dana", entry.By)
	assert.Equal(t, operate.StateUnknown, entry.Before.State)
	assert.Equal(t, operate.StateReleased, entry.After.State)
	assert.Equal(t, entry.Time, after.SettledAt.UTC())
}

func TestBadTargetsAreOneClearSentence(t *testing.T) {
	t.Parallel()
	tb := newTable(t)
	other := newOtherTable(t, tb)
	down := httptest.NewServer(nil)
	down.Close()
	for name, c := range map[string]struct {
		args []string
		env  option
		says string
	}{
		"wrong table": {
			[]string{"inspect", "a#b", "--table", "nobody-has-this"},
			tb.env(),
			`there is no table "nobody-has-this" in this account and Region: check --table, --region, --profile and --endpoint-url`,
		},
		"list": {
			[]string{"list", "--table", "nobody-has-this"},
			tb.env(),
			`there is no table "nobody-has-this" in this account and Region`,
		},
		"doctor": {
			[]string{"doctor", "--table", "nobody-has-this"},
			tb.env(),
			`there is no table "nobody-has-this" in this account and Region`,
		},
		"another key": {
			[]string{"inspect", "a#b", "--table", other},
			tb.env(),
			`table "` + other + `" has another key than expected: check --sort-key, --partition and --attribute`,
		},
		"endpoint down": {
			[]string{"inspect", "a#b", "--table", "idempotency", "--endpoint-url", down.URL},
			env(),
			"connection refused",
		},
		"no permission": {
			[]string{
				"inspect", "a#b", "--table", "idempotency", "--endpoint-url",
				answering(t, 400, "AccessDeniedException",
					"User: arn:aws:iam::1:user/dana is not authorized to perform: dynamodb:GetItem"),
			},
			env(),
			`not allowed on table "idempotency": AccessDeniedException: User: arn:aws:iam::1:user/dana is not authorized to perform: dynamodb:GetItem`,
		},
		"throttled": {
			[]string{
				"inspect", "a#b", "--table", "idempotency", "--endpoint-url",
				answering(t, 400, "ThrottlingException", "Rate exceeded"),
			},
			env(),
			`table "idempotency" throttles: try again later`,
		},
		"expired": {
			[]string{
				"inspect", "a#b", "--table", "idempotency", "--endpoint-url",
				answering(t, 400, "ExpiredTokenException", "The security token included in the request is expired"),
			},
			env(),
			"The security token included in the request is expired",
		},
		"failing server": {
			[]string{
				"inspect", "a#b", "--table", "idempotency", "--endpoint-url",
				answering(t, 500, "InternalServerError", "oops"),
			},
			env(),
			`no answer for table "idempotency": InternalServerError`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, c.args, c.env)
			assert.Equal(t, 1, r.code)
			assert.Empty(t, r.out)
			assert.Contains(t, r.err, c.says)
			assert.Equal(t, 2, strings.Count(r.err, "\n"), "where it acts, and one line: %s", r.err)
			assert.NotContains(t, r.err, "operation error")
		})
	}
}

// newOtherTable creates a table with another key.
func newOtherTable(t *testing.T, tb table) string {
	t.Helper()
	name := tb.name + "-other"
	require.NoError(t, dynamo.CreateTable(t.Context(), tb.client, name,
		dynamo.Config{Attributes: dynamo.Attributes{Key: "pk"}}))
	t.Cleanup(func() {
		_, err := tb.client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name})
		assert.NoError(t, err)
	})
	return name
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
	flags := []string{
		"--sort-key", "sk", "--partition", "idempotency#shop", "--attribute", "id=pk,status=state",
		"--attribute", "expiration=ttl",
	}
	listed := tb.run(t, append([]string{"list", "-o", "json"}, flags...))
	require.Zero(t, listed.code, listed.err)
	assert.Equal(t, r.Key, lines[line](t, listed.out)[0].RecordKey)
	settled := tb.run(t, append([]string{
		"settle", r.Key, "--not-executed", "--may-repeat-effect", "--reason", "x",
		"--by", "dana", "--yes",
	}, flags...))
	require.Zero(t, settled.code, settled.err)
	assert.Equal(t, store.ReasonReleased, tb.get(t, r.Key).Reason)
	doctor := tb.run(t, append([]string{"doctor"}, flags...))
	assert.Zero(t, doctor.code, doctor.out)
	wrong := tb.run(t, []string{"doctor"})
	assert.Equal(t, 1, wrong.code)
	assert.Contains(t, wrong.out, "problem")
}

// Garbage is listed and shown as what it is, and nothing that it holds reaches the terminal as it
// is.
func TestARecordThatCannotBeUnderstoodIsListedAndLeftAlone(t *testing.T) {
	t.Parallel()
	tb := newTable(t)
	item := map[string]types.AttributeValue{
		"id":           &types.AttributeValueMemberS{Value: "charge#\x1b[2Jbad"},
		"status":       &types.AttributeValueMemberS{Value: "UNKNOWN"},
		"expiration":   &types.AttributeValueMemberS{Value: "tomorrow"},
		"attention":    &types.AttributeValueMemberS{Value: store.AttentionShard("charge", 0)},
		"attention_at": &types.AttributeValueMemberN{Value: "1"},
	}
	_, err := tb.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &tb.name, Item: item})
	require.NoError(t, err)
	listed := tb.run(t, []string{"list"})
	require.Zero(t, listed.code, listed.err)
	assert.Contains(t, listed.out, "unreadable")
	assert.Contains(t, listed.out, `charge#\x1b[2Jbad`)
	assert.NotContains(t, listed.out, "\x1b")
	assert.Contains(t, listed.err, "1 of them cannot be understood")
	for _, args := range [][]string{
		{"inspect", "charge#\x1b[2Jbad"},
		{"delete", "charge#\x1b[2Jbad", "--reason", "x", "--by", "dana", "--yes"},
	} {
		r := tb.run(t, args)
		assert.Equal(t, 1, r.code)
		assert.Contains(t, r.err, "the record is there, but it cannot be understood")
	}
	out, err := tb.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &tb.name})
	require.NoError(t, err)
	assert.Equal(t, []map[string]types.AttributeValue{item}, out.Items)
}

// Other applications have tables with such attributes, and one table may have items of several.
// None of those is deleted or settled.
func TestNothingForeignIsTouched(t *testing.T) {
	t.Parallel()
	tb := newTable(t)
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	soon := &types.AttributeValueMemberN{Value: "4102444800"}
	for name, it := range map[string]map[string]types.AttributeValue{
		"message": {
			"topic": text("order-placed"), "body": text("{}"), "owner": text("AAAAAAAAAAAAAAAAAAAAAAAAAA"),
			"outbox_due": soon,
		},
		"session":    {"expiration": soon, "data": text("{}"), "user": text("dana")},
		"order":      {"status": text("COMPLETED"), "owner": text("dana"), "expiration": soon},
		"job":        {"status": text("INPROGRESS"), "owner": text("worker-7"), "expiration": soon},
		"device":     {"status": text("UNKNOWN"), "owner": text("dana"), "expiration": soon},
		"powertools": {"status": text("COMPLETED"), "expiration": soon, "data": text("{}")},
	} {
		key := "shop#" + name
		it["id"] = text(key)
		_, err := tb.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &tb.name, Item: it})
		require.NoError(t, err)
		for _, command := range [][]string{
			{"delete"},
			{"settle", "--released"},
			{"settle", "--not-executed"},
			{"settle", "--failed", "A:b"},
		} {
			r := tb.run(t, append(command, key, "--reason", "x", "--by", "dana", "--yes", "--may-repeat-effect"))
			assert.Equal(t, 1, r.code, "%s %s: %s", command, name, r.err)
		}
		out, err := tb.client.GetItem(t.Context(),
			&dynamodb.GetItemInput{TableName: &tb.name, Key: map[string]types.AttributeValue{"id": text(key)}})
		require.NoError(t, err)
		assert.Equal(t, it, out.Item, name)
	}
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
		r := tb.run(t, []string{"list"})
		assert.Equal(c, 1, r.code)
		assert.Contains(c, r.err,
			"has no index of the records with attention that can be used; --scan finds them by reading the whole table")
	}, 30*time.Second, 200*time.Millisecond)
	r := tb.run(t, []string{"list", "--scan", "-o", "json"})
	require.Zero(t, r.code, r.err)
	assert.Len(t, lines[line](t, r.out), 12)
	doctor := tb.run(t, []string{"doctor"})
	assert.Zero(t, doctor.code)
	assert.Contains(t, doctor.out, "warning")
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
	stuck.Key, stuck.Fingerprint = described(t, eventOfV2).RecordKey, fingerprintOf(t, eventOfV2)
	tb.put(t, stuck)
	r := tb.run(t, []string{"settle", stuck.Key, "--executed", "-", "--reason", "x", "--by", "dana", "--yes"},
		in(string(result)+"\n"))
	require.Zero(t, r.code, r.err)
	assert.NotEmpty(t, tb.get(t, stuck.Key).Parts, "it does not fit into the record")

	r = tb.run(t, []string{"inspect", stuck.Key})
	assert.Contains(t, r.out, "kept beside the record; --result shows it")
	r = tb.run(t, []string{"inspect", stuck.Key, "--result", "-o", "json"})
	require.Zero(t, r.code, r.err)
	var shown struct{ Result json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(r.out), &shown))
	assert.JSONEq(t, string(result), string(shown.Result))

	handler := idempotent.Wrap(func(context.Context,
		events.APIGatewayV2HTTPRequest,
	) (events.APIGatewayV2HTTPResponse, error) {
		return events.APIGatewayV2HTTPResponse{StatusCode: 500}, nil
	}, tb.store, idempotent.WithOperation("charge"), unhurried())
	assert.Equal(t, string(body), answerOf(t, handler, eventOfV2).Body)
}

// A version before the index left records unknown that have no attention. The index does not know
// them, a scan does.
func TestAScanFindsWhatIsUnknownWithoutAttention(t *testing.T) {
	t.Parallel()
	tb := newTable(t)
	old := recordOf(t, "charge#crashed")
	old.Attention, old.AttentionAt, old.Derived = "", time.Time{}, nil
	tb.put(t, old, recordOf(t, "charge#panic"), recordOf(t, "charge#died"))
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"list", "-o", "json"}, []string{"charge#panic"}},
		{[]string{"list", "-o", "json", "--scan"}, []string{"charge#crashed", "charge#panic"}},
	} {
		r := tb.run(t, c.args)
		require.Zero(t, r.code, r.err)
		var keys []string
		for _, l := range lines[line](t, r.out) {
			keys = append(keys, l.RecordKey)
		}
		assert.ElementsMatch(t, c.want, keys, c.args)
	}
}
