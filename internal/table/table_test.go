package table_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/table"
)

var errRejected = errors.New("TimeToLive is already enabled")

// rejecting is a table whose time to live somebody enables after it was described, or nobody.
type rejecting struct {
	somebody bool
	enabled  int
}

func (*rejecting) CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options),
) (*dynamodb.CreateTableOutput, error) {
	return nil, &types.ResourceInUseException{}
}

func (*rejecting) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options),
) (*dynamodb.DescribeTableOutput, error) {
	return &dynamodb.DescribeTableOutput{Table: &types.TableDescription{TableStatus: types.TableStatusActive}}, nil
}

func (r *rejecting) DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options),
) (*dynamodb.DescribeTimeToLiveOutput, error) {
	status := types.TimeToLiveStatusDisabled
	if r.enabled > 0 && r.somebody {
		status = types.TimeToLiveStatusEnabled
	}
	return &dynamodb.DescribeTimeToLiveOutput{
		TimeToLiveDescription: &types.TimeToLiveDescription{TimeToLiveStatus: status},
	}, nil
}

func (r *rejecting) UpdateTimeToLive(context.Context, *dynamodb.UpdateTimeToLiveInput, ...func(*dynamodb.Options),
) (*dynamodb.UpdateTimeToLiveOutput, error) {
	r.enabled++
	return nil, errRejected
}

func TestTimeToLiveThatAnotherProcessEnabledIsNoFailure(t *testing.T) {
	t.Parallel()
	create := func(client *rejecting) error {
		return table.Create(t.Context(), client,
			&dynamodb.CreateTableInput{TableName: aws.String("t")}, &dynamodb.UpdateTimeToLiveInput{})
	}
	client := &rejecting{somebody: true}
	require.NoError(t, create(client))
	assert.Equal(t, 1, client.enabled)
	require.ErrorIs(t, create(&rejecting{}), errRejected, "nobody has enabled it")
}

// keyed is a key of these attributes.
func keyed(names ...string) (schema []types.KeySchemaElement) {
	for _, name := range names {
		schema = append(schema, types.KeySchemaElement{AttributeName: aws.String(name)})
	}
	return schema
}

func typed(name string, as types.ScalarAttributeType) types.AttributeDefinition {
	return types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: as}
}

func TestCompareNamesWhatDiffers(t *testing.T) {
	t.Parallel()
	want := &dynamodb.CreateTableInput{
		KeySchema:            keyed("id"),
		AttributeDefinitions: []types.AttributeDefinition{typed("id", "S"), typed("due", "N")},
	}
	for name, c := range map[string]struct {
		key      []types.KeySchemaElement
		types    []types.AttributeDefinition
		problems []string
	}{
		"nothing":            {keyed("id"), want.AttributeDefinitions, nil},
		"an index is absent": {keyed("id"), want.AttributeDefinitions[:1], nil},
		"the key":            {keyed("pk"), nil, []string{`partition key is "pk", expected "id"`}},
		"a sort key":         {keyed("id", "sk"), nil, []string{`partition key is "id" with the sort key "sk", expected "id"`}},
		"types": {keyed("id"), []types.AttributeDefinition{typed("id", "N"), typed("due", "S")}, []string{
			`key attribute "id" has type N, expected S`,
			`attribute "due" has type S in an index, expected N: no item that has it can be written`,
		}},
	} {
		has := &types.TableDescription{KeySchema: c.key, AttributeDefinitions: c.types}
		assert.Equal(t, c.problems, table.Compare(has, want), name)
	}
}

func TestCompareIndexSaysWhyItCannotBeRead(t *testing.T) {
	t.Parallel()
	const notReady, notProjected = `index "i": status is CREATING, not ACTIVE`, `index "i": "at" is not projected`
	type described = types.GlobalSecondaryIndexDescription
	for name, c := range map[string]struct {
		change   func(d *described)
		problems []string
	}{
		"it is right":  {func(*described) {}, nil},
		"its capacity": {func(d *described) { d.IndexStatus = types.IndexStatusUpdating }, nil},
		"it has everything": {func(d *described) {
			d.Projection = &types.Projection{ProjectionType: types.ProjectionTypeAll}
		}, nil},
		"in the making":     {func(d *described) { d.IndexStatus = types.IndexStatusCreating }, []string{notReady}},
		"it has too little": {func(d *described) { d.Projection.NonKeyAttributes = nil }, []string{notProjected}},
		"nothing is told":   {func(d *described) { d.Projection = nil }, []string{notProjected}},
		"another key": {func(d *described) { d.KeySchema = keyed("shard", "later") }, []string{
			`index "i": partition key is "shard" with the sort key "later", expected "shard" with the sort key "due"`,
		}},
		"there is none": {func(d *described) { d.IndexName = aws.String("j") }, []string{
			`there is no index "i": nobody finds anything`,
		}},
	} {
		includes := func() *types.Projection { return &types.Projection{NonKeyAttributes: []string{"at"}} }
		want := types.GlobalSecondaryIndex{
			IndexName: aws.String("i"), KeySchema: keyed("shard", "due"), Projection: includes(),
		}
		d := described{
			IndexName: want.IndexName, IndexStatus: types.IndexStatusActive, KeySchema: want.KeySchema,
			Projection: includes(),
		}
		c.change(&d)
		has := &types.TableDescription{GlobalSecondaryIndexes: []described{{IndexName: aws.String("other")}, d}}
		assert.Equal(t, c.problems, table.CompareIndex(has, want, "nobody finds anything"), name)
	}
}

func TestCompareTimeToLive(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		described *types.TimeToLiveDescription
		problems  []string
	}{
		{nil, []string{`time to live is DISABLED, expected ENABLED on "ttl"`}},
		{live("DISABLING", "ttl"), []string{`time to live is DISABLING, expected ENABLED on "ttl"`}},
		{live("ENABLING", "ttl"), nil},
		{live("ENABLED", "ttl"), nil},
		{live("ENABLED", "expires"), []string{`time to live is on "expires", expected on "ttl"`}},
	} {
		assert.Equal(t, c.problems, table.CompareTimeToLive(c.described, "ttl"))
	}
}

func live(status types.TimeToLiveStatus, on string) *types.TimeToLiveDescription {
	return &types.TimeToLiveDescription{TimeToLiveStatus: status, AttributeName: aws.String(on)}
}
