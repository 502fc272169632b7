package dynamo

import (
	"encoding/binary"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestWritesAreReadBackFromTheirText: so different writes have different texts, and different digests.
func TestWritesAreReadBackFromTheirText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(anyWrite), 0, 4).Draw(t, "writes")
		text := appendWrites(nil, all)
		r := &textReader{rest: text}
		require.Equal(t, len(all), r.length())
		for _, w := range all {
			require.Equal(t, w, r.write())
		}
		require.Empty(t, r.rest)
		require.Equal(t, text, appendWrites(nil, all), "whatever the order of maps is")
	})
}

// TestEveryFieldIsInTheDigest of each kind of write.
func TestEveryFieldIsInTheDigest(t *testing.T) {
	t.Parallel()
	old := types.ReturnValuesOnConditionCheckFailureAllOld
	key, other := item{"id": textValue("1")}, item{"id": textValue("2")}
	names, values := map[string]string{"#n": "a"}, item{":v": numberValue(1)}
	text := aws.String("x")
	all := []types.TransactWriteItem{
		{Put: &types.Put{}},
		{Put: &types.Put{TableName: text}},
		{Put: &types.Put{Item: key}},
		{Put: &types.Put{Item: other}},
		{Put: &types.Put{ConditionExpression: text}},
		{Put: &types.Put{ExpressionAttributeNames: names}},
		{Put: &types.Put{ExpressionAttributeValues: values}},
		{Put: &types.Put{ReturnValuesOnConditionCheckFailure: old}},
		{Update: &types.Update{}},
		{Update: &types.Update{TableName: text}},
		{Update: &types.Update{Key: key}},
		{Update: &types.Update{ConditionExpression: text}},
		{Update: &types.Update{UpdateExpression: text}},
		{Update: &types.Update{ExpressionAttributeNames: names}},
		{Update: &types.Update{ExpressionAttributeValues: values}},
		{Update: &types.Update{ReturnValuesOnConditionCheckFailure: old}},
		{Delete: &types.Delete{}},
		{Delete: &types.Delete{TableName: text}},
		{Delete: &types.Delete{Key: key}},
		{Delete: &types.Delete{ConditionExpression: text}},
		{Delete: &types.Delete{ExpressionAttributeNames: names}},
		{Delete: &types.Delete{ExpressionAttributeValues: values}},
		{Delete: &types.Delete{ReturnValuesOnConditionCheckFailure: old}},
		{ConditionCheck: &types.ConditionCheck{}},
		{ConditionCheck: &types.ConditionCheck{TableName: text}},
		{ConditionCheck: &types.ConditionCheck{Key: key}},
		{ConditionCheck: &types.ConditionCheck{ConditionExpression: text}},
		{ConditionCheck: &types.ConditionCheck{ExpressionAttributeNames: names}},
		{ConditionCheck: &types.ConditionCheck{ExpressionAttributeValues: values}},
		{ConditionCheck: &types.ConditionCheck{ReturnValuesOnConditionCheckFailure: old}},
	}
	seen := make(map[[32]byte]int)
	for i, w := range all {
		of, err := writeOf(w)
		require.NoError(t, err)
		digest := digestOf([]write{of})
		before, is := seen[digest]
		require.False(t, is, "%d and %d have the same", before, i)
		seen[digest] = i
	}
	_, nothing := seen[digestOf(nil)]
	require.False(t, nothing)
}

// textReader reads what appendWrites appends.
type textReader struct{ rest []byte }

func (r *textReader) length() int {
	n, size := binary.Uvarint(r.rest)
	r.rest = r.rest[size:]
	return int(n)
}

func (r *textReader) bytes() []byte {
	n := r.length()
	b := append([]byte{}, r.rest[:n]...)
	r.rest = r.rest[n:]
	return b
}

func (r *textReader) text() string { return string(r.bytes()) }

func (r *textReader) flag() bool {
	is := r.rest[0] == 1
	r.rest = r.rest[1:]
	return is
}

func (r *textReader) optional() *string {
	if !r.flag() {
		return nil
	}
	return aws.String(r.text())
}

func (r *textReader) item() item {
	is, n := r.flag(), r.length()
	if !is {
		return nil
	}
	it := make(item)
	for range n {
		name := r.text()
		it[name] = r.value()
	}
	return it
}

func (r *textReader) texts() []string {
	all := []string{}
	for range r.length() {
		all = append(all, r.text())
	}
	return all
}

