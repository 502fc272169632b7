package jmespath

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent/internal/jsontext"
)

func TestNumbersAreSelectedAsTheyAreSpelled(t *testing.T) {
	t.Parallel()
	for _, number := range []string{
		"0", "-0", "1.0", "1e0", "1E+2", "-1.50e-3", "9007199254740993", "0.10000000000000000001",
		"123456789012345678901234567890.123456789012345678901234567890", "1e400", "1e999999999", "-1e-999999999",
		"1e00000000000000000000000001", "1e999999999999999",
	} {
		quoted := fmt.Sprintf("%q", fmt.Sprintf(`{"n": %s}`, number))
		assert.Equal(t, number, selectJSON(t, "a.n", `{"a":{"n": `+number+` }}`))
		assert.Equal(t, "["+number+"]", selectJSON(t, "[a]", `{"a":`+number+`}`))
		assert.Equal(t, `{"x":`+number+`}`, selectJSON(t, "{x: a}", `{"a":`+number+`}`))
		assert.Equal(t, "["+number+"]", selectJSON(t, "[*].a", `[{"a":`+number+`}]`))
		assert.Equal(t, number, selectJSON(t, "`"+number+"`", `null`))
		assert.Equal(t, number, selectJSON(t, "to_number('"+number+"')", `null`))
		assert.Equal(t, number, selectJSON(t, "powertools_json(@).n", quoted))
		assert.Equal(t, `"`+number+`"`, selectJSON(t, "to_string(@)", number))
		assert.Equal(t, number, selectJSON(t, "max(@)", `[`+number+`]`))
		assert.Equal(t, "["+number+"]", selectJSON(t, "sort(@)", `[`+number+`]`))
		assert.Equal(t, strings.TrimPrefix(number, "-"), selectJSON(t, "abs(@)", number))
	}
}

// ascending are groups of equal numbers, each group greater than the one before.
var ascending = [][]string{
	{"-1e999999999999999", "-10e999999999999998"},
	{"-1e999999999"},
	{"-9007199254740993", "-9007199254740993.0", "-9.007199254740993e15"},
	{"-9007199254740992"},
	{"-1.1", "-11e-1"},
	{"-1"},
	{"-1e-999999999999999"},
	{"0", "-0", "0.0", "0e5", "-0.00e-7", "0e99999999999"},
	{"1e-999999999999999"},
	{"1e-400"},
	{"0.1", "1e-1", "0.10", "100e-3"},
	{"0.10000000000000000001"},
	{"1", "1.0", "1e0", "10e-1", "0.1e1", "1.000000000000000000000000000000", "1E-0"},
	{"1.0000000000000000000000000001"},
	{"9"},
	{"10", "1e1", "1.0e1"},
	{"9007199254740992", "9.007199254740992e15"},
	{"9007199254740993"},
	{"1e400"},
	{"1e999999999"},
	{"2e999999999", "0.2e1000000000"},
	{"1e999999999999999"},
}

func TestComparisonsAreByExactValue(t *testing.T) {
	t.Parallel()
	for i, group := range ascending {
		for j, others := range ascending {
			for _, a := range group {
				for _, b := range others {
					document := `{"a":` + a + `,"b":` + b + `}`
					for operator, want := range map[string]bool{
						"==": i == j, "!=": i != j, "<": i < j, "<=": i <= j, ">": i > j, ">=": i >= j,
					} {
						assert.Equal(t, fmt.Sprint(want), selectJSON(t, "a "+operator+" b", document), "%s on %s",
							operator, document)
					}
				}
			}
		}
	}
}

func TestEqualityOfContainersComparesNumbersByValue(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "true", selectJSON(t, "a == b", `{"a":{"x":[1.0,{"y":1e2}]},"b":{"x":[1,{"y":100}]}}`))
	assert.Equal(t, "false", selectJSON(t, "a == b", `{"a":[9007199254740993],"b":[9007199254740992]}`))
	assert.Equal(t, "true", selectJSON(t, "contains(@, `1.50`)", `[1.5]`))
	assert.Equal(t, "[1.50]", selectJSON(t, "[?@ == `15e-1`]", `[1.50, 1.5000000000000000000000001]`))
}

