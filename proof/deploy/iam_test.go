package deploy_test

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
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

func (a *attempts) observe(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("Attempts", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			a.mu.Lock()
			a.note(awsmiddleware.GetOperationName(ctx), in.Parameters)
			a.mu.Unlock()
			return next.HandleInitialize(ctx, in)
		}), middleware.After)
	})
}

// note adds a call. One that is not known is one that no policy allows.
func (a *attempts) note(operation string, in any) {
	one := func(action, table, suffix string, key map[string]types.AttributeValue, enclosing string) {
		id, found := key["id"].(*types.AttributeValueMemberS)
		if !found {
			id = &types.AttributeValueMemberS{}
		}
		resource := a.resources[table] + ".Arn"
		if suffix != "" {
			resource = "${" + resource + "}" + suffix
		}
		a.all = append(a.all, attempt{"dynamodb:" + action, resource, id.Value, enclosing})
	}
	switch in := in.(type) {
	case *dynamodb.PutItemInput:
		one(operation, *in.TableName, "", in.Item, "")
	case *dynamodb.UpdateItemInput:
		one(operation, *in.TableName, "", in.Key, "")
	case *dynamodb.DeleteItemInput:
		one(operation, *in.TableName, "", in.Key, "")
	case *dynamodb.GetItemInput:
		one(operation, *in.TableName, "", in.Key, "")
	case *dynamodb.QueryInput:
		one(operation, *in.TableName, "/index/"+*in.IndexName, nil, "")
	case *dynamodb.BatchWriteItemInput:
		for table, writes := range in.RequestItems {
			for _, w := range writes {
				one(operation, table, "", w.PutRequest.Item, "")
			}
		}
	case *dynamodb.TransactWriteItemsInput:
		for _, w := range in.TransactItems {
			if w.Put != nil {
				one("PutItem", *w.Put.TableName, "", w.Put.Item, operation)
			} else {
				one("UpdateItem", *w.Update.TableName, "", w.Update.Key, operation)
			}
		}
	default:
		a.all = append(a.all, attempt{action: operation})
	}
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
