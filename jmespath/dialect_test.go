package jmespath

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDialectDecides(t *testing.T) {
	t.Parallel()
	never := errors.New("never")
	d := Dialect{
		Name: "other",
		Compare: func(operator string, left, right Value) (Value, error) {
			if left.Kind() == Object {
				return Value{}, never
			}
			return FromString(fmt.Sprintf("%s %s %s", left.JSON(), operator, right.JSON()))
		},
		Order: func(left, right Value) (int, error) {
			if left.json() == `"never"` || right.json() == `"never"` {
				return 0, never
			}
			return 3 * (len(left.json()) - len(right.json())), nil // any number, not only 1
		},
		Member: func(member Value) (Value, error) {
			if text, _ := member.Text(); text == "none" {
				return Value{}, nil
			}
			return member, nil
		},
		Arrange: func(object Value) (Value, error) {
			if strings.Contains(object.json(), "never") {
				return Value{}, never
			}
			return Value{`{"z":26,"a":1}`}, nil
		},
		KeepsNull: true,
		Functions: map[string]func([]Value) (Value, error){
			"abs": func(arguments []Value) (Value, error) {
				if len(arguments) != 1 || arguments[0].Kind() == Object {
					return Value{}, never
				}
				return arguments[0], nil
			},
			"not_null": func(arguments []Value) (Value, error) { return integerValue(len(arguments)), nil },
		},
		Results: map[string]func(Value) (Value, error){
			"length": func(result Value) (Value, error) { return FromString("length " + result.json()) },
		},
	}
	document := `{"o":{"z":1,"b":2},"l":[1,null,[null]],"t":["bbb","cc","d"],"n":["a","never"],"s":"none","objects":[{"k":333},{"k":22}]}`
	for source, want := range map[string]string{
		"`1` == 'a'":                `"1 == \"a\""`,
		"`1` < `2`":                 `"1 < 2"`,
		"l[?`1` != `1`]":            `[1,null,[null]]`, // a text is true
		"o == o":                    "!== of other: never",
		"sort(t)":                   `["d","cc","bbb"]`,
		"max(t)":                    `"bbb"`,
		"min(t)":                    `"d"`,
		"sort_by(objects, &k)[0].k": "22",
		"max_by(objects, &k).k":     "333",
		"sort(n)":                   "!the order of strings of other: never",
		"max(n)":                    "!the order of strings of other: never",
		"s":                         "null",
		"[s, o.z]":                  "[null,1]",
		"o.*":                       "[26,1]",
		"keys(o)":                   `["z","a"]`,
		"values(o)":                 "[26,1]",
		"`{\"never\": 1}`.*":        "!the order of members of other: never",
		"keys(`{\"never\": 1}`)":    "!the order of members of other: never",
		"l[?`true`]":                "[1,null,[null]]",
		"l[]":                       "[1,null,null]",
		"l[*]":                      "[1,[null]]",
		"l[?`true`][0]":             "[]", // a step drops null
		"abs('x')":                  `"x"`,
		"abs(o)":                    "!other: never",
		"not_null(a, b, c)":         "3",
		"length(t)":                 `"length 3"`,
		"length(`1`)":               "!argument 1 is number",
	} {
		selected, err := trySelect(source, document, WithDialect(d))
		if reason, fails := strings.CutPrefix(want, "!"); fails {
			require.ErrorContains(t, err, reason, source)
			if strings.Contains(reason, "never") {
				require.ErrorIs(t, err, ErrDialect, source)
				require.ErrorIs(t, err, never, source)
			}
			continue
		}
		require.NoError(t, err, source)
		require.Equal(t, want, string(selected.JSON()), source)
	}
	_, err := Compile("abs(`1`, `2`)", WithDialect(d))
	require.ErrorIs(t, err, ErrInvalidArity, "which is still checked")
}

// A dialect that decides nothing changes nothing.
func TestDialectWithoutDecisions(t *testing.T) {
	t.Parallel()
	document := `{"o":{"z":1,"b":2},"l":[1,null,[null]],"t":["bbb","cc","d"]}`
	for _, source := range []string{"`1` == `1.0`", "`2` > `1`", "sort(t)", "o.*", "keys(o)", "l[]", "l[?`true`]", "abs(`-1`)", "missing"} {
		require.Equal(t, selectJSON(t, source, document), selectJSON(t, source, document, WithDialect(Dialect{})), source)
	}
}

