package interop

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// recordVector is a record as a package wrote it, and what it read from it.
type recordVector struct {
	settings

	Name           string         `json:"name"`
	Payload        string         `json:"payload"`
	JMESPath       string         `json:"jmespath"`
	ValidationPath *string        `json:"validation_jmespath"`
	DeclaredType   string         `json:"declared_return_type"`
	InProgressItem map[string]any `json:"in_progress_item"`
	StoredItem     map[string]any `json:"stored_item"`
	FirstWall      []int64        `json:"first_wall_ms"`
	ReplayWall     []int64        `json:"replay_wall_ms"`
	Replay         struct {
		JSON  *string `json:"json"`
		Error string  `json:"error"`
	} `json:"replay"`
}

// Where this library reads a record otherwise than its writer, and why. An empty text is a record
// that cannot be read.
var otherwise = map[string]map[string]string{
	"python": {
		// Python takes these results for none, and replays null.
		"string_empty": `""`, "int_zero": `0`, "float_neg_zero": `-0.0`, "false": `false`, "object_empty": `{}`,
		"array_empty": `[]`,
		"python_nan":  "", // no JSON
	},
	"typescript": {
		// What JSON.stringify makes of these values is no use to anybody.
		"ts_set_strings": `["a","b"]`, "ts_bytes": `"AQL/"`,
		// JSON.stringify fails.
		"ts_bigint": `9007199254740993`, "ts_bigint_38_digits": `12345678901234567890123456789012345678`,
		// undefined has no JSON.
		"undefined": `null`,
	},
	"java": {},
}

// want is what a replay of the record returns.
func (r recordVector) want(language string) (result string, readable bool) {
	if text, is := otherwise[language][r.Name]; is {
		return text, text != ""
	}
	if r.Replay.JSON == nil {
		return "", false
	}
	return *r.Replay.JSON, true
}

// options are those of a handler that shares the record.
func (r recordVector) options(v vectors) []idempotent.Option {
	opts := []idempotent.Option{r.mode(v), idempotent.WithKeyPath(r.JMESPath)}
	if r.ValidationPath != nil {
		opts = append(opts, idempotent.WithFingerprintPath(*r.ValidationPath))
	}
	return opts
}

// TestStoredRecords reads every record that the packages wrote, while it was in progress and when
// it was completed.
func TestStoredRecords(t *testing.T) {
	eachFile(t, func(t *testing.T, v vectors) {
		require.Greater(t, len(v.Records), 50)
		benches := make(map[shape]*bench)
		for _, r := range v.Records {
			b, is := benches[r.shape()]
			if !is {
				b = newBench(t, r.shape())
				benches[r.shape()] = b
			}
			t.Run(r.Name, func(t *testing.T) {
				b := b.with(t, r.options(v)...)
				if r.Name == "validation_missing" {
					missingValidation(b, r, v)
					return
				}
				if r.DeclaredType == "String" {
					readRecord[string](b, r, v)
					return
				}
				readRecord[json.RawMessage](b, r, v)
			})
		}
		require.Len(t, benches, 4, "shapes of tables")
	})
}

func readRecord[Out any](b *bench, r recordVector, v vectors) {
	readInProgress(b, r, readsIt[Out](b, r))

	b.put(r.StoredItem)
	defer b.clear()
	stored := b.only()
	b.now, b.executions = time.UnixMilli(r.ReplayWall[0]), 0
	got, err := deliver[Out](b, b.Context(), r.Payload, nil, nothing)
	want, readable := r.want(v.About.Language)
	switch {
	case r.Replay.Error == "IdempotencyAlreadyInProgressError" ||
		r.Replay.Error == "IdempotencyAlreadyInProgressException":
		require.ErrorIs(b, err, idempotent.ErrInProgress)
	case !readable:
		require.ErrorIs(b, err, idempotent.ErrUnreadable)
	default:
		require.NoError(b, err)
		sameJSON(b.T, want, string(got))
	}
	require.Zero(b, b.executions)
	require.Equal(b, stored, b.only(), "reading changes nothing")

	b.now = time.Unix(number(b.T, stored[cmp.Or(r.shape().Expiration, "expiration")]), 0)
	_, err = deliver[Out](b, b.Context(), r.Payload, nil, nothing)
	require.ErrorContains(b, err, "declined", "once it has expired, the handler's own error")
	require.Equal(b, 1, b.executions)
	require.Nil(b, b.only(), "it is released")
}