func TestSortingIsByExactValueAndStable(t *testing.T) {
	t.Parallel()
	var sorted []string
	for _, group := range ascending {
		sorted = append(sorted, group...)
	}
	shuffled := slices.Clone(sorted)
	slices.SortStableFunc(shuffled, func(a, b string) int { return len(a) - len(b) })
	got := selectJSON(t, "sort(@)", "["+strings.Join(shuffled, ",")+"]")
	var again []string
	for _, group := range ascending { // equal numbers stay in the order of the input
		again = append(again, slices.SortedStableFunc(slices.Values(group),
			func(a, b string) int { return len(a) - len(b) })...)
	}
	assert.Equal(t, "["+strings.Join(again, ",")+"]", got)
	assert.Equal(t, sorted[len(sorted)-1], selectJSON(t, "max(@)", got))
	assert.Equal(t, sorted[0], selectJSON(t, "min(@)", got))
	assert.Equal(t, `{"n":2.0,"id":"b"}`,
		selectJSON(t, "max_by(@, &n)", `[{"n":1,"id":"a"},{"n":2.0,"id":"b"},{"n":2,"id":"c"}]`), "first of equals")
	assert.Equal(t, `["a","b","c","d"]`,
		selectJSON(t, "sort_by(@, &n)[].id", `[{"n":2,"id":"c"},{"n":1,"id":"a"},{"n":1.0,"id":"b"},{"n":2,"id":"d"}]`))
}

func TestArithmeticIsExact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ expression, argument, want string }{
		{"sum(@)", "[]", "0"},
		{"sum(@)", "[0.1, 0.2]", "0.3"},
		{"sum(@)", "[1e20, -1, 0.5]", "99999999999999999999.5"},
		{"sum(@)", "[0, 0.0, -0]", "0"},
		{"sum(@)", "[1e999999999, 2e999999999]", "3e999999999"},
		{"sum(@)", "[1e-999999999, 0]", "1e-999999999"},
		{"avg(@)", "[]", "null"},
		{"avg(@)", "[1, 2]", "1.5"},
		{"avg(@)", "[9007199254740993, 9007199254740995]", "9007199254740994"},
		{"avg(@)", "[1, 0, 0]", "0.3333333333333333333333333333333333"},
		{"avg(@)", "[2, 0, 0]", "0.6666666666666666666666666666666667"},
		{"avg(@)", "[-2, 0, 0]", "-0.6666666666666666666666666666666667"},
		{"avg(@)", "[1e40, 1, 0]", "3333333333333333333333333333333333333333.7"},
		{"avg(@)", "[0, 0]", "0"},
		{
			"avg(@)", "[2.9999999999999999999999999999999999999999999, 0, 0]",
			"0.99999999999999999999999999999999999999999997",
		},
		{"avg(@)", "[1e999999999, 0]", "5e999999998"},
		{"ceil(@)", "-0.2", "0"},
		{"ceil(@)", "9007199254740992.000000000000000001", "9007199254740993"},
		{"ceil(@)", "1e-999999999", "1"},
		{"ceil(@)", "1e999999999", "1e999999999"},
		{"floor(@)", "0.999999999999999999999999999999", "0"},
		{"floor(@)", "-1e-999999999", "-1"},
		{"floor(@)", "-1e999999999", "-1e999999999"},
		{"abs(@)", "-9007199254740993", "9007199254740993"},
		{"to_number(@)", `"0.10000000000000000001"`, "0.10000000000000000001"},
		{"to_number(@)", `"1e400"`, "1e400"},
		{"to_number(@)", `" 1"`, "null"},
		{"to_number(@)", `"+1"`, "null"},
		{"to_number(@)", `"01"`, "null"},
		{"to_number(@)", `"NaN"`, "null"},
		{"to_number(@)", `""`, "null"},
		{"to_number(@)", `"1e9999999999999999999"`, "null"},
		{"to_number(@)", `"[1]"`, "null"},
		{"to_string(@)", `[1.0, 1e400, 9007199254740993]`, `"[1.0,1e400,9007199254740993]"`},
	} {
		assert.Equal(t, c.want, selectJSON(t, c.expression, c.argument), "%s on %s", c.expression, c.argument)
	}
}

