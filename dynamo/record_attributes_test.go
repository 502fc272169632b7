package dynamo_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
)

// renamed gives every attribute that can be renamed another name; many are reserved words of
// DynamoDB, or no names of expressions.
func renamed() dynamo.Attributes {
	return dynamo.Attributes{
		Key: "key", Status: "state", Expiration: "ttl", Lease: "time", Data: "a.b", Validation: "#l",
	}
}

// shaped is the configuration of a store whose every name is another one, on a table with a sort
// key.
func shaped() []dynamo.Config {
	return []dynamo.Config{{Attributes: renamed(), SortKey: "range", Partition: "tenant-1", InlineLimit: 16}}
}

func TestEveryAttributeOfPowertoolsIsRenamed(t *testing.T) {
	t.Parallel()
	client, table := newTableOf(t, shaped()...)
	s := dynamo.New(client, table, shaped()...)
	require.NoError(t, s.Check(t.Context()))

	inProgress := record("charge#1")
	small := completion(record("charge#2"), []byte(`"a"`))
	small.Reason, small.Layout, small.CompletedAt = "error", store.LayoutText, claimTime
	small.SettledBy, small.SettledAt, small.SettledReason = "dana", claimTime, "ticket 1"
	unknown := record("charge#0")
	unknown.Status, unknown.Attention, unknown.AttentionAt = store.StatusUnknown, "charge#1", claimTime
	unknown.Derived = []string{"charge"}
	unknown.Unmarked, unknown.StepNames = true, []string{"charge", "mail"}
	binary := completion(record("charge#3"), []byte("\"\xff\""))
	large := completion(record("charge#4"), pattern(1<<20))
	for _, r := range []store.Record{inProgress, small, binary, large, unknown} {
		mustClaim(t, s, r, claimTime)
	}
	inProgress = writeSteps(t, s, inProgress, steps{
		"reserve": stepValue("owner-1", ""), "charge": startMark("owner-1"),
		"mail": stepValue("owner-1", `{"id":"m_1"}`),
	})
	mail, err := s.ReadResult(t.Context(), inProgress.OfStep(inProgress.Steps["mail"]))
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"m_1"}`, string(mail))
	inProgress = writeSteps(t, s, inProgress, steps{"charge": removal()})
	require.Equal(t, 2, inProgress.StepWrites)
	got, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(table)})
	require.NoError(t, err)
	names := make(map[string]bool)
	for _, it := range got.Items {
		assert.Equal(t, S("tenant-1"), it["key"])
		assert.Contains(t, it, "range")
		for name := range it {
			names[name] = true
		}
	}
	assert.ElementsMatch(t, []string{
		"key", "range", "state", "ttl", "time", "a.b", "#l", "owner", "commit", "attempt", "created_at", "reason",
		"parts", "encoding", "layout",
		"completed_at", "settled_by", "settled_at", "settled_reason", "attention", "attention_at", "derived",
		"unmarked", "step_names", "steps", "step:reserve", "step:mail",
	}, slices.Collect(maps.Keys(names)))

	read := mustGet(t, s, "charge#4")
	result, err := s.ReadResult(t.Context(), read)
	require.NoError(t, err)
	require.Equal(t, large.Result, result)
}

// TestNamesCollide: two attributes of one name would overwrite each other.
func TestNamesCollide(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts    []dynamo.Config
		problem string
	}{
		"two of Powertools": {
			[]dynamo.Config{{Attributes: dynamo.Attributes{Status: "data"}}},
			`the attributes status and data have one name, "data"`,
		},
		"with one of this module": {
			[]dynamo.Config{{Attributes: dynamo.Attributes{Key: "owner"}}},
			`the attributes id and owner have one name, "owner"`,
		},
		"partition and sort key": {
			[]dynamo.Config{{SortKey: "id"}}, `the attributes id and sort have one name, "id"`,
		},
		"a name that begins with the prefix of steps": {
			[]dynamo.Config{{Attributes: dynamo.Attributes{Data: "step:data"}}},
			`the name "step:data" of the attribute data begins with "step:", as those of steps do`,
		},
		"a sort key that begins with the prefix of steps": {
			[]dynamo.Config{{SortKey: "step:", Partition: "p"}},
			`the name "step:" of the attribute sort begins with "step:", as those of steps do`,
		},
		"a default that was renamed away is free": {
			[]dynamo.Config{{Attributes: dynamo.Attributes{Key: "pk", Data: "id"}}}, "",
		},
		"no sort key": {[]dynamo.Config{{Partition: "p"}}, "Partition: there is no SortKey"},
		"long partition": {
			[]dynamo.Config{{SortKey: "sk", Partition: strings.Repeat("x", 2049)}},
			"Partition: 2049 bytes are not UTF-8 of at most 2048",
		},
		"long name": {
			[]dynamo.Config{{Attributes: dynamo.Attributes{Data: strings.Repeat("x", 256)}}},
			`of the attribute data is not UTF-8 of at most 255 bytes`,
		},
		"no UTF-8": {
			[]dynamo.Config{{Attributes: dynamo.Attributes{Data: "\xff"}}},
			`the name "\xff" of the attribute data is not UTF-8`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.problem == "" {
				require.NotPanics(t, func() { dynamo.New(wall(nil), table, c.opts...) })
				return
			}
			for what, do := range map[string]func(){
				"New":                  func() { dynamo.New(wall(nil), table, c.opts...) },
				"TableDefinition":      func() { dynamo.TableDefinition(table, c.opts...) },
				"TimeToLiveDefinition": func() { dynamo.TimeToLiveDefinition(table, c.opts...) },
			} {
				func() {
					defer func() {
						ce, ok := recover().(*store.ConfigError)
						require.True(t, ok, what)
						assert.Contains(t, ce.Error(), c.problem, what)
					}()
					do()
				}()
			}
		})
	}
}

func TestDefaultPartitionIsThatOfPowertools(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "pay")
	tr := &transport{answer: func(int, *http.Request, request) (*http.Response, error) { return done.send() }}
	s := dynamo.New(scriptedClient(tr), table, dynamo.Config{SortKey: "sk"})
	_, _, err := s.Get(t.Context(), "k")
	require.NoError(t, err)
	var sent struct{ Key json.RawMessage }
	require.NoError(t, json.Unmarshal(tr.requests[0].Body, &sent))
	require.JSONEq(t, `{"id":{"S":"idempotency#pay"},"sk":{"S":"k"}}`, string(sent.Key))
}

func TestCheckFollowsTheShape(t *testing.T) {
	t.Parallel()
	client, plain := newTableOf(t)
	err := dynamo.New(client, plain, shaped()...).Check(t.Context())
	var ce *store.ConfigError
	require.ErrorAs(t, err, &ce)
	require.Equal(t, []string{
		`table "` + plain + `": partition key is "id", expected "key"`,
		`table "` + plain + `": there is no sort key, expected "range"`,
		`table "` + plain + `": time to live is on "expiration", expected on "ttl"`,
	}, ce.Problems)

	client, composite := newTableOf(t, shaped()...)
	require.NoError(t, dynamo.CreateTable(t.Context(), client, composite, shaped()...), "again")
	err = dynamo.New(client, composite).Check(t.Context())
	require.ErrorAs(t, err, &ce)
	require.Contains(t, ce.Problems, `table "`+composite+`": sort key is "range", expected none`)
}

// TestTheLongestKeysFitASortKey: 1,024 bytes, for the key of a record and those of its parts.
func TestTheLongestKeysFitASortKey(t *testing.T) {
	t.Parallel()
	opts := []dynamo.Config{{SortKey: "sk", Partition: "p"}}
	client, table := newTableOf(t, opts...)
	s := dynamo.New(client, table, opts...)
	key := strings.Repeat("o", 255) + "#" + strings.Repeat("h", 43) // the longest name of an operation, and a digest
	r := completion(record(key), pattern(9<<20))
	mustClaim(t, s, r, claimTime)
	held, _, err := s.Get(t.Context(), key)
	require.NoError(t, err)
	result, err := s.ReadResult(t.Context(), held)
	require.NoError(t, err)
	require.Equal(t, r.Result, result)

	longest := strings.Repeat("k", 1024)
	mustClaim(t, s, record(longest), time.Now())
}
