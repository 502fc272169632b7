package stack_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/stack"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// statement is one of a policy.
type statement struct {
	Effect    string
	Action    any
	Resource  any
	Condition map[string]map[string]any
}

func (s statement) actions() []string {
	if list, ok := s.Action.([]any); ok {
		actions := make([]string, len(list))
		for i, a := range list {
			actions[i] = a.(string)
		}
		return actions
	}
	return []string{s.Action.(string)}
}

// The roles of the function that charges, and of the one that takes orders.
const (
	chargeRole = "Role"
	ordersRole = "OrdersRole"
)

// statements are all that a role allows, in the role and beside it.
func statements(t *testing.T, s *stack.Stack, name string) []statement {
	t.Helper()
	documents := []any{}
	require.Contains(t, s.Of("AWS::IAM::Role"), name)
	role := s.Resources[name]
	require.ElementsMatch(t, []string{"AssumeRolePolicyDocument", "Policies"}, slices.Collect(maps.Keys(role.Properties)),
		"a managed policy would allow more than is looked at here")
	for i := range role.At("Policies").([]any) {
		documents = append(documents, role.At("Policies", i, "PolicyDocument"))
	}
	for _, p := range s.Of("AWS::IAM::RolePolicy") {
		if p.At("RoleName") == "${"+name+"}" {
			documents = append(documents, p.At("PolicyDocument"))
		}
	}
	all := []statement{}
	for _, d := range documents {
		all = append(all, statementsIn(t, d)...)
	}
	return all
}

// statementsIn are those of a policy document.
func statementsIn(t *testing.T, document any) []statement {
	t.Helper()
	text, err := json.Marshal(document)
	require.NoError(t, err)
	var d struct{ Statement []statement }
	require.NoError(t, json.Unmarshal(text, &d))
	for _, st := range d.Statement {
		require.Equal(t, "Allow", st.Effect)
	}
	return d.Statement
}

// onDynamoDB are the statements of a role about tables.
func onDynamoDB(t *testing.T, s *stack.Stack, role string) (found []statement) {
	t.Helper()
	for _, st := range statements(t, s, role) {
		if slices.ContainsFunc(st.actions(), func(a string) bool { return strings.HasPrefix(a, "dynamodb:") }) {
			found = append(found, st)
		}
	}
	return found
}

// onTable is the statement of a role about the table of the records.
func onTable(t *testing.T, s *stack.Stack, role string) statement {
	t.Helper()
	found := slices.DeleteFunc(onDynamoDB(t, s, role), func(st statement) bool { return st.Resource != onlyTable })
	require.Len(t, found, 1)
	return found[0]
}

// keysOfRole is the pattern of the keys that a role may name.
func keysOfRole(t *testing.T, s *stack.Stack, role string) string {
	t.Helper()
	st := onTable(t, s, role)
	require.Equal(t, "${Table.Arn}", st.Resource)
	require.Len(t, st.Condition, 2)
	require.Equal(t, "false", st.Condition["Null"]["dynamodb:LeadingKeys"], "without keys ForAllValues holds")
	return st.Condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"].(string)
}

