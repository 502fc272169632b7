package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/store"
)

// Describer is what [Store.Check] needs of a client beyond [Client]; [*dynamodb.Client] implements it.
type Describer interface {
	DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, optFns ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	DescribeTimeToLive(ctx context.Context, in *dynamodb.DescribeTimeToLiveInput, optFns ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error)
}

// Check compares the table with what the store needs. It is meant for deployments and for the start of a process, not for
// the request path, and needs the IAM actions dynamodb:DescribeTable and dynamodb:DescribeTimeToLive.
//
// What is wrong with the table is a [*store.ConfigError] with all problems. A table that cannot be looked at
// is a [*store.Error] with Op "check": Kind is FailureMissingTable if there is none, FailureAccessDenied if
// one of the two actions is not allowed, in which case nothing is said about the request path.
func (s *Store) Check(ctx context.Context) error {
	if s.unmade() {
		return &store.ConfigError{Problems: []string{errUnmade.Error()}}
	}
	d, ok := s.client.(Describer)
	if !ok {
		return &store.ConfigError{Problems: []string{
			fmt.Sprintf("table %q cannot be checked: client %T has no DescribeTable and DescribeTimeToLive", s.table, s.client),
		}}
	}
	return checkTable(ctx, d, s.table, s.attr)
}

func checkTable(ctx context.Context, d Describer, table string, a attributes) error {
	out, err := d.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(table)})
	if err != nil {
		return checkError("DescribeTable", table, err)
	}
	problems := append(statusProblems(out.Table), keyProblems(out.Table, a)...)

	ttl, err := d.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(table)})
	if err == nil {
		problems = append(problems, timeToLiveProblems(ttl.TimeToLiveDescription, a)...)
	} else {
		err = checkError("DescribeTimeToLive", table, err)
	}
	if len(problems) == 0 {
		return err
	}
	for i, p := range problems {
		problems[i] = fmt.Sprintf("table %q: %s", table, p)
	}
	return errors.Join(&store.ConfigError{Problems: problems}, err)
}

func checkError(call, table string, err error) error {
	kind := kindOf(err)
	return &store.Error{
		Op: "check", Kind: kind, NotApplied: nothingWritten,
		Err: fmt.Errorf("%s of table %q: %w", call, table, speakable(err, kind)),
	}
}

func statusProblems(t *types.TableDescription) []string {
	if slices.Contains([]types.TableStatus{types.TableStatusActive, types.TableStatusUpdating}, t.TableStatus) {
		return nil
	}
	return []string{fmt.Sprintf("status is %s, not %s", t.TableStatus, types.TableStatusActive)}
}

func keyProblems(t *types.TableDescription, a attributes) (problems []string) {
	for _, want := range a.primaryKey() {
		has := keyOf(t, want.kind)
		switch {
		case has == "":
			problems = append(problems, fmt.Sprintf("there is no %s, expected %q", keyKind(want.kind), want.name))
		case has != want.name:
			problems = append(problems, fmt.Sprintf("%s is %q, expected %q", keyKind(want.kind), has, want.name))
		default:
			problems = append(problems, keyTypeProblems(t, want)...)
		}
	}
	if has := keyOf(t, types.KeyTypeRange); has != "" && !a.composite() {
		problems = append(problems, fmt.Sprintf("sort key is %q, expected none", has))
	}
	return problems
}

// keyOf returns the name of a part of the table's key, "" if it has none.
func keyOf(t *types.TableDescription, kind types.KeyType) string {
	for _, k := range t.KeySchema {
		if k.KeyType == kind {
			return aws.ToString(k.AttributeName)
		}
	}
	return ""
}

func keyKind(kind types.KeyType) string {
	if kind == types.KeyTypeRange {
		return "sort key"
	}
	return "partition key"
}

func keyTypeProblems(t *types.TableDescription, want keyElement) (problems []string) {
	for _, d := range t.AttributeDefinitions {
		if aws.ToString(d.AttributeName) == want.name && d.AttributeType != types.ScalarAttributeTypeS {
			problems = append(problems, fmt.Sprintf("%s %q has type %s, expected S", keyKind(want.kind), want.name, d.AttributeType))
		}
	}
	return problems
}

func timeToLiveProblems(ttl *types.TimeToLiveDescription, a attributes) []string {
	var status types.TimeToLiveStatus
	var name string
	if ttl != nil {
		status, name = ttl.TimeToLiveStatus, aws.ToString(ttl.AttributeName)
	}
	switch {
	case status != types.TimeToLiveStatusEnabled && status != types.TimeToLiveStatusEnabling:
		return []string{fmt.Sprintf("time to live is %s, expected %s on %q",
			status, types.TimeToLiveStatusEnabled, a.expiration.name)}
	case name != a.expiration.name:
		return []string{fmt.Sprintf("time to live is on %q, expected on %q", name, a.expiration.name)}
	}
	return nil
}
