package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/dynamo"
)

// tryout is a task with the calls that it takes. Each call changes nothing.
type tryout struct {
	check string
	calls []func(ctx context.Context, p *Patient, key map[string]types.AttributeValue) error
}

// tryouts are what the commands do. Calls read, or write under a condition that never holds, or delete a record whose key nobody
// can have: it is random.
func tryouts() []tryout {
	type calls = []func(ctx context.Context, p *Patient, key map[string]types.AttributeValue) error
	return []tryout{
		{"you may inspect", calls{getItem, batchGetItem}},
		{"you may list by index", calls{queryIndex, scanIndex}},
		{"you may list by scan", calls{scanTable}},
		{"you may settle and release", calls{updateItem, batchWriteItem}},
		{"you may delete", calls{deleteItem}},
		{"you may run a handler", calls{putItem}},
	}
}

// permissions tries what the credentials of this program may do. What the role of the function may do is its own matter.
func (p *Patient) permissions(ctx context.Context) []Finding {
	tryouts := tryouts()
	findings := make([]Finding, 0, len(tryouts))
	operation := p.Operation
	if operation == "" {
		operation = "idempotent-doctor"
	}
	key := p.Key(operation + "#idempotent-doctor-" + rand.Text())
	for _, t := range tryouts {
		if p.Emulator != "" {
			findings = append(findings, p.emulated(t.check))
			continue
		}
		findings = append(findings, p.try(ctx, t, key, operation))
	}
	return findings
}

func (p *Patient) try(ctx context.Context, t tryout, key map[string]types.AttributeValue, operation string) Finding {
	var refused []string
	for _, call := range t.calls {
		err := call(ctx, p, key)
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
		return Finding{t.check, Warning, fmt.Sprintf("not allowed: %s, with a key of operation %q", strings.Join(refused, ", "), operation)}
	}
	return Finding{Check: t.check, Result: OK}
}

// never is a condition that no item meets, about an attribute of the key.
const never = "attribute_exists(#key) AND attribute_not_exists(#key)"

// names are those of the condition.
func names(key map[string]types.AttributeValue) map[string]string {
	for name := range key {
		return map[string]string{"#key": name}
	}
	return nil
}

func getItem(ctx context.Context, p *Patient, key map[string]types.AttributeValue) error {
	_, err := p.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(p.Table), Key: key, ConsistentRead: aws.Bool(true)})
	return err
}

func batchGetItem(ctx context.Context, p *Patient, key map[string]types.AttributeValue) error {
	_, err := p.DynamoDB.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		p.Table: {Keys: []map[string]types.AttributeValue{key}},
	}})
	return err
}

func putItem(ctx context.Context, p *Patient, key map[string]types.AttributeValue) error {
	_, err := p.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String(p.Table), Item: key, ConditionExpression: aws.String(never), ExpressionAttributeNames: names(key),
	})
	return err
}

func updateItem(ctx context.Context, p *Patient, key map[string]types.AttributeValue) error {
	_, err := p.DynamoDB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String(p.Table), Key: key, ConditionExpression: aws.String(never), ExpressionAttributeNames: names(key),
	})
	return err
}

func deleteItem(ctx context.Context, p *Patient, key map[string]types.AttributeValue) error {
	_, err := p.DynamoDB.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: aws.String(p.Table), Key: key, ConditionExpression: aws.String(never), ExpressionAttributeNames: names(key),
	})
	return err
}

// batchWriteItem deletes what is not there: this call knows no conditions.
func batchWriteItem(ctx context.Context, p *Patient, key map[string]types.AttributeValue) error {
	_, err := p.DynamoDB.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{
		p.Table: {{DeleteRequest: &types.DeleteRequest{Key: key}}},
	}})
	return err
}

func queryIndex(ctx context.Context, p *Patient, _ map[string]types.AttributeValue) error {
	index, err := p.index(ctx)
	if err != nil {
		return err
	}
	_, err = p.DynamoDB.Query(ctx, &dynamodb.QueryInput{
		TableName: aws.String(p.Table), IndexName: aws.String(dynamo.AttentionIndex), Limit: aws.Int32(1),
		KeyConditionExpression: aws.String("#key = :none"), ExpressionAttributeNames: map[string]string{"#key": index},
		ExpressionAttributeValues: map[string]types.AttributeValue{":none": &types.AttributeValueMemberS{Value: "idempotent-doctor"}},
	})
	return err
}

func scanIndex(ctx context.Context, p *Patient, _ map[string]types.AttributeValue) error {
	if _, err := p.index(ctx); err != nil {
		return err
	}
	_, err := p.DynamoDB.Scan(ctx, &dynamodb.ScanInput{
		TableName: aws.String(p.Table), IndexName: aws.String(dynamo.AttentionIndex), Limit: aws.Int32(1),
	})
	return err
}

func scanTable(ctx context.Context, p *Patient, _ map[string]types.AttributeValue) error {
	_, err := p.DynamoDB.Scan(ctx, &dynamodb.ScanInput{TableName: aws.String(p.Table), Limit: aws.Int32(1)})
	return err
}

var errNoIndex = errors.New("the table has no such index")

// index returns the partition key of the index.
func (p *Patient) index(ctx context.Context) (string, error) {
	out, err := p.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(p.Table)})
	if err != nil {
		return "", err
	}
	for _, index := range out.Table.GlobalSecondaryIndexes {
		if aws.ToString(index.IndexName) == dynamo.AttentionIndex && len(index.KeySchema) > 0 {
			return aws.ToString(index.KeySchema[0].AttributeName), nil
		}
	}
	return "", errNoIndex
}
