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

func create(t *testing.T, client table.Creator) error {
	t.Helper()
	return table.Create(t.Context(), client,
		&dynamodb.CreateTableInput{TableName: aws.String("t")}, &dynamodb.UpdateTimeToLiveInput{})
}

func TestTimeToLiveThatAnotherProcessEnabledIsNoFailure(t *testing.T) {
	t.Parallel()
	client := &rejecting{somebody: true}
	require.NoError(t, create(t, client))
	assert.Equal(t, 1, client.enabled)
}

func TestTimeToLiveThatNobodyEnabledIsAFailure(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, create(t, &rejecting{}), errRejected)
}
