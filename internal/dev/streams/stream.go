package streams

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// StreamARN returns the ARN of the stream of a table.
func StreamARN(ctx context.Context, client dynamodb.DescribeTableAPIClient, table string) (string, error) {
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(table)})
	if err != nil {
		return "", fmt.Errorf("streams: look at the table %s: %w", table, err)
	}
	if out.Table.LatestStreamArn == nil {
		return "", fmt.Errorf("streams: the table %s has no stream", table)
	}
	return *out.Table.LatestStreamArn, nil
}