func TestDialectSeesEveryPart(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"a.\"b c\"[0]":          `identifier "a"@0 identifier "b c"@2 index@7`,
		"[a, {b: c}]":           `multi-select list@0 identifier "a"@1 multi-select hash@4 member "b"@5 identifier "c"@8`,
		"a[*].b[]":              `identifier "a"@0 [*]@1 identifier "b"@5 []@6`,
		"*.a | [1:]":            `*@0 identifier "a"@2 |@4 slice@6`,
		"a.*":                   `identifier "a"@0 *@2`,
		"'x\\'' == `\"\\``":     "!",
		"'x\\'' == `\"y\\`\"`":  "raw string@0 ==@6 literal@9",
		"[]":                    "[]@0",
		"[?a < b]":              `filter@0 identifier "a"@2 <if@4 identifier "b"@6`,
		"[?a < b && !c || d]":   `filter@0 identifier "a"@2 <if@4 identifier "b"@6 &&@8 !@11 identifier "c"@12 ||@14 identifier "d"@17`,
		"[?(a < b) == c]":       `filter@0 identifier "a"@3 <@5 identifier "b"@7 ==if@10 identifier "c"@13`,
		"a < b || c > d":        `identifier "a"@0 <if@2 identifier "b"@4 ||@6 identifier "c"@9 >@11 identifier "d"@13`,
		"a < b && c":            `identifier "a"@0 <@2 identifier "b"@4 &&@6 identifier "c"@9`,
		"!(a < b && c > d)":     `!@0 identifier "a"@2 <if@4 identifier "b"@6 &&@8 identifier "c"@11 >if@13 identifier "d"@15`,
		"[a < b]":               `multi-select list@0 identifier "a"@1 <@3 identifier "b"@5`,
		"max_by(a, &b > c)":     `function max_by@0 identifier "a"@7 identifier "b"@11 >@13 identifier "c"@15`,
		"a[0][1:]":              `identifier "a"@0 index@1 slice@4 slice behind an index@4`,
		"a | [0] | [1:]":        `identifier "a"@0 |@2 index@4 |@8 slice@10`,
		"a[?b].c[?d]":           `identifier "a"@0 filter@1 identifier "b"@3 identifier "c"@6 filter behind the steps of another@7 filter@7 identifier "d"@9`,
		"a[?b][?c]":             `identifier "a"@0 filter@1 identifier "b"@3 filter@5 identifier "c"@7`,
		"(a[?b].c)[?d]":         `identifier "a"@1 filter@2 identifier "b"@4 identifier "c"@7 filter@9 identifier "d"@11`,
		"!a.b":                  `!@0 identifier "a"@1 step behind a negation@2 identifier "b"@3`,
		"!a[]":                  `!@0 identifier "a"@1 step behind a negation@2 []@2`,
		"!a[0]":                 `!@0 identifier "a"@1 index@2`,
		"!(a.b) && c":           `!@0 identifier "a"@2 identifier "b"@4 &&@7 identifier "c"@10`,
		"a[*].[b][0]":           `identifier "a"@0 [*]@1 multi-select list@5 identifier "b"@6 step behind the end of a projection@8 index@8`,
		"a[?b].{c: d}.e":        `identifier "a"@0 filter@1 identifier "b"@3 multi-select hash@6 member "c"@7 identifier "d"@10 step behind the end of a projection@12 identifier "e"@13`,
		"a.*.b.c":               `identifier "a"@0 *@2 identifier "b"@4 step behind the end of a projection@5 identifier "c"@6`,
		"a[*].b.c":              `identifier "a"@0 [*]@1 identifier "b"@5 identifier "c"@7`,
		"a.[b][0]":              `identifier "a"@0 multi-select list@2 identifier "b"@3 index@5`,
		"powertools_json(@).id": `function powertools_json@0 identifier "id"@19`,
	} {
		var parts []string
		_, err := Compile(source, WithDialect(Dialect{Allow: func(p Part) error {
			condition := ""
			if p.Condition {
				condition = "if"
			}
			parts = append(parts, fmt.Sprintf("%s%s@%d", p, condition, p.Offset))
			return nil
		}}))
		if want == "!" {
			require.Error(t, err, source)
			continue
		}
		require.NoError(t, err, source)
		assert.Equal(t, want, strings.Join(parts, " "), source)
	}
}

func TestDialectRefusesByName(t *testing.T) {
	t.Parallel()
	reason := errors.New("no order")
	_, err := Compile("a[?b < `1`]", WithDialect(Dialect{Name: "other", Allow: func(p Part) error {
		if p.Kind == "<" {
			return reason
		}
		return nil
	}}))
	require.EqualError(t, err, "jmespath: compile \"a[?b < `1`]\": dialect at offset 5: < of other: no order")
	require.ErrorIs(t, err, ErrDialect)

	var literals []string
	_, err = Compile("'it\\'s' == `\"\\`\"`", WithDialect(Dialect{Allow: func(p Part) error {
		literals = append(literals, p.Kind+" "+p.Text)
		return nil
	}}))
	require.NoError(t, err)
	require.Equal(t, []string{`raw string it\'s`, "== ", "literal \"\\`\""}, literals, "as they are spelled")
}

func TestDialectIsCheckedWhenCompiling(t *testing.T) {
	t.Parallel()
	none := func([]Value) (Value, error) { return Value{}, nil }
	_, err := Compile("a", WithDialect(Dialect{}), WithDialect(Dialect{}))
	require.ErrorIs(t, err, ErrInvalidOption)
	require.ErrorContains(t, err, "there is a dialect already")
	_, err = Compile("a", WithDialect(Dialect{Functions: map[string]func([]Value) (Value, error){"mine": none}}))
	require.ErrorContains(t, err, "function mine of the dialect is not built in")
	_, err = Compile("a", WithDialect(Dialect{Functions: map[string]func([]Value) (Value, error){"sort_by": none}}))
	require.ErrorContains(t, err, "function sort_by of the dialect is not built in, or takes an expression")
	_, err = Compile("a", WithDialect(Dialect{Results: map[string]func(Value) (Value, error){"mine": nil}}))
	require.ErrorContains(t, err, "function mine of the dialect is not built in")
}

// What a dialect reads and writes counts as work.
func TestWorkOfADialectIsBounded(t *testing.T) {
	t.Parallel()
	big, err := FromString(strings.Repeat("x", 1<<20))
	require.NoError(t, err)
	d := Dialect{Member: func(Value) (Value, error) { return big, nil }}
	list := "[" + strings.Repeat("{},", 1000) + "{}]"
	_, err = trySelect("[*].a", list, WithDialect(d))
	require.ErrorIs(t, err, ErrLimit)
}
