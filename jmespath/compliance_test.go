package jmespath

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jmespath/go-jmespath" // carries the official compliance suite
	reference "github.com/jmespath/go-jmespath"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// complianceCases is the size of the suite in the version that go.mod names.
const complianceCases = 862

type complianceGroup struct {
	Given json.RawMessage
	Cases []struct {
		Expression string
		Result     json.RawMessage
		Error      string
	}
}

func TestOfficialComplianceSuitePassesCompletely(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(moduleDir(t, "github.com/jmespath/go-jmespath"), "compliance", "*.json"))
	require.NoError(t, err)
	ran := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var groups []complianceGroup
		require.NoError(t, json.Unmarshal(text, &groups), file)
		for _, group := range groups {
			for _, c := range group.Cases {
				ran++
				where := filepath.Base(file) + ": " + c.Expression
				if c.Error != "" {
					assertComplianceError(t, c.Expression, group.Given, c.Error, where)
					continue
				}
				expression, err := Compile(c.Expression)
				if !assert.NoError(t, err, where) {
					continue
				}
				selected, err := expression.Search(group.Given)
				if assert.NoError(t, err, where) {
					assertEqualJSON(t, string(c.Result), selected, where)
				}
			}
		}
	}
	assert.Equal(t, complianceCases, ran, "cases of the suite")
}

// assertComplianceError accepts the error from either step. All but type errors
// that depend on the payload must already come from Compile.
func assertComplianceError(t *testing.T, source string, given []byte, kind, where string) {
	t.Helper()
	expression, err := Compile(source)
	if err == nil {
		assert.Equal(t, errInvalidType, kind, "%s must not compile", where)
		_, err = expression.Search(given)
	}
	assert.Equal(t, kind, kindOf(err), "%s: %v", where, err)
}

// assertEqualJSON compares by content, with the equality of the language itself,
// which tests of its own cover.
func assertEqualJSON(t *testing.T, want string, got Value, context ...any) {
	t.Helper()
	wanted, err := parseText(want)
	require.NoError(t, err, context...)
	_, err = parseText(string(got.JSON()))
	require.NoError(t, err, context...)
	if !newSearch(wanted).equal(wanted, got) {
		assert.Equal(t, want, string(got.JSON()), context...)
	}
}

// moduleDir returns where the module cache has a module.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	require.NoError(t, err, "the compliance suite comes with the module %s", module)
	return strings.TrimSpace(string(out))
}

// TestAgreesWithTheOfficialImplementation searches random documents with random
// expressions and compares with the official implementation for Go. The generators
// avoid what that one gets wrong or leaves to chance: numbers beyond float64, avg
// of nothing, contains with arrays, and the order of the members of an object.
func TestAgreesWithTheOfficialImplementation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := generator{T: t, single: rapid.Bool().Draw(t, "single")}
		source := g.expression(4)
		document := g.document(4)

		want, wantErr := referenceSearch(source, decode(t, []byte(document)))
		expression, err := Compile(source)
		var selected Value
		if err == nil {
			selected, err = expression.Search([]byte(document))
		}
		if kindOf(err) == errInvalidType && wantErr == nil {
			return // the reference swallows errors in the operands of projections
		}
		require.Equal(t, wantErr != nil, err != nil, "%s on %s: error %v, want %v", source, document, err, wantErr)
		if err != nil {
			return
		}
		wantText, err := json.Marshal(want)
		require.NoError(t, err)
		require.Equal(t, decode(t, wantText), decode(t, selected.JSON()), "%s on %s", source, document)
	})
}

// referenceSearch counts a panic as an error: the reference has one for merge with
// something else than an object behind the first argument.
func referenceSearch(source string, document any) (selected any, err error) {
	defer func() {
		if recovered := recover(); recovered != nil {
			err = fmt.Errorf("panic: %v", recovered)
		}
	}()
	return reference.Search(source, document)
}

func decode(t *rapid.T, text []byte) (value any) {
	require.NoError(t, json.Unmarshal(text, &value), "%s", text)
	return value
}

