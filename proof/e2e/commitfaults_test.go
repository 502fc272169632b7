package e2e_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/proof/wire"
)

type entry struct {
	ID     string `dynamodbav:"id"`
	Answer string `dynamodbav:"answer"`
}

// ledger is a handler that commits a row and a change of another one, behind a proxy.
type ledger struct {
	t        *testing.T
	proxy    *wire.Proxy
	direct   *dynamodb.Client // past the proxy
	table    string           // of the rows
	handler  *idempotent.Handler[string, string]
	mu       sync.Mutex
	executed int
	refused  int // commits whose condition did not hold
}

func newLedger(t *testing.T, size int) *ledger {
	t.Helper()
	endpoint := platform.endpoint(t)
	own := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(own.CloseIdleConnections)
	proxy := startProxy(t, endpoint)
	c := &ledger{t: t, proxy: proxy, direct: dynamolocal.Client(endpoint, closeIdle(t))}
	client := dynamolocal.Client(proxy.URL(), func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: own, Timeout: 2 * time.Second}
	})
	records := "e2e-" + rand.Text()
	require.NoError(t, dynamo.CreateTable(t.Context(), c.direct, records))
	c.table = "e2e-rows-" + rand.Text()
	_, err := c.direct.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String(c.table), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	})
	require.NoError(t, err)
	c.handler = idempotent.Wrap(func(ctx context.Context, id string) (string, error) { return c.handle(ctx, id, size) },
		dynamo.New(client, records), idempotent.WithOperation("count"), idempotent.WithKey(func(id string) (string, error) { return id, nil }))
	return c
}

// handle commits a row of this execution, and counts in another row that it did.
func (c *ledger) handle(ctx context.Context, id string, size int) (string, error) {
	c.mu.Lock()
	c.executed++
	c.mu.Unlock()
	answer := rand.Text()
	for len(answer) < size { // which no compression makes small
		answer += rand.Text()
	}
	out, err := dynamo.Commit(ctx, answer,
		dynamo.Put(c.table, entry{id, answer[:26]}, dynamo.IfAbsent("id")),
		dynamo.Update(c.table, map[string]string{"id": "total-" + id}, "ADD commits :one", dynamo.Values(map[string]any{":one": 1})))
	if _, is := errors.AsType[*dynamo.ConditionError](err); is {
		c.mu.Lock()
		c.refused++
		c.mu.Unlock()
	}
	return out, err
}

// deliver invokes the handler once. The store fails alone: there is time for more than one fault, however busy the machine is.
func (c *ledger) deliver(id string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return c.handler.Handle(ctx, id)
}

// insist delivers until there is an answer.
func (c *ledger) insist(id string) string {
	c.t.Helper()
	for started := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		out, err := c.deliver(id)
		if err == nil {
			return out
		}
		if time.Since(started) > storeLimit { // half of all calls have a fault: it is the luck of the last one, and how busy the machine is
			assert.Fail(c.t, "the key is blocked", err)
			return ""
		}
	}
}

func (c *ledger) read(id string) map[string]types.AttributeValue {
	c.t.Helper()
	out, err := c.direct.GetItem(context.Background(), &dynamodb.GetItemInput{
		TableName: aws.String(c.table), Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}},
		ConsistentRead: aws.Bool(true),
	})
	require.NoError(c.t, err)
	return out.Item
}

// requireOnce requires that the rows are those of the answer, and were written once.
func (c *ledger) requireOnce(id, answer string) {
	c.t.Helper()
	assert.Equal(c.t, &types.AttributeValueMemberN{Value: "1"}, c.read("total-" + id)["commits"], "one commit is applied")
	assert.Equal(c.t, &types.AttributeValueMemberS{Value: answer[:min(26, len(answer))]}, c.read(id)["answer"], "and it is that of the answer")
	assert.Zero(c.t, c.refused, "no commit meets the rows of an earlier one of its key")
}

// transactionFaults are what the network and the service do to one call.
func transactionFaults() []wire.Fault {
	return []wire.Fault{
		wire.LoseRequest(), wire.LoseReply(), wire.SwallowRequest(), wire.SwallowReply(), wire.TruncateReply(), wire.Duplicate(),
		wire.Repeat(wire.For(300 * time.Millisecond)), wire.Throttle(), wire.InternalError(), wire.InternalErrorAfter(),
		wire.DelayRequest(wire.For(2500 * time.Millisecond)), wire.DelayReply(wire.For(2500 * time.Millisecond)),
		wire.Conflict(), wire.Cancel(0, "TransactionConflict"), wire.Cancel(2, "TransactionConflict"),
		wire.Cancel(1, "ProvisionedThroughputExceeded"), wire.Cancel(0, "ThrottlingError"),
	}
}

// A fault of one call of a commit is absorbed: rows and answer are there once, and belong together.
func TestAFaultOfOneCallOfACommitIsAbsorbed(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"small": 0, "large": 30_000} {
		calls := []string{"PutItem", "TransactWriteItems"}
		if size > 0 {
			calls = []string{"PutItem", "BatchWriteItem", "TransactWriteItems"}
		}
		for _, operation := range calls {
			t.Run(name+"/"+operation, func(t *testing.T) {
				t.Parallel()
				c := newLedger(t, size)
				for _, fault := range transactionFaults() {
					if operation == "TransactWriteItems" || !strings.HasPrefix(fault.Name, "cancel") {
						c.absorbs(fault, operation)
					}
				}
			})
		}
	}
}

// absorbs plays a delivery whose first call of an operation has a fault.
func (c *ledger) absorbs(fault wire.Fault, operation string) {
	c.t.Helper()
	id := fault.Name + " " + rand.Text()
	c.proxy.Forget()
	c.proxy.SetRule(wire.On(operation, 1, fault))
	answer, err := c.deliver(id)
	require.NoError(c.t, err, fault.Name)
	require.Equal(c.t, []string{fault.Name}, c.proxy.Faults(), operation)
	time.Sleep(repeats(fault))
	require.Equal(c.t, answer, c.insist(id), fault.Name)
	c.requireOnce(id, answer)
}

// repeats is how long a request of a fault may still be on its way when the client has its answer.
func repeats(f wire.Fault) time.Duration {
	switch f.Name {
	case "repeat":
		return 500 * time.Millisecond
	case "delay request":
		return time.Second
	default:
		return 0
	}
}

// Every call has a fault by chance, from clients that do not give up.
func TestManyFaultsOfManyCommits(t *testing.T) {
	t.Parallel()
	c := newLedger(t, 0)
	c.proxy.SetRule(func(wire.Request) wire.Fault {
		faults := transactionFaults()
		if n := mathrand.IntN(2 * len(faults)); n < len(faults) {
			return faults[n]
		}
		return wire.Pass()
	})
	var wait sync.WaitGroup
	answers := make([]string, 40)
	for n := range answers {
		wait.Go(func() { answers[n] = c.insist(fmt.Sprintf("many-%d", n/2)) }) // two clients each
	}
	wait.Wait()
	c.proxy.SetRule(nil)
	time.Sleep(3 * time.Second) // what is still on its way arrives
	for n, answer := range answers {
		id := fmt.Sprintf("many-%d", n/2)
		assert.Equal(t, answers[n/2*2], answer, "both clients of a key agree")
		assert.Equal(t, answer, c.insist(id))
		c.requireOnce(id, answer)
	}
	require.Greater(t, len(c.proxy.Faults()), 20)
}
