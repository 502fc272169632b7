package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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
// The tables, by name or ARN, are those into which handlers [Commit]: each has to be there, ready, in the account and Region of the
// table of the store. They and the table of the store have to have transactions, which a table with multi-Region strong consistency has
// not. Of these it needs dynamodb:DescribeTable alone.
//
// Such a table cannot have time to live either, so as the table of the store it is right without: [Store.Advise] says what has to be done.
//
// What is wrong with a table is a [*store.ConfigError] with all problems. A table without the [AttentionIndex] is right: of that
// [Store.Advise] tells. A table that cannot be looked at
// is a [*store.Error] with Op "check": Kind is FailureMissingTable if there is none, FailureAccessDenied if
// one of the two actions is not allowed, in which case nothing is said about the request path.
func (s *Store) Check(ctx context.Context, tables ...string) error {
	if s.unmade() {
		return &store.ConfigError{Problems: []string{errUnmade.Error()}}
	}
	d, ok := s.client.(Describer)
	if !ok {
		return &store.ConfigError{Problems: []string{
			fmt.Sprintf("table %q cannot be checked: client %T has no DescribeTable and DescribeTimeToLive", s.table, s.client),
		}}
	}
	c := checker{Describer: d, commits: len(tables) > 0}
	c.checkRecords(ctx, s.table, s.attr)
	if _, ok := s.client.(Transactor); !ok && c.commits {
		c.problems = append(c.problems, fmt.Sprintf("client %T has no TransactWriteItems: there is no commit with it", s.client))
	}
	for _, table := range tables {
		c.checkCommitted(ctx, table)
	}
	return c.result()
}

// checker looks at tables and collects what is wrong with them.
type checker struct {
	Describer

	commits  bool   // handlers commit
	place    string // account and Region of the table of records, empty if it is not known
	problems []string
	errs     []error
}

// result is what was found.
func (c *checker) result() error {
	if len(c.problems) == 0 {
		return errors.Join(c.errs...)
	}
	return errors.Join(append([]error{&store.ConfigError{Problems: c.problems}}, c.errs...)...)
}

func (c *checker) found(table string, problems ...string) {
	c.problems = append(c.problems, ofTable(table, problems)...)
}

// checkRecords looks at the table of records.
func (c *checker) checkRecords(ctx context.Context, table string, a attributes) {
	out, err := c.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(table)})
	if err != nil {
		c.errs = append(c.errs, checkError("DescribeTable", table, err))
		return
	}
	c.place = placeOf(aws.ToString(out.Table.TableArn))
	c.found(table, slices.Concat(statusProblems(out.Table), keyProblems(out.Table, a), attentionProblems(out.Table, a))...)
	if c.commits && isStrong(out.Table) {
		c.found(table, "it has multi-Region strong consistency, and so no transactions: no handler can commit")
	}
	if isStrong(out.Table) {
		return // it can have no time to live, see Advise
	}
	ttl, err := c.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(table)})
	if err != nil {
		c.errs = append(c.errs, checkError("DescribeTimeToLive", table, err))
		return
	}
	c.found(table, timeToLiveProblems(ttl.TimeToLiveDescription, a)...)
}

// checkCommitted looks at a table into which handlers commit.
func (c *checker) checkCommitted(ctx context.Context, table string) {
	if !isTable(table) {
		c.found(table, "that is not the name or ARN of a DynamoDB table")
		return
	}
	out, err := c.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(table)})
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
		c.found(table, "there is none in this account and Region")
		return
	}
	if err != nil {
		c.errs = append(c.errs, checkError("DescribeTable", table, err))
		return
	}
	c.found(table, statusProblems(out.Table)...)
	if isStrong(out.Table) {
		c.found(table, "it has multi-Region strong consistency, and so no transactions: nothing can be committed into it")
	}
	if place := placeOf(aws.ToString(out.Table.TableArn)); place != "" && c.place != "" && place != c.place {
		c.found(table, "it is in another account or Region than the table of records, and no transaction spans two")
	}
}

func isStrong(t *types.TableDescription) bool {
	return t.MultiRegionConsistency == types.MultiRegionConsistencyStrong
}

