package interop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
)

// recordVector is a record as a package wrote it, what it read from it, and the settings of the
// program, see internal/powertools/testdata/interop.
type recordVector struct {
	Name           string            `json:"name"`
	KeyPrefix      string            `json:"key_prefix"`
	FunctionName   string            `json:"function_name"`
	Store          map[string]string `json:"store"` // names of attributes, as the language spells the settings
	Payload        string            `json:"payload"`
	JMESPath       string            `json:"jmespath"`
	ValidationPath *string           `json:"validation_jmespath"`
	DeclaredType   string            `json:"declared_return_type"`
	InProgressItem json.RawMessage   `json:"in_progress_item"`
	StoredItem     json.RawMessage   `json:"stored_item"`
	FirstWall      []int64           `json:"first_wall_ms"`
	ReplayWall     []int64           `json:"replay_wall_ms"`
	Replay         struct {
		JSON  *string `json:"json"`
		Error string  `json:"error"`
	} `json:"replay"`
}

func (r recordVector) shape() shape {
	name := func(python, others string) string { return cmp.Or(r.Store[python], r.Store[others]) }
	return shape{
		Key: name("key_attr", "keyAttr"), Sort: name("sort_key_attr", "sortKeyAttr"),
		Partition: name("static_pk_value", "staticPkValue"), Expiration: name("expiry_attr", "expiryAttr"),
		Lease: name("in_progress_expiry_attr", "inProgressExpiryAttr"), Status: name("status_attr", "statusAttr"),
		Data: name("data_attr", "dataAttr"), Validation: name("validation_key_attr", "validationKeyAttr"),
	}
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
}

// bench is the table of a record, and a handler on it that always fails, with a clock of its own.
type bench struct {
	*testing.T
	recordVector

	language   string
	client     *dynamodb.Client
	table      string
	now        time.Time
	executions int
}

// TestStoredRecords reads every record that the packages wrote, while it was in progress and when
// it was completed, in the environment that they were made in.
func TestStoredRecords(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "h2-fn")
	files, err := filepath.Glob(filepath.Join(root, "internal", "powertools", "testdata", "interop", "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 4)
	client := dynamolocal.Client(dynamotest.Endpoint(t))
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var vectors struct {
			About   struct{ Language string }
			Records []recordVector
		}
		require.NoError(t, json.Unmarshal(text, &vectors))
		require.Greater(t, len(vectors.Records), 50)
		tables := make(map[shape]string)
		for _, r := range vectors.Records {
			s := r.shape()
			if tables[s] == "" {
				tables[s] = newName(t, client)
				// Without time to live: the records of the vectors have expired.
				_, err := client.CreateTable(t.Context(), dynamo.TableDefinition(tables[s], s.config()))
				require.NoError(t, err)
			}
			t.Run(strings.TrimSuffix(filepath.Base(file), ".json")+"/"+r.Name, func(t *testing.T) {
				b := &bench{T: t, recordVector: r, language: vectors.About.Language, client: client, table: tables[s]}
				if r.Name == "validation_missing" {
					// The packages validate the digest of null, this library refuses an event
					// without what it validates, unless the handler does not ask.
					_, err := b.deliver(time.UnixMilli(b.ReplayWall[0]))
					require.ErrorIs(b, err, idempotent.ErrInvalidKey)
					b.ValidationPath = nil
				}
				b.readInProgress()
				b.readCompleted()
			})
		}
		require.Len(t, tables, 4, "shapes of tables")
	}
}

// readInProgress reads the record while it is in progress: it is refused until its lease ends, or
// its expiration where it has none, and then taken over.
func (b *bench) readInProgress() {
	item := b.put(b.InProgressItem)
	end := b.expiration(item)
	if lease := item[cmp.Or(b.shape().Lease, "in_progress_expiration")]; lease != nil {
		end = time.UnixMilli(number(b.T, lease))
	}
	for _, at := range []time.Time{time.UnixMilli(b.FirstWall[0]), end.Add(-time.Millisecond)} {
		if !at.Before(end) {
			continue // there was no time left when it was written
		}
		_, err := b.deliver(at)
		require.ErrorIs(b, err, idempotent.ErrInProgress)
		require.Equal(b, item, b.only())
	}
	require.Zero(b, b.executions)
	b.executesAt(end)
}

