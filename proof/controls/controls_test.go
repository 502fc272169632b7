package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// libraryRoot is the folder of the library.
const libraryRoot = "../.."

// shop is a module with a few guards and tests of some of them.
var shop = map[string]string{
	"go.mod": "module shop\n\ngo 1.26\n",
	"shop.go": `package shop

type till struct{ open bool }

func (*till) sell(_ string, price int, _ ...int) (int, bool) {
	if price < 1 {
		return 0, false
	}
	return price, price != 13
}

func largest[T int | float64](all ...T) (largest T) {
	for _, v := range all {
		if v > largest {
			largest = v
		}
	}
	return largest
}

func (t *till) shut() {
	if t == nil {
		return
	}
	t.open = false
}

const limit = 3 * 1
`,
	"shop_test.go": `package shop

import (
	"os"
	"testing"
)

func TestFreeGoodsAreNotSold(t *testing.T) {
	t.Run("nothing", func(t *testing.T) {
		if _, sold := new(till).sell("", 0); sold {
			t.Fail()
		}
	})
}

func TestLargest(t *testing.T) {
	if largest(1, 3, 2) != 3 || largest(0.5, 2.5) != 2.5 {
		t.Error("it is not")
	}
}

func TestShutTwice(t *testing.T) {
	(*till)(nil).shut()
}

func TestBreaksOften(t *testing.T) {
	if os.Getenv("SHOP_IS_BROKEN") != "" {
		t.Fail()
	}
}

func TestFailsOnce(t *testing.T) {
	_, sold := new(till).sell("", 13)
	marker := os.Getenv("SHOP_MARKER")
	if _, err := os.Stat(marker); sold && err != nil {
		os.WriteFile(marker, nil, 0o600)
		t.Fail()
	}
}
`,
}

