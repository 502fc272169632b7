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

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

// vectors are the golden vectors of one package, see internal/powertools/testdata/interop.
type vectors struct {
	About struct {
		Language string `json:"language"`
		Version  string `json:"version"`
	} `json:"about"`
	Keys       []keyVector     `json:"keys"`
	KeyFormats []keyVector     `json:"key_formats"`
	Records    []recordVector  `json:"records"`
	Requests   []requestVector `json:"requests"`
}

func (v vectors) language() idempotent.PowertoolsLanguage {
	if v.About.Language == "java" {
		return idempotent.PowertoolsJava17 // on which the vectors were made
	}
	return idempotent.PowertoolsLanguage(v.About.Language)
}

// settings are those of the program that made a vector.
type settings struct {
	KeyPrefix    string `json:"key_prefix"`
	FunctionName string `json:"function_name"`
	// Store holds the names of attributes, each as the program's language spells the setting.
	Store map[string]string `json:"store"`
}

func (s settings) shape() shape {
	name := func(spellings ...string) (name string) {
		for _, spelling := range spellings {
			name = cmp.Or(name, s.Store[spelling])
		}
		return name
	}
	return shape{
		Key: name("key_attr", "keyAttr"), Sort: name("sort_key_attr", "sortKeyAttr"),
		Partition: name("static_pk_value", "staticPkValue"), Expiration: name("expiry_attr", "expiryAttr"),
		Lease: name("in_progress_expiry_attr", "inProgressExpiryAttr"), Status: name("status_attr", "statusAttr"),
		Data: name("data_attr", "dataAttr"), Validation: name("validation_key_attr", "validationKeyAttr"),
	}
}

func (s settings) mode(v vectors) idempotent.Option {
	return idempotent.WithPowertools(idempotent.Powertools{
		Language: v.language(), Prefix: s.KeyPrefix,
		Function: s.FunctionName,
	})
}

// eachFile runs a test on every file of vectors, in the environment that they were made in.
func eachFile(t *testing.T, run func(t *testing.T, v vectors)) {
	t.Helper()
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "h2-fn")
	files, err := filepath.Glob(filepath.Join(root, "internal", "powertools", "testdata", "interop", "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 4)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var v vectors
		require.NoError(t, json.Unmarshal(text, &v))
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) { run(t, v) })
	}
}

// bench is a table of one shape, and a handler on it with a clock of its own.
type bench struct {
	*testing.T

	client     *dynamodb.Client
	table      string
	shape      shape
	now        time.Time
	opts       []idempotent.Option
	executions int
}

func newBench(t *testing.T, s shape) *bench {
	t.Helper()
	b := &bench{T: t, client: dynamolocal.Client(dynamolocal.Endpoint(t)), shape: s}
	b.table = newName(t, b.client)
	// Without time to live: the records of the vectors have expired.
	_, err := b.client.CreateTable(t.Context(), dynamo.TableDefinition(b.table, s.config()))
	require.NoError(t, err)
	return b
}

// with returns a bench on the same table for a test with these options.
func (b *bench) with(t *testing.T, opts ...idempotent.Option) *bench {
	t.Helper()
	c := &bench{T: t, client: b.client, table: b.table, shape: b.shape, now: b.now, opts: opts}
	c.opts = append(c.opts, idempotent.WithClock(func() time.Time { return c.now }))
	return c
}

// deliver runs a handler with this result, or this error if there is none, on a payload. Before it
// returns, the handler calls during.
func deliver[Out any](b *bench, ctx context.Context, payload string, result *Out, during func()) ([]byte, error) {
	handler := idempotent.Wrap(func(context.Context, json.RawMessage) (out Out, err error) {
		b.executions++
		during()
		if result == nil {
			return out, errors.New("declined")
		}
		return *result, nil
	}, dynamo.New(b.client, b.table, b.shape.config()), b.opts...)
	return handler.Invoke(ctx, []byte(payload))
}

func nothing() {}

func (b *bench) put(item map[string]any) {
	b.Helper()
	_, err := b.client.PutItem(b.Context(),
		&dynamodb.PutItemInput{TableName: aws.String(b.table), Item: attributes(b.T, item)})
	require.NoError(b, err)
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

func (b *bench) clear() {
	b.Helper()
	it := b.only()
	if it == nil {
		return
	}
	in := dynamo.TableDefinition(b.table, b.shape.config())
	key := make(map[string]types.AttributeValue)
	for _, k := range in.KeySchema {
		key[*k.AttributeName] = it[*k.AttributeName]
	}
	_, err := b.client.DeleteItem(b.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(b.table), Key: key})
	require.NoError(b, err)
}

// attributes reads an item in the JSON of DynamoDB.
func attributes(t *testing.T, item map[string]any) map[string]types.AttributeValue {
	t.Helper()
	out := make(map[string]types.AttributeValue, len(item))
	for name, v := range item {
		out[name] = attribute(t, v.(map[string]any))
	}
	return out
}

func attribute(t *testing.T, v map[string]any) types.AttributeValue {
	t.Helper()
	require.Len(t, v, 1)
	for kind, content := range v {
		switch kind {
		case "S":
			return &types.AttributeValueMemberS{Value: content.(string)}
		case "N":
			return &types.AttributeValueMemberN{Value: content.(string)}
		case "BOOL":
			return &types.AttributeValueMemberBOOL{Value: content.(bool)}
		case "NULL":
			return &types.AttributeValueMemberNULL{Value: content.(bool)}
		case "M":
			return &types.AttributeValueMemberM{Value: attributes(t, content.(map[string]any))}
		case "L":
			l := &types.AttributeValueMemberL{}
			for _, element := range content.([]any) {
				l.Value = append(l.Value, attribute(t, element.(map[string]any)))
			}
			return l
		case "SS":
			s := &types.AttributeValueMemberSS{}
			for _, element := range content.([]any) {
				s.Value = append(s.Value, element.(string))
			}
			return s
		case "B":
			var b []byte
			require.NoError(t, json.Unmarshal([]byte(`"`+content.(string)+`"`), &b))
			return &types.AttributeValueMemberB{Value: b}
		}
		t.Fatalf("type %s", kind)
	}
	return nil
}

// sameJSON compares by value, with exact numbers.
func sameJSON(t *testing.T, want, got string) {
	t.Helper()
	w, err := fingerprint.Canonical(nil, []byte(want))
	require.NoError(t, err)
	g, err := fingerprint.Canonical(nil, []byte(got))
	require.NoError(t, err, got)
	assert.Equal(t, string(w), string(g))
}
