package protocol_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
	"github.com/go-idempotent/idempotent/internal/testkit/multiregion"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// strongTable makes a table without time to live, which one with multi-Region strong consistency
// cannot have. Each test has a partition of its own in it.
func strongTable(t *testing.T) (table string) {
	t.Helper()
	client := dynamolocal.Client(dynamotest.Endpoint(t))
	in := dynamo.TableDefinition("root-test-"+rand.Text(), strongKey(""))
	_, err := client.CreateTable(t.Context(), in)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: in.TableName})
		require.NoError(t, err)
	})
	return *in.TableName
}

func strongKey(partition string) dynamo.Config {
	return dynamo.Config{SortKey: "sk", Partition: "p" + partition}
}

// strongCase is a delivery to a table with multi-Region strong consistency, whose writes may meet
// another Region.
type strongCase struct {
	t        *testing.T
	scenario scenario
	provider *provider
	strong   *multiregion.Strong
	first    *shop
	config   dynamo.Config
	table    string
}

// newStrongCase sets up what the scenario finds, in a Region of its own, at peace.
func newStrongCase(t *testing.T, table string, sc scenario, conflict func(int, string) bool, config dynamo.Config,
) *strongCase {
	t.Helper()
	own := strongKey(rand.Text())
	config.SortKey, config.Partition = own.SortKey, own.Partition
	c := &strongCase{
		t: t, scenario: sc, provider: new(provider), table: table, config: config,
		strong: &multiregion.Strong{Conflict: conflict},
	}
	quiet := dynamo.New(dynamolocal.Client(dynamotest.Endpoint(t), dynamotest.Unhurried), table, c.config)
	c.first = newShopOn(t, quiet, nil, sc.opts...)
	sc.set(c.first)
	return c
}

// noticed is what a caller and an observer see of a delivery.
type noticed struct {
	Out        receipt
	Err        string
	Outcome    report.Outcome
	Settlement report.Settlement
}

// deliver delivers the request to a process of its own, whose client is the SDK's as it comes: it
// repeats no conflict.
func (c *strongCase) deliver() noticed {
	c.t.Helper()
	s := c.first.sandbox(nil, c.scenario.opts...)
	s.over = func(store.Store) store.Store {
		return dynamo.New(dynamolocal.Client(dynamotest.Endpoint(c.t), c.strong.Client,
			dynamotest.Unhurried), c.table, c.config)
	}
	s.wrap(nil, c.scenario.opts...)
	s.do = c.scenario.do(s, c.provider)
	out, err := s.handle(5)
	e := s.event()
	got := noticed{Out: out, Outcome: e.Outcome, Settlement: e.Settlement}
	if err != nil {
		got.Err = fmt.Sprintf("%T", err)
	}
	return got
}

// patient leaves the store as long as a busy machine may need.
func patient() idempotent.Option {
	return idempotent.WithTiming(idempotent.Timing{ClaimBudget: 5 * time.Minute})
}

// TestAnotherRegionAtEveryWrite: each write of each scenario in turn meets another Region, and
// where results are in the record three from it on do. Nobody notices: neither the caller nor who
// comes again, nor the provider.
func TestAnotherRegionAtEveryWrite(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long, and the others see as much of each guard")
	}
	t.Parallel()
	table := strongTable(t)
	positions := make(chan int, 1000)
	t.Run("all", func(t *testing.T) {
		for _, sc := range scenarios() {
			sc.opts = append(slices.Clip(sc.opts), patient())
			for times, config := range map[int]dynamo.Config{3: {}, 1: {InlineLimit: -1}} {
				t.Run(fmt.Sprintf("%s, %d times", sc.name, times), func(t *testing.T) {
					t.Parallel()
					peace := newStrongCase(t, table, sc, nil, config)
					first := peace.deliver()
					writes := len(peace.strong.Writes())
					again := peace.deliver()
					for n := 1; n <= writes; n++ {
						c := newStrongCase(t, table, sc,
							func(write int, _ string) bool { return write >= n && write < n+times }, config)
						assert.Equal(t, first, c.deliver(), "write %d", n)
						assert.Equal(t, again, c.deliver(), "again, after write %d", n)
						assert.Positive(t, c.strong.Conflicts())
						assert.LessOrEqual(t, c.strong.Conflicts(), times,
							"a claim that met one reads before it writes again")
						assert.Equal(t, peace.provider, c.provider, "write %d", n)
						positions <- n
					}
				})
			}
		}
	})
	assert.Greater(t, len(positions), 75)
	t.Log(len(positions), "schedules")
}

// TestACommitWithMultiRegionStrongConsistency fails, and nothing of it is applied.
func TestACommitWithMultiRegionStrongConsistency(t *testing.T) {
	t.Parallel()
	table := strongTable(t)
	strong := &multiregion.Strong{}
	s := dynamo.New(dynamolocal.Client(dynamotest.Endpoint(t), strong.Client), table, strongKey("commit"))
	h := idempotent.Wrap(func(ctx context.Context, o order) (receipt, error) {
		return dynamo.Commit(ctx, receipt{1, o.Amount}, dynamo.Put(table, map[string]string{"id": "row", "sk": o.ID}))
	}, s, idempotent.WithOperation("shop"), idempotent.WithKeyPath("id"), patient())
	_, err := h.Handle(t.Context(), order{ID: "o-1"})
	require.Error(t, err)
	require.NotErrorIs(t, err, idempotent.ErrStoreUnavailable, "the handler ran")
	var failed *store.Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, store.FailureRejected, failed.Kind)
	for r, err := range s.List(t.Context(), store.Query{}) {
		require.NoError(t, err)
		assert.NotEqual(t, store.StatusCompleted, r.Status)
	}
}
