// Package table creates tables for the packages that define one, and compares tables with their
// definitions.
package table

import (
	"context"
	"errors"
	"fmt"
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
	if err := wait(ctx, client, name); err != nil {
		return err
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

func wait(ctx context.Context, client Creator, name string) error {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)})
		_, missing := errors.AsType[*types.ResourceNotFoundException](err)
		switch {
		case err != nil && !missing: // a new table may not be visible at once
			return fmt.Errorf("describe table %q: %w", name, err)
		case err == nil && Usable(out.Table):
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("table %q is not ready: %w", name, ctx.Err())
		}
	}
}

func hasTimeToLive(ctx context.Context, client Creator, name string) (bool, error) {
	out, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(name)})
	if err != nil {
		return false, fmt.Errorf("describe time to live of table %q: %w", name, err)
	}
	d := out.TimeToLiveDescription
	return d != nil && d.TimeToLiveStatus != types.TimeToLiveStatusDisabled, nil
}

// Usable reports whether a table can be read and written.
func Usable(t *types.TableDescription) bool {
	return t.TableStatus == types.TableStatusActive || t.TableStatus == types.TableStatusUpdating
}
