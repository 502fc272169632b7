package deploy_test

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// attempt is what IAM decides about: an action on a resource of the template. The items of a
// transaction are decided one by one, each as the action that it would be by itself, see
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis-iam.html.
type attempt struct{ action, resource, key, enclosing string }

// attempts are what the calls since the last question are to IAM. A call of another kind is one
// that no policy allows.
func (s *shop) attempts() (all []attempt) {
	s.t.Helper()
	type written struct {
		TableName, IndexName string
		Key, Item            struct{ ID struct{ S string } }
	}
	add := func(action string, w written, enclosing string) {
		resource := s.resources[w.TableName] + ".Arn"
		if w.IndexName != "" {
			resource = "${" + resource + "}/index/" + w.IndexName
		}
		all = append(all, attempt{"dynamodb:" + action, resource, cmp.Or(w.Key.ID.S, w.Item.ID.S), enclosing})
	}
	for _, x := range s.proxy.Exchanges() {
		var call struct {
			written

			RequestItems  map[string][]struct{ PutRequest written }
			TransactItems []map[string]written
		}
		require.NoError(s.t, json.Unmarshal(x.Body, &call))
		for _, item := range call.TransactItems {
			for kind, w := range item {
				add(kind+"Item", w, x.Operation)
			}
		}
		for table, writes := range call.RequestItems {
			for _, w := range writes {
				w.PutRequest.TableName = table
				add(x.Operation, w.PutRequest, "")
			}
		}
		if call.TransactItems == nil && call.RequestItems == nil {
			add(x.Operation, call.written, "")
		}
	}
	s.proxy.Forget()
	return all
}

// allows decides as IAM does.
func (s statement) allows(t *testing.T, a attempt) bool {
	t.Helper()
	if !slices.Contains(s.actions, a.action) || !slices.Contains(s.resources, a.resource) {
		return false
	}
	operators, _ := s.conditions.(map[string]any)
	for operator, condition := range operators {
		switch operator {
		case "ForAllValues:StringLike":
			pattern := strings.ReplaceAll(text(condition, "dynamodb:LeadingKeys"), "${AWS::StackName}", stackName)
			if matches, err := path.Match(pattern, a.key); err != nil || !matches {
				return false
			}
		case "ForAnyValue:StringEquals":
			if text(condition, "dynamodb:EnclosingOperation") != a.enclosing {
				return false
			}
		case "Null":
			require.Equal(t, "false", text(condition, "dynamodb:LeadingKeys"))
			if a.key == "" {
				return false
			}
		default:
			require.Fail(t, "a condition that is not known", operator)
		}
	}
	return true
}

// requireMayDo checks that statements allow every attempt, and, if they are exact, that nothing
// else is allowed.
func requireMayDo(t *testing.T, policy []statement, all []attempt, exact bool) {
	t.Helper()
	used := map[[2]string]bool{}
	for _, a := range all {
		require.True(t, slices.ContainsFunc(policy, func(s statement) bool { return s.allows(t, a) }), "%+v", a)
		used[[2]string{a.action, a.resource}] = true
	}
	for _, s := range policy {
		for _, action := range s.actions {
			for _, resource := range s.resources {
				require.True(t, !exact || used[[2]string{action, resource}], "nothing needs %s on %s", action, resource)
			}
		}
	}
}
