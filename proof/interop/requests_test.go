package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
)

// requestVector is a request of a package and what it was answered.
type requestVector struct {
	Scenario string `json:"scenario"`
	Step     string `json:"step"`
	Request  struct {
		Item map[string]any
	} `json:"request"`
	Response struct {
		Item map[string]any
	} `json:"response"`
	Wall     []int64 `json:"wall_ms"`
	Settings struct {
		settings

		ValidationPath *string `json:"validation_jmespath"`
		RemainingMS    *int64  `json:"remaining_ms"`
	} `json:"settings"`
}

// TestItems compares what this library writes with what the packages wrote for the same events:
// while the handler runs, when it has returned, and when it has failed. Every attribute of theirs
// is there, under the same name and of the same type.
func TestItems(t *testing.T) {
	eachFile(t, func(t *testing.T, v vectors) {
		for _, s := range scenariosOf(v) {
			t.Run(s.reserved.Scenario, func(t *testing.T) { compareItems(t, v, s) })
		}
	})
}

// requestScenario is a first execution as a package made it.
type requestScenario struct{ reserved, completed requestVector }

func scenariosOf(v vectors) (all []requestScenario) {
	for _, r := range v.Requests {
		switch {
		case r.Step == "reserve" && (len(all) == 0 || all[len(all)-1].reserved.Scenario != r.Scenario):
			all = append(all, requestScenario{reserved: r})
		case r.Step == "get":
			all[len(all)-1].completed = r
		}
	}
	return all
}

func compareItems(t *testing.T, v vectors, s requestScenario) {
	t.Helper()
	set := s.reserved.Settings
	opts := []idempotent.Option{set.mode(v), idempotent.WithKeyPath("id"), idempotent.WithRetention(time.Hour)}
	if set.ValidationPath != nil {
		opts = append(opts, idempotent.WithFingerprintPath(*set.ValidationPath))
	}
	b := newBench(t, set.shape()).with(t, opts...)
	b.now = time.UnixMilli(s.reserved.Wall[0])
	ctx := context.Background()
	if set.RemainingMS != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(*set.RemainingMS)*time.Millisecond)
		defer cancel()
	}
	result := json.RawMessage(`{"ok":true}`)
	var during map[string]types.AttributeValue
	event := func(id int) string { return fmt.Sprintf(`{"id":%d,"amount":10}`, id) }

	_, err := deliver(b, ctx, event(1), &result, func() { during = b.only() })
	require.NoError(t, err)
	names := set.shape()
	require.NotEmpty(t, s.reserved.Request.Item)
	sameItem(t, attributes(t, s.reserved.Request.Item), during, names.Expiration, names.Lease)
	require.NotEmpty(t, s.completed.Response.Item)
	sameItem(t, attributes(t, s.completed.Response.Item), b.only(), names.Expiration, names.Lease)
	b.clear()

	_, err = deliver[json.RawMessage](b, ctx, event(2), nil, func() { during = b.only() })
	require.EqualError(t, err, "declined")
	require.NotNil(t, during)
	require.Nil(t, b.only(), "deleted after the error")
}

// sameItem finds every attribute of theirs in ours. Times lie within the seconds that a test may
// take: this library rounds up, and the lease has a margin.
func sameItem(t *testing.T, theirs, ours map[string]types.AttributeValue, expiration, lease string) {
	t.Helper()
	for name, want := range theirs {
		got := ours[name]
		require.IsType(t, want, got, name)
		switch name {
		case expiration, "expiration":
			assert.InDelta(t, number(t, want), number(t, got), 2, name)
		case lease, "in_progress_expiration":
			assert.InDelta(t, number(t, want), number(t, got), 4000, name)
			assert.GreaterOrEqual(t, number(t, got), number(t, want), name)
		default:
			assert.Equal(t, plain(t, want), plain(t, got), name)
		}
	}
}

// plain is a value for comparison; of texts that are JSON the spelling does not count.
func plain(t *testing.T, v types.AttributeValue) any {
	t.Helper()
	text, is := v.(*types.AttributeValueMemberS)
	if !is || !json.Valid([]byte(text.Value)) {
		return v
	}
	var parsed any
	require.NoError(t, json.Unmarshal([]byte(text.Value), &parsed))
	return parsed
}
