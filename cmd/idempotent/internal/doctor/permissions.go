package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/dynamo"
)

// call is one call, of which only the error counts.
type call func(ctx context.Context, c *dynamodb.Client) error

// tryout is a task with the calls that it takes.
type tryout struct {
	check string
	calls []call
}

// permissions tries what the credentials of this program may do. What the role of the function may
// do is its own matter.
func (p *Patient) permissions(ctx context.Context) []Finding {
	operation := p.Function
	if operation == "" {
		operation = "idempotent-doctor"
	}
	tryouts := p.tryouts(p.Key(operation + "#idempotent-doctor-" + rand.Text()))
	findings := make([]Finding, 0, len(tryouts))
	for _, t := range tryouts {
		f := p.emulated(t.check)
		if p.Emulator == "" {
			f = p.try(ctx, t, operation)
		}
		findings = append(findings, f)
	}
	return findings
}

func (p *Patient) try(ctx context.Context, t tryout, operation string) Finding {
	var refused []string
	for _, call := range t.calls {
		err := call(ctx, p.DynamoDB)
		var condition *types.ConditionalCheckFailedException
		switch {
		case err == nil, errors.As(err, &condition):
		case denied(err):
			refused = append(refused, operationOf(err))
		default:
			return unseen(t.check, err)
		}
	}
	if len(refused) > 0 {
		return Finding{t.check, Warning,
			fmt.Sprintf("not allowed: %s, with a key of operation %q", strings.Join(refused, ", "), operation)}
	}
	return Finding{Check: t.check, Result: OK}
}

// tryouts are what the commands do, with a key that nobody has. Each call changes nothing: it
// reads, or writes under a condition that never holds, or deletes what is not there, where a call
// knows no conditions.
func (p *Patient) tryouts(key map[string]types.AttributeValue) []tryout {
	table := aws.String(p.Table)
	never := aws.String("attribute_exists(#key) AND attribute_not_exists(#key)")
	names := map[string]string{"#key": slices.Sorted(maps.Keys(key))[0]}
	get := func(ctx context.Context, c *dynamodb.Client) error {
		_, err := c.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: key, ConsistentRead: aws.Bool(true)})
		return err
	}
	getParts := func(ctx context.Context, c *dynamodb.Client) error {
		keys := types.KeysAndAttributes{Keys: []map[string]types.AttributeValue{key}}
		_, err := c.BatchGetItem(ctx,
			&dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{p.Table: keys}})
		return err
	}
	put := func(ctx context.Context, c *dynamodb.Client) error {
		_, err := c.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: table, Item: key, ConditionExpression: never, ExpressionAttributeNames: names,
		})
		return err
	}
	update := func(ctx context.Context, c *dynamodb.Client) error {
		_, err := c.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: table, Key: key, ConditionExpression: never, ExpressionAttributeNames: names,
		})
		return err
	}
	deleteItem := func(ctx context.Context, c *dynamodb.Client) error {
		_, err := c.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: table, Key: key, ConditionExpression: never, ExpressionAttributeNames: names,
		})
		return err
	}
	deleteParts := func(ctx context.Context, c *dynamodb.Client) error {
		deletion := []types.WriteRequest{{DeleteRequest: &types.DeleteRequest{Key: key}}}
		_, err := c.BatchWriteItem(ctx,
			&dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{p.Table: deletion}})
		return err
	}
	query := func(ctx context.Context, c *dynamodb.Client) error {
		_, err := c.Query(ctx, &dynamodb.QueryInput{
			TableName: table, IndexName: aws.String(dynamo.AttentionIndex), Limit: aws.Int32(1),
			KeyConditionExpression: aws.String("attention = :none"),
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":none": &types.AttributeValueMemberS{Value: "idempotent-doctor"},
			},
		})
		return err
	}
	scan := func(index *string) call {
		return func(ctx context.Context, c *dynamodb.Client) error {
			_, err := c.Scan(ctx, &dynamodb.ScanInput{TableName: table, IndexName: index, Limit: aws.Int32(1)})
			return err
		}
	}
	return []tryout{
		{"you may inspect", []call{get, getParts}},
		{"you may list by index", []call{query, scan(aws.String(dynamo.AttentionIndex))}},
		{"you may list by scan", []call{scan(nil)}},
		{"you may settle and release", []call{update, deleteParts}},
		{"you may delete", []call{deleteItem}},
		{"you may run a handler", []call{put}},
	}
}
