package deploy_test

import (
	"context"
	"encoding/json"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// attempt is what IAM decides about: an action on a resource of the template. The items of a
// transaction are decided one by one, each as the action that it would be by itself, see
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis-iam.html.
type attempt struct{ action, resource, key, enclosing string }

// attempts notes what the calls of a client are to IAM.
type attempts struct {
	// resources are the names of the template's tables, by the names of the tables that stand for
	// them.
	resources map[string]string

	mu  sync.Mutex
	all []attempt
}

// observe notes each call of a client.
func (a *attempts) observe(_ context.Context, in any, send func() (any, error)) (any, error) {
	a.mu.Lock()
	a.all = append(a.all, a.of(in)...)
	a.mu.Unlock()
	return send()
}

// of is what a call is to IAM. One of another kind is one that no policy allows.
func (a *attempts) of(in any) (all []attempt) {
	type written struct {
		TableName, IndexName string
		Key, Item            map[string]struct{ Value any }
	}
	var call struct {
		written

		RequestItems  map[string][]struct{ PutRequest written }
		TransactItems []map[string]*written
	}
	content, err := json.Marshal(in)
	if err == nil {
		err = json.Unmarshal(content, &call)
	}
	if err != nil {
		panic(err) // inputs have a JSON form
	}
	one := func(action string, w written, enclosing string) {
		resource := a.resources[w.TableName] + ".Arn"
		if w.IndexName != "" {
			resource = "${" + resource + "}/index/" + w.IndexName
		}
		id, found := w.Key["id"].Value.(string)
		if !found {
			id, _ = w.Item["id"].Value.(string)
		}
		all = append(all, attempt{"dynamodb:" + action, resource, id, enclosing})
	}
	operation := strings.TrimSuffix(reflect.TypeOf(in).Elem().Name(), "Input")
	switch {
	case call.TransactItems != nil:
		for _, item := range call.TransactItems {
			for kind, w := range item {
				if w != nil {
					one(kind+"Item", *w, operation)
				}
			}
		}
	case call.RequestItems != nil:
		for table, writes := range call.RequestItems {
			for _, w := range writes {
				w.PutRequest.TableName = table
				one(operation, w.PutRequest, "")
			}
		}
	default:
		one(operation, call.written, "")
	}
	return all
}

// taken are the attempts since the last question.
func (a *attempts) taken() []attempt {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.all
	a.all = nil
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