// readsIt delivers the payload of the record.
func readsIt[Out any](b *bench, r recordVector) func() error {
	return func() error {
		_, err := deliver[Out](b, b.Context(), r.Payload, nil, nothing)
		return err
	}
}

// readInProgress reads the record while it is in progress: it is refused until its lease ends, or
// its expiration where it has none, and then taken over.
func readInProgress(b *bench, r recordVector, deliver func() error) {
	it := attributes(b.T, r.InProgressItem)
	end := expiration(b.T, it, r)
	b.put(r.InProgressItem)
	defer b.clear()
	for _, at := range []time.Time{time.UnixMilli(r.FirstWall[0]), end.Add(-time.Millisecond)} {
		if !at.Before(end) {
			continue // there was no time left when it was written
		}
		b.now, b.executions = at, 0
		require.ErrorIs(b, deliver(), idempotent.ErrInProgress)
		require.Zero(b, b.executions)
		require.Equal(b, it, b.only())
	}
	b.now, b.executions = end, 0
	require.ErrorContains(b, deliver(), "declined", "the handler's own error")
	assert.Equal(b, 1, b.executions)
	require.Nil(b, b.only(), "it is released")
}

func expiration(t *testing.T, it map[string]types.AttributeValue, r recordVector) time.Time {
	t.Helper()
	names := r.shape()
	if lease, has := it[cmp.Or(names.Lease, "in_progress_expiration")]; has {
		return time.UnixMilli(number(t, lease))
	}
	return time.Unix(number(t, it[cmp.Or(names.Expiration, "expiration")]), 0)
}

func number(t *testing.T, v types.AttributeValue) int64 {
	t.Helper()
	n, err := strconv.ParseInt(v.(*types.AttributeValueMemberN).Value, 10, 64)
	require.NoError(t, err)
	return n
}

// missingValidation: the packages validate the digest of null, this library refuses an event
// without what it validates, unless the handler does not ask.
func missingValidation(b *bench, r recordVector, v vectors) {
	b.put(r.StoredItem)
	defer b.clear()
	b.now = time.UnixMilli(r.ReplayWall[0])
	_, err := deliver[json.RawMessage](b, b.Context(), r.Payload, nil, nothing)
	require.ErrorIs(b, err, idempotent.ErrInvalidKey)
	r.ValidationPath = nil
	b = b.with(b.T, r.options(v)...)
	got, err := deliver[json.RawMessage](b, b.Context(), r.Payload, nil, nothing)
	require.NoError(b, err)
	sameJSON(b.T, *r.Replay.JSON, string(got))
	require.Zero(b, b.executions)
}

// TestResultBeyondAnItem: a result that their layout cannot hold is returned, its record is
// UNKNOWN, and the error says why.
func TestResultBeyondAnItem(t *testing.T) {
	b := newBench(t, shape{})
	for _, language := range []idempotent.PowertoolsLanguage{
		idempotent.PowertoolsPython,
		idempotent.PowertoolsTypeScript,
	} {
		for _, size := range []int{400 << 10, 2 << 20, 5 << 20, 17 << 20} {
			t.Run(fmt.Sprintf("%s %d KB", language, size>>10), func(t *testing.T) {
				b.now = time.Now()
				var seen []report.Delivery
				b := b.with(t, idempotent.WithPowertools(idempotent.Powertools{Language: language, Prefix: "p"}),
					idempotent.WithKeyPath("id"),
					idempotent.WithObserver(func(_ context.Context, e report.Delivery) { seen = append(seen, e) }))
				result := strings.Repeat("x", size)
				answer, err := deliver(b, t.Context(), `{"id":1}`, &result, nothing)
				require.NoError(t, err)
				require.Len(t, answer, size+len(`""`))
				require.Len(t, seen, 1)
				var failed *store.Error
				require.ErrorAs(t, seen[0].StoreErr, &failed)
				assert.Equal(t, store.FailureTooLarge, failed.Kind, failed)
				assert.Equal(t, "UNKNOWN", b.only()["status"].(*types.AttributeValueMemberS).Value)
				_, err = deliver(b, t.Context(), `{"id":1}`, &result, nothing)
				require.ErrorIs(t, err, idempotent.ErrUnknownOutcome)
				assert.Equal(t, 1, b.executions)
				b.clear()
			})
		}
	}
}