// Advise says, in sentences, what the table lacks that no request needs: the [AttentionIndex], without which operators have to read
// the whole table to find what they have to settle, and time to live where it has multi-Region strong consistency, without which
// [DeleteExpired] has to delete what has expired. What is wrong is the business of [Store.Check]. It needs the IAM action
// dynamodb:DescribeTable; errors are those of Check.
func (s *Store) Advise(ctx context.Context) ([]string, error) {
	d, ok := s.client.(tableDescriber)
	if !ok {
		return nil, &store.ConfigError{Problems: []string{
			fmt.Sprintf("table %q cannot be looked at: client %T has no DescribeTable", s.table, s.client),
		}}
	}
	out, err := d.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(s.table)})
	if err != nil {
		return nil, checkError("DescribeTable", s.table, err)
	}
	advice := indexAdvice(out.Table, s.attr)
	if isStrong(out.Table) {
		advice = append(advice, "it has multi-Region strong consistency, and so no time to live: what has expired stays until DeleteExpired deletes it")
	}
	return ofTable(s.table, advice), nil
}

// tableDescriber is the part of a client that looks at the table.
type tableDescriber interface {
	DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, optFns ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
}

// indexAdvice says why the records with attention cannot be listed by an index, if they cannot.
func indexAdvice(t *types.TableDescription, a attributes) (advice []string) {
	index := indexOf(t)
	if index == nil {
		return []string{fmt.Sprintf("there is no index %q: to find what somebody has to settle, the whole table has to be read", AttentionIndex)}
	}
	if !ready(index) {
		advice = append(advice, fmt.Sprintf("index %q: status is %s, not %s", AttentionIndex, index.IndexStatus, types.IndexStatusActive))
	}
	for _, want := range a.index().KeySchema {
		if has, name := keyIn(index.KeySchema, want.KeyType), aws.ToString(want.AttributeName); has != name {
			advice = append(advice, fmt.Sprintf("index %q: %s is %q, expected %q", AttentionIndex, keyKind(want.KeyType), has, name))
		}
	}
	p := index.Projection
	for _, name := range a.projected() {
		if p == nil || p.ProjectionType != types.ProjectionTypeAll && !slices.Contains(p.NonKeyAttributes, name) {
			advice = append(advice, fmt.Sprintf("index %q: %q is not projected", AttentionIndex, name))
		}
	}
	return advice
}

// indexOf returns the index of the records with attention, nil if there is none.
func indexOf(t *types.TableDescription) *types.GlobalSecondaryIndexDescription {
	for i, index := range t.GlobalSecondaryIndexes {
		if aws.ToString(index.IndexName) == AttentionIndex {
			return &t.GlobalSecondaryIndexes[i]
		}
	}
	return nil
}

// ready reports whether an index can be read.
func ready(index *types.GlobalSecondaryIndexDescription) bool {
	return index.IndexStatus == types.IndexStatusActive || index.IndexStatus == types.IndexStatusUpdating
}

// attentionProblems finds an index, of whatever name, that has the attributes of an attention as another type: DynamoDB refuses to
// write a record that it cannot index.
func attentionProblems(t *types.TableDescription, a attributes) (problems []string) {
	for _, want := range []struct {
		at   attribute
		kind types.ScalarAttributeType
	}{{a.attention, types.ScalarAttributeTypeS}, {a.attentionAt, types.ScalarAttributeTypeN}} {
		if has := typeOf(t, want.at.name); has != "" && has != want.kind {
			problems = append(problems, fmt.Sprintf("attribute %q has type %s in an index, expected %s: no record can become UNKNOWN",
				want.at.name, has, want.kind))
		}
	}
	return problems
}

// ofTable puts the name of the table before each sentence.
func ofTable(table string, sentences []string) []string {
	for i, s := range sentences {
		sentences[i] = fmt.Sprintf("table %q: %s", table, s)
	}
	return sentences
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
func keyOf(t *types.TableDescription, kind types.KeyType) string { return keyIn(t.KeySchema, kind) }

func keyIn(schema []types.KeySchemaElement, kind types.KeyType) string {
	for _, k := range schema {
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
	if has := typeOf(t, want.name); has != "" && has != types.ScalarAttributeTypeS {
		problems = append(problems, fmt.Sprintf("%s %q has type %s, expected S", keyKind(want.kind), want.name, has))
	}
	return problems
}

// typeOf returns the type of an attribute that is part of a key, of the table or of an index, else "".
func typeOf(t *types.TableDescription, name string) types.ScalarAttributeType {
	for _, d := range t.AttributeDefinitions {
		if aws.ToString(d.AttributeName) == name {
			return d.AttributeType
		}
	}
	return ""
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

// placeOf is the Region and account of a table that is given by its ARN, else empty.
func placeOf(table string) string {
	arn := strings.Split(table, ":")
	if len(arn) != 6 {
		return ""
	}
	return arn[3] + ":" + arn[4]
}