func TestSumsThatNeedTooManyDigitsAreRefused(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"sum(@)", "avg(@)"} {
		for _, payload := range []string{
			"[1e999999999, 1]", "[1, 1e-999999999]", "[1e999999999999999, 1e-999999999999999]", "[1e8192, 1]",
		} {
			_, err := trySelect(source, payload)
			assert.Equal(t, errLimit, kindOf(err), "%s on %s", source, payload)
		}
	}
	_, err := trySelect("sum(@)", "[9e1000000000000000, 9e1000000000000000]")
	require.Equal(t, errLimit, kindOf(err), "the sum has an exponent that no number may have")
	assert.Equal(t, "1"+strings.Repeat("0", 8190)+"1", selectJSON(t, "sum(@)", "[1e8191, 1]"))
}

// TestHugeExponentsCostNothing: written out, one of these numbers would need more memory than there
// is.
func TestHugeExponentsCostNothing(t *testing.T) {
	t.Parallel()
	numbers := strings.Repeat("1e999999999,-1e-999999999,", 5000) + "0"
	for _, source := range []string{
		"sort(@)[0]", "max(@)", "min(@)", "[?@ > `0`] | length(@)", "map(&ceil(@), @)[0]", "map(&floor(@), @)[0]",
		"contains(@, `7e999999999`)", "map(&abs(@), @)[1]", "to_string(@) | length(@)", "@ == `[1]`",
	} {
		selectJSON(t, source, "["+numbers+"]")
	}
}

// rational draws a number as JSON text together with its value.
func rational(t *rapid.T, label string) (string, *big.Rat) {
	text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,2})?`).Draw(t, label)
	value, ok := new(big.Rat).SetString(text)
	require.True(t, ok, "%s is a number", text)
	return text, value
}

func requireNumber(t *rapid.T, want *big.Rat, got, what string) {
	number, ok := new(big.Rat).SetString(got)
	require.True(t, ok && number.Cmp(want) == 0, "%s: %s, want %s", what, got, want)
}

func rationals(t *rapid.T) (array string, values []*big.Rat) {
	texts := make([]string, rapid.IntRange(1, 6).Draw(t, "count"))
	for i := range texts {
		text, value := rational(t, "number")
		texts[i] = text
		values = append(values, value)
	}
	return "[" + strings.Join(texts, ",") + "]", values
}

func TestComparisonAgreesWithRationalNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, x := rational(t, "a")
		b, y := rational(t, "b")
		require.Equal(t, x.Cmp(y), compareNumbers(Value{a}, Value{b}), "compare %s with %s", a, b)
		require.Equal(t, x.Cmp(y) == 0, jsontext.ParseDecimal(a) == jsontext.ParseDecimal(b), "%s and %s as decimals",
			a, b)
	})
}

func TestSumAgreesWithRationalNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		array, values := rationals(t)
		want := new(big.Rat)
		for _, value := range values {
			want.Add(want, value)
		}
		selected, err := trySelect("sum(@)", array)
		require.NoError(t, err)
		requireNumber(t, want, selected.text, array)
	})
}

func TestDivisionAgreesWithRationalNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, value := rational(t, "number")
		divisor := rapid.Int64Range(1, 1e17).Draw(t, "divisor")
		want := value.Quo(value, new(big.Rat).SetInt64(divisor))
		d := jsontext.ParseDecimal(text)
		got, ok := new(big.Rat).SetString(d.DividedBy(divisor).Text())
		require.True(t, ok, "%s / %d is a number", text, divisor)
		_, finite := want.FloatPrec()
		require.True(t, !finite || got.Cmp(want) == 0, "%s / %d: %s, want %s", text, divisor, got, want)
		relative := new(big.Rat).SetFrac(big.NewInt(5), new(big.Int).Exp(big.NewInt(10), big.NewInt(34), nil))
		off := new(big.Rat).Sub(got, want)
		require.LessOrEqual(t, off.Abs(off).Cmp(relative.Mul(relative, want).Abs(relative)), 0,
			"%s / %d: %s is off by %s", text, divisor, got, off)
	})
}

func TestCeilAndFloorAgreeWithRationalNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, value := rational(t, "number")
		down := new(big.Int).Div(value.Num(), value.Denom()) // rounds down for a positive divisor
		up := new(big.Int).Set(down)
		if !value.IsInt() {
			up.Add(up, big.NewInt(1))
		}
		for source, want := range map[string]*big.Int{"floor(@)": down, "ceil(@)": up} {
			selected, err := trySelect(source, text)
			require.NoError(t, err)
			requireNumber(t, new(big.Rat).SetInt(want), selected.text, source+" on "+text)
		}
	})
}
