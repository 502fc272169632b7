package dynamo_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/store"
)

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
