package interop

import (
	"bytes"
	"cmp"
	"encoding/json"
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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/powertools"
	"github.com/go-idempotent/idempotent/jmespath"
)

// seedVariable repeats a run of TestExpressions, which draws so many pairs for each language.
const (
	seedVariable = "IDEMPOTENT_INTEROP_SEED"
	drawn        = 20_000
)

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
	return []selector{
		{powertools.Python, []string{filepath.Join(pythonPackages(t), "bin", "python"), "peer/keys.py"}},
		{powertools.TypeScript, []string{"node", filepath.Join(typescriptPackages(t), "keys.mjs")}},
		{powertools.Java17, []string{"java", "-cp", filepath.Join(javaPackages(t), "*"), "peer/Keys.java"}},
	}
}

// selectAll lets the package select from all pairs.
func (s selector) selectAll(t *testing.T, pairs []pair) (selections []selection) {
	t.Helper()
	var asks bytes.Buffer
	for encoder, i := json.NewEncoder(&asks), 0; i < len(pairs); i++ {
		require.NoError(t, encoder.Encode(pairs[i]))
	}
	command := exec.CommandContext(t.Context(), s.command[0], s.command[1:]...)
	command.Stdin, command.Stderr = &asks, t.Output()
	out, err := command.Output()
	require.NoError(t, err)
	for answers := json.NewDecoder(bytes.NewReader(out)); answers.More(); {
		var answer selection
		require.NoError(t, answers.Decode(&answer))
		selections = append(selections, answer)
	}
	require.Len(t, selections, len(pairs))
	return selections
}

// judge selects from the pair here, and compares. A pair is refused with its expression when
// wrapping, or with its event when delivered. The text is the difference, if there is one.
func judge(codec *powertools.Codec, p pair, theirs selection) (refused bool, difference string) {
	compiled, err := jmespath.Compile(p.Expression)
	if err == nil {
		err = codec.Allow(compiled)
	}
	if err != nil {
		return true, ""
	}
	ours, err := hashed(codec, compiled, p.Event)
	if there := theirs.key(); err == nil && ours != there {
		difference = fmt.Sprintf("%s\n\ton %s\n\there  %s\n\tthere %s", p.Expression, p.Event, ours, there)
	}
	return err != nil && theirs.Error == "", difference
}

// hashed is what this library hashes.
func hashed(codec *powertools.Codec, expression *jmespath.Expression, event string) (string, error) {
	selected, err := expression.Search([]byte(event))
	if err != nil {
		return "", err
	}
	if codec.Missing(selected.JSON()) {
		return "no key", nil
	}
	text, err := codec.Hashed(selected.JSON())
	return "key of " + string(text), err
}

// key is what the package hashes, in the same words.
func (s selection) key() string {
	switch {
	case s.Error != "":
		return "fails: " + s.Error
	case s.Hashed != nil:
		return "key of " + *s.Hashed
	default:
		return "no key"
	}
}

// TestExpressions draws expressions and events, and requires that this library selects from each
// what the published package of the language selects, or refuses it.
func TestExpressions(t *testing.T) {
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv(seedVariable), fmt.Sprint(rand.Uint64())), 10, 64)
	require.NoError(t, err)
	for _, s := range selectors(t) {
		t.Run(string(s.language), func(t *testing.T) {
			t.Logf("%s=%d", seedVariable, seed)
			codec, err := powertools.New(s.language, "")
			require.NoError(t, err)
			d := draw{rand.New(rand.NewPCG(seed, 0))}
			pairs := systematic()
			for range drawn {
				pairs = append(pairs, pair{d.expression(1 + d.IntN(4)), d.object(2)})
			}
			differences, refusals := map[string]string{}, 0 // one of each expression
			for i, theirs := range s.selectAll(t, pairs) {
				refused, difference := judge(codec, pairs[i], theirs)
				if refused {
					refusals++
				}
				if difference != "" {
					differences[pairs[i].Expression] = difference
				}
			}
			shortest := slices.SortedFunc(maps.Values(differences), func(a, b string) int { return len(a) - len(b) })
			for _, difference := range shortest[:min(len(shortest), 20)] {
				t.Error(difference)
			}
			assert.Less(t, refusals, len(pairs)*2/3, "most pairs are compared")
		})
	}
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
