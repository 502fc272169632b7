package stack

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	pollMin    = 50 * time.Millisecond
	pollMax    = time.Second
	readyLimit = time.Minute
)

// Table is a table of a stack as the calls of DynamoDB's API that make one like it.
type Table struct {
	Create *dynamodb.CreateTableInput
	// TimeToLive is nil if the table has none.
	TimeToLive *dynamodb.UpdateTimeToLiveInput
}

// beside are the properties of a table that say nothing about the items it takes.
var beside = []string{"PointInTimeRecoverySpecification", "DeletionProtectionEnabled", "SSESpecification"}

// The tables of template.yaml, by the names of their resources.
const (
	Records = "Table"
	Orders  = "OrdersTable"
	Outbox  = "OutboxTable"
)

// Table is the table of a resource, such as [Records], under another name. A property that it would have to leave out is an error.
func (s *Stack) Table(resource, name string) (Table, error) {
	r, found := s.Of("AWS::DynamoDB::Table")[resource]
	if !found {
		return Table{}, fmt.Errorf("stack: there is no table %s", resource)
	}
	t, err := tableOf(r, name)
	if err != nil {
		return Table{}, fmt.Errorf("stack: table %s: %w", resource, err)
	}
	return t, nil
}

func tableOf(r Resource, name string) (Table, error) {
	t := Table{Create: &dynamodb.CreateTableInput{TableName: aws.String(name)}}
	for _, property := range slices.Sorted(maps.Keys(r.Properties)) {
		value := r.Properties[property]
		switch {
		case property == "BillingMode":
			t.Create.BillingMode = types.BillingMode(fmt.Sprint(value))
		case property == "AttributeDefinitions":
			for _, d := range elements(value) {
				t.Create.AttributeDefinitions = append(t.Create.AttributeDefinitions, types.AttributeDefinition{
					AttributeName: text(d, "AttributeName"),
					AttributeType: types.ScalarAttributeType(fmt.Sprint(member(d, "AttributeType"))),
				})
			}
		case property == "KeySchema":
			t.Create.KeySchema = keySchema(value)
		case property == "GlobalSecondaryIndexes":
			for _, i := range elements(value) {
				index, err := indexOf(i)
				if err != nil {
					return Table{}, err
				}
				t.Create.GlobalSecondaryIndexes = append(t.Create.GlobalSecondaryIndexes, index)
			}
		case property == "StreamSpecification":
			t.Create.StreamSpecification = &types.StreamSpecification{
				StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewType(fmt.Sprint(member(value, "StreamViewType"))),
			}
		case property == "TimeToLiveSpecification":
			t.TimeToLive = &dynamodb.UpdateTimeToLiveInput{
				TableName: aws.String(name),
				TimeToLiveSpecification: &types.TimeToLiveSpecification{
					AttributeName: text(value, "AttributeName"), Enabled: aws.Bool(member(value, "Enabled") == true),
				},
			}
		case !slices.Contains(beside, property):
			return Table{}, fmt.Errorf("the property %s is not known", property)
		}
	}
	return t, nil
}

func keySchema(value any) (schema []types.KeySchemaElement) {
	for _, k := range elements(value) {
		schema = append(schema, types.KeySchemaElement{
			AttributeName: text(k, "AttributeName"), KeyType: types.KeyType(fmt.Sprint(member(k, "KeyType"))),
		})
	}
	return schema
}

func indexOf(definition any) (types.GlobalSecondaryIndex, error) {
	var index types.GlobalSecondaryIndex
	properties, _ := definition.(map[string]any)
	for _, property := range slices.Sorted(maps.Keys(properties)) {
		value := properties[property]
		switch property {
		case "IndexName":
			index.IndexName = text(definition, property)
		case "KeySchema":
			index.KeySchema = keySchema(value)
		case "Projection":
			index.Projection = &types.Projection{ProjectionType: types.ProjectionType(fmt.Sprint(member(value, "ProjectionType")))}
			for _, name := range elements(member(value, "NonKeyAttributes")) {
				index.Projection.NonKeyAttributes = append(index.Projection.NonKeyAttributes, fmt.Sprint(name))
			}
		default:
			return index, fmt.Errorf("the property %s of an index is not known", property)
		}
	}
	return index, nil
}

// Make creates the table. One that exists is an error.
func (t Table) Make(ctx context.Context, client *dynamodb.Client) error {
	if _, err := client.CreateTable(ctx, t.Create); err != nil {
		return fmt.Errorf("create table %q: %w", *t.Create.TableName, err)
	}
	ready := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = pollMin, pollMax
	})
	if err := ready.Wait(ctx, &dynamodb.DescribeTableInput{TableName: t.Create.TableName}, readyLimit); err != nil {
		return fmt.Errorf("table %q is not ready: %w", *t.Create.TableName, err)
	}
	if t.TimeToLive == nil {
		return nil
	}
	if _, err := client.UpdateTimeToLive(ctx, t.TimeToLive); err != nil {
		return fmt.Errorf("enable time to live of table %q: %w", *t.Create.TableName, err)
	}
	return nil
}

func elements(value any) []any {
	list, _ := value.([]any)
	return list
}

func text(object any, name string) *string { return aws.String(fmt.Sprint(member(object, name))) }