// A generator draws documents and expressions that have names in common.
type generator struct {
	*rapid.T
	single bool // no object has two members, so that their order is no question
}

func (g generator) pick(label string, of ...string) string {
	return rapid.SampledFrom(of).Draw(g.T, label)
}

func (g generator) count(label string, least, most int) int {
	return rapid.IntRange(least, most).Draw(g.T, label)
}

func (g generator) document(depth int) string {
	numbers := []string{`0`, `1`, `2`, `-1`, `0.25`}
	if !g.single { // else to_string would show how they are spelled
		numbers = append(numbers, `1.0`, `2e1`, `-0.0`)
	}
	if depth == 0 || g.count("leaf", 0, 4) == 0 {
		return g.pick("scalar", append(numbers, `null`, `true`, `false`, `""`, `"a"`, `"ab"`, `"ba"`, `"é"`, `"1"`,
			`"\u0061"`)...)
	}
	if g.count("array", 0, 1) == 0 {
		items := make([]string, g.count("length", 0, 4))
		like := g.count("like", 0, 2) // arrays of one kind give sum, sort and join something to do
		for i := range items {
			switch like {
			case 0:
				items[i] = g.document(depth - 1)
			case 1:
				items[i] = g.pick("number", numbers...)
			default:
				items[i] = g.pick("string", `""`, `"a"`, `"ab"`, `"ba"`, `"é"`)
			}
		}
		return "[" + strings.Join(items, g.pick("comma", ",", " , ")) + "]"
	}
	names := []string{"a", "b", "c"}
	if g.single {
		names = []string{g.pick("name", names...)}
	}
	var members []string
	for _, name := range names {
		if g.count("has", 0, 3) > 0 {
			members = append(members, `"`+name+`": `+g.document(depth-1))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (g generator) expression(depth int) string {
	operands := []string{
		"a", "b", "c", "@", "[]", "[*]", "[0]", "[-1]", "[1:]", "[::-1]", `"a"`, "`1`", "`\"a\"`",
		"'a'", "`null`", "`[1, 2]`", "`{\"a\": 1}`",
	}
	steps := []string{
		".a", ".b", ".c", "[]", "[*]", "[0]", "[1]", "[-1]", "[1:]", "[:2]", "[::-1]", "[::2]",
		"[-3:-1]", "[5::-2]",
	}
	unary := []string{
		"abs", "ceil", "floor", "length", "max", "min", "reverse", "sort", "sum", "to_array", "to_number",
		"type", "not_null", "merge",
	}
	binary := []string{"starts_with", "ends_with", "join", "not_null"}
	if g.single {
		operands = append(operands, "*")
		steps = append(steps, ".*")
		unary = append(unary, "keys", "values", "to_string")
	} else {
		binary = append(binary, "merge")
	}
	if depth == 0 {
		return g.pick("operand", operands...)
	}
	inner := func() string { return g.expression(depth - 1) }
	switch g.count("form", 0, 12) {
	case 0, 1:
		return inner() + g.pick("step", steps...)
	case 2:
		return inner() + g.pick("operator", " | ", " || ", " && ", "||", "&&", "|") + inner()
	case 3:
		return inner() + g.pick("comparator", "==", "!=", "<", "<=", ">", ">=") + inner()
	case 4:
		return "!" + inner()
	case 5:
		return "(" + inner() + ")"
	case 6:
		return inner() + "[?" + inner() + "]"
	case 7:
		return g.pick("dot", "", "a.", "[*].", "[].", "@.") + "[" + inner() + ", " + inner() + "]"
	case 8:
		second := ""
		if !g.single {
			second = `, "b": ` + inner()
		}
		return g.pick("dot", "", "a.", "[*].", "[].", "@.") + "{a: " + inner() + second + "}"
	case 9:
		return "map(&" + inner() + ", " + inner() + ")"
	case 10:
		return g.pick("function", "sort_by", "max_by", "min_by") + "(" + inner() + ", &" + inner() + ")"
	case 11:
		return g.pick("function", binary...) + "(" + inner() + ", " + inner() + ")"
	default:
		return g.pick("function", unary...) + "(" + inner() + ")"
	}
}
