package interop

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/powertools"
	"github.com/go-idempotent/idempotent/jmespath"
)

// pairsVariable is the number of pairs of an expression and an event that TestExpressions draws for each language.
const pairsVariable = "IDEMPOTENT_INTEROP_PAIRS"

// pair is an expression and an event to select a key from.
type pair struct {
	Expression string `json:"expression"`
	Event      string `json:"event"`
}

// selection is what a package hashes for a pair. Hashed is nil if the event has no key there.
type selection struct {
	Hashed *string `json:"hashed"`
	Error  string  `json:"error,omitempty"`
}

// selector is a package that selects keys, one line of its standard input after another.
type selector struct {
	language powertools.Language
	command  []string
}

func selectors(t *testing.T) []selector {
	t.Helper()
	node := typescriptPackages(t)
	copyFile(t, "keys.mjs", node)
	return []selector{
		{powertools.Python, []string{filepath.Join(pythonPackages(t), "bin", "python"), "peer/keys.py"}},
		{powertools.TypeScript, []string{"node", filepath.Join(node, "keys.mjs")}},
		{powertools.Java17, []string{"java", "-cp", filepath.Join(javaPackages(t), "*"), "peer/Keys.java"}},
	}
}

// selectAll lets the package select from all pairs.
func (s selector) selectAll(t *testing.T, pairs []pair) []selection {
	t.Helper()
	var asks bytes.Buffer
	for _, p := range pairs {
		line, err := json.Marshal(p)
		require.NoError(t, err)
		asks.Write(append(line, '\n'))
	}
	command := exec.CommandContext(t.Context(), s.command[0], s.command[1:]...)
	command.Stdin, command.Stderr = &asks, os.Stderr
	out, err := command.Output()
	require.NoError(t, err)
	selections := make([]selection, 0, len(pairs))
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var answer selection
		require.NoError(t, json.Unmarshal(lines.Bytes(), &answer))
		selections = append(selections, answer)
	}
	require.NoError(t, lines.Err())
	require.Len(t, selections, len(pairs))
	return selections
}

// verdict is how this library and a package agree on a pair.
type verdict string

const (
	agreed       verdict = "agreed"                 // on a key, on none, or on a failure
	refusedWhole verdict = "refused when wrapping"  // the expression
	refusedEvent verdict = "refused when delivered" // the event
	differs      verdict = "DIFFERS"
)

// judge selects from the pair here, and compares. The text is the difference, or the reason of a refusal.
func judge(codec *powertools.Codec, p pair, theirs selection) (verdict, string) {
	compiled, err := codec.Compile(p.Expression)
	if err != nil {
		return refusedWhole, "wrapping: " + reasonOf(err)
	}
	failed := func(err error) (verdict, string) {
		if theirs.Error != "" {
			return agreed, ""
		}
		return refusedEvent, "delivering: " + reasonOf(err)
	}
	selected, err := compiled.Search([]byte(p.Event))
	if err != nil {
		return failed(err)
	}
	ours := "no key"
	if !codec.Missing(selected.JSON()) {
		text, err := codec.Hashed(selected.JSON())
		if err != nil {
			return failed(err)
		}
		ours = "key of " + string(text)
	}
	there := "no key"
	switch {
	case theirs.Error != "":
		there = "fails: " + theirs.Error
	case theirs.Hashed != nil:
		there = "key of " + *theirs.Hashed
	}
	if ours != there {
		return differs, fmt.Sprintf("%s\n\ton %s\n\there  %s\n\tthere %s", p.Expression, p.Event, ours, there)
	}
	return agreed, ""
}

// reasonOf is an error without the expression and the position.
func reasonOf(err error) string {
	if refused, ok := errors.AsType[*jmespath.CompileError](err); ok {
		return fmt.Sprint(refused.Kind, ": ", refused.Detail)
	}
	if refused, ok := errors.AsType[*jmespath.SearchError](err); ok {
		return fmt.Sprint(refused.Kind, " ", refused.Function, ": ", refused.Detail)
	}
	return err.Error()
}

