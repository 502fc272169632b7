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

// pairsVariable is the number of pairs of an expression and an event that TestExpressions draws for
// each language.
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

// judge selects from the pair here, and compares. The text is the difference, or the reason of a
// refusal.
func judge(codec *powertools.Codec, p pair, theirs selection) (verdict, string) {
	compiled, err := jmespath.Compile(p.Expression)
	if err == nil {
		err = codec.Allow(compiled)
	}
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
	if _, reason, ok := strings.Cut(err.Error(), "\": "); ok {
		return reason
	}
	if refused, ok := errors.AsType[*jmespath.Error](err); ok {
		return fmt.Sprint(refused.Kind, " ", refused.Function, ": ", refused.Detail)
	}
	return err.Error()
}

// TestExpressions draws expressions and events, and requires that this library selects from each
// what the published package of the language selects, or refuses it.
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
			pairs := append(named(), systematic()...)
			for range count {
				pairs = append(pairs, pair{d.expression(1 + d.IntN(4)), d.object(2)})
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

// named are what programs select in practice.
func named() []pair {
	const event = `{"k":"key","body":"{\"id\":\"o-1\",\"amount\":42.50,\"lines\":[{\"type\":\"a\",\"n\":1},{\"type\":\"b\",\"n\":2}]}",` +
		`"items":[{"type":"a","id":1,"price":5},null],"headers":{"Idempotency-Key":"k-1"},"packed":"eyJhIjoxfQ==","rounded":0.10000000000000000001}`
	var pairs []pair
	for _, expression := range []string{
		"powertools_json(body).id", "powertools_json(body).[id, amount]",
		"powertools_json(body).{id: id, n: lines[0].n}", `headers."Idempotency-Key"`,
		"[headers.\"Idempotency-Key\", rounded]", "items[-1].id", "powertools_json(powertools_base64(packed)).a",
		"missing.deeper", "constructor", "@.items",
	} {
		pairs = append(pairs, pair{"[k, " + expression + "]", event})
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

// The values that languages read differently: numbers that are equal only as doubles or only as
// decimals, booleans beside 0 and 1, text beyond U+FFFF, texts that read like something else, and
// what is empty.
var (
	someNumbers = []string{
		"0", "-0", "-0.0", "1", "1.0", "1e0", "2", "-1", "10", "0.1", "0.10000000000000000001", "9007199254740992",
		"9007199254740993",
		"9007199254740993.0", "9007199254740992.0", "1e16", "123456789012345678901234567890", "1e21", "1.5",
		"1e-7", "2147483648",
	}
	someTexts = []string{
		`""`, `"a"`, `"b"`, `"A"`, `"é"`, `"e\u0301"`, `"😀"`, `"\uffff"`, `"ab"`, `"1"`, `"1.0"`, `"true"`, `"null"`,
		`"2026-01-01"`, `"2025-12-31"`,
		`"{\"a\":1}"`, `"[1,true]"`, `"eyJhIjoxfQ=="`,
	}
	someWords      = []string{"null", "true", "false"}
	someContainers = []string{
		"[]", "{}", "[1]", "[true]", "[0]", "[false]", `["a"]`, `{"a":1}`, `{"a":true}`, "[[1]]",
		"[null]", `{"a":null}`, `["b","a"]`, "[2,1]",
	}
	someNames = []string{"a", "b", "c", "d", "A", "é", "10", "9"}
)

func someValues() []string {
	return slices.Concat(someNumbers, someTexts, someWords, someContainers)
}

// systematic applies every part to every value.
func systematic() []pair {
	var pairs []pair
	for _, expression := range []string{
		"a", "a.a", "a[0]", "a[-1]", "a[0].a", "a.[a, b]", "[a, b]", "{x: a, y: b}", "{y: a, x: b}", "a.{x: a}", "[a]",
		"[[a]]", "(a).a", "@.a", "[a, [b]][0]",
		"powertools_json(a)", "powertools_json(a).a", "powertools_base64(a)", "powertools_json(powertools_base64(a))",
		"powertools_json(a)[0]",
	} {
		for _, value := range someValues() {
			pairs = append(pairs, pair{"[c, " + expression + "]", fmt.Sprintf(`{"a":%s,"c":"key"}`, value)},
				pair{expression, fmt.Sprintf(`{"a":%s}`, value)})
		}
	}
	return pairs
}

// draw makes expressions and events that have names in common.
type draw struct{ *rand.Rand }

func (d draw) of(choices ...string) string { return choices[d.IntN(len(choices))] }

// object has a value, a list or another object under some of the names.
func (d draw) object(depth int) string {
	value := func() string {
		if depth > 0 && d.IntN(2) == 0 {
			return d.object(depth - 1)
		}
		return d.of(someValues()...)
	}
	var members []string
	for _, i := range d.Perm(len(someNames))[:1+d.IntN(6)] {
		member := value()
		if d.IntN(3) == 0 {
			member = "[" + member + "," + value() + "]"
		}
		members = append(members, fmt.Sprintf("%q:%s", someNames[i], member))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (d draw) expression(depth int) string {
	if depth == 0 {
		return d.of("a", "b", "c", "d", "@", `"é"`, `"10"`, "A", "[a]", "a.b", "a[0]", "b[-1].a", "toString",
			`"__proto__"`, `""`)
	}
	inner := func() string { return d.expression(depth - 1) }
	switch d.IntN(8) {
	case 0, 1:
		return inner() + d.of(".a", ".b", ".c", "[0]", "[1]", "[-1]", `."10"`, ".[a, b][0]", ".{a: b}.a")
	case 2:
		return "(" + inner() + ")"
	case 3, 4:
		return d.of("", "a.", "@.", "b[0].") + "[" + inner() + ", " + inner() + "]"
	case 5, 6:
		return d.of("", "a.", "@.", "b[0].") + "{a: " + inner() + d.of(`, "b": `, `, "10": `) + inner() + "}"
	default:
		return d.of("powertools_json", "powertools_base64") + "(" + inner() + ")"
	}
}
