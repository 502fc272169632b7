package dynamo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
	"github.com/go-idempotent/idempotent/store"
)

// Where the tables are.
const (
	costFile  = "../docs/cost.md"
	costBegin = "<!-- units: begin -->\n"
	costEnd   = "<!-- units: end -->\n"

	commitCostBegin = "<!-- units of commits: begin -->\n"
	commitCostEnd   = "<!-- units of commits: end -->\n"
)

// Prices in USD for a million units, see docs/cost.md.
const (
	writePrice = 0.625
	readPrice  = 0.125
)

// meter is a client that adds up what DynamoDB says that calls consume.
type meter struct {
	*dynamodb.Client
	quiet         *dynamodb.Client // what it does is not counted
	blank         string           // a table for trying out
	writes, reads float64
	index         float64  // what of the writes was of the index
	calls         []string // the names of the calls, those of transactions with the number of their items
}

func newMeter(t *testing.T, blank string) *meter {
	t.Helper()
	m := &meter{blank: blank, quiet: dynamolocal.Client(dynamotest.Endpoint(t), dynamotest.Unhurried)}
	m.Client = dynamolocal.Client(dynamotest.Endpoint(t), dynamotest.Unhurried, dynamotest.Between(m.count))
	return m
}

// askForUnits has an answer say what its call consumed.
func askForUnits(in any) {
	const how = types.ReturnConsumedCapacityIndexes
	switch in := in.(type) {
	case *dynamodb.PutItemInput:
		in.ReturnConsumedCapacity = how
	case *dynamodb.UpdateItemInput:
		in.ReturnConsumedCapacity = how
	case *dynamodb.BatchWriteItemInput:
		in.ReturnConsumedCapacity = how
	case *dynamodb.BatchGetItemInput:
		in.ReturnConsumedCapacity = how
	}
}

// consumedBy is what an answer says of it.
func consumedBy(out any) []types.ConsumedCapacity {
	switch out := out.(type) {
	case *dynamodb.PutItemOutput:
		return []types.ConsumedCapacity{*out.ConsumedCapacity}
	case *dynamodb.UpdateItemOutput:
		return []types.ConsumedCapacity{*out.ConsumedCapacity}
	case *dynamodb.BatchWriteItemOutput:
		return out.ConsumedCapacity
	case *dynamodb.BatchGetItemOutput:
		return out.ConsumedCapacity
	default:
		return nil
	}
}

// count counts a refused PutItem, too. DynamoDB does not say what that consumes; its documentation
// does: as much as it takes to write the item that refused it, which therefore is written
// elsewhere. See
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html.
func (m *meter) count(ctx context.Context, in any, send func() (any, error)) (any, error) {
	askForUnits(in)
	total := &m.writes
	switch in := in.(type) {
	case *dynamodb.PutItemInput:
		m.calls = append(m.calls, "PutItem")
	case *dynamodb.UpdateItemInput:
		m.calls = append(m.calls, "UpdateItem")
	case *dynamodb.BatchGetItemInput:
		total = &m.reads
	case *dynamodb.TransactWriteItemsInput:
		m.calls = append(m.calls, fmt.Sprint("TransactWriteItems of ", len(in.TransactItems)))
		if _, err := send(); err != nil {
			return nil, err
		}
		return new(dynamodb.TransactWriteItemsOutput), m.transaction(ctx, in.TransactItems)
	}
	out, err := send()
	if refused, is := errors.AsType[*types.ConditionalCheckFailedException](err); is {
		if err := m.writeOf(ctx, m.blank, refused.Item, 1); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	for _, c := range consumedBy(out) {
		*total += aws.ToFloat64(c.CapacityUnits)
		m.index += aws.ToFloat64(c.GlobalSecondaryIndexes[dynamo.AttentionIndex].CapacityUnits)
	}
	return out, nil
}

// writeOf counts so many times what it takes to write an item. It is tried out, in another table or
// over the same item.
func (m *meter) writeOf(ctx context.Context, table string, it item, times float64) error {
	out, err := m.quiet.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String(table), Item: it, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err != nil {
		return err
	}
	m.writes += times * aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	return nil
}

// transaction counts by the rule of the documentation, twice what it takes to write each item by
// itself: DynamoDB Local reports too little. See
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html#transaction-capacity-handling.
func (m *meter) transaction(ctx context.Context, writes []types.TransactWriteItem) error {
	for _, w := range writes {
		var table *string
		var written item
		switch {
		case w.Put != nil:
			table, written = w.Put.TableName, w.Put.Item
		case w.Update != nil: // an item that grows counts as it then is
			found, err := look(ctx, m.quiet, aws.ToString(w.Update.TableName), w.Update.Key)
			if err != nil {
				return err
			}
			table, written = w.Update.TableName, found
		default:
			return fmt.Errorf("not counted: %+v", w)
		}
		if err := m.writeOf(ctx, aws.ToString(table), written, 2); err != nil {
			return err
		}
	}
	return nil
}

// cost is what a delivery consumes.
type cost struct{ writes, reads float64 }

func (c cost) String() string {
	text := fmt.Sprintf("%.0f W", c.writes)
	if c.reads > 0 {
		text += fmt.Sprintf(" + %.0f R", c.reads)
	}
	return text
}

// perMillion is the price of a million of them in USD.
func (c cost) perMillion() float64 { return c.writes*writePrice + c.reads*readPrice }

// costOf plays a first delivery and a duplicate with a result of this size.
func costOf(t *testing.T, table, blank string, size int, opts ...dynamo.Config) (first, again cost) {
	t.Helper()
	m := newMeter(t, blank)
	h := idempotent.Wrap(func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return exactly(size), nil
	}, dynamo.New(m, table, opts...), idempotent.WithOperation("charge"), idempotent.WithKeyPath("id"),
		idempotent.WithFingerprintPath("amount"), unhurried())
	deliver := func() cost {
		m.writes, m.reads = 0, 0
		_, err := h.Invoke(t.Context(), fmt.Appendf(nil, `{"id":"order-%d-%d","amount":1}`, size, len(opts)))
		require.NoError(t, err)
		return cost{m.writes, m.reads}
	}
	return deliver(), deliver()
}

