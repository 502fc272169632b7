// Package table creates tables for the packages that define one, and compares tables with their
// definitions.
package table

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	limit = 5 * time.Minute
	poll  = 200 * time.Millisecond
)

// Creator is what [Create] needs of a client.
type Creator interface {
	dynamodb.DescribeTableAPIClient
	DescribeTimeToLive(ctx context.Context, in *dynamodb.DescribeTimeToLiveInput,
		optFns ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error)
	CreateTable(ctx context.Context, in *dynamodb.CreateTableInput,
		optFns ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	UpdateTimeToLive(ctx context.Context, in *dynamodb.UpdateTimeToLiveInput,
		optFns ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error)
}

// Definition returns a table that is billed on demand. The attributes of its key are texts. Those
// of its one index are a text and a number, and the index includes some more.
func Definition(name string, key []string, index string, of [2]string, included ...string) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest, KeySchema: schemaOf(key),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String(index), KeySchema: schemaOf(of[:]),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: included},
		}},
	}
	for _, attribute := range slices.Concat(key, of[:]) {
		is := types.ScalarAttributeTypeS
		if attribute == of[1] {
			is = types.ScalarAttributeTypeN
		}
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			types.AttributeDefinition{AttributeName: aws.String(attribute), AttributeType: is})
	}
	return in
}

// schemaOf returns a key: a partition key, perhaps with a sort key.
func schemaOf(attributes []string) (key []types.KeySchemaElement) {
	for i, attribute := range attributes {
		kind := []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}[i]
		key = append(key, types.KeySchemaElement{AttributeName: aws.String(attribute), KeyType: kind})
	}
	return key
}

// TimeToLive is the call that enables the time to live of a table.
func TimeToLive(name, attribute string) *dynamodb.UpdateTimeToLiveInput {
	return &dynamodb.UpdateTimeToLiveInput{
		TableName: aws.String(name),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String(attribute), Enabled: aws.Bool(true),
		},
	}
}

// Create creates the table, waits until it can be used, and enables its time to live. What exists
// already is left as it is. Several processes may create one table at the same time.
func Create(ctx context.Context, client Creator,
	definition *dynamodb.CreateTableInput, ttl *dynamodb.UpdateTimeToLiveInput,
) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	name := *definition.TableName
	_, err := client.CreateTable(ctx, definition)
	if _, exists := errors.AsType[*types.ResourceInUseException](err); err != nil && !exists {
		return fmt.Errorf("create table %q: %w", name, err)
	}
	describe := &dynamodb.DescribeTableInput{TableName: definition.TableName}
	if err := dynamodb.NewTableExistsWaiter(client, often).Wait(ctx, describe, limit); err != nil {
		return fmt.Errorf("table %q is not ready: %w", name, err)
	}
	has, err := hasTimeToLive(ctx, client, name)
	if err != nil || has {
		return err
	}
	_, err = client.UpdateTimeToLive(ctx, ttl)
	if err == nil {
		return nil
	}
	// DynamoDB rejects it where another process, or an earlier try of this one, has enabled it.
	if has, again := hasTimeToLive(ctx, client, name); again == nil && has {
		return nil
	}
	return fmt.Errorf("enable time to live of table %q: %w", name, err)
}

func often(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay, o.MaxDelay = poll, poll }

func hasTimeToLive(ctx context.Context, client Creator, name string) (bool, error) {
	out, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(name)})
	if err != nil {
		return false, fmt.Errorf("describe time to live of table %q: %w", name, err)
	}
	d := out.TimeToLiveDescription
	return d != nil && d.TimeToLiveStatus != types.TimeToLiveStatusDisabled, nil
}

// Of puts the name of what they are about before each sentence.
func Of(kind, name string, sentences []string) []string {
	for i, s := range sentences {
		sentences[i] = fmt.Sprintf("%s %q: %s", kind, name, s)
	}
	return sentences
}

// Status says why a table cannot be read and written now, if it cannot.
func Status(t *types.TableDescription) []string {
	if t.TableStatus == types.TableStatusActive || t.TableStatus == types.TableStatusUpdating {
		return nil
	}
	return []string{fmt.Sprintf("status is %s, not %s", t.TableStatus, types.TableStatusActive)}
}

