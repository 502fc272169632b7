package stack_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	orders "github.com/go-idempotent/idempotent/examples/orders/order"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/stack"
	"github.com/go-idempotent/idempotent/outbox"
)

// inTransactions is the condition that a request is an item of a transaction that writes.
var inTransactions = map[string]map[string]any{
	"ForAnyValue:StringEquals": {"dynamodb:EnclosingOperation": "TransactWriteItems"},
}

// attempt is what IAM decides about: an action on a table or on its index. The items of a transaction are decided one by one, each as the action that it
// would be by itself, see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis-iam.html.
type attempt struct {
	action, table string
	// context are the values of condition keys.
	context map[string][]string
}

// attempts notes what the calls of a client are to IAM.
type attempts struct {
	mu  sync.Mutex
	all []attempt
}

func (a *attempts) observe(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("Attempts", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			a.mu.Lock()
			a.all = append(a.all, attemptsOf(awsmiddleware.GetOperationName(ctx), in.Parameters)...)
			a.mu.Unlock()
			return next.HandleInitialize(ctx, in)
		}), middleware.After)
	})
}

// attemptsOf are those of a call; of one that is not known it is one that no policy allows.
func attemptsOf(operation string, in any) (all []attempt) {
	one := func(action, table string, attributes map[string]types.AttributeValue, enclosing ...string) {
		keys := []string{}
		for _, name := range []string{"id", "order_id"} {
			if key, ok := attributes[name].(*types.AttributeValueMemberS); ok {
				keys = append(keys, key.Value)
			}
		}
		all = append(all, attempt{"dynamodb:" + action, table, map[string][]string{
			"dynamodb:LeadingKeys": keys, "dynamodb:EnclosingOperation": enclosing,
		}})
	}
	switch in := in.(type) {
	case *dynamodb.PutItemInput:
		one(operation, *in.TableName, in.Item)
	case *dynamodb.UpdateItemInput:
		one(operation, *in.TableName, in.Key)
	case *dynamodb.GetItemInput:
		one(operation, *in.TableName, in.Key)
	case *dynamodb.QueryInput:
		one(operation, *in.TableName+"/index/"+*in.IndexName, nil)
	case *dynamodb.DescribeTableInput:
		one(operation, *in.TableName, nil)
	case *dynamodb.DescribeTimeToLiveInput:
		one(operation, *in.TableName, nil)
	case *dynamodb.DeleteItemInput:
		one(operation, *in.TableName, in.Key)
	case *dynamodb.TransactWriteItemsInput:
		for _, w := range in.TransactItems {
			switch {
			case w.Put != nil:
				one("PutItem", *w.Put.TableName, w.Put.Item, operation)
			case w.Update != nil:
				one("UpdateItem", *w.Update.TableName, w.Update.Key, operation)
			case w.Delete != nil:
				one("DeleteItem", *w.Delete.TableName, w.Delete.Key, operation)
			case w.ConditionCheck != nil:
				one("ConditionCheckItem", *w.ConditionCheck.TableName, w.ConditionCheck.Key, operation)
			}
		}
	default:
		all = []attempt{{action: operation}}
	}
	return all
}

// allows reports whether a statement allows an attempt. tables are the resources of the tables.
func (s statement) allows(t *testing.T, a attempt, tables map[string]string) bool {
	t.Helper()
	if !slices.Contains(s.actions(), a.action) || s.Resource != tables[a.table] {
		return false
	}
	for operator, keys := range s.Condition {
		for key, wanted := range keys {
			if !holds(t, operator, a.context[key], wanted.(string)) {
				return false
			}
		}
	}
	return true
}

// holds decides a condition as IAM does: with no value, what is for all values holds and what is for any value does not.
func holds(t *testing.T, operator string, values []string, wanted string) bool {
	t.Helper()
	switch operator {
	case "ForAllValues:StringLike":
		return !slices.ContainsFunc(values, func(v string) bool { return !like(t, wanted, v) })
	case "ForAnyValue:StringEquals":
		return slices.Contains(values, wanted)
	case "Null":
		return (len(values) == 0) == (wanted == "true")
	default:
		require.Fail(t, "a condition that is not known", operator)
		return false
	}
}

// TestTheFunctionOfTheOrdersMayDoWhatAnOrderNeeds plays an order: a claim, a step, a commit of a row and a message, a replay.
func TestTheFunctionOfTheOrdersMayDoWhatAnOrderNeeds(t *testing.T) {
	t.Parallel()
	table, rows, messages, calls := newTable(t), newTableOf(t, stack.Orders), newTableOf(t, stack.Outbox), &attempts{}
	records := dynamo.New(dynamolocal.Client(dynamolocal.Endpoint(t), calls.observe), table)
	handler := idempotent.Wrap(func(ctx context.Context, key string) (string, error) {
		_, err := idempotent.Step(ctx, "reserve", func(context.Context) (string, error) { return "rs_1", nil })
		require.NoError(t, err)
		row := orders.Row{OrderID: idempotent.DerivedKey(ctx, "order"), ReservationID: "rs_1"}
		return dynamo.Commit(ctx, key, dynamo.Put(rows, row, dynamo.IfAbsent("order_id"), dynamo.ReturnOld()),
			outbox.New(messages).Message(ctx, "order-placed", map[string]string{"order_id": row.OrderID}))
	}, records, idempotent.WithOperation(ordering), idempotent.WithKey(func(key string) (string, error) { return key, nil }))
	for range 2 {
		_, err := handler.Handle(t.Context(), "k")
		require.NoError(t, err)
	}

	policy := onDynamoDB(t, deployed(t, variants["orders"]), ordersRole)
	require.Len(t, policy, 3)
	tables := map[string]string{table: onlyTable, rows: ordersTable, messages: outboxTable}
	mayDo := func(a attempt) bool {
		return slices.ContainsFunc(policy, func(s statement) bool { return s.allows(t, a, tables) })
	}
	puts := map[string]attempt{}
	for _, a := range calls.all {
		require.True(t, mayDo(a), a)
		if a.table != table {
			require.Empty(t, puts[a.table], "one item is the order, and one its message")
			puts[a.table] = a
		}
	}
	require.Len(t, puts, 2)
	for _, put := range puts {
		require.Equal(t, "dynamodb:PutItem", put.action)
		alone := put
		alone.context = map[string][]string{"dynamodb:LeadingKeys": put.context["dynamodb:LeadingKeys"]}
		require.False(t, mayDo(alone), "outside of a transaction")
		for _, action := range []string{"GetItem", "UpdateItem", "DeleteItem", "ConditionCheckItem", "Query", "Scan"} {
			other := put
			other.action = "dynamodb:" + action
			require.False(t, mayDo(other), action)
		}
		foreign := put
		foreign.table = table
		require.False(t, mayDo(foreign), "a record with another function's key, also in a transaction")
	}
}
