package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dynamolocal"
	"github.com/go-idempotent/idempotent/proof/wire"
)

// commit is the call that writes answer and row.
const commit = "TransactWriteItems"

// held is a warehouse with an order whose commit is held at the gate: everything before has happened.
func held(t *testing.T, sandboxes int) (w *warehouse, c cart, first <-chan answer, gate *wire.Gate) {
	t.Helper()
	w, c, gate = newWarehouse(t, sandboxes), newCart(t), wire.NewGate()
	t.Cleanup(gate.Open)
	w.proxy.SetRule(wire.On(commit, 1, delayed(gate)))
	first = w.begin(c)
	arrived(t, gate)
	return w, c, first, gate
}

// delayed forwards a commit when the gate opens, whoever waits for it then.
func delayed(gate *wire.Gate) wire.Fault { return wire.DelayRequest(gate.Wait) }

// once is how often the services are asked for an order to which nothing happens.
var once = map[string]int{reserve: 1, charge: 1, mail: 1}

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

// copyArrives delivers a commit once more, so late that DynamoDB has forgotten its token, which takes ten minutes: only what is in its
// items can decide. It returns what DynamoDB answers.
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
		"AWS4-HMAC-SHA256 Credential=%s/20250101/%s/dynamodb/aws4_request, SignedHeaders=host, Signature=none", dynamolocal.AccessKey, dynamolocal.Region))
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(req)
	require.NoError(w.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(w.t, err)
	return response.StatusCode, string(text)
}

// assertCopyIsRefused checks that a commit which arrives once more changes nothing, whatever DynamoDB remembers.
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
	assert.Contains(t, a.body, "The order could not be written. Retry with the same idempotency key.")
}

