package stack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	orders "github.com/go-idempotent/idempotent/examples/orders/order"
	"github.com/go-idempotent/idempotent/internal/stack"
	"github.com/go-idempotent/idempotent/observe"
)

// TestTheOrdersAreThereOnlyIfTheyAreAskedFor: a stack gains no public route with an update.
func TestTheOrdersAreThereOnlyIfTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	for name, parameters := range variants {
		s := deployed(t, parameters)
		for id := range s.Resources {
			require.False(t, ofOrders(id) && !hasOrders(name), "%s: %s", name, id)
		}
		for output, value := range map[string]string{
			"OrdersFunctionName": ordering, "OrdersTableName": "${OrdersTable}", "OutboxTableName": "${OutboxTable}",
			"RelayFunctionName": relaying, "DrainFunctionName": draining, "RelayFailuresUrl": "${RelayFailures}",
		} {
			require.Equal(t, hasOrders(name), s.Outputs[output] == value, "%s: %s", name, output)
			require.Equal(t, hasOrders(name), s.Outputs[output] != "", "%s: %s", name, output)
		}
	}
	require.Contains(t, deployed(t, map[string]string{"Orders": "true"}).Resources, "OrdersFunction", "nothing else has to be set")
}

// ofOrders reports whether a resource belongs to the orders, by its name.
func ofOrders(id string) bool {
	return slices.ContainsFunc([]string{"Orders", "Outbox", "Relay", "Drain", "Shipping"}, func(p string) bool { return strings.HasPrefix(id, p) })
}

func TestTheOrdersAreReachedAsTheChargesAre(t *testing.T) {
	t.Parallel()
	s := deployed(t, variants["orders"])
	route, charges := s.Resources["OrdersRoute"], s.Resources["HttpRoute"]
	require.Equal(t, orders.Route, route.At("RouteKey"))
	require.Equal(t, "integrations/${OrdersIntegration}", route.At("Target"))
	require.Equal(t, "${OrdersFunction.Arn}", s.Resources["OrdersIntegration"].At("IntegrationUri"))
	require.Equal(t, "2.0", s.Resources["OrdersIntegration"].At("PayloadFormatVersion"))
	require.Equal(t, ordering, s.Resources["OrdersPermission"].At("FunctionName"))
	for _, property := range []string{"ApiId", "AuthorizationType", "AuthorizerId"} {
		require.Equal(t, charges.At(property), route.At(property), property)
	}
}

func TestTheOrdersHaveTheirServices(t *testing.T) {
	t.Parallel()
	parameters := variants["orders"]
	function := deployed(t, parameters).Resources["OrdersFunction"]
	require.Equal(t, map[string]any{
		"IDEMPOTENCY_TABLE": "${Table}", "ORDERS_TABLE": "${OrdersTable}", "OUTBOX_TABLE": "${OutboxTable}", "REQUIRE_TENANT": "true",
		"STOCK_URL": parameters["StockUrl"], "PAYMENTS_URL": "", "PAYMENTS_SECRET": parameters["PaymentsSecretArn"],
	}, function.At("Environment", "Variables"), "the mail is the business of whoever delivers")
	require.Equal(t, parameters["KmsKeyArn"], function.At("KmsKeyArn"))
	require.Equal(t, map[string]any{"SSEEnabled": true, "SSEType": "KMS", "KMSMasterKeyId": parameters["KmsKeyArn"]},
		deployed(t, parameters).Resources[stack.Orders].At("SSESpecification"))
	require.Nil(t, deployed(t, map[string]string{"Orders": "true"}).Resources[stack.Orders].At("SSESpecification"))
	require.Equal(t, "/aws/lambda/"+ordering, function.At("LoggingConfig", "LogGroup"))
	require.Equal(t, 20, function.At("ReservedConcurrentExecutions"))
}

// TestTheOrdersGiveUpBeforeTheAPI compares the periods that contain each other.
func TestTheOrdersGiveUpBeforeTheAPI(t *testing.T) {
	t.Parallel()
	s := deployed(t, variants["orders"])
	const services = 2
	execution := idempotent.DefaultClaimBudget + services*orders.Timeout + idempotent.DefaultClaimBudget
	timeout := s.Resources["OrdersFunction"].At("Timeout").(int)
	require.Less(t, execution, time.Duration(timeout)*time.Second)
	waits := s.Resources["OrdersIntegration"].At("TimeoutInMillis").(int)
	require.Less(t, time.Duration(timeout)*time.Second, time.Duration(waits)*time.Millisecond)
}

func TestNeitherFunctionMayTouchRecordsOfTheOther(t *testing.T) {
	t.Parallel()
	s := deployed(t, variants["orders"])
	keys := map[string]string{chargeRole: keysOfRole(t, s, chargeRole), ordersRole: keysOfRole(t, s, ordersRole)}
	require.Equal(t, map[string]string{chargeRole: operation + "#*", ordersRole: ordering + "#*"}, keys)
	require.Equal(t, onTable(t, s, chargeRole).actions(), onTable(t, s, ordersRole).actions())

	settler := managed(t, s, "SettlerPolicy")
	require.Equal(t, []any{keys[chargeRole], keys[ordersRole]}, settler[0].Condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"])
	looks := managed(t, s, "OperatorPolicy")
	require.True(t, slices.ContainsFunc(looks, func(st statement) bool {
		return fmt.Sprint(st.Resource) == "[${ChargeFunction.Arn} ${OrdersFunction.Arn}]"
	}))
}

func TestOrdersThatNeedSomebodyAreCountedAndHaveAnAlarm(t *testing.T) {
	t.Parallel()
	s := deployed(t, variants["orders"])
	require.Equal(t, operation+","+ordering, s.Resources["AttentionFunction"].At("Environment", "Variables", "OPERATIONS"))
	alarm := s.Resources["OrdersAlarm"]
	require.Equal(t, []any{variants["orders"]["AlarmTopicArn"]}, alarm.At("AlarmActions"))
	written := []string{"Errors", "Throttles"}
	for _, m := range append(observe.Metrics(), observe.AttentionMetrics()...) {
		written = append(written, m.Name)
	}
	expression := expressionOf(alarm)
	for i, m := range alarmed(alarm) {
		require.Equal(t, ordering, m.value)
		require.Contains(t, written, m.name)
		require.Contains(t, expression, fmt.Sprintf("FILL(%v, ", alarm.At("Metrics", i, "Id")))
	}
	require.Len(t, alarmed(alarm), 7)
}

// expressionOf is the expression that an alarm is about.
func expressionOf(alarm stack.Resource) string {
	list := alarm.At("Metrics").([]any)
	return alarm.At("Metrics", len(list)-1, "Expression").(string)
}
