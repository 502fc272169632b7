package dynamo_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/store"
)

// complete does what AWS Powertools does at the end of an execution: an update without a condition.
func complete(t *testing.T, client *dynamodb.Client, table, key string, data types.AttributeValue) {
	t.Helper()
	_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:                aws.String(table),
		Key:                      item{"id": S(key)},
		UpdateExpression:         aws.String("SET #data = :data, #expiration = :expiration, #status = :status"),
		ExpressionAttributeNames: map[string]string{"#data": "data", "#expiration": "expiration", "#status": "status"},
		ExpressionAttributeValues: item{
			":data": data, ":expiration": N("1800090000"), ":status": S("COMPLETED"),
		},
	})
	require.NoError(t, err)
}

// TestLeftovers lets AWS Powertools complete a record that this module has written, in each of its
// states, and this module replace that result in each layout.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	live := record("")
	unknown := live
	unknown.Status, unknown.Reason = store.StatusUnknown, "result-lost"
	failed := completion(live, []byte(`"no"`))
	failed.Reason = "error"
	laidOut := func(l store.Layout) store.Record {
		r := completion(live, []byte(`"a"`))
		r.Layout = l
		return r
	}
	for name, held := range map[string]store.Record{
		"in progress":        live,
		"unknown":            unknown,
		"completed":          completion(live, []byte(`{"id":"ch_1"}`)),
		"terminal error":     failed,
		"completed in parts": completion(live, pattern(1<<20)),
		"completed binary":   completion(live, []byte("\"\xff\"")),
		"completed as text":  laidOut(store.LayoutText),
		"completed as value": laidOut(store.LayoutValue),
	} {
		t.Run(name, func(t *testing.T) {
			for result, data := range map[string]types.AttributeValue{
				`{"ok": true}`: S(`{"ok": true}`), `{"a":1}`: M(item{"a": N("1")}),
			} {
				held.Key = "charge#" + name + result
				mustClaim(t, s, held, claimTime)
				complete(t, client, table, held.Key, data)
				seen := mustGet(t, s, held.Key)
				require.Equal(t, store.StatusCompleted, seen.Status)
				if held.Layout != store.LayoutValue { // in which a text is no JSON
					require.Equal(t, result, string(seen.Result))
				}
				require.Empty(t, seen.Seal)
				require.Empty(t, seen.Parts)
				require.Empty(t, seen.Reason)
				require.Equal(t, held.Owner, seen.Owner, "the conditions of a later write need it")
				next := completion(seen, []byte("\"\xfe\""))
				next.Layout = ""
				mustSwap(t, s, seen, next)
				requireHeld(t, s, next)
				for _, layout := range []store.Layout{"", store.LayoutText, store.LayoutValue} {
					next := completion(seen, []byte(`{"b":1}`))
					next.Layout = layout
					mustSwap(t, s, seen, next)
					requireHeld(t, s, next) // no leftover counts under the new commit
				}
			}
		})
	}
}

// TestTakeoverOfAFractionalExpiry: the comparison with what was seen holds although reading rounded
// it.
func TestTakeoverOfAFractionalExpiry(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	for _, expiration := range []string{"1800000000", "1800000000.5", "1799999999.001"} {
		putItem(t, client, table, item{"id": S("p#1"), "status": S("INPROGRESS"), "expiration": N(expiration)})
		seen := mustGet(t, s, "p#1")
		for _, off := range []int{-1, 1} {
			other := seen
			other.Expiry = other.Expiry.AddDate(0, 0, off)
			_, swapped, err := s.Swap(t.Context(), other, record("p#1"))
			require.NoError(t, err)
			require.False(t, swapped)
		}
		_, swapped, err := s.Swap(t.Context(), seen, record("p#1"))
		require.NoError(t, err)
		require.True(t, swapped, expiration)
	}
}