// Strong reports whether a table has multi-Region strong consistency. It has neither transactions
// nor time to live.
func Strong(t *types.TableDescription) bool {
	return t.MultiRegionConsistency == types.MultiRegionConsistencyStrong
}

// Compare says what of a table is not as its definition has it: the key, and the types of the
// attributes of keys. Those of an index count, whatever its name is, because DynamoDB refuses to
// write an item that it cannot index.
func Compare(t *types.TableDescription, want *dynamodb.CreateTableInput) []string {
	problems := keyProblems(t.KeySchema, want.KeySchema)
	for _, d := range want.AttributeDefinitions {
		for _, has := range t.AttributeDefinitions {
			name := aws.ToString(d.AttributeName)
			if aws.ToString(has.AttributeName) != name || has.AttributeType == d.AttributeType {
				continue
			}
			problem := fmt.Sprintf("attribute %q has type %s in an index, expected %s: no item that has it can be written",
				name, has.AttributeType, d.AttributeType)
			isKey := func(k types.KeySchemaElement) bool { return *k.AttributeName == name }
			if slices.ContainsFunc(want.KeySchema, isKey) {
				problem = fmt.Sprintf("key attribute %q has type %s, expected %s", name, has.AttributeType, d.AttributeType)
			}
			problems = append(problems, problem)
		}
	}
	return problems
}

func keyProblems(has, want []types.KeySchemaElement) []string {
	if keyOf(has) == keyOf(want) {
		return nil
	}
	return []string{fmt.Sprintf("partition key is %s, expected %s", keyOf(has), keyOf(want))}
}

// keyOf is a key in words. The partition key is its first part.
func keyOf(schema []types.KeySchemaElement) string {
	names := make([]string, len(schema))
	for i, k := range schema {
		names[i] = strconv.Quote(aws.ToString(k.AttributeName))
	}
	return strings.Join(names, " with the sort key ")
}

// CompareIndex says why the index of a definition cannot be read as it was meant, if it cannot. If
// there is none, it says what follows from that, too.
func CompareIndex(t *types.TableDescription, want types.GlobalSecondaryIndex, without string) (problems []string) {
	name := aws.ToString(want.IndexName)
	index := Index(t, name)
	if index == nil {
		return []string{fmt.Sprintf("there is no index %q: %s", name, without)}
	}
	if !Ready(index) {
		problems = append(problems, fmt.Sprintf("status is %s, not %s", index.IndexStatus, types.IndexStatusActive))
	}
	problems = append(problems, keyProblems(index.KeySchema, want.KeySchema)...)
	p := index.Projection
	for _, attribute := range want.Projection.NonKeyAttributes {
		if p == nil || p.ProjectionType != types.ProjectionTypeAll && !slices.Contains(p.NonKeyAttributes, attribute) {
			problems = append(problems, fmt.Sprintf("%q is not projected", attribute))
		}
	}
	return Of("index", name, problems)
}

// Index returns the index of a table with this name, nil if there is none.
func Index(t *types.TableDescription, name string) *types.GlobalSecondaryIndexDescription {
	for i, index := range t.GlobalSecondaryIndexes {
		if aws.ToString(index.IndexName) == name {
			return &t.GlobalSecondaryIndexes[i]
		}
	}
	return nil
}

// Ready reports whether an index can be read.
func Ready(index *types.GlobalSecondaryIndexDescription) bool {
	return index.IndexStatus == types.IndexStatusActive || index.IndexStatus == types.IndexStatusUpdating
}

// CompareTimeToLive says what is wrong with the time to live of a table, if it is not enabled on
// this attribute.
func CompareTimeToLive(ttl *types.TimeToLiveDescription, expected string) []string {
	status, name := types.TimeToLiveStatusDisabled, ""
	if ttl != nil {
		status, name = ttl.TimeToLiveStatus, aws.ToString(ttl.AttributeName)
	}
	switch {
	case status != types.TimeToLiveStatusEnabled && status != types.TimeToLiveStatusEnabling:
		return []string{
			fmt.Sprintf("time to live is %s, expected %s on %q", status, types.TimeToLiveStatusEnabled, expected),
		}
	case name != expected:
		return []string{fmt.Sprintf("time to live is on %q, expected on %q", name, expected)}
	}
	return nil
}
