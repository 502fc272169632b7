package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/outbox"
)

// Where the table of costs is.
const (
	costFile  = "../docs/cost.md"
	costBegin = "<!-- units of messages: begin -->\n"
	costEnd   = "<!-- units of messages: end -->\n"
)

// Prices in USD for a million units, see docs/cost.md.
const (
	writePrice = 0.625
	readPrice  = 0.125
)

// meter is a client that adds up what DynamoDB says that calls consume: writes of the table, writes
// of the index, and reads.
type meter struct {
	*dynamodb.Client
	cost
}

type cost struct{ table, index, reads float64 }

func (c cost) String() string {
	text := fmt.Sprintf("%.0f W", c.table+c.index)
	if c.reads > 0 {
		text += fmt.Sprintf(" + %.0f R", c.reads)
	}
	return text
}

func (c cost) plus(others ...cost) cost {
	for _, o := range others {
		c = cost{c.table + o.table, c.index + o.index, c.reads + o.reads}
	}
	return c
}

func (c cost) perMillion() float64 { return (c.table+c.index)*writePrice + c.reads*readPrice }

func (m *meter) written(c *types.ConsumedCapacity) {
	m.table += aws.ToFloat64(c.Table.CapacityUnits)
	for _, index := range c.GlobalSecondaryIndexes {
		m.index += aws.ToFloat64(index.CapacityUnits)
	}
}

func (m *meter) PutItem(ctx context.Context, in *dynamodb.PutItemInput,
	optFns ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityIndexes
	out, err := m.Client.PutItem(ctx, in, optFns...)
	if err == nil {
		m.written(out.ConsumedCapacity)
	}
	return out, err
}

func (m *meter) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	optFns ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityIndexes
	out, err := m.Client.UpdateItem(ctx, in, optFns...)
	if err == nil {
		m.written(out.ConsumedCapacity)
	}
	return out, err
}

func (m *meter) GetItem(ctx context.Context, in *dynamodb.GetItemInput,
	optFns ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := m.Client.GetItem(ctx, in, optFns...)
	if err == nil {
		m.reads += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	}
	return out, err
}

// Query is not added up: what a page of the index consumes is shared by all that are in it.
func (m *meter) Query(ctx context.Context, in *dynamodb.QueryInput,
	optFns ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	return m.Client.Query(ctx, in, optFns...)
}

// spent is what something consumes.
func (m *meter) spent(do func()) cost {
	before := m.cost
	do()
	return cost{m.table - before.table, m.index - before.index, m.reads - before.reads}
}

// TestCostsOfMessages holds the documentation to what DynamoDB Local counts. Of the transaction of
// a commit it counts by the rule of DynamoDB's documentation, twice what it takes to write the item
// by itself: DynamoDB Local reports too little of transactions.
func TestCostsOfMessages(t *testing.T) {
	t.Parallel()
	p, blank := newPlace(t), newPlace(t)
	m := &meter{Client: p.client}
	var r receiver
	r.down()
	relay := outbox.NewRelay(m, p.table, r.deliver, outbox.Config{NoStream: true})
	var b strings.Builder
	b.WriteString("\n| message | from the stream | USD | by the drain | USD | a failure |\n|---|---|---|---|---|---|\n")
	for _, size := range []int{1000, 5000} {
		padded := outbox.MessageConfig{Attributes: map[string]string{"padding": strings.Repeat("x", size-280)}}
		weight := float64((size + 1023) / 1024)

		streamed := p.put(t, padded)
		alone := m.spent(func() {
			_, err := m.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(blank.table), Item: streamed})
			require.NoError(t, err)
		})
		require.Equal(t, cost{table: weight, index: 1}, alone)
		committed := cost{table: 2 * alone.table, index: alone.index}

		failed := m.spent(func() {
			r.down()
			_, err := relay.Stream(t.Context(), event(t, p.table, streamed))
			require.NoError(t, err)
		})
		require.Equal(t, cost{table: weight, index: 2}, failed, "one entry of the index is replaced by another")
		fromStream := m.spent(func() {
			r.up()
			_, err := relay.Stream(t.Context(), event(t, p.table, streamed))
			require.NoError(t, err)
		})
		require.Equal(t, cost{table: weight, index: 1}, fromStream)

		drained := p.put(t, padded)
		p.late(t, drained, time.Minute)
		byDrain := m.spent(func() {
			told, err := relay.Drain(t.Context())
			require.NoError(t, err)
			require.Equal(t, 1, told.Delivered)
		})
		require.Equal(t, cost{table: 2 * weight, index: 3, reads: float64((size + 4095) / 4096)}, byDrain,
			"it takes a message before it delivers it")

		stream, drain := committed.plus(fromStream), committed.plus(byDrain)
		fmt.Fprintf(&b, "| %.1f KB | %v | %.2f | %v | %.2f | %v |\n", float64(size)/1000,
			stream, stream.perMillion(), drain, drain.perMillion(), failed)
	}
	page, err := os.ReadFile(costFile)
	require.NoError(t, err)
	_, rest, begins := strings.Cut(string(page), costBegin)
	documented, _, ends := strings.Cut(rest, costEnd)
	require.True(t, begins && ends, "%s has the marks of the table", costFile)
	assert.Equal(t, b.String()+"\n", documented)
}

// TestCostsOfGivingUp: to give up a message and to redrive it moves its entry in the index each
// time.
func TestCostsOfGivingUp(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	m := &meter{Client: p.client}
	relay := outbox.NewRelay(m, p.table,
		func(context.Context, outbox.Message) error { return outbox.Permanent(errDown) })
	it := p.put(t, outbox.MessageConfig{Attributes: map[string]string{"padding": strings.Repeat("x", 1500)}})
	require.Equal(t, cost{table: 2, index: 2}, m.spent(func() {
		_, err := relay.Stream(t.Context(), event(t, p.table, it))
		require.NoError(t, err)
	}))
	givenUp, err := outbox.FindGivenUp(t.Context(), p.client, p.table, idOf(it))
	require.NoError(t, err)
	require.Equal(t, cost{table: 2, index: 2}, m.spent(func() {
		require.NoError(t, outbox.Redrive(t.Context(), m, p.table, givenUp, "ops", "fixed"))
	}))
}

// TestCallsOfADrainThatFindsNothing: a query of each shard, and of each once more to count what is
// left, and of what is given up.
func TestCallsOfADrainThatFindsNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var r receiver
	q := &queries{Client: p.client}
	_, err := outbox.NewRelay(q, p.table, r.deliver).Drain(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 21, q.n)
}

// queries counts queries. A relay that finds nothing calls nothing else.
type queries struct {
	*dynamodb.Client

	n int
}

func (q *queries) GetItem(context.Context, *dynamodb.GetItemInput,
	...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	return nil, errors.New("there is nothing to read")
}

func (q *queries) Query(ctx context.Context, in *dynamodb.QueryInput,
	optFns ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	q.n++
	return q.Client.Query(ctx, in, optFns...)
}