func TestARepeatedCommitChangesNothing(t *testing.T) {
	t.Parallel()
	w, c := newWarehouse(t, 1), newCart(t)
	gate := wire.NewGate()
	w.proxy.SetRule(wire.On(commit, 1, wire.Repeat(gate.Wait)))
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

// The process dies while its commit is on its way, and nobody takes over. The commit arrives: answer and row are there, both.
func TestACommitThatArrivesAfterTheKillIsReplayed(t *testing.T) {
	t.Parallel()
	w, c, first, gate := held(t, 1)
	w.kill()
	require.NotNil(t, (<-first).failure)
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

// The same when the lease has ended meanwhile, but before somebody has taken over: the claim is still its own.
func TestACommitThatArrivesAfterItsLeaseIsReplayed(t *testing.T) {
	t.Parallel()
	w, c := newWarehouse(t, 1), newCart(t)
	w.timeout = 4 * time.Second
	gate := wire.NewGate()
	t.Cleanup(gate.Open)
	w.proxy.SetRule(wire.On(commit, 1, delayed(gate)))
	first := w.begin(c)
	arrived(t, gate)
	w.kill()
	require.NotNil(t, (<-first).failure)
	require.Eventually(t, func() bool { return time.Now().After(time.UnixMilli(w.record().Lease)) }, w.lease()+slack, 10*time.Millisecond)
	gate.Open()
	w.await(func(x wire.Exchange) bool { return x.Operation == commit && x.Status == http.StatusOK })
	again := w.post(c)
	assert.True(t, again.replayed(), again)
	w.assertOrdered(c, []answer{again})
}

// A stale owner's commit arrives after a takeover: while the other process runs, when it has committed, and when it has failed and
// given up its claim. It never writes a row.
func TestACommitOfAStaleOwnerIsNeverApplied(t *testing.T) {
	t.Parallel()
	stale := func(t *testing.T) (w *warehouse, c cart, gate *wire.Gate) {
		t.Helper()
		w, c, first, gate := held(t, 1)
		w.kill()
		require.NotNil(t, (<-first).failure)
		w.lapse()
		return w, c, gate
	}
	arrives := func(w *warehouse, gate *wire.Gate) {
		w.t.Helper()
		late := w.sent(1)
		items, rows := w.items(), w.rows()
		gate.Open()
		x := w.await(func(x wire.Exchange) bool {
			return x.Number == late.Number && x.Operation == commit && x.Fault == "delay request" && x.Status != 0
		})
		assert.True(w.t, x.Refused(), string(x.Reply))
		assert.Equal(w.t, items, w.items())
		assert.Equal(w.t, rows, w.rows())
		w.assertCopyIsRefused(late)
	}
	t.Run("while the other one runs", func(t *testing.T) {
		t.Parallel()
		w, c, gate := stale(t)
		running := wire.NewGate()
		t.Cleanup(running.Open)
		w.proxy.SetRule(wire.On(commit, 1, delayed(running)))
		second := w.begin(c)
		arrived(t, running)
		arrives(w, gate)
		assert.Empty(t, w.rows())
		running.Open()
		b := <-second
		require.Equal(t, http.StatusCreated, b.status, b)
		w.assertOrdered(c, []answer{b, w.post(c)})
		assert.Equal(t, once, w.askedFor())
	})
	t.Run("when the other one has committed", func(t *testing.T) {
		t.Parallel()
		w, c, gate := stale(t)
		w.proxy.SetRule(nil)
		b := w.post(c)
		require.Equal(t, http.StatusCreated, b.status, b)
		arrives(w, gate)
		w.assertOrdered(c, []answer{b, w.post(c)})
	})
	t.Run("when the other one has given up", func(t *testing.T) {
		t.Parallel()
		w, c, gate := stale(t)
		w.proxy.SetRule(func(r wire.Request) wire.Fault {
			if r.Operation == commit {
				return wire.Throttle()
			}
			return wire.Pass()
		})
		w.timeout = 3 * time.Second
		b := w.post(c)
		assertNotWritten(t, b)
		arrives(w, gate)
		assert.Empty(t, w.rows())
		w.proxy.SetRule(nil)
		w.assertOrdered(c, append(w.insist(c), b))
		assert.Equal(t, once, w.askedFor())
	})
}

// A process is stopped (frozen by its network) in front of its commit, is overtaken, and tries to commit: it learns that the claim is lost,
// and answers as whoever has it.
func TestAStaleOwnerThatCommitsLearnsThatItIsStale(t *testing.T) {
	t.Parallel()
	t.Run("while the other one runs", func(t *testing.T) {
		t.Parallel()
		w, c, first, gate := held(t, 2)
		w.lapse()
		running := wire.NewGate()
		t.Cleanup(running.Open)
		w.proxy.SetRule(wire.On(commit, 1, delayed(running)))
		second := w.begin(c)
		arrived(t, running)
		gate.Open()
		a := <-first
		assertProblem(t, a, http.StatusConflict, "superseded")
		assert.Empty(t, w.rows())
		running.Open()
		b := <-second
		require.Equal(t, http.StatusCreated, b.status, b)
		w.assertOrdered(c, []answer{a, b, w.post(c)})
		assert.Equal(t, once, w.askedFor())
	})
	t.Run("when the other one has committed", func(t *testing.T) {
		t.Parallel()
		w, c, first, gate := held(t, 2)
		w.lapse()
		second := w.post(c)
		require.Equal(t, http.StatusCreated, second.status, second)
		gate.Open()
		a := <-first
		assert.Equal(t, http.StatusCreated, a.status, a)
		assert.True(t, a.replayed(), a)
		w.assertOrdered(c, []answer{a, second, w.post(c)})
		assert.Equal(t, once, w.askedFor())
	})
}

// Every way in which the reply to a commit is lost, with a server that remembers no tokens: the record decides alone that it has landed.
func TestWithoutTokensTheRecordKnowsWhatHasLanded(t *testing.T) {
	t.Parallel()
	for _, fault := range []wire.Fault{
		wire.LoseReply(), wire.SwallowReply(), wire.TruncateReply(), wire.Duplicate(), wire.InternalErrorAfter(), wire.LoseRequest(), late(),
	} {
		t.Run(fault.Name, func(t *testing.T) {
			t.Parallel()
			w, c := newWarehouse(t, 1), newCart(t)
			w.timeout = 6 * time.Second
			w.proxy.SetRule(func(r wire.Request) wire.Fault {
				switch {
				case r.Operation == commit && r.Nth == 1:
					return wire.Forget(fault)
				case r.Operation == commit:
					return wire.Forget(wire.Pass())
				default:
					return wire.Pass()
				}
			})
			first := w.post(c)
			require.Equal(t, http.StatusCreated, first.status, first)
			assert.Equal(t, "forget token, "+fault.Name, w.sent(1).Fault)
			w.assertOrdered(c, []answer{first, w.post(c)})
			assert.Equal(t, once, w.askedFor())
		})
	}
}

// Other writers are in the way of the commit, some times, in each position. It is sent again, and nobody notices.
func TestACommitThatMeetsConflictsIsSentAgain(t *testing.T) {
	t.Parallel()
	for _, because := range []struct {
		item int
		code string
	}{
		{0, "TransactionConflict"},
		{1, "TransactionConflict"},
		{0, "ProvisionedThroughputExceeded"},
		{1, "ThrottlingError"},
	} {
		t.Run(fmt.Sprintf("%s of item %d", because.code, because.item), func(t *testing.T) {
			t.Parallel()
			const times = 4
			w, c := newWarehouse(t, 1), newCart(t)
			w.proxy.SetRule(func(r wire.Request) wire.Fault {
				if r.Operation == commit && r.Nth <= times {
					return wire.Cancel(because.item, because.code)
				}
				return wire.Pass()
			})
			first := w.post(c)
			require.Equal(t, http.StatusCreated, first.status, first)
			assert.Len(t, w.proxy.Faults(), times)
			for n := range times {
				assert.JSONEq(t, string(w.sent(n+1).Body), string(w.sent(n+2).Body), "every repetition is the same, its token included")
			}
			w.assertOrdered(c, []answer{first, w.post(c)})
			assert.Equal(t, once, w.askedFor())
		})
	}
}

// They are in the way until the time is over: the client gets 503, nothing is written, and a retry goes on at once.
func TestACommitThatMeetsOnlyConflictsFailsAndTheRetryGoesOn(t *testing.T) {
	t.Parallel()
	w, c := newWarehouse(t, 1), newCart(t)
	w.timeout = 3 * time.Second
	w.proxy.SetRule(func(r wire.Request) wire.Fault {
		if r.Operation == commit {
			return wire.Conflict()
		}
		return wire.Pass()
	})
	first := w.post(c)
	assertNotWritten(t, first)
	assert.Greater(t, len(w.proxy.Faults()), 2, "it was tried until the time was over")
	assert.Empty(t, w.rows())
	assert.Equal(t, "released", w.record().Reason)
	tried := w.sent(1)

	w.proxy.SetRule(nil)
	w.assertCopyIsRefused(tried)
	again := w.post(c)
	require.Equal(t, http.StatusCreated, again.status, again)
	w.assertCopyIsRefused(tried)
	w.assertOrdered(c, []answer{first, again, w.post(c)})
	assert.Equal(t, once, w.askedFor())
}

// While a commit is under way, DynamoDB refuses the puts of duplicates because of it. They look instead of putting again, which would be
// in the way of the commit, and their clients are told to wait.
func TestDuplicatesThatMeetARunningCommitAreToldToWait(t *testing.T) {
	t.Parallel()
	w, c, first, gate := held(t, 3)
	w.proxy.Forget()
	w.proxy.SetRule(func(r wire.Request) wire.Fault {
		if r.Operation == "PutItem" {
			return wire.Conflict()
		}
		return wire.Pass()
	})
	const duplicates = 12
	for range duplicates {
		a := w.post(c)
		assertProblem(t, a, http.StatusConflict, "in-progress")
		assert.Positive(t, retryAfter(t, a))
	}
	counts := map[string]int{}
	for _, operation := range w.proxy.Operations() {
		counts[operation]++
	}
	assert.Equal(t, map[string]int{"PutItem": duplicates, "GetItem": duplicates}, counts, "one put and one look each")

	gate.Open()
	a := <-first
	require.Equal(t, http.StatusCreated, a.status, a)
	replay := w.post(c) // its put still meets a conflict
	assert.True(t, replay.replayed(), replay)
	w.assertOrdered(c, []answer{a, replay})
	assert.Equal(t, once, w.askedFor())
}

// Many duplicates hammer the key while the commit meets conflicts, and so do they. They neither starve it nor get an outage.
func TestDuplicatesThatHammerTheKeyDoNotStarveTheCommit(t *testing.T) {
	t.Parallel()
	w, c := newWarehouse(t, 6), newCart(t)
	w.proxy.SetRule(func(r wire.Request) wire.Fault {
		switch {
		case r.Operation == commit && r.Nth <= 5:
			return wire.Conflict()
		case r.Operation == "PutItem" && r.Nth > 1 && r.Nth%2 == 0:
			return wire.Conflict()
		default:
			return wire.Pass()
		}
	})
	answers := w.insistTogether(c, 60)
	commits := 0
	for _, x := range w.proxy.Exchanges() {
		if x.Operation == commit {
			commits++
		}
	}
	assert.Equal(t, 6, commits, "five met a conflict")
	for _, a := range answers {
		assert.Contains(t, []int{http.StatusCreated, http.StatusConflict}, a.status, a)
	}
	w.assertOrdered(c, answers)
	assert.Equal(t, once, w.askedFor())
}

// occupied is a warehouse whose table has another order by the id of this cart, which was ordered before and whose record is gone.
func occupied(t *testing.T) (w *warehouse, c cart, key map[string]types.AttributeValue) {
	t.Helper()
	w, c = newWarehouse(t, 1), newCart(t)
	require.Equal(t, http.StatusCreated, w.post(c).status)
	id, err := attributevalue.Marshal(w.rows()[0].OrderID)
	require.NoError(t, err)
	key = map[string]types.AttributeValue{"order_id": id}
	_, err = w.dynamo.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String(w.orders), Item: key})
	require.NoError(t, err)
	_, err = w.dynamo.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{
		TableName: aws.String(w.table), Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: w.record().ID}},
	})
	require.NoError(t, err)
	w.proxy.Forget()
	return w, c, key
}

