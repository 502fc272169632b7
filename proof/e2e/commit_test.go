package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/proof/wire"
)

// commit is the call that writes answer and row.
const commit = "TransactWriteItems"

// held is a warehouse with an order whose commit is held at the gate: everything before has
// happened.
func held(t *testing.T, sandboxes int) (w *warehouse, c cart, first <-chan answer, gate *wire.Gate) {
	t.Helper()
	w, c = newWarehouse(t, sandboxes), newCart(t)
	gate = w.gate(commit, wire.DelayRequest)
	return w, c, w.reach(gate, c), gate
}

// once is how often the services are asked for an order to which nothing happens.
var once = map[string]int{reserve: 1, charge: 1}

// sent is the nth commit that was sent.
func (w *warehouse) sent(n int) wire.Exchange {
	w.t.Helper()
	for _, x := range w.proxy.Exchanges() {
		if x.Operation == commit {
			if n--; n == 0 {
				return x
			}
		}
	}
	require.FailNow(w.t, "so many commits were not sent")
	return wire.Exchange{}
}

// copyArrives delivers a commit once more, so late that DynamoDB has forgotten its token, which
// takes ten minutes: only what is in its items can decide. It returns what DynamoDB answers.
func (w *warehouse) copyArrives(x wire.Exchange) (status int, reply string) {
	w.t.Helper()
	var body map[string]json.RawMessage
	require.NoError(w.t, json.Unmarshal(x.Body, &body))
	require.NotEmpty(w.t, body["ClientRequestToken"])
	delete(body, "ClientRequestToken")
	forgotten, err := json.Marshal(body)
	require.NoError(w.t, err)
	req, err := http.NewRequest(http.MethodPost, platform.endpoint(w.t), bytes.NewReader(forgotten))
	require.NoError(w.t, err)
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+commit)
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("Authorization", fmt.Sprintf( // DynamoDB Local reads the key and checks no signature
		"AWS4-HMAC-SHA256 Credential=%s/20250101/%s/dynamodb/aws4_request, SignedHeaders=host, Signature=none",
		dynamolocal.AccessKey, dynamolocal.Region))
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(req)
	require.NoError(w.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(w.t, err)
	return response.StatusCode, string(text)
}

// assertCopyIsRefused checks that a commit which arrives once more changes nothing, whatever
// DynamoDB remembers.
func (w *warehouse) assertCopyIsRefused(x wire.Exchange) {
	w.t.Helper()
	items, rows := w.items(), w.rows()
	status, reply := w.copyArrives(x)
	assert.Equal(w.t, http.StatusBadRequest, status, reply)
	assert.Contains(w.t, reply, "ConditionalCheckFailed")
	assert.Equal(w.t, items, w.items(), "it changed nothing")
	assert.Equal(w.t, rows, w.rows(), "it wrote nothing")
}

// assertNotWritten checks that a client was told to retry because the commit has failed.
func assertNotWritten(t *testing.T, a answer) {
	t.Helper()
	assert.Equal(t, http.StatusServiceUnavailable, a.status, a)
	assert.Contains(t, a.body, "commit-failed")
}

func TestARepeatedCommitChangesNothing(t *testing.T) {
	t.Parallel()
	w, c := newWarehouse(t, 1), newCart(t)
	gate := w.gate(commit, wire.Repeat)
	first := w.post(c)
	require.Equal(t, http.StatusCreated, first.status, first)
	items := w.items()
	gate.Open()
	w.await(func(x wire.Exchange) bool { return x.Forwarded == 2 })
	assert.Equal(t, items, w.items())
	w.assertCopyIsRefused(w.sent(1))
	w.assertOrdered(c, []answer{first, w.post(c)})
	assert.Equal(t, once, w.askedFor())
}

// The store does not answer commits, and then nothing any more: nobody knows whether the commit was
// applied. What the record says is what the next delivery gets.
func TestACommitOfUnknownOutcomeIsDecidedByTheRecord(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]wire.Fault{"applied": wire.LoseReply(), "not applied": wire.LoseRequest()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, c := newWarehouse(t, 1), newCart(t)
			w.timeout = 4 * time.Second
			committing := false
			w.proxy.SetRule(func(r wire.Request) wire.Fault {
				committing = committing || r.Operation == commit
				switch {
				case r.Operation == commit && r.Nth == 1:
					return fault
				case committing:
					return wire.LoseRequest()
				default:
					return wire.Pass()
				}
			})
			first := w.post(c)
			assertNotWritten(t, first)
			w.assertWhole()
			if name == "applied" {
				assert.Len(t, w.rows(), 1)
			} else {
				assert.Equal(t, "INPROGRESS", w.record().Status, "nothing more could be written")
			}
			w.proxy.SetRule(nil)
			w.assertOrdered(c, append(w.insist(c), first))
			assert.Equal(t, once, w.askedFor())
		})
	}
}

// The process dies while its commit is on its way, and nobody takes over. The commit arrives:
// answer and row are there, both.
func TestACommitThatArrivesAfterTheKillIsReplayed(t *testing.T) {
	t.Parallel()
	w, c, first, gate := held(t, 1)
	w.killDuring(first)
	blocked := w.post(c)
	require.Equal(t, http.StatusConflict, blocked.status, blocked)
	assert.Empty(t, w.rows())

	gate.Open()
	w.await(func(x wire.Exchange) bool { return x.Operation == commit && x.Status == http.StatusOK })
	w.assertWhole()
	again := w.post(c)
	assert.True(t, again.replayed(), again)
	w.assertOrdered(c, []answer{again})
	assert.Equal(t, once, w.askedFor())
}