func M(m item) types.AttributeValue { return &types.AttributeValueMemberM{Value: m} }
func L(l ...types.AttributeValue) types.AttributeValue {
	if l == nil {
		l = []types.AttributeValue{}
	}
	return &types.AttributeValueMemberL{Value: l}
}
func BOOL(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

var null = &types.AttributeValueMemberNULL{Value: true}

// TestRecordsOfPowertools reads items as each of its versions writes them, and data that is not
// text as that for TypeScript does.
func TestRecordsOfPowertools(t *testing.T) {
	t.Parallel()
	const lease = "in_progress_expiration"
	value := func(v types.AttributeValue) item { return item{"data": v} }
	for name, c := range map[string]struct {
		beside item
		result string
	}{
		"in progress":     {item{"status": S("INPROGRESS"), lease: N("1795261659803")}, ""},
		"without a lease": {item{"status": S("INPROGRESS")}, ""},
		"completed": {
			item{lease: N("1795261659803"), "data": S(`{"ok": true}`), "validation": S("09lEaAKkQll1XTjm0WPoIA==")},
			`{"ok": true}`,
		},
		"completed without a value": {nil, ""},
		"object": {
			value(M(item{"statusCode": N("200"), "body": S(`{"ok": true}`), "headers": M(item{}), "b64": BOOL(false)})),
			`{"b64":false,"body":"{\"ok\": true}","headers":{},"statusCode":200}`,
		},
		"array":  {value(L(N("3"), S("1"), null, L(), BOOL(true))), `[3,"1",null,[],true]`},
		"number": {value(N("42")), `42`},
		"large number": {
			value(N("12345678901234567890123456789012345678")), `1.2345678901234567890123456789012345678e+37`,
		},
		"small number":  {value(N("1E-130")), `1e-130`},
		"spelled out":   {value(N("0.0000001")), `1e-7`},
		"with zeros":    {value(N("1.500")), `1.5`},
		"false":         {value(BOOL(false)), `false`},
		"null":          {value(null), `null`},
		"set of texts":  {value(&types.AttributeValueMemberSS{Value: []string{"a", "b"}}), `["a","b"]`},
		"set of bytes":  {value(&types.AttributeValueMemberBS{Value: [][]byte{{1, 2, 255}}}), `["AQL/"]`},
		"set of number": {value(&types.AttributeValueMemberNS{Value: []string{"1", "2.50"}}), `[1,2.5]`},
		"bytes":         {value(B("\x01\x02\xff")), `"AQL/"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			it := items{"id": S("p#1"), "status": S("COMPLETED"), "expiration": N("1795265229")}
			got, err := read(it.with(c.beside))
			require.NoError(t, err)
			assert.Empty(t, got.Owner)
			assert.Empty(t, got.Seal)
			assert.Equal(t, c.result, string(got.Result))
			_, text := c.beside["data"].(*types.AttributeValueMemberS)
			assert.Equal(t, c.result != "" && !text, got.Layout == store.LayoutValue)
		})
	}
}

// TestValuesAreWhatPowertoolsReads looks at the items of LayoutValue, and reads them back.
func TestValuesAreWhatPowertoolsReads(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	for text, data := range map[string]types.AttributeValue{
		`"hello"`:                           S("hello"),
		`""`:                                S(""),
		`"{\"a\":1}"`:                       S(`{"a":1}`),
		`42`:                                N("42"),
		`1e-7`:                              N("0.0000001"),
		`true`:                              BOOL(true),
		`null`:                              null,
		`{}`:                                M(item{}),
		`[]`:                                L(),
		`{"a":[1.5,"1",null],"b":{"":""}}`:  nil, // DynamoDB takes no member without a name
		`{"a":[1.5,"1",null],"b":{"c":""}}`: M(item{"a": L(N("1.5"), S("1"), null), "b": M(item{"c": S("")})}),
		`123456789012345678901234567890123456789`: nil, // nor numbers of 39 digits
		`1e126`:                                  nil,
		`"` + strings.Repeat("x", 400<<10) + `"`: nil,
	} {
		r := record("charge#" + text[:min(len(text), 50)])
		r.Layout = store.LayoutValue
		mustClaim(t, s, r, claimTime)
		next := completion(r, []byte(text))
		_, swapped, err := s.Swap(t.Context(), r, next)
		if data == nil {
			var se *store.Error
			require.ErrorAs(t, err, &se, text[:min(len(text), 50)])
			assert.Contains(t, []store.Failure{store.FailureRejected, store.FailureTooLarge}, se.Kind)
			assert.True(t, se.NotApplied)
			continue
		}
		require.NoError(t, err, text)
		require.True(t, swapped)
		it := getItem(t, client, table, r.Key)
		if text != `1e-7` { // which has two spellings
			assert.Equal(t, data, it["data"], text)
		}
		got := mustGet(t, s, r.Key)
		assert.Equal(t, next, got)
	}
}

func TestWhatALayoutCannotHoldIsRefusedBeforeAnyWrite(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	for name, c := range map[string]struct {
		layout store.Layout
		result string
	}{
		"text that is not UTF-8": {store.LayoutText, "\"\xff\""},
		"value that is no JSON":  {store.LayoutValue, secret + "x"},
		"unknown layout":         {"xml", `"a"`},
	} {
		r := record("charge#" + name)
		mustClaim(t, s, r, claimTime)
		next := completion(r, []byte(c.result))
		next.Layout = c.layout
		_, _, err := s.Swap(t.Context(), r, next)
		requireStoreError(t, err, "swap", store.FailureRejected, true)
		assert.NotContains(t, err.Error(), secret)
		assert.Equal(t, S("INPROGRESS"), getItem(t, client, table, r.Key)["status"])
	}
}