// allowed are the calls of DynamoDB that the policy allows, in order.
func allowed(t *testing.T) []string {
	t.Helper()
	names := []string{}
	for _, action := range onTable(t, deployed(t, nil), chargeRole).actions() {
		name, ofDynamoDB := strings.CutPrefix(action, "dynamodb:")
		require.True(t, ofDynamoDB, action)
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestThePolicyAllowsTheCallsOfTheStoreAndNoOthers(t *testing.T) {
	t.Parallel()
	client := reflect.TypeFor[dynamo.Client]()
	can := make([]string, client.NumMethod())
	for i := range can {
		can[i] = client.Method(i).Name
	}
	require.Equal(t, can, allowed(t), "reflection sorts by name")
}

// writer is a client that can do what a function needs, and cannot list.
type writer struct{ dynamo.Client }

// TestStoreOnTheTableOfTheTemplate runs the conformance suite: it makes every call that the policy allows, and no others.
func TestStoreOnTheTableOfTheTemplate(t *testing.T) {
	table, calls := newTable(t), &recorder{}
	records := dynamo.New(writer{dynamolocal.Client(dynamolocal.Endpoint(t), dynamolocal.Unhurried, calls.observe)}, table)
	storetest.Run(t, storetest.Features{}, func(testing.TB) store.Store { return records })
	require.Equal(t, allowed(t), calls.called())
}

func TestThePolicyAllowsNothingElse(t *testing.T) {
	t.Parallel()
	for name, parameters := range variants {
		s := deployed(t, parameters)
		for role, logs := range map[string]string{chargeRole: "${LogGroup.Arn}", ordersRole: "${OrdersLogGroup.Arn}"} {
			if role == chargeRole || hasOrders(name) {
				requireNothingElse(t, s, role, logs, parameters)
			}
		}
	}
}

// requireNothingElse checks that a role allows its table, its logs, its secret and its key, and no more.
func requireNothingElse(t *testing.T, s *stack.Stack, role, logs string, parameters map[string]string) {
	t.Helper()
	require.Equal(t, []any{map[string]any{
		"Effect": "Allow", "Principal": map[string]any{"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole",
	}}, s.Resources[role].At("AssumeRolePolicyDocument", "Statement"))
	secret, readsASecret := parameters["PaymentsSecretArn"], false
	for _, st := range statements(t, s, role) {
		require.Equal(t, "Allow", st.Effect)
		switch on := st.Resource; on {
		case "${Table.Arn}":
		case ordersTable, outboxTable:
			require.Equal(t, ordersRole, role)
			require.Equal(t, statement{"Allow", "dynamodb:PutItem", on, inTransactions}, st)
		case logs:
			require.Equal(t, []string{"logs:CreateLogStream", "logs:PutLogEvents"}, st.actions())
		case secret:
			require.Equal(t, []string{"secretsmanager:GetSecretValue"}, st.actions())
			readsASecret = true
		case parameters["KmsKeyArn"]:
			require.NotContains(t, strings.Join(st.actions(), " "), "kms:*")
			services := []any{"dynamodb.us-east-1.amazonaws.com", "lambda.us-east-1.amazonaws.com"}
			if secret != "" {
				services = append(services, "secretsmanager.us-east-1.amazonaws.com")
			}
			require.Equal(t, services, st.Condition["StringEquals"]["kms:ViaService"])
		default:
			require.Fail(t, "another resource", "%s: %v may %v", role, on, st.Action)
		}
	}
	require.Equal(t, secret != "", readsASecret)
}

// TestThePolicyAllowsTheKeysOfTheFunctionAndNoOthers plays what a function does, with small and large results, and looks at the
// keys that it names.
func TestThePolicyAllowsTheKeysOfTheFunctionAndNoOthers(t *testing.T) {
	t.Parallel()
	s := deployed(t, nil)
	pattern := keysOfRole(t, s, chargeRole)

	calls := &recorder{}
	records := dynamo.New(dynamolocal.Client(dynamolocal.Endpoint(t), calls.observe), newTable(t))
	function := s.Resources["ChargeFunction"].At("FunctionName").(string)
	require.Equal(t, operation, function)
	handler := idempotent.Wrap(
		func(_ context.Context, size int) (string, error) { return bulky(size), nil }, records,
		idempotent.WithOperation(function),
		idempotent.WithKey(func(size int) (string, error) { return strings.Repeat("k", size%7+1), nil }))
	for _, size := range []int{10, 1_000_000} {
		for range 2 {
			_, err := handler.Handle(t.Context(), size)
			require.NoError(t, err)
		}
	}
	require.Subset(t, calls.called(), []string{"BatchGetItem", "BatchWriteItem", "PutItem", "UpdateItem"})
	for _, key := range calls.keys {
		require.True(t, like(t, pattern, key), "%s is not like %s", key, pattern)
	}
	for _, key := range []string{"", operation, operation + "2#x", "other-charge#x", "idempotent#x", "#x", "x" + operation + "#"} {
		require.False(t, like(t, pattern, key), "%s is like %s", key, pattern)
	}
}

// bulky is a text of at least this size that compression cannot bring into one item.
func bulky(size int) string {
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(rand.Text())
	}
	return b.String()
}

// like compares as StringLike does: an asterisk stands for any text.
func like(t *testing.T, pattern, text string) bool {
	t.Helper()
	require.NotContains(t, strings.TrimSuffix(pattern, "*"), "*")
	matches, err := path.Match(pattern, strings.ReplaceAll(text, "/", "_"))
	require.NoError(t, err)
	return matches
}
