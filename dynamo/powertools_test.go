package dynamo_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
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
// states.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	live := record("")
	unknown := live
	unknown.Status, unknown.Reason = store.StatusUnknown, "result-lost"
	failed := completion(live, []byte(`"no"`))
	failed.Reason = "error"
	for name, held := range map[string]store.Record{
		"in progress":        live,
		"unknown":            unknown,
		"completed":          completion(live, []byte(`{"id":"ch_1"}`)),
		"terminal error":     failed,
		"completed in parts": completion(live, pattern(1<<20)),
		"completed binary":   completion(live, []byte("\"\xff\"")),
	} {
		t.Run(name, func(t *testing.T) {
			held.Key = "charge#" + name
			mustClaim(t, s, held, claimTime)
			complete(t, client, table, held.Key, S(`{"ok": true}`))

			got := mustGet(t, s, held.Key)
			require.Equal(t, store.StatusCompleted, got.Status)
			require.Equal(t, `{"ok": true}`, string(got.Result))
			require.Empty(t, got.Seal)
			require.Empty(t, got.Parts)
			require.Empty(t, got.Reason)
			require.Equal(t, held.Owner, got.Owner, "the conditions of a later write need it")

			for _, result := range [][]byte{got.Result, []byte("\"\xfe\"")} {
				next := completion(got, result)
				mustSwap(t, s, got, next)
				got := mustGet(t, s, held.Key)
				require.Equal(t, next, got, "no leftover counts under the new commit")
			}
		})
	}
}

// TestRecordsOfPowertools reads items as each of its versions writes them.
func TestRecordsOfPowertools(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		item   item
		result string
	}{
		"in progress": {item{
			"id": S("p#1"), "status": S("INPROGRESS"), "expiration": N("1795265229"),
			"in_progress_expiration": N("1795261659803"),
		}, ""},
		"without a lease": {item{"id": S("p#1"), "status": S("INPROGRESS"), "expiration": N("1795265229")}, ""},
		"completed": {item{
			"id": S("p#1"), "status": S("COMPLETED"), "expiration": N("1795265229"),
			"in_progress_expiration": N("1795261659803"),
			"data":                   S(`{"ok": true}`), "validation": S("09lEaAKkQll1XTjm0WPoIA=="),
		}, `{"ok": true}`},
		"completed without a value": {
			item{"id": S("p#1"), "status": S("COMPLETED"), "expiration": N("1795265229")},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(c.item)
			require.NoError(t, err)
			require.Empty(t, got.Owner)
			require.Empty(t, got.Seal)
			require.Equal(t, c.result, string(got.Result))
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

// TestLaterVersionsAreNotMisread: an encoding says nothing about text.
func TestLaterVersionsAreNotMisread(t *testing.T) {
	t.Parallel()
	s := dynamo.New(wall(items(native()).with(item{"encoding": S("zstd")})), table)
	r, _, err := s.Get(t.Context(), "k")
	require.NoError(t, err, "the commit covers the text, whatever else is left over")
	require.True(t, r.Sealed(r.Result))
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

// TestValuesOfPowertools reads data that is not text, as AWS Powertools for TypeScript writes it.
func TestValuesOfPowertools(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data   types.AttributeValue
		result string
	}{
		"object": {
			M(item{"statusCode": N("200"), "body": S(`{"ok": true}`), "headers": M(item{}), "b64": BOOL(false)}),
			`{"b64":false,"body":"{\"ok\": true}","headers":{},"statusCode":200}`,
		},
		"array":         {L(N("3"), S("1"), null, L(), BOOL(true)), `[3,"1",null,[],true]`},
		"number":        {N("42"), `42`},
		"large number":  {N("12345678901234567890123456789012345678"), `1.2345678901234567890123456789012345678e+37`},
		"small number":  {N("1E-130"), `1e-130`},
		"spelled out":   {N("0.0000001"), `1e-7`},
		"with zeros":    {N("1.500"), `1.5`},
		"false":         {BOOL(false), `false`},
		"null":          {null, `null`},
		"set of texts":  {&types.AttributeValueMemberSS{Value: []string{"a", "b"}}, `["a","b"]`},
		"set of bytes":  {&types.AttributeValueMemberBS{Value: [][]byte{{1, 2, 255}}}, `["AQL/"]`},
		"set of number": {&types.AttributeValueMemberNS{Value: []string{"1", "2.50"}}, `[1,2.5]`},
		"bytes":         {&types.AttributeValueMemberB{Value: []byte{1, 2, 255}}, `"AQL/"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(item{
				"id": S("p#1"), "status": S("COMPLETED"), "expiration": N("1795265229"),
				"data": c.data,
			})
			require.NoError(t, err)
			assert.Equal(t, c.result, string(got.Result))
			assert.Equal(t, store.LayoutValue, got.Layout)
			assert.Empty(t, got.Seal)
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
		var se *store.Error
		require.ErrorAs(t, err, &se, name)
		assert.Equal(t, store.FailureRejected, se.Kind)
		assert.True(t, se.NotApplied)
		assert.NotContains(t, err.Error(), secret)
		assert.Equal(t, S("INPROGRESS"), getItem(t, client, table, r.Key)["status"])
	}
}

// TestALayoutDoesNotOutliveItsResult lets AWS Powertools for TypeScript complete a record that this
// module has written, and this module replace that result in each layout.
func TestALayoutDoesNotOutliveItsResult(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	for _, first := range []store.Layout{"", store.LayoutText, store.LayoutValue} {
		for _, second := range []store.Layout{"", store.LayoutText, store.LayoutValue} {
			for name, data := range map[string]types.AttributeValue{"S": S("hello"), "M": M(item{"a": N("1")})} {
				r := completion(record("charge#"+string(first)+"-"+string(second)+name), []byte(`"a"`))
				r.Layout = first
				mustClaim(t, s, r, claimTime)
				complete(t, client, table, r.Key, data)
				seen := mustGet(t, s, r.Key)
				require.Empty(t, seen.Seal)

				next := completion(seen, []byte(`"b"`))
				next.Layout = second
				mustSwap(t, s, seen, next)
				got := mustGet(t, s, r.Key)
				require.Equal(t, next, got, "%q over %q", second, first)
			}
		}
	}
}
