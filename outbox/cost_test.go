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

	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
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
// of the index, and reads. Queries are not added up: what a page of the index consumes is shared by
// all that are in it.
type meter struct {
	outbox.Client
	cost
}

func (p place) meter() *meter {
	m := &meter{}
	m.Client = p.with(dynamotest.Before(func(_ context.Context, in *dynamodb.UpdateItemInput) error {
		in.ReturnConsumedCapacity = types.ReturnConsumedCapacityIndexes
		return nil
	}), dynamotest.After(func(out *dynamodb.UpdateItemOutput) {
		m.written(out.ConsumedCapacity)
	}), dynamotest.Before(func(_ context.Context, in *dynamodb.GetItemInput) error {
		in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
		return nil
	}), dynamotest.After(func(out *dynamodb.GetItemOutput) {
		m.reads += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	}))
	return m
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
	r, blank := newRig(t), newPlace(t)
	m := r.meter()
	r = r.via(m, outbox.Config{NoStream: true})
	var b strings.Builder
	b.WriteString("\n| message | from the stream | USD | by the drain | USD | a failure |\n|---|---|---|---|---|---|\n")
	for _, size := range []int{1000, 5000} {
		padded := outbox.MessageConfig{Attributes: map[string]string{"padding": strings.Repeat("x", size-280)}}
		weight := float64((size + 1023) / 1024)

		streamed := r.put(t, padded)
		alone := m.spent(func() {
			out, err := r.client.PutItem(t.Context(), &dynamodb.PutItemInput{
				TableName: aws.String(blank.table), Item: streamed,
				ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
			})
			require.NoError(t, err)
			m.written(out.ConsumedCapacity)
		})
		require.Equal(t, cost{table: weight, index: 1}, alone)
		committed := cost{table: 2 * alone.table, index: alone.index}

		r.fail = down
		failure := m.spent(func() { r.stream(streamed) })
		require.Equal(t, cost{table: weight, index: 2}, failure, "one entry of the index is replaced by another")
		r.fail = nil
		fromStream := m.spent(func() { r.stream(streamed) })
		require.Equal(t, cost{table: weight, index: 1}, fromStream)

		r.late(t, r.put(t, padded), time.Minute)
		byDrain := m.spent(func() { require.Equal(t, 1, r.drain().Delivered) })
		require.Equal(t, cost{table: 2 * weight, index: 3, reads: float64((size + 4095) / 4096)}, byDrain,
			"it takes a message before it delivers it")

		stream, drain := committed.plus(fromStream), committed.plus(byDrain)
		fmt.Fprintf(&b, "| %.1f KB | %v | %.2f | %v | %.2f | %v |\n", float64(size)/1000,
			stream, stream.perMillion(), drain, drain.perMillion(), failure)
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
	r := newRig(t)
	m := r.meter()
	r.fail = never
	it := r.put(t, outbox.MessageConfig{Attributes: map[string]string{"padding": strings.Repeat("x", 1500)}})
	require.Equal(t, cost{table: 2, index: 2}, m.spent(func() { r.via(m).stream(it) }))
	givenUp := r.find(t, it)
	require.Equal(t, cost{table: 2, index: 2}, m.spent(func() {
		require.NoError(t, outbox.Redrive(t.Context(), m, r.table, givenUp, "ops", "fixed"))
	}))
}

// TestCallsOfADrainThatFindsNothing: a query of each shard, and of each once more to count what is
// left, and of what is given up. It calls nothing else.
func TestCallsOfADrainThatFindsNothing(t *testing.T) {
	t.Parallel()
	r, queries := newRig(t), 0
	r.via(r.with(dynamotest.Before(func(context.Context, *dynamodb.GetItemInput) error {
		return errors.New("there is nothing to read")
	}), dynamotest.After(func(*dynamodb.QueryOutput) { queries++ }))).drain()
	assert.Equal(t, 21, queries)
}