// exactly is a text of this size in JSON, of which compression takes what it takes of an answer.
func exactly(size int) []byte {
	text := orders(2 * size)
	b := []byte(strings.NewReplacer(`"`, "'", `\`, "/").Replace(string(text[:size])))
	b[0], b[size-1] = '"', '"'
	return b
}

// costTable is the table of one way to keep results.
func costTable(t *testing.T, table, blank string, opts ...dynamo.Config) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| result | first execution | duplicate | no duplicates | 10 % | 50 % |\n|---|---|---|---|---|---|\n")
	for _, row := range []struct {
		name string
		size int
	}{
		{"1 KB", 1 << 10},
		{"4 KB", 4 << 10},
		{"100 KB", 100 << 10},
		{"5 MB", 5 << 20},
	} {
		first, again := costOf(t, table, blank, row.size, opts...)
		fmt.Fprintf(&b, "| %s | %v | %v |", row.name, first, again)
		for _, rate := range []float64{0, 0.1, 0.5} {
			fmt.Fprintf(&b, " %.2f |", (1-rate)*first.perMillion()+rate*again.perMillion())
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestCosts holds the documentation to what DynamoDB Local counts, or writes it there if -update is
// given.
func TestCosts(t *testing.T) {
	t.Parallel()
	got := "\n" + costTable(t, newTable(t), newTable(t)) + "\n"
	text := compareCosts(t, "TestCosts", costBegin, costEnd, got)
	for _, price := range []float64{writePrice, readPrice} {
		assert.Contains(t, text, strconv.FormatFloat(price, 'g', -1, 64)+" USD")
	}
}

// costPage keeps two tests from writing the page at the same time.
var costPage sync.Mutex

// compareCosts holds a part of the documentation to what was seen, or writes it there if -update is
// given. It returns the page.
func compareCosts(t *testing.T, test, begin, end, got string) string {
	t.Helper()
	costPage.Lock()
	defer costPage.Unlock()
	text, err := os.ReadFile(costFile)
	require.NoError(t, err)
	before, rest, begins := strings.Cut(string(text), begin)
	old, after, ends := strings.Cut(rest, end)
	require.True(t, begins && ends, "%s has the marks of the tables", costFile)
	if *update {
		require.NoError(t, os.WriteFile(costFile, []byte(before+begin+got+end+after), 0o600))
		return string(text)
	}
	gotLines, oldLines := strings.Split(got, "\n"), strings.Split(old, "\n")
	require.Len(t, oldLines, len(gotLines))
	for i, line := range gotLines {
		assert.True(t, alike(oldLines[i], line),
			"%s is out of date: go test -run %s -update ./dynamo\nit says %s\nseen was %s",
			costFile, test, oldLines[i], line)
	}
	return string(text)
}

// alike compares word by word, numbers with what the compressors of two versions of Go may differ
// by.
func alike(a, b string) bool {
	as, bs := strings.Fields(a), strings.Fields(b)
	if len(as) != len(bs) {
		return false
	}
	for i := range as {
		x, errX := strconv.ParseFloat(as[i], 64)
		y, errY := strconv.ParseFloat(bs[i], 64)
		if errX != nil || errY != nil {
			if as[i] != bs[i] {
				return false
			}
		} else if math.Abs(x-y) > 0.15*max(x, y) {
			return false
		}
	}
	return true
}

// TestCostsOfCommits: a commit adds the update of the record to the transaction of the rows, and
// nothing else. Beside it stands a handler that puts its rows by itself, one after the other,
// before its answer is stored.
func TestCostsOfCommits(t *testing.T) {
	t.Parallel()
	table, m := newTable(t), newMeter(t, newTable(t))
	rows := ordersTable(t, m.Client)
	var b strings.Builder
	b.WriteString("\n| answer | rows | put one by one | USD | committed | USD |\n|---|---|---|---|---|---|\n")
	for i, c := range []struct {
		name         string
		answer, rows int
		size         int
		own          float64 // of the record, in the transaction
	}{
		{"0.3 KB", 300, 0, 0, 2},
		{"0.3 KB", 300, 1, 500, 2},
		{"0.3 KB", 300, 3, 500, 2},
		{"4 KB", 4 << 10, 1, 500, 4},
	} {
		costOfRows := func(way string,
			write func(ctx context.Context, out json.RawMessage, rows []order) (json.RawMessage, error)) (first,
			again cost,
		) {
			h := idempotent.Wrap(func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
				made := make([]order, c.rows)
				for n := range made {
					made[n] = order{ID: fmt.Sprint(way, i, n), Status: strings.Repeat("x", c.size)}
				}
				return write(ctx, exactly(c.answer), made)
			}, dynamo.New(m, table), idempotent.WithOperation("order"), unhurried(), idempotent.WithKeyPath("id"))
			deliver := func() cost {
				m.writes, m.reads, m.calls = 0, 0, nil
				_, err := h.Invoke(t.Context(), fmt.Appendf(nil, `{"id":"%s-%d"}`, way, i))
				require.NoError(t, err)
				return cost{m.writes, m.reads}
			}
			first = deliver()
			calls := m.calls
			again = deliver()
			require.Equal(t, []string{"PutItem"}, m.calls)
			m.calls = calls
			return first, again
		}
		plain, replayed := costOfRows("put",
			func(ctx context.Context, out json.RawMessage, rowsOf []order) (json.RawMessage, error) {
				for _, row := range rowsOf {
					it, err := attributevalue.MarshalMap(row)
					require.NoError(t, err)
					_, err = m.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(rows), Item: it})
					require.NoError(t, err)
				}
				return out, nil
			})
		require.Len(t, m.calls, 2+c.rows)
		done, again := costOfRows("commit",
			func(ctx context.Context, out json.RawMessage, rowsOf []order) (json.RawMessage, error) {
				items := make([]dynamo.Item, len(rowsOf))
				for n, row := range rowsOf {
					items[n] = dynamo.Put(rows, row)
				}
				return dynamo.Commit(ctx, out, items...)
			})
		require.Equal(t, []string{"PutItem", fmt.Sprint("TransactWriteItems of ", 1+c.rows)}, m.calls)
		require.Equal(t, replayed, again, "a replay costs the same")
		kilobytes := float64((c.size + 1023) / 1024)
		require.Equal(t, cost{1 + c.own/2 + float64(c.rows)*kilobytes, 0}, plain)
		require.Equal(t, cost{1 + c.own + 2*float64(c.rows)*kilobytes, 0}, done,
			"the claim, twice the record, and twice each row")
		fmt.Fprintf(&b, "| %s | %s | %v | %.2f | %v | %.2f |\n", c.name, rowsInWords(c.rows, c.size), plain,
			plain.perMillion(), done, done.perMillion())
	}
	compareCosts(t, "TestCostsOfCommits", commitCostBegin, commitCostEnd, b.String()+"\n")
}

func rowsInWords(rows, size int) string {
	if rows == 0 {
		return "none"
	}
	return fmt.Sprintf("%d of %.1f KB", rows, float64(size)/1000)
}

// TestAnExecutionWritesTheIndexTwice plays three steps and five renewals between a claim and its
// result. A record that nobody may have to settle has no entry there at any time.
func TestAnExecutionWritesTheIndexTwice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy life.Policy
		writes float64
	}{
		"a handler that executes again": {life.Policy{}, 0},
		"a handler that refuses":        {life.Policy{RefuseCrashed: true}, 2},
		"a handler with a resolver":     {life.Policy{RefuseCrashed: true, Resolves: true}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMeter(t, "")
			s := dynamo.New(m, newTable(t))
			now := time.Now()
			p := c.policy
			p.Retention, p.UnknownRetention = time.Hour, 30*24*time.Hour
			by := life.Claimant{
				Policy: p, Key: "charge#1", Owner: "owner",
				Lease: life.LeaseEnd(now.Add(30 * time.Second)),
			}
			begin := by.Meets(store.Record{}, now)
			mustClaim(t, s, begin.Next, now)
			mine := begin.Next
			seen := life.Unleased(mine)
			for n := range 5 {
				now = now.Add(10 * time.Second)
				renewed := p.Renewed(mine, now.Add(30*time.Second), now)
				mustSwap(t, s, life.Unleased(mine), renewed)
				if n < 3 {
					step := store.Step{
						Kind: store.StepValue, Seal: store.Seal("owner", []byte(`1`)),
						Result: []byte(`1`),
					}
					stepped := p.Stepped(seen, renewed.Lease, fmt.Sprint("step", n), step, now.Add(time.Hour))
					mustSwap(t, s, seen, stepped)
					seen.Steps = map[string]store.Step{fmt.Sprint("step", n): step}
				}
			}
			require.Equal(t, c.writes/2, m.index, "before the result")
			ended := life.Unleased(mine)
			ended.Steps = map[string]store.Step{"step0": {}, "step1": {}, "step2": {}}
			mustSwap(t, s, ended, p.Completed(mine, "", []byte(`{"paid":true}`), now))
			require.Equal(t, c.writes, m.index)
		})
	}
}