func TestAnOrderWhoseIDIsTakenIsAStoredConflict(t *testing.T) {
	t.Parallel()
	w, c, _ := occupied(t)
	first := w.post(c)
	require.Equal(t, http.StatusConflict, first.status, first)
	assert.Contains(t, first.body, "another order")
	again := w.post(c)
	assert.True(t, again.replayed(), again)
	assert.Equal(t, first.body, again.body)
	assert.Equal(t, "COMPLETED", w.record().Status)
	assert.Len(t, w.rows(), 1)
	assert.Empty(t, w.rows()[0].SKU, "the row is as it was")
	for _, x := range w.proxy.Exchanges() {
		if x.Operation == commit {
			assert.True(t, x.Refused(), string(x.Reply))
		}
	}
}

// The first attempt of a commit is still on its way when the second one finds that the row exists. The handler answers for that. Before its
// answer is stored the row goes away, and the first attempt arrives: it must not be applied, the answer says something else.
func TestACommitThatWasRefusedIsNotAppliedLater(t *testing.T) {
	t.Parallel()
	w, c, key := occupied(t)
	attempt, completion := wire.NewGate(), wire.NewGate()
	t.Cleanup(attempt.Open)
	t.Cleanup(completion.Open)
	w.proxy.SetRule(func(r wire.Request) wire.Fault {
		switch {
		case r.Operation == commit && r.Nth == 1:
			return delayed(attempt)
		case r.Operation == "UpdateItem" && strings.Contains(string(r.Body), `"COMPLETED"`):
			return delayed(completion)
		default:
			return wire.Pass()
		}
	})
	first := w.begin(c)
	arrived(t, completion)
	late := w.sent(1)
	require.Zero(t, late.Status, "it is still on its way")
	require.Equal(t, "INPROGRESS", w.record().Status)

	_, err := w.dynamo.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: aws.String(w.orders), Key: key})
	require.NoError(t, err)
	w.assertCopyIsRefused(late)
	attempt.Open()
	x := w.await(func(x wire.Exchange) bool { return x.Number == late.Number && x.Operation == commit && x.Status != 0 })
	assert.True(t, x.Refused(), string(x.Reply))
	assert.Empty(t, w.rows())

	completion.Open()
	a := <-first
	require.Equal(t, http.StatusConflict, a.status, a)
	w.assertCopyIsRefused(late)
	assert.Empty(t, w.rows())
	assert.Equal(t, a.body, w.post(c).body)
}

// The store does not answer commits, and then nothing any more: nobody knows whether the commit was applied. What the record says is what
// the next delivery gets.
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