// shopModule is the shop, written into a folder.
func shopModule(t *testing.T) *module {
	t.Helper()
	root := t.TempDir()
	for name, text := range shop {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	t.Setenv("SHOP_MARKER", filepath.Join(root, "marker"))
	return mustRead(t, root)
}

func mustRead(t *testing.T, root string) *module {
	t.Helper()
	m, err := readModule(root)
	require.NoError(t, err)
	return m
}

func shopControls() []control {
	return []control{
		{name: "free", old: "if $cost < 1 {", new: "if false {"},
		{name: "method", old: "if $t == nil {", new: "if false {"},
		{name: "generic", old: "if $v > $largest {", new: "if $v < $largest {"},
		{name: "untested", without: "nothing", old: "$t.open = false", new: "$t.open = true"},
		{name: "by-chance", old: "$price != 13", new: "true"},
		{name: "absent", old: "if $price < 2 {", new: "if false {"},
		{name: "twice", old: "return", new: "panic(0)"},
		{name: "elsewhere", old: "$t.open = false", new: "", in: "till.sell"},
		{name: "outside", old: "limit = 3", new: "limit = 4"},
		{name: "no-syntax", old: "return $price, $price != 13", new: "return $price,"},
		{name: "no-type", old: "return $price, $price != 13", new: "return $price"},
		{name: "no-name", old: "return $price, $price != 13", new: "return $price, $sold"},
	}
}

func TestEachControlIsReportedAsWhatItIs(t *testing.T) {
	m := shopModule(t)
	var out bytes.Buffer
	err := run(&out, m, m.find(shopControls()), nil, 2)
	require.ErrorContains(t, err, "9 of 12")
	for name, want := range map[string]string{
		"free":      `caught +free .* by TestFreeGoodsAreNotSold/nothing`,
		"method":    `caught +method .* by TestShutTwice`,
		"generic":   `caught +generic .* by TestLargest`,
		"untested":  `SURVIVED +untested .* nothing`,
		"by-chance": `BROKEN +by-chance .* TestFailsOnce failed once, but not again`,
		"absent":    `BROKEN +absent .* the guard is nowhere`,
		"twice":     `BROKEN +twice .* the guard is in 4 places: shop.go:7 in till.sell, shop.go:9 in till.sell, shop.go:18 in largest, shop.go:23 in till.shut`,
		"elsewhere": `BROKEN +elsewhere .* not where it should be, but shop.go:25 in till.shut`,
		"outside":   `BROKEN +outside .* shop.go:28 not within one function`,
		"no-syntax": `BROKEN +no-syntax `,
		"no-type":   `BROKEN +no-type .* not enough return values`,
		"no-name":   `BROKEN +no-name .* \$sold is not in the pattern`,
	} {
		assert.Regexp(t, "(?m)^"+want, out.String(), name)
	}
	for name, text := range shop {
		now, err := os.ReadFile(filepath.Join(m.root, name))
		require.NoError(t, err)
		assert.Equal(t, text, string(now), "a control changes no file")
	}
}

func TestCaughtControlsAreNoError(t *testing.T) {
	var out bytes.Buffer
	m := shopModule(t)
	require.NoError(t, run(&out, m, m.find(shopControls()[:3]), nil, 1))
	assert.Contains(t, out.String(), "3 controls, 3 caught")
}

func TestASuiteThatFailsByItselfProvesNothing(t *testing.T) {
	m := shopModule(t)
	t.Setenv("SHOP_IS_BROKEN", "1")
	require.ErrorContains(t, run(&bytes.Buffer{}, m, m.find(shopControls()[:1]), nil, 1), "TestBreaksOften fails")
}

func TestAModuleThatDoesNotCompileIsAnError(t *testing.T) {
	m := shopModule(t)
	require.NoError(t, os.WriteFile(filepath.Join(m.root, "more.go"), []byte("package shop\n\nvar x = y\n"), 0o600))
	require.ErrorContains(t, run(&bytes.Buffer{}, m, m.find(shopControls()[:1]), nil, 1), "undefined: y")
}

// TestEveryControlFitsTheLibrary is the fast part of what the command does: each guard is in one place.
func TestEveryControlFitsTheLibrary(t *testing.T) {
	t.Parallel()
	m := mustRead(t, libraryRoot)
	rows, err := readRows("rows")
	require.NoError(t, err)
	bySource := make(map[*source][]guard)
	for _, g := range m.find(rows.controls) {
		if assert.NoError(t, g.err, g.name) {
			bySource[g.source] = append(bySource[g.source], g)
			assert.NotEmpty(t, m.suites(g), g.name)
		}
	}
	for s, guards := range bySource {
		_, _, broken, err := weave(s, guards)
		require.NoError(t, err)
		assert.Empty(t, broken)
	}
	_, err = m.explanations(rows.mutants)
	require.NoError(t, err)
}

func TestSuitesOfAGuard(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{
		"go.mod", "a_test.go", "dynamo/a_test.go", "internal/httpfield/a_test.go", "internal/protocol/a_test.go", "proof/go.mod",
		"proof/explore/a_test.go", "cmd/idempotent/go.mod", "cmd/idempotent/internal/page/a_test.go",
	} {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	m := mustRead(t, root)
	for file, want := range map[string][]string{
		"judge.go":                   {".", "./proof/explore"},
		"dynamo/claim.go":            {"./dynamo", ".", "./proof/explore"},
		"store/record.go":            {".", "./proof/explore"},
		"internal/protocol/judge.go": {".", "./internal/protocol", "./proof/explore"},
		"internal/httpfield/keys.go": {"./internal/httpfield", ".", "./proof/explore"},

		"cmd/idempotent/internal/page/door.go": {"./cmd/idempotent/internal/page", "./proof/explore", "."},
	} {
		g := guard{place: place{source: &source{name: file}}, control: control{suite: []string{"./proof/explore", "."}}}
		assert.Equal(t, want, m.suites(g), file)
	}
}

func TestInMeansAFunction(t *testing.T) {
	t.Parallel()
	for wanted, want := range map[string]meaning{
		"": exactly, "Claim": exactly, "claim": nearly, "Store.Claim": exactly, "store.Claim": nearly, "Other.Claim": another,
		"Reclaim": another, "Store": another,
	} {
		assert.Equal(t, want, span{name: "Claim", receiver: "Store"}.meant(wanted), wanted)
	}
	assert.Equal(t, nearly, span{name: "Claim"}.meant("claim"))
}

func TestWhatIsSearched(t *testing.T) {
	t.Parallel()
	var names []string
	for _, s := range mustRead(t, libraryRoot).sources {
		names = append(names, s.name)
	}
	assert.Subset(t, names, []string{"idempotent.go", "store/record.go", "dynamo/swap.go", "internal/powertools/codec.go", "cmd/idempotent/internal/page/door.go"})
	for _, name := range names {
		assert.NotRegexp(t, `_test\.go$|^(examples|storetest|bench|proof|internal/(dynamolocal|lambdaruntime|stack))/`, name)
	}
}

var modelRow = regexp.MustCompile("(?m)^\\| `(NO_[A-Z_]+)` \\|")

func TestEveryControlOfTheModelIsOneOfTheCode(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "model", "README.md"))
	require.NoError(t, err)
	var model, code []string
	for _, row := range modelRow.FindAllStringSubmatch(string(readme), -1) {
		model = append(model, row[1])
	}
	require.NotEmpty(t, model)
	rows, err := readRows("rows")
	require.NoError(t, err)
	seen := make(map[string]bool)
	for _, c := range rows.controls {
		if c.model != "" && !seen[c.model] {
			seen[c.model], code = true, append(code, c.model)
		}
	}
	assert.ElementsMatch(t, model, code)
}

func TestTableOfControls(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, table(&out, []guard{
		{
			control: control{name: "own-claim", model: "NO_OWN_CLAIM", without: "a claim blocks itself"},
			place:   place{source: &source{name: "judge.go"}, function: "invocation.judge"},
		},
		{control: control{name: "undo-time", without: "no time is left"}, err: errors.New("nowhere")},
	}))
	assert.Equal(t, "| control | in | without the guard | model |\n|---|---|---|---|\n"+
		"| `own-claim` | judge.go: invocation.judge | a claim blocks itself | `NO_OWN_CLAIM` |\n"+
		"| `undo-time` | BROKEN: nowhere | no time is left |  |\n", out.String())
}

