package e2e_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	example "github.com/go-idempotent/idempotent/examples/orders/order"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/outbox"
)

// clerk takes orders in this process, for tests of what comes after: each is a row and a message that are committed. An order whose name
// begins with "refused" is one whose commit is refused, and one that begins with "failing" fails before its commit.
type clerk struct {
	t            *testing.T
	dynamo       *dynamodb.Client
	rows, outbox string
	handler      *idempotent.Handler[string, string]
}

// taken is the id of a row that was there before.
const taken = "taken"

func newClerk(t *testing.T) *clerk {
	t.Helper()
	c := &clerk{t: t, dynamo: dynamolocal.Client(platform.endpoint(t), closeIdle(t)), rows: "e2e-orders-" + rand.Text(), outbox: newOutbox(t)}
	records := "e2e-" + rand.Text()
	require.NoError(t, dynamo.CreateTable(t.Context(), c.dynamo, records))
	require.NoError(t, example.CreateTable(t.Context(), c.dynamo, c.rows))
	_, err := c.dynamo.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String(c.rows), Item: map[string]types.AttributeValue{"order_id": &types.AttributeValueMemberS{Value: taken}},
	})
	require.NoError(t, err)
	c.handler = idempotent.Wrap(c.handle, dynamo.New(c.dynamo, records), idempotent.WithOperation("order"),
		idempotent.WithKey(func(name string) (string, error) { return name, nil }))
	return c
}

var errFailing = errors.New("the handler has failed")

func (c *clerk) handle(ctx context.Context, name string) (string, error) {
	row := example.Row{OrderID: idempotent.DerivedKey(ctx, "order"), SKU: name}
	if strings.HasPrefix(name, "refused") {
		row.OrderID = taken
	}
	message := outbox.New(c.outbox).Message(ctx, example.PlacedTopic, example.Placed{OrderID: row.OrderID, Email: name})
	if strings.HasPrefix(name, "failing") {
		return "", errFailing
	}
	out, err := dynamo.Commit(ctx, row.OrderID, dynamo.Put(c.rows, row, dynamo.IfAbsent("order_id")), message)
	if _, refused := errors.AsType[*dynamo.ConditionError](err); refused {
		return "refused", nil
	}
	return out, err
}

// take takes an order, and returns its id. It asks again when DynamoDB Local is too slow for a claim.
func (c *clerk) take(name string) (id string) {
	c.t.Helper()
	id, err := c.insist(name)
	require.NoError(c.t, err)
	return id
}

// insist delivers an order until the handler has decided it.
func (c *clerk) insist(name string) (string, error) {
	for began := time.Now(); ; time.Sleep(patience) {
		out, err := c.deliver(name)
		if err == nil || errors.Is(err, errFailing) || time.Since(began) > postLimit {
			return out, err
		}
	}
}

func (c *clerk) deliver(name string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return c.handler.Handle(ctx, name)
}

// takeMany takes n orders, some at once, and for every tenth of them one that is refused and one that fails.
func (c *clerk) takeMany(n int) {
	c.t.Helper()
	var wait sync.WaitGroup
	for part := range slices.Chunk(names(n), max(n/8, 1)) {
		wait.Go(func() {
			for i, name := range part {
				_, err := c.insist(name)
				assert.NoError(c.t, err)
				if i%10 != 0 {
					continue
				}
				out, err := c.insist("refused-" + name)
				assert.NoError(c.t, err)
				assert.Equal(c.t, "refused", out)
				_, err = c.insist("failing-" + name)
				assert.ErrorIs(c.t, err, errFailing)
			}
		})
	}
	wait.Wait()
}

func names(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("order-%05d", i))
	}
	return all
}

// committed reports whether there is a row of an order.
func (c *clerk) committed(id string) bool {
	out, err := c.dynamo.GetItem(context.Background(), &dynamodb.GetItemInput{
		TableName: aws.String(c.rows), Key: map[string]types.AttributeValue{"order_id": &types.AttributeValueMemberS{Value: id}},
		ConsistentRead: aws.Bool(true),
	})
	return assert.NoError(c.t, err) && len(out.Item) > 0 && id != taken
}

// orders are the ids of the rows, in order.
func (c *clerk) orders() (ids []string) {
	c.t.Helper()
	for pages := dynamodb.NewScanPaginator(c.dynamo, &dynamodb.ScanInput{
		TableName: aws.String(c.rows), ConsistentRead: aws.Bool(true),
	}); pages.HasMorePages(); {
		page, err := pages.NextPage(context.Background())
		require.NoError(c.t, err)
		var rows []example.Row
		require.NoError(c.t, attributevalue.UnmarshalListOfMaps(page.Items, &rows))
		for _, r := range rows {
			if r.OrderID != taken {
				ids = append(ids, r.OrderID)
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// post returns a post for the messages of the clerk, with a receiver that looks whether their orders were committed.
func (c *clerk) post() *post {
	c.t.Helper()
	r := newReceiver(c.t)
	r.committed = c.committed
	return newPost(c.t, c.outbox, r)
}

// assertCounted checks that n orders were committed, and that each has one message, which was delivered, and there are no others: one by one.
func (c *clerk) assertCounted(p *post, n int) {
	c.t.Helper()
	orders := c.orders()
	require.Len(c.t, orders, n, "rows")
	var told []string
	for _, m := range p.messages() {
		told = append(told, m.order(c.t))
	}
	slices.Sort(told)
	assert.Equal(c.t, orders, told, "rows and messages")
	p.assertDelivered()
	assert.GreaterOrEqual(c.t, p.receiver.deliveries(), n)
}
