package dynamo_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

type item = map[string]types.AttributeValue

// local returns a store on a table of its own on DynamoDB Local, whose client the functions adjust.
// It waits for every answer.
func local(t *testing.T, optFns ...func(*dynamodb.Options)) (s *dynamo.Store, client *dynamodb.Client, table string) {
	t.Helper()
	client = dynamolocal.Client(dynamotest.Endpoint(t), append(optFns, dynamotest.Unhurried)...)
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
	client = dynamolocal.Client(dynamotest.Endpoint(t), dynamotest.Unhurried)
	table = "dynamo-test-" + rand.Text()
	require.NoError(t, dynamo.CreateTable(t.Context(), client, table, opts...))
	dynamotest.DropAfter(t, client, table)
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
	it, err := look(t.Context(), client, table, key)
	require.NoError(t, err)
	return it
}

// look returns the item under a key, nil if there is none.
func look(ctx context.Context, client *dynamodb.Client, table string, key item) (item, error) {
	out, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: key, ConsistentRead: new(true)})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
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
			it, err := look(ctx, client, table, item{"id": S(key)})
			return it["foreign_attribute"] != nil, err
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

// fake is a client that asks nobody, and ignores the options of a call: what is answered to an
// input is what the function says. It may leave out an output without anything in it.
type fake func(ctx context.Context, in any) (out any, err error)

func answered[Out any](ctx context.Context, f fake, in any) (*Out, error) {
	out, err := f(ctx, in)
	if err != nil {
		return nil, err
	}
	if out == nil {
		return new(Out), nil
	}
	return out.(*Out), nil
}

func (f fake) PutItem(ctx context.Context, in *dynamodb.PutItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	return answered[dynamodb.PutItemOutput](ctx, f, in)
}

func (f fake) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return answered[dynamodb.UpdateItemOutput](ctx, f, in)
}

func (f fake) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.DeleteItemOutput, error) {
	return answered[dynamodb.DeleteItemOutput](ctx, f, in)
}

func (f fake) GetItem(ctx context.Context, in *dynamodb.GetItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	return answered[dynamodb.GetItemOutput](ctx, f, in)
}

func (f fake) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.BatchWriteItemOutput, error) {
	return answered[dynamodb.BatchWriteItemOutput](ctx, f, in)
}

func (f fake) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.BatchGetItemOutput, error) {
	return answered[dynamodb.BatchGetItemOutput](ctx, f, in)
}

// wall is a client whose every write is refused by one item, and which has no parts.
func wall(it item) fake {
	return func(_ context.Context, in any) (any, error) {
		switch in.(type) {
		case *dynamodb.GetItemInput:
			return &dynamodb.GetItemOutput{Item: it}, nil
		case *dynamodb.BatchGetItemInput:
			return nil, nil
		default:
			return nil, &types.ConditionalCheckFailedException{Item: it}
		}
	}
}

// memoryTable is a client that keeps items and knows no conditions. It processes a few items of
// each batch, and says no more if it has no capacity at all.
type memoryTable struct {
	fake

	items    map[string]item
	perRound int
	rounds   int // of batches
	most     int // of the writes in a round
}

func newMemoryTable() *memoryTable {
	m := &memoryTable{items: map[string]item{}, perRound: 100}
	m.fake = m.answer
	return m
}

func idOf(it item) string { return it["id"].(*types.AttributeValueMemberS).Value }

func dataOf(it item) []byte { return it["data"].(*types.AttributeValueMemberB).Value }

func (m *memoryTable) answer(_ context.Context, in any) (any, error) {
	switch in := in.(type) {
	case *dynamodb.PutItemInput:
		m.items[idOf(in.Item)] = in.Item
	case *dynamodb.GetItemInput:
		return &dynamodb.GetItemOutput{Item: m.items[idOf(in.Key)]}, nil
	case *dynamodb.BatchWriteItemInput:
		return m.write(in.RequestItems[table]), nil
	case *dynamodb.BatchGetItemInput:
		return m.read(in.RequestItems[table].Keys), nil
	}
	return nil, nil
}