func (r *textReader) value() types.AttributeValue {
	switch r.text() {
	case "S":
		return textValue(r.text())
	case "N":
		return &types.AttributeValueMemberN{Value: r.text()}
	case "B":
		return binaryValue(r.bytes())
	case "BOOL":
		return &types.AttributeValueMemberBOOL{Value: r.flag()}
	case "NULL":
		return &types.AttributeValueMemberNULL{Value: r.flag()}
	case "M":
		return &types.AttributeValueMemberM{Value: r.item()}
	case "L":
		l := []types.AttributeValue{}
		for range r.length() {
			l = append(l, r.value())
		}
		return &types.AttributeValueMemberL{Value: l}
	case "SS":
		return setValue(r.texts())
	case "NS":
		return &types.AttributeValueMemberNS{Value: r.texts()}
	default:
		all := [][]byte{}
		for range r.length() {
			all = append(all, r.bytes())
		}
		return &types.AttributeValueMemberBS{Value: all}
	}
}

func (r *textReader) write() write {
	w := write{kind: r.text(), table: r.optional(), row: r.item(), key: r.item(), condition: r.optional(), update: r.optional()}
	if is, n := r.flag(), r.length(); is {
		w.names = make(map[string]string)
		for range n {
			name := r.text()
			w.names[name] = r.text()
		}
	}
	w.values = r.item()
	w.returns = types.ReturnValuesOnConditionCheckFailure(r.text())
	return w
}

func anyWrite(t *rapid.T) write {
	w := write{
		kind:  rapid.SampledFrom([]string{"Put", "Update", "Delete", "Check"}).Draw(t, "kind"),
		table: anyText(t), condition: anyText(t), update: anyText(t),
		row: anyItem(t, 2), key: anyItem(t, 0), values: anyItem(t, 1),
		returns: rapid.SampledFrom([]types.ReturnValuesOnConditionCheckFailure{"", "NONE", "ALL_OLD"}).Draw(t, "returns"),
	}
	if rapid.Bool().Draw(t, "names") {
		w.names = rapid.MapOfN(rapid.String(), rapid.String(), 0, 3).Draw(t, "names")
	}
	return w
}

func anyText(t *rapid.T) *string {
	if rapid.Bool().Draw(t, "absent") {
		return nil
	}
	return aws.String(rapid.String().Draw(t, "text"))
}

func anyItem(t *rapid.T, depth int) item {
	if rapid.Bool().Draw(t, "absent") {
		return nil
	}
	return rapid.MapOfN(rapid.String(), rapid.Custom(func(t *rapid.T) types.AttributeValue { return anyValue(t, depth) }), 0, 3).Draw(t, "item")
}

func anyValue(t *rapid.T, depth int) types.AttributeValue {
	kinds := []string{"S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS"}
	if depth > 0 {
		kinds = append(kinds, "M", "L")
	}
	some := rapid.Custom(func(t *rapid.T) types.AttributeValue { return anyValue(t, depth-1) })
	switch rapid.SampledFrom(kinds).Draw(t, "type") {
	case "S":
		return textValue(rapid.String().Draw(t, "S"))
	case "N":
		return &types.AttributeValueMemberN{Value: rapid.StringMatching(`-?[0-9]{1,4}`).Draw(t, "N")}
	case "B":
		return binaryValue(rapid.SliceOf(rapid.Byte()).Draw(t, "B"))
	case "BOOL":
		return &types.AttributeValueMemberBOOL{Value: rapid.Bool().Draw(t, "BOOL")}
	case "NULL":
		return &types.AttributeValueMemberNULL{Value: rapid.Bool().Draw(t, "NULL")}
	case "SS":
		return setValue(rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "SS"))
	case "NS":
		return &types.AttributeValueMemberNS{Value: rapid.SliceOfN(rapid.StringMatching(`[0-9]{1,3}`), 0, 3).Draw(t, "NS")}
	case "BS":
		return &types.AttributeValueMemberBS{Value: rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 3), 0, 3).Draw(t, "BS")}
	case "M":
		return &types.AttributeValueMemberM{Value: rapid.MapOfN(rapid.String(), some, 0, 3).Draw(t, "M")}
	default:
		return &types.AttributeValueMemberL{Value: rapid.SliceOfN(some, 0, 3).Draw(t, "L")}
	}
}
