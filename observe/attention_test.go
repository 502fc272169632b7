package observe_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/observe"
)

func noTenant(context.Context, idempotent.Event) string { return "" }

func attentionLine(t *testing.T, a observe.Attention, opts ...observe.EMFOption) document {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, observe.AttentionEMF(&out, opts...)(a))
	require.True(t, bytes.HasSuffix(out.Bytes(), []byte("}\n")))
	return read(t, out.Bytes())
}

func TestAttentionIsALineOfMetricsBesideThoseOfTheOperation(t *testing.T) {
	t.Parallel()
	before := time.Now().UnixMilli()
	d := attentionLine(t, observe.Attention{Operation: "charge", Open: 3, Oldest: 90*time.Minute + 250*time.Millisecond, Parked: 2})
	assert.Equal(t, "Idempotent", d.AWS.CloudWatchMetrics[0].Namespace)
	assert.Equal(t, [][]string{{"Operation"}}, d.AWS.CloudWatchMetrics[0].Dimensions)
	assert.Equal(t, observe.AttentionMetrics(), d.AWS.CloudWatchMetrics[0].Metrics)
	assert.GreaterOrEqual(t, d.AWS.Timestamp, before)
	delete(d.members, "_aws")
	assert.Equal(t, map[string]any{"Operation": "charge", "OpenAttention": 3.0, "OldestAttention": 5400.25, "ParkedAttention": 2.0}, d.members)
}

// An alarm ends only if somebody says that nothing is open.
func TestAttentionOfNothingIsZeroAndNotSilence(t *testing.T) {
	t.Parallel()
	d := attentionLine(t, observe.Attention{Operation: "charge"})
	assert.Equal(t, []string{"OpenAttention", "OldestAttention", "ParkedAttention"}, d.metrics())
	assert.InDelta(t, 0, d.members["OpenAttention"], 0)
	assert.InDelta(t, 0, d.members["OldestAttention"], 0)
	assert.InDelta(t, 0, d.members["ParkedAttention"], 0)
	ahead := attentionLine(t, observe.Attention{Operation: "charge", Open: 1, Oldest: -time.Second})
	assert.InDelta(t, 0, ahead.members["OldestAttention"], 0, "clocks differ")
}

func TestAttentionTakesTheOptionsOfMetrics(t *testing.T) {
	t.Parallel()
	d := attentionLine(t, observe.Attention{Operation: "charge"}, observe.WithNamespace("Payments"), observe.WithDimension("Stage", "prod"))
	assert.Equal(t, "Payments", d.AWS.CloudWatchMetrics[0].Namespace)
	assert.Equal(t, [][]string{{"Operation", "Stage"}}, d.AWS.CloudWatchMetrics[0].Dimensions)
	assert.Equal(t, "prod", d.members["Stage"])

	config := configErrorOf(t, func() {
		observe.AttentionEMF(nil, nil, observe.WithDimension("OldestAttention", "x"), observe.WithTenant(noTenant), observe.WithRoute())
	})
	require.Len(t, config.Problems, 5)
	assert.Contains(t, config.Problems[0], "observe.AttentionEMF: the writer is nil")
	assert.Contains(t, config.Problems[1], "observe.AttentionEMF: option 1 is nil")
	assert.Contains(t, config.Problems[2], "another member")
	assert.Contains(t, config.Problems[3], "a record does not tell its tenant")
	assert.Contains(t, config.Problems[4], "a record does not tell its route")
}

func TestAttentionThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	err := observe.AttentionEMF(&writes{err: full})(observe.Attention{Operation: "charge"})
	require.ErrorIs(t, err, full)
	assert.ErrorContains(t, err, `"charge"`)
}

func TestAttentionIsWrittenLineByLine(t *testing.T) {
	t.Parallel()
	var out writes
	write := observe.AttentionEMF(&out)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { assert.NoError(t, write(observe.Attention{Operation: "charge", Open: 1})) })
	}
	all.Wait()
	require.Len(t, out.calls, 8)
	for _, line := range out.calls {
		read(t, line)
	}
}

func TestListOfAttentionMetricsIsACopy(t *testing.T) {
	t.Parallel()
	for _, m := range observe.AttentionMetrics() {
		assert.NotContains(t, observe.Metrics(), m)
	}
	observe.AttentionMetrics()[0].Name = "changed"
	assert.Equal(t, "OpenAttention", observe.AttentionMetrics()[0].Name)
}