func (m *memoryTable) write(writes []types.WriteRequest) *dynamodb.BatchWriteItemOutput {
	m.rounds++
	m.most = max(m.most, len(writes))
	n := min(m.perRound, len(writes))
	for _, w := range writes[:n] {
		m.items[idOf(w.PutRequest.Item)] = w.PutRequest.Item
	}
	out := &dynamodb.BatchWriteItemOutput{}
	if n < len(writes) {
		out.UnprocessedItems = map[string][]types.WriteRequest{table: writes[n:]}
	}
	return out
}

func (m *memoryTable) read(keys []item) *dynamodb.BatchGetItemOutput {
	m.rounds++
	n := min(m.perRound, len(keys))
	var found []item
	for _, key := range keys[:n] {
		if it, is := m.items[idOf(key)]; is {
			found = append(found, it)
		}
	}
	slices.Reverse(found) // an answer is in no particular order
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]item{table: found}}
	if n < len(keys) {
		out.UnprocessedKeys = map[string]types.KeysAndAttributes{table: {Keys: keys[n:]}}
	}
	return out
}

const table = "idempotency"

// request is what left the SDK.
type request struct {
	Call string
	Body json.RawMessage
}

// transport is the HTTP client below the SDK. It keeps every request and answers as it is told.
type transport struct {
	answer func(n int, r *http.Request, q request) (*http.Response, error)

	mu       sync.Mutex
	requests []request
}

func (tr *transport) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	_, call, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	q := request{Call: call, Body: body}
	tr.mu.Lock()
	n := len(tr.requests)
	tr.requests = append(tr.requests, q)
	tr.mu.Unlock()
	return tr.answer(n, r, q)
}

func (tr *transport) calls() []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	calls := make([]string, len(tr.requests))
	for i, q := range tr.requests {
		calls[i] = q.Call
	}
	return calls
}

// recorder passes requests on to the network.
func recorder() *transport {
	network := awshttp.NewBuildableClient()
	return &transport{answer: func(_ int, r *http.Request, _ request) (*http.Response, error) { return network.Do(r) }}
}

// reply is one scripted answer: a status and a body, or a failure of the network.
type reply struct {
	status int
	body   string
	err    error
}

func (p reply) send() (*http.Response, error) {
	if p.err != nil {
		return nil, p.err
	}
	return &http.Response{
		StatusCode: p.status,
		Header: http.Header{
			"X-Amzn-Requestid": []string{"request-1"},
			"Content-Type":     []string{"application/x-amz-json-1.0"},
		},
		Body: io.NopCloser(strings.NewReader(p.body)),
	}, nil
}

// failure is DynamoDB's error of this code.
func failure(status int, code, message string) reply {
	return reply{status: status, body: fmt.Sprintf(
		`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":%q}`, code, message)}
}

// rejection is DynamoDB's client error of this code.
func rejection(code, message string) reply { return failure(http.StatusBadRequest, code, message) }

// ok is an answer with this body.
func ok(body string) reply { return reply{status: http.StatusOK, body: body} }

var (
	done      = ok("{}")
	refused   = rejection("ConditionalCheckFailedException", "The conditional request failed")
	denied    = rejection("AccessDeniedException", "User: arn:aws:iam::1:role/x is not authorized")
	throttled = rejection("ThrottlingException", "Rate exceeded")
	broken    = failure(http.StatusInternalServerError, "InternalServerError", "Internal server error")
	lost      = reply{err: io.ErrUnexpectedEOF}
)

// answering is a transport that gives these answers in turn, and the last one from then on.
func answering(replies ...reply) *transport {
	return &transport{answer: func(n int, _ *http.Request, _ request) (*http.Response, error) {
		return replies[min(n, len(replies)-1)].send()
	}}
}

// scripted returns a store whose client gets these answers.
func scripted(replies ...reply) (*dynamo.Store, *transport) {
	tr := answering(replies...)
	return dynamo.New(scriptedClient(tr), table), tr
}

func scriptedClient(tr *transport, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamolocal.Client("http://dynamodb.invalid", append([]func(*dynamodb.Options){func(o *dynamodb.Options) {
		o.HTTPClient = tr
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
		})
	}}, optFns...)...)
}