func TestChoosingControls(t *testing.T) {
	t.Parallel()
	claim, records := &source{name: "claim.go"}, &source{name: "memory/records.go"}
	guards := []guard{
		{control: control{name: "undo"}, place: place{source: claim}},
		{control: control{name: "undo-time"}, place: place{source: claim}},
		{control: control{name: "status"}, place: place{source: records}},
		{control: control{name: "lost"}, err: errors.New("nowhere")},
	}
	chosen, err := choose(guards, "undo|memory", "time")
	require.NoError(t, err)
	assert.Equal(t, []guard{guards[0], guards[2]}, chosen)
	chosen, err = choose(guards, "", "^$")
	require.NoError(t, err)
	assert.Equal(t, guards, chosen, "also what is nowhere: it is to be reported")
	_, err = choose(guards, "nothing", "^$")
	require.Error(t, err)
	_, err = choose(guards, "(", "^$")
	require.Error(t, err)
}

func TestMutantsOfAReport(t *testing.T) {
	m := shopModule(t)
	path := filepath.Join(m.root, "mutants.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"files":[{"file_name":"shop.go","mutations":[
		{"type":"CONDITIONALS_BOUNDARY","status":"RUNNABLE","line":6,"column":11},
		{"type":"CONDITIONALS_NEGATION","status":"RUNNABLE","line":6,"column":11},
		{"type":"CONDITIONALS_BOUNDARY","status":"NOT COVERED","line":14,"column":8},
		{"type":"ARITHMETIC_BASE","status":"RUNNABLE","line":28,"column":17}]},
		{"file_name":"examples/shop.go","mutations":[{"type":"ARITHMETIC_BASE","status":"RUNNABLE","line":1,"column":1}]}]}`), 0o600))
	mutants, err := m.readMutants(path)
	require.NoError(t, err)
	require.Len(t, mutants, 3, "without the one of the constant, and what is not searched")
	assert.Equal(t, "< becomes >= in if price < 1 {", mutants[1].without)

	var out bytes.Buffer
	explained, err := m.explanations([]explanation{
		{old: "$v > $largest", new: "$v >= $largest", why: "an equal one is as large"},
		{old: "$price < 1", new: "$price >= 1", why: "it cannot be caught"},
	})
	require.NoError(t, err)
	require.ErrorContains(t, run(&out, m, mutants, explained, 2), "2 of 3")
	for _, want := range []string{
		`SURVIVED +shop-6-11-conditionals-boundary .* < becomes <= in if price < 1 {`,
		`STALE +shop-6-11-conditionals-negation .* by Test`,
		`explained +shop-14-8-conditionals-boundary .* an equal one is as large`,
	} {
		assert.Regexp(t, "(?m)^"+want, out.String())
	}
	_, err = m.explanations([]explanation{{old: "$price < 2", new: "$price <= 2"}})
	require.ErrorContains(t, err, "nowhere", "what is explained has to be there")
}

func TestAReportOfOtherSourcesIsRefused(t *testing.T) {
	m := shopModule(t)
	path := filepath.Join(m.root, "mutants.json")
	for place, want := range map[string]string{
		`"line":6,"column":12`:  "no CONDITIONALS_BOUNDARY here",
		`"line":6,"column":99`:  "no such place",
		`"line":999,"column":1`: "no such place",
		`"line":0,"column":1`:   "no such place",
	} {
		require.NoError(t, os.WriteFile(path, []byte(
			`{"files":[{"file_name":"shop.go","mutations":[{"type":"CONDITIONALS_BOUNDARY",`+place+`}]}]}`), 0o600))
		_, err := m.readMutants(path)
		require.ErrorContains(t, err, want)
	}
}

func TestNamesOfMutantsTellPackagesApart(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "protocol-claim-3-7-invert-logical", mutantName("internal/protocol/claim.go", 3, 7, "INVERT_LOGICAL"))
	assert.Equal(t, "dynamo-parts-read-3-7-invert-logical", mutantName("dynamo/parts_read.go", 3, 7, "INVERT_LOGICAL"))
}

// TestPackagesToMutate needs no gremlins: it is about what gremlins is given.
func TestPackagesToMutate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := filepath.Abs(libraryRoot)
	require.NoError(t, err)
	folders, err := copySources(root, dir, []string{"./memory", "./fingerprint"})
	require.NoError(t, err)
	assert.Equal(t, map[string]bool{"./memory": true, "./fingerprint": true}, folders)
	for name, there := range map[string]bool{
		"go.mod": true, "memory/memory.go": true, "store/record.go": true, "memory/memory_test.go": false, "dynamo/swap.go": false,
	} {
		assert.Equal(t, there, exists(filepath.Join(dir, name)), name)
	}
}

func TestATestThatFailedIsTriedAloneAndThenWithItsFunction(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `^TestStore$/^Swap$/^is_refused_\(once\)$`, again("TestStore/Swap/is_refused_(once)", 0))
	assert.Equal(t, `^TestStore$`, again("TestStore/Swap/is_refused_(once)", 1))
	assert.Equal(t, `^TestStore$`, again("TestStore", 0))
}