// readCompleted replays the record until it has expired.
func (b *bench) readCompleted() {
	item := b.put(b.StoredItem)
	got, err := b.deliver(time.UnixMilli(b.ReplayWall[0]))
	want, is := otherwise[b.language][b.Name]
	if !is && b.Replay.JSON != nil {
		want = *b.Replay.JSON
	}
	switch {
	case strings.HasPrefix(b.Replay.Error, "IdempotencyAlreadyInProgress"):
		require.ErrorIs(b, err, idempotent.ErrInProgress)
	case want == "":
		require.ErrorIs(b, err, idempotent.ErrUnreadable)
	default:
		require.NoError(b, err)
		exact, err := fingerprint.Canonical(nil, []byte(want)) // with every digit
		require.NoError(b, err)
		got, err = fingerprint.Canonical(nil, got)
		require.NoError(b, err)
		assert.Equal(b, string(exact), string(got))
	}
	require.Zero(b, b.executions)
	require.Equal(b, item, b.only(), "reading changes nothing")
	b.executesAt(b.expiration(item))
}

// executesAt checks that from a moment on the handler runs. Its error releases the record.
func (b *bench) executesAt(moment time.Time) {
	b.Helper()
	_, err := b.deliver(moment)
	require.ErrorContains(b, err, "declined", "the handler's own error")
	require.Equal(b, 1, b.executions)
	require.Nil(b, b.only(), "it is released")
	b.executions = 0
}

// deliver delivers the payload at a moment.
func (b *bench) deliver(at time.Time) ([]byte, error) {
	b.now = at
	mode := idempotent.Powertools{
		Language: idempotent.PowertoolsLanguage(b.language), Prefix: b.KeyPrefix, Function: b.FunctionName,
	}
	if b.language == "java" {
		mode.Language = idempotent.PowertoolsJava17 // on which the vectors were made
	}
	opts := []idempotent.Option{
		idempotent.WithPowertools(mode), idempotent.WithKeyPath(b.JMESPath),
		idempotent.WithClock(func() time.Time { return b.now }),
	}
	if b.ValidationPath != nil {
		opts = append(opts, idempotent.WithFingerprintPath(*b.ValidationPath))
	}
	store := dynamo.New(b.client, b.table, b.shape().config())
	var handler lambda.Handler = idempotent.Wrap(declined[json.RawMessage](b), store, opts...)
	if b.DeclaredType == "String" {
		handler = idempotent.Wrap(declined[string](b), store, opts...)
	}
	return handler.Invoke(b.Context(), []byte(b.Payload))
}

func declined[Out any](b *bench) func(context.Context, json.RawMessage) (Out, error) {
	return func(context.Context, json.RawMessage) (out Out, err error) {
		b.executions++
		return out, errors.New("declined")
	}
}

// put writes an item in the JSON of DynamoDB, and returns it.
func (b *bench) put(text json.RawMessage) map[string]types.AttributeValue {
	b.Helper()
	item, err := attributevalue.UnmarshalMapJSON(text)
	require.NoError(b, err)
	_, err = b.client.PutItem(b.Context(), &dynamodb.PutItemInput{TableName: aws.String(b.table), Item: item})
	require.NoError(b, err)
	return b.only()
}

// only returns the one item of the table, nil if there is none.
func (b *bench) only() map[string]types.AttributeValue {
	b.Helper()
	out, err := b.client.Scan(b.Context(),
		&dynamodb.ScanInput{TableName: aws.String(b.table), ConsistentRead: aws.Bool(true)})
	require.NoError(b, err)
	require.LessOrEqual(b, len(out.Items), 1)
	if len(out.Items) == 0 {
		return nil
	}
	return out.Items[0]
}

func (b *bench) expiration(item map[string]types.AttributeValue) time.Time {
	return time.Unix(number(b.T, item[cmp.Or(b.shape().Expiration, "expiration")]), 0)
}

func number(t *testing.T, v types.AttributeValue) (n int64) {
	t.Helper()
	require.NoError(t, attributevalue.Unmarshal(v, &n))
	return n
}
