package dynamo_test

import (
	"context"
	"crypto/rand"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

type item = map[string]types.AttributeValue

// local returns a store on a table of its own on DynamoDB Local, whose client the functions adjust.
// It waits for every answer.
func local(t *testing.T, optFns ...func(*dynamodb.Options)) (s *dynamo.Store, client *dynamodb.Client, table string) {
	t.Helper()
	client = dynamolocal.Client(dynamolocal.Endpoint(t), append(optFns, dynamolocal.Unhurried)...)
	table = newTable(t)
	return dynamo.New(client, table), client, table
}

func newTable(t *testing.T) string {
	t.Helper()
	_, table := newTableOf(t)
	return table
}

// newTableOf makes a table with a name that no other test uses, for a store with these options, and
// removes it after the test.
func newTableOf(t *testing.T, opts ...dynamo.Config) (client *dynamodb.Client, table string) {
	t.Helper()
	client = dynamolocal.Client(dynamolocal.Endpoint(t), dynamolocal.Unhurried)
	table = "dynamo-test-" + rand.Text()
	require.NoError(t, dynamo.CreateTable(t.Context(), client, table, opts...))
	t.Cleanup(func() {
		_, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: aws.String(table)})
		require.NoError(t, err)
	})
	return client, table
}

func S(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func N(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
func B(b string) types.AttributeValue { return &types.AttributeValueMemberB{Value: []byte(b)} }

// record is a record in progress with a value in every field that one has.
func record(key string) store.Record {
	return store.Record{
		Key:         key,
		Status:      store.StatusInProgress,
		Owner:       "owner-1",
		Lease:       time.UnixMilli(1_800_000_030_123).UTC(),
		Expiry:      time.Unix(1_800_086_400, 0).UTC(),
		Fingerprint: "1:print",
		Attempt:     1,
		CreatedAt:   time.UnixMilli(1_800_000_000_007).UTC(),
	}
}

// completion is the record as its owner completes it.
func completion(r store.Record, result []byte) store.Record {
	r.Status, r.Result, r.Seal = store.StatusCompleted, result, store.Seal(r.Owner, result)
	return r
}

// claimTime is a time at which the records of these tests are live.
var claimTime = time.UnixMilli(1_800_000_000_999)

func putItem(t *testing.T, client *dynamodb.Client, table string, it item) {
	t.Helper()
	_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: it})
	require.NoError(t, err)
}

func getItem(t *testing.T, client *dynamodb.Client, table, id string) item {
	t.Helper()
	return getByKey(t, client, table, item{"id": S(id)})
}

func getByKey(t *testing.T, client *dynamodb.Client, table string, key item) item {
	t.Helper()
	out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(table), Key: key, ConsistentRead: aws.Bool(true),
	})
	require.NoError(t, err)
	return out.Item
}

// inBubble runs a test beside others in fake time, in which the pauses of the SDK take none.
// Nothing of it may talk to DynamoDB Local.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

// foreign lets the conformance suite write an attribute that no version knows.
func foreign(client *dynamodb.Client, table string) *storetest.Foreign {
	return &storetest.Foreign{
		Put: func(ctx context.Context, _ store.Store, key string) error {
			_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: aws.String(table), Key: item{"id": S(key)},
				UpdateExpression:          aws.String("SET foreign_attribute = :v"),
				ExpressionAttributeValues: item{":v": S("v")},
			})
			return err
		},
		Has: func(ctx context.Context, _ store.Store, key string) (bool, error) {
			out, err := client.GetItem(ctx, &dynamodb.GetItemInput{
				TableName: aws.String(table), Key: item{"id": S(key)}, ConsistentRead: aws.Bool(true),
			})
			if err != nil {
				return false, err
			}
			_, has := out.Item["foreign_attribute"]
			return has, nil
		},
	}
}

// mustClaim claims a key that is free.
func mustClaim(t *testing.T, s store.Store, r store.Record, now time.Time) {
	t.Helper()
	_, claimed, err := s.Claim(t.Context(), r, now)
	require.NoError(t, err)
	require.True(t, claimed)
}

// mustSwap puts next in the place of a record that is as it was seen.
func mustSwap(t *testing.T, s store.Store, seen, next store.Record) {
	t.Helper()
	_, swapped, err := s.Swap(t.Context(), seen, next)
	require.NoError(t, err)
	require.True(t, swapped)
}

// mustCommit is mustSwap with writes.
func mustCommit(t *testing.T, s store.Committer, seen, next store.Record, writes store.Writes, token string) {
	t.Helper()
	_, committed, err := s.Commit(t.Context(), seen, next, writes, token)
	require.NoError(t, err)
	require.True(t, committed)
}

// mustGet is the record under a key.
func mustGet(t *testing.T, s store.Store, key string) store.Record {
	t.Helper()
	r, found, err := s.Get(t.Context(), key)
	require.NoError(t, err)
	require.True(t, found)
	return r
}

// mustDelete deletes a record that is as it was seen.
func mustDelete(t *testing.T, s store.Store, seen store.Record) {
	t.Helper()
	deleted, err := s.Delete(t.Context(), seen)
	require.NoError(t, err)
	require.True(t, deleted)
}

// requireHeld requires that the store has this record.
func requireHeld(t *testing.T, s store.Store, want store.Record) {
	t.Helper()
	require.Equal(t, want, mustGet(t, s, want.Key))
}

// claims puts a record into the store.
func claims(t *testing.T, s store.Store, r store.Record) store.Record {
	t.Helper()
	mustClaim(t, s, r, claimTime)
	return r
}

// completes is what becomes of a record that is completed with this result.
func completes(t *testing.T, s store.Store, r store.Record, result []byte) store.Record {
	t.Helper()
	mustSwap(t, s, r, completion(r, result))
	return mustGet(t, s, r.Key)
}

// resultOf reads the result of a record, or of one of its steps, from its parts.
func resultOf(t *testing.T, s store.ResultReader, r store.Record) []byte {
	t.Helper()
	result, err := s.ReadResult(t.Context(), r)
	require.NoError(t, err)
	return result
}

// listed are the keys of the records that a listing finds.
func listed(t *testing.T, s *dynamo.Store, q store.Query) (keys []string) {
	t.Helper()
	for r, err := range s.List(t.Context(), q) {
		require.NoError(t, err)
		keys = append(keys, r.Key)
	}
	return keys
}

// problemsOf are those that a configuration error names.
func problemsOf(t *testing.T, err error) []string {
	t.Helper()
	var ce *store.ConfigError
	require.ErrorAs(t, err, &ce)
	return ce.Problems
}

// inEveryShape runs a test on a table of the usual shape, and on one where every name and the key
// are others.
func inEveryShape(t *testing.T, test func(t *testing.T, s *dynamo.Store, client *dynamodb.Client, table string,
	config ...dynamo.Config),
) {
	t.Helper()
	t.Parallel()
	for name, config := range map[string][]dynamo.Config{"the usual table": nil, "a table of another shape": shaped()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, table := newTableOf(t, config...)
			test(t, dynamo.New(client, table, config...), client, table, config...)
		})
	}
}

// unhurried gives the claim and the settlement a minute: what a handler is tested for must not
// depend on how busy the machine is.
func unhurried() idempotent.Option {
	return idempotent.WithTiming(idempotent.Timing{ClaimBudget: time.Minute})
}
