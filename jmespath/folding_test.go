package jmespath_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent/jmespath"
)

func TestExpressionThatFoldsRefusesNamesThatDifferOnlyInCase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		expression, document, selected string // empty: refused
	}{
		{"code", `{"code":"x","Code":"GIFT"}`, ""},
		{"code", `{"Code":"GIFT","code":"x"}`, ""},
		{"code", `{"code":"x","a":1,"A":2}`, ""}, // the object is on the way
		{"sku", `{"sku":"x","\u017fku":"y"}`, ""},
		{"kind", `{"kind":"x","\u212aind":"y"}`, ""},
		{"order.id", `{"order":{"id":1},"Order":{"id":2}}`, ""},
		{"order.id", `{"order":{"id":1,"ID":2}}`, ""},
		{"orders[*].id", `{"orders":[{"id":1},{"id":1,"Id":2}]}`, ""},
		{"[code, id]", `{"code":"x","id":1,"Id":2}`, ""},
		{"powertools_json(body).code", `{"body":"{\"code\":1,\"Code\":2}"}`, ""},
		{"a.*", `{"a":{"b":1,"B":2}}`, ""},
		{"values(@)", `{"b":1,"B":2}`, ""},
		// Another spelling alone is no missing member: the program reads it.
		{"code", `{"Code":"GIFT"}`, ""},
		{"[id, code]", `{"id":1,"Code":"GIFT"}`, ""},
		{"items[*].code", `{"items":[{"code":"x"},{"Code":"GIFT"}]}`, ""},
		{"[a || b, code]", `{"A":1,"b":2,"Code":3}`, ""},
		{"a || A", `{"A":1}`, ""},
		{"A || a", `{"A":1}`, "1"},
		{"a || b", `{"A":1}`, ""},
		{"[code, a || b]", `{"Code":1,"b":2}`, ""},
		// An alternative does not excuse another spelling.
		{"code || id", `{"Code":"GIFT","id":1}`, ""},
		{"code || 'none'", `{"Code":"GIFT"}`, ""},
		{"code || Code", `{"Code":"GIFT"}`, ""},
		{"code || id", `{"id":1}`, "1"},
		// These look into an object without a name.
		{"length(@)", `{"code":"x","Code":"GIFT"}`, ""},
		{"to_string(@)", `{"code":"x","Code":"GIFT"}`, ""},
		{"to_string(order)", `{"order":[{"items":[1,{"b" : {"code":"x", "Code":"GIFT"}}]}]}`, ""},
		{
			"to_string(order)", `{"order":[{ "items":[1, {"b":{"code" : "x"},"B2":{"Code":"y"}}, []]}, {}]}`,
			`"[{\"items\":[1,{\"b\":{\"code\":\"x\"},\"B2\":{\"Code\":\"y\"}},[]]},{}]"`,
		},
		{"code", `{"id":1}`, "null"},
		{"code", `{"code":"x","other":{"a":1,"A":2}}`, `"x"`}, // not on the way
		{"order.id", `{"order":{"id":1}}`, "1"},
	} {
		plain, err := jmespath.Compile(c.expression)
		require.NoError(t, err)
		_, err = plain.Search([]byte(c.document))
		require.NoError(t, err, "%s alone", c.expression)

		selected, err := plain.Folding().Search([]byte(c.document))
		if c.selected == "" {
			require.ErrorContains(t, err, ": names that differ only in case", "%s on %s", c.expression, c.document)
			assert.NotContains(t, err.Error(), "GIFT")
			continue
		}
		require.NoError(t, err, "%s on %s", c.expression, c.document)
		assert.JSONEq(t, c.selected, string(selected.JSON()))
	}
}

// What an expression selects is what the decoder reads, or the document is refused.
func TestSelectionIsWhatTheDecoderReads(t *testing.T) {
	t.Parallel()
	type order struct {
		Code string `json:"code"`
		Sku  struct {
			Kind string `json:"kind"`
		} `json:"sku"`
	}
	names := rapid.SampledFrom([]string{
		"code", "Code", "CODE", "sku", "Sku", "\u017fku", "kind", "Kind", "\u212aind",
		"other", `c\u006fde`,
	})
	expression, err := jmespath.Compile("[code, sku.kind]")
	require.NoError(t, err)
	folding := expression.Folding()
	refused, selected := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var object func(depth int) string
		object = func(depth int) string {
			var members []string
			for range rapid.IntRange(0, 4).Draw(t, "members") {
				name := names.Draw(t, "name")
				value := `"` + rapid.SampledFrom([]string{"a", "b"}).Draw(t, "value") + `"`
				if depth > 0 && strings.HasSuffix(strings.ToLower(name), "ku") {
					value = object(depth - 1)
				}
				members = append(members, `"`+name+`":`+value)
			}
			return "{" + strings.Join(members, ",") + "}"
		}
		document := []byte(object(1))
		var read order
		require.NoError(t, json.Unmarshal(document, &read), "%s", document)
		found, err := folding.Search(document)
		if err != nil {
			refused++
			return
		}
		selected++
		var got [2]string // null leaves a string empty, as a missing member does
		require.NoError(t, json.Unmarshal(found.JSON(), &got))
		require.Equal(t, [2]string{read.Code, read.Sku.Kind}, got, "%s", document)
	})
	t.Logf("%d refused, %d selected", refused, selected)
	require.Positive(t, refused)
	require.Positive(t, selected)
}
