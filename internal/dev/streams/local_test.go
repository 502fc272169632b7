package streams_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/dev/streams"
	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
)

// table is one of DynamoDB Local, with a stream.
type table struct {
	t      *testing.T
	client *dynamodb.Client
	name   string
}

func newTable(t *testing.T, view types.StreamViewType) *table {
	t.Helper()
	client := dynamolocal.Client(dynamotest.Endpoint(t))
	name := "pump-" + rand.Text()
	require.NoError(t, dynamolocal.CreateTable(t.Context(), client, name, "id"))
	_, err := client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
		TableName:           aws.String(name),
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: view},
	})
	require.NoError(t, err)
	return &table{t, client, name}
}

func (b *table) put(item map[string]types.AttributeValue) {
	b.t.Helper()
	_, err := b.client.PutItem(b.t.Context(), &dynamodb.PutItemInput{TableName: aws.String(b.name), Item: item})
	require.NoError(b.t, err)
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// pump returns a pump of the table that hands events to f.
func (b *table) pump(f func(events.DynamoDBEvent) (any, error)) *streams.Pump {
	return &streams.Pump{
		Endpoint: dynamotest.Endpoint(b.t), Table: b.name,
		Invoke: func(_ context.Context, payload []byte) ([]byte, error) {
			var event events.DynamoDBEvent
			if err := json.Unmarshal(payload, &event); err != nil {
				return nil, err
			}
			answer, err := f(event)
			if err != nil {
				return nil, err
			}
			return json.Marshal(answer)
		},
	}
}

// start runs a pump until the test ends.
func start(t *testing.T, p *streams.Pump) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(t, p.Run(ctx)) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// idle waits until everything is handled.
func idle(t *testing.T, p *streams.Pump) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, p.Idle(ctx))
}

// seen are the records that were handed over.
type seen struct {
	mu      sync.Mutex
	records []events.DynamoDBEventRecord
	sizes   []int
}

func (s *seen) take(event events.DynamoDBEvent) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records, s.sizes = append(s.records, event.Records...), append(s.sizes, len(event.Records))
	return nil, nil
}

func TestWhatIsWrittenIsHandedOverAsLambdaDoes(t *testing.T) {
	t.Parallel()
	b, s := newTable(t, types.StreamViewTypeNewAndOldImages), &seen{}
	b.put(map[string]types.AttributeValue{
		"id": text("k"), "n": &types.AttributeValueMemberN{Value: "7"},
		"b": &types.AttributeValueMemberB{Value: []byte{1}}, "bool": &types.AttributeValueMemberBOOL{Value: true},
		"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{text("x")}},
	})
	b.put(map[string]types.AttributeValue{"id": text("k")})
	_, err := b.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String(b.name), Key: map[string]types.AttributeValue{"id": text("k")},
	})
	require.NoError(t, err)
	p := b.pump(s.take)
	start(t, p)
	idle(t, p)

	require.Len(t, s.records, 3)
	for i, name := range []string{"INSERT", "MODIFY", "REMOVE"} {
		r := s.records[i]
		assert.Equal(t, name, r.EventName)
		assert.Contains(t, r.EventSourceArn, ":table/"+b.name+"/stream/")
		assert.Equal(t, "aws:dynamodb", r.EventSource)
		assert.NotEmpty(t, r.EventID)
		assert.NotEmpty(t, r.Change.SequenceNumber)
		assert.Equal(t, "NEW_AND_OLD_IMAGES", r.Change.StreamViewType)
		assert.Equal(t, "k", r.Change.Keys["id"].String())
		assert.WithinDuration(t, time.Now(), r.Change.ApproximateCreationDateTime.Time, time.Hour)
	}
	image := s.records[0].Change.NewImage
	require.Len(t, image, 5)
	assert.Equal(t, "7", image["n"].Number())
	assert.Equal(t, []byte{1}, image["b"].Binary())
	assert.True(t, image["bool"].Boolean())
	assert.Equal(t, "x", image["l"].List()[0].String())
	assert.Equal(t, image, s.records[1].Change.OldImage)
	assert.Empty(t, s.records[2].Change.NewImage)
}

func TestIdleWaitsForWhatWasWrittenBefore(t *testing.T) {
	t.Parallel()
	b, s := newTable(t, types.StreamViewTypeNewImage), &seen{}
	p := b.pump(s.take)
	start(t, p)
	for i := range 20 {
		b.put(map[string]types.AttributeValue{"id": text(strconv.Itoa(i))})
		idle(t, p)
		s.mu.Lock()
		require.Len(t, s.records, i+1)
		s.mu.Unlock()
	}
}

// A pump that is idle has found its place, so what is written from then on is handed over.
func TestAPumpCanBeginBehindWhatIsThere(t *testing.T) {
	t.Parallel()
	b, s := newTable(t, types.StreamViewTypeNewImage), &seen{}
	b.put(map[string]types.AttributeValue{"id": text("before")})
	p := b.pump(s.take)
	p.Latest = true
	start(t, p)
	idle(t, p)
	b.put(map[string]types.AttributeValue{"id": text("after")})
	idle(t, p)
	require.Len(t, s.records, 1)
	require.Equal(t, "after", s.records[0].Change.Keys["id"].String())
}

// A pump waits at a shard without records while another table is written to.
func TestAnEmptyShardIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, latest := range []bool{false, true} {
		b, other, s := newTable(t, types.StreamViewTypeNewImage), newTable(t, types.StreamViewTypeNewImage), &seen{}
		p := b.pump(s.take)
		p.Latest = latest
		start(t, p)
		idle(t, p)
		other.put(map[string]types.AttributeValue{"id": text("other")})
		idle(t, p)
		b.put(map[string]types.AttributeValue{"id": text("k")})
		idle(t, p)
		assert.Len(t, s.records, 1)
	}
}

func TestThousandsOfRecordsComeInOrderAndOnce(t *testing.T) {
	t.Parallel()
	const n = 2500 // more than two answers of GetRecords
	b, s := newTable(t, types.StreamViewTypeNewImage), &seen{}
	for first := 0; first < n; first += 25 {
		var requests []types.WriteRequest
		for i := first; i < first+25; i++ {
			requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{
				Item: map[string]types.AttributeValue{"id": text(fmt.Sprintf("%05d", i))},
			}})
		}
		_, err := b.client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{b.name: requests},
		})
		require.NoError(t, err)
	}
	p := b.pump(s.take)
	start(t, p)
	idle(t, p)
	ids, last := map[string]bool{}, ""
	for _, r := range s.records {
		ids[r.Change.Keys["id"].String()] = true
		assert.Greater(t, r.Change.SequenceNumber, last)
		last = r.Change.SequenceNumber
	}
	assert.Len(t, ids, n)
	assert.Len(t, s.records, n)
	for _, size := range s.sizes {
		assert.LessOrEqual(t, size, 100)
	}
}

func TestAStreamThatIsNotThereEndsThePump(t *testing.T) {
	t.Parallel()
	client, name := dynamolocal.Client(dynamotest.Endpoint(t)), "pump-"+rand.Text()
	require.NoError(t, dynamolocal.CreateTable(t.Context(), client, name, "id"))
	for table, says := range map[string]string{name: name + " has no stream", name + "0": "ResourceNotFoundException"} {
		p := &streams.Pump{Endpoint: dynamotest.Endpoint(t), Table: table}
		err := p.Run(t.Context())
		require.ErrorContains(t, err, says)
		require.ErrorIs(t, p.Idle(t.Context()), err)
	}
}