// TestExpressions draws expressions and events, and requires that this library selects from each what the published
// package of the language selects, or refuses it.
func TestExpressions(t *testing.T) {
	if os.Getenv(runVariable) != "1" {
		t.Skipf("make interop runs it: %s is not 1", runVariable)
	}
	count := 20_000
	if given := os.Getenv(pairsVariable); given != "" {
		var err error
		count, err = strconv.Atoi(given)
		require.NoError(t, err, pairsVariable)
	}
	seed := uint64(time.Now().UnixNano())
	if given := os.Getenv(pairsVariable + "_SEED"); given != "" {
		var err error
		seed, err = strconv.ParseUint(given, 10, 64)
		require.NoError(t, err)
	}
	for _, s := range selectors(t) {
		t.Run(string(s.language), func(t *testing.T) {
			t.Logf("%s_SEED=%d", pairsVariable, seed)
			codec, err := powertools.New(s.language, "")
			require.NoError(t, err)
			d := draw{rand.New(rand.NewPCG(seed, 0))}
			pairs := systematic()
			for range count {
				expression := d.expression(1 + d.IntN(4))
				if d.IntN(2) == 0 { // so that null and false are no missing key
					expression = "['key', " + expression + "]"
				}
				if _, err := codec.Compile(expression); err != nil && d.IntN(20) > 0 {
					continue // most pairs are for what is compiled
				}
				pairs = append(pairs, pair{expression, d.object(2)})
			}
			verdicts, reasons := map[verdict]int{}, map[string]int{}
			var differences []string
			for i, theirs := range s.selectAll(t, pairs) {
				v, difference := judge(codec, pairs[i], theirs)
				verdicts[v]++
				if v == differs {
					differences = append(differences, difference)
				} else if difference != "" {
					reasons[difference]++
				}
			}
			fmt.Printf("%s: %v\n", s.language, verdicts)
			for _, reason := range slices.Sorted(maps.Keys(reasons)) {
				t.Logf("%7d %s", reasons[reason], reason)
			}
			differences = oneOfEach(differences)
			slices.SortStableFunc(differences, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
			for _, difference := range differences[:min(len(differences), 20)] {
				t.Error(difference)
			}
			assert.Greater(t, verdicts[agreed], len(pairs)/3, "most pairs are compared")
		})
	}
}

// vectorsFile holds what the packages select from some pairs, for the tests that run without them.
const vectorsFile = root + "/internal/powertools/testdata/expressions.jsonl"

// expressionVector is a pair with what each package selects from it.
type expressionVector struct {
	pair

	Python     selection `json:"python"`
	TypeScript selection `json:"typescript"`
	Java       selection `json:"java"`
}

// TestExpressionVectors requires that the file says what the packages select. With IDEMPOTENT_INTEROP=update it writes the file.
func TestExpressionVectors(t *testing.T) {
	if os.Getenv(runVariable) == "" {
		t.Skipf("make interop runs it: %s is not 1", runVariable)
	}
	pairs := named()
	d := draw{rand.New(rand.NewPCG(1, 2))}
	every := systematic()
	for _, i := range d.Perm(len(every))[:700] {
		pairs = append(pairs, every[i])
	}
	for range 300 {
		pairs = append(pairs, pair{"['key', " + d.expression(2) + "]", d.object(1)})
	}
	all := selectors(t)
	python, typescript, java := all[0].selectAll(t, pairs), all[1].selectAll(t, pairs), all[2].selectAll(t, pairs)
	vectors := make([]expressionVector, len(pairs))
	for i, p := range pairs {
		vectors[i] = expressionVector{p, python[i], typescript[i], java[i]}
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	for _, v := range vectors {
		require.NoError(t, encoder.Encode(v))
	}
	if os.Getenv(runVariable) == "update" {
		require.NoError(t, os.WriteFile(vectorsFile, text.Bytes(), 0o644))
	}
	written, err := os.ReadFile(vectorsFile)
	require.NoError(t, err)
	require.Equal(t, string(written), text.String())
}

// named are pairs that were once read differently here, and what programs select in practice.
func named() []pair {
	event := `{"body":"{\"id\":\"o-1\",\"amount\":42.50,\"lines\":[{\"type\":\"a\",\"n\":1},{\"type\":\"b\",\"n\":2}]}","created":"2026-02-01",` +
		`"items":[{"type":"a","id":1,"price":5},{"type":"b","id":2},null,{"type":"a","id":3,"price":20}],"tags":["x","y"],"nested":[[1,null],[2]],` +
		`"headers":{"Idempotency-Key":"k-1"},"one":1,"yes":true,"ones":[1],"truths":[true],"sum":0.1,"rounded":0.10000000000000000001,"zero":0,"minus":-0.0,` +
		`"objects":[{"a":1}],"object":{"a":1},"astral":["😀","\uffff"],"mixed":[1,"a"],"indices":{"b":0,"10":1,"9":2}}`
	var pairs []pair
	for _, expression := range []string{
		"created >= '2026-01-01'", "`[1]` == `[true]`", "ones == truths", "one == yes", "contains(truths, one)", "contains(created, `2026`)", "sum == rounded",
		"[?`true`]", "items[?price > `10`].id", "items[?price > `10`]", "items[?type == 'a']", "items[?type == 'a'].id", "items[?type != 'a'].id", "items[?type=='a' && id==`1`].id",
		"items[?!price].id", "items[?id]", "items[*].type", "items[].type", "items[]", "nested[]", "nested[][]", "headers.*", "items[0][0:2]", "nested[0][0:1].a", "items[1:]",
		"powertools_json(body).id", "powertools_json(body).[id, amount]", "powertools_json(body).{id: id, n: lines[0].n}", "powertools_json(body).lines[?type == 'b'].n",
		"powertools_json(body).lines | [0]", `headers."Idempotency-Key"`, "[headers.\"Idempotency-Key\", created]", "missing || created", "created && one", "!missing.created",
		"items[?type == 'a'].id[?@ > `1`]", "items[*].[id, type][0]", "sort_by(items[?id], &id)[-1].id", "max_by(items[?id], &id).id", "length(tags)", "join('-', tags)",
		"constructor", "items[*].toString", "to_string(one)", "not_null(missing, created)", "merge(headers, {a: one})", "keys(headers)", "type(one)",
		"zero == minus", "minus < zero", "max([minus, zero])", "contains(objects, object)", "contains(objects, objects[0])", "object == objects[0]", "max(astral)", "min(mixed)",
		"sort(astral)", "sort_by(astral, &@)", "mixed[?@ > `0`]", "mixed[0] < mixed[1]", "indices.*", "values(indices)", "contains(tags, 'x')", "contains('x1', one)",
	} {
		pairs = append(pairs, pair{"['key', " + expression + "]", event})
	}
	return pairs
}

// oneOfEach keeps the first difference of each expression.
func oneOfEach(differences []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(differences, func(difference string) bool {
		expression, _, _ := strings.Cut(difference, "\n")
		defer func() { seen[expression] = true }()
		return seen[expression]
	})
}

// The values that languages read differently: numbers that are equal only as doubles or only as decimals, booleans
// beside 0 and 1, text beyond U+FFFF, texts that read like something else, and what is empty.
var (
	someNumbers = []string{
		"0", "-0", "-0.0", "1", "1.0", "1e0", "2", "-1", "10", "0.1", "0.10000000000000000001", "9007199254740992", "9007199254740993",
		"9007199254740993.0", "9007199254740992.0", "1e16", "123456789012345678901234567890", "1e21", "1.5", "1e-7", "2147483648",
	}
	someTexts = []string{
		`""`, `"a"`, `"b"`, `"A"`, `"é"`, `"e\u0301"`, `"😀"`, `"\uffff"`, `"ab"`, `"1"`, `"1.0"`, `"true"`, `"null"`, `"2026-01-01"`, `"2025-12-31"`,
		`"{\"a\":1}"`, `"[1,true]"`, `"eyJhIjoxfQ=="`,
	}
	someWords      = []string{"null", "true", "false"}
	someContainers = []string{"[]", "{}", "[1]", "[true]", "[0]", "[false]", `["a"]`, `{"a":1}`, `{"a":true}`, "[[1]]", "[null]", `{"a":null}`, `["b","a"]`, "[2,1]"}
	someNames      = []string{"a", "b", "c", "d", "A", "é", "10", "9"}
)

func someValues() []string {
	return slices.Concat(someNumbers, someTexts, someWords, someContainers)
}

// usesB finds the operations on two values.
var usesB = regexp.MustCompile(`\bb\b`)

// systematic applies every operator, and every function of two values or an array, to every pair of values.
func systematic() []pair {
	operations := []string{
		"a == b", "a != b", "a < b", "a <= b", "a > b", "a >= b", "a && b", "a || b", "[!a, !b]", "!(a < b)", "(a > b) || 'else'",
		"c[?@ == `1`]", "c[?@ < `1`]", "c[?@ == 'a']", "c[?!@]", "c[?a]", "[{k: a, n: b}][?k == n]", "[{k: a, n: b}][?k < n]", "[{k: a, n: b}][?k]",
		"[a, b] == [b, a]", "{x: a, y: `1`} == {x: b, y: `1`}", "contains(to_array(a), b)", "contains(c, b)", "contains(a, b)",
		"sort([a, b])", "max([a, b])", "min([a, b])", "max_by([{k: a, n: `1`}, {k: b, n: `2`}], &k)", "min_by([{k: a, n: `1`}, {k: b, n: `2`}], &k)",
		"sort_by([{k: a, n: `1`}, {k: b, n: `2`}], &k)", "starts_with(a, b)", "ends_with(a, b)", "join(a, [b])", "[type(a), type(b)]", "to_string(a)",
		"not_null(a, b)", "merge(a, b)", "reverse(a)", "length(a)", "sum([a, b])", "avg([a, b])", "[abs(a), ceil(a), floor(a)]",
		"[keys(a), values(a)]", "to_number(a)", "[to_array(a), a[*], a[0], a.a]", "a.*", "a[]", "a[::-1]", "a[1:]", "powertools_json(a)", "powertools_base64(a)",
	}
	var pairs []pair
	values := someValues()
	for _, operation := range operations {
		for _, a := range values {
			for _, b := range values {
				pairs = append(pairs, pair{"['key', " + operation + "]", fmt.Sprintf(`{"a":%s,"b":%s,"c":[%s]}`, a, b, a)})
				if !usesB.MatchString(operation) {
					break
				}
			}
		}
	}
	return pairs
}

// draw makes expressions and events that have names in common.
type draw struct{ *rand.Rand }

func (d draw) of(choices ...string) string { return choices[d.IntN(len(choices))] }

func (d draw) value(depth int) string {
	switch d.IntN(7) {
	case 0:
		return d.of(someTexts...)
	case 1:
		return d.of(someWords...)
	case 2, 3:
		return d.of(someNumbers...)
	case 4:
		return d.of(someContainers...)
	default:
		if depth == 0 {
			return d.of(someTexts...)
		}
		if d.IntN(2) == 0 {
			return d.object(depth - 1)
		}
		return d.array(depth - 1)
	}
}

// array has elements of one kind more often than not: functions fail on most others.
func (d draw) array(depth int) string {
	elements := make([]string, d.IntN(4))
	kind := d.IntN(5)
	for i := range elements {
		switch kind {
		case 0:
			elements[i] = d.value(depth)
		case 1:
			elements[i] = d.of(someTexts...)
		case 2:
			elements[i] = d.of(someNumbers...)
		default:
			elements[i] = d.object(max(0, depth-1))
		}
	}
	return "[" + strings.Join(elements, ",") + "]"
}

func (d draw) object(depth int) string {
	var members []string
	for _, i := range d.Perm(len(someNames))[:1+d.IntN(6)] {
		value := d.value(depth)
		if depth > 0 && d.IntN(2) == 0 {
			value = d.array(depth)
		}
		members = append(members, fmt.Sprintf("%q:%s", someNames[i], value))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (d draw) literal() string {
	if d.IntN(8) == 0 {
		return d.of(`'it\'s'`, `'\'it\'s'`, `'\\'`, `'a\\\'b'`, "`bare`", "`NaN`", "`Infinity`", "`\u00a0bare`", "`\"\\`\"`", "`\"\\`\\`\"`", "` 1 `", "`1e400`",
			"`\"\\u0061\"`", "`{\"__proto__\":{}}`", "`[1, [true, null]]`", "`0.1e1`")
	}
	value := d.of(someValues()...)
	if strings.HasPrefix(value, `"`) && d.IntN(2) == 0 {
		var content string
		if err := json.Unmarshal([]byte(value), &content); err != nil {
			panic(err)
		}
		return "'" + content + "'"
	}
	return "`" + value + "`"
}

func (d draw) expression(depth int) string {
	if depth == 0 {
		if d.IntN(4) == 0 {
			return d.literal()
		}
		return d.of("a", "b", "c", "d", "@", `"é"`, `"10"`, "A", "*", "[]", "[*]", "[0]", "[-1]", "[1:]", "[::-1]", "a.b", "a[0]", "b[*].a", "c[]",
			"toString", "constructor", `"__proto__"`, `""`, "a.*.b", "*.a")
	}
	inner := func() string { return d.expression(depth - 1) }
	switch d.IntN(16) {
	case 0, 1:
		return inner() + d.of(".a", ".b", ".c", ".*", "[]", "[*]", "[0]", "[1]", "[-1]", "[1:]", "[:2]", "[::-1]", "[0][0:2]", `."10"`,
			"[-3:-1]", "[5::-2]", "[::2]", "[0:1][0]", ".*.a.b", "[?a].b[?c]", "[?@][?a][?b]", ".[a, b][0]", ".{a: b}.a")
	case 2:
		return inner() + d.of(" | ", " || ", " && ") + inner()
	case 3, 4:
		return inner() + d.of(" == ", " != ", " < ", " <= ", " > ", " >= ") + inner()
	case 5:
		return "!" + inner()
	case 6:
		return "(" + inner() + ")"
	case 7, 8:
		return inner() + "[?" + inner() + "]"
	case 9:
		return inner() + "[?" + inner() + d.of(" == ", " != ", " < ", " >= ") + d.literal() + "]" + d.of("", ".a", "[0]", ".[a, b]", ".b[]")
	case 10:
		return d.of("", "a.", "[*].", "[].", "@.", "b[*].") + "[" + inner() + ", " + inner() + "]"
	case 11:
		return d.of("", "a.", "[*].", "[].", "@.", "b[*].") + "{a: " + inner() + d.of(`, "b": `, `, "10": `) + inner() + "}"
	case 12:
		return d.of("map(&"+inner()+", "+inner()+")", d.of("sort_by", "max_by", "min_by")+"("+inner()+", &"+inner()+")")
	case 13:
		return d.of("starts_with", "ends_with", "join", "not_null", "contains", "merge") + "(" + inner() + ", " + inner() + ")"
	default:
		return d.of("abs", "ceil", "floor", "length", "max", "min", "reverse", "sort", "sum", "avg", "to_array", "to_number", "to_string", "type",
			"not_null", "merge", "keys", "values", "powertools_json", "powertools_base64") + "(" + inner() + ")"
	}
}
