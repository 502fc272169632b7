package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/changes"
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

// play runs controls of a module as the command does by default.
func play(out io.Writer, m *module, guards ...guard) error {
	return command{}.execute(out, m, guards)
}

func shopControls() []control {
	return []control{
		{name: "free", old: "if $cost < 1 {", new: "if false {"},
		{name: "method", old: "if $t == nil {", new: "if false {", first: catcher{".", "TestShutTwice"}},
		{name: "generic", old: "if $v > $largest {", new: "if $v < $largest {", first: catcher{".", "TestShutTwice"}},
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
	err := play(&out, m, m.find(shopControls())...)
	require.ErrorContains(t, err, "9 of 12")
	for name, want := range map[string]string{
		"free":      `caught +free .* by . TestFreeGoodsAreNotSold/nothing`,
		"method":    `caught +method .* by . TestShutTwice`,
		"generic":   `moved +generic .* by . TestLargest`,
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
	require.NoError(t, play(&out, m, m.find(shopControls()[:3])...))
	assert.Contains(t, out.String(), "3 controls, 3 caught, 1 of them by another test than meant")
}

func TestWhichControlsAChangeConcerns(t *testing.T) {
	t.Parallel()
	m := mustRead(t, libraryRoot)
	packages, err := changes.Read(t.Context(), m.root)
	require.NoError(t, err)
	in := func(area, file, suite string) guard {
		return guard{
			control: control{name: area, area: area, first: catcher{suite, "TestIt"}},
			place:   place{source: &source{name: file}},
		}
	}
	guards := []guard{
		in("claims", "internal/protocol/claim.go", "."), in("memory", "memory/memory.go", "./memory"),
		in("fingerprints", "fingerprint/digest.go", "./fingerprint"),
	}
	for file, want := range map[string][]string{
		"README.md":                            nil,
		"store/store.go":                       {"claims", "memory"},
		"memory/memory_test.go":                {"memory"},
		"memory/memory.go":                     {"claims", "memory"},
		"internal/protocol/claim.go":           {"claims", "memory"},
		"proof/controls/rows/fingerprints.txt": {"fingerprints"},
	} {
		var names []string
		for _, g := range m.concerned(packages, guards, []string{file}) {
			names = append(names, g.name)
		}
		assert.Equal(t, want, names, file)
	}
	assert.Len(t, m.concerned(packages, append(guards, guard{}), nil), 1, "one that fits nowhere is reported")
}

func TestASuiteThatFailsByItselfProvesNothing(t *testing.T) {
	m := shopModule(t)
	t.Setenv("SHOP_IS_BROKEN", "1")
	var out bytes.Buffer
	require.ErrorContains(t, play(&out, m, m.find(shopControls()[3:4])...), "1 of 1 controls were not caught: untested")
	assert.Regexp(t, `BROKEN +untested .* with all guards in place, TestBreaksOften fails`, out.String())
}

func TestAModuleThatDoesNotCompileIsAnError(t *testing.T) {
	m := shopModule(t)
	require.NoError(t, os.WriteFile(filepath.Join(m.root, "more.go"), []byte("package shop\n\nvar x = y\n"), 0o600))
	require.ErrorContains(t, play(&bytes.Buffer{}, m, m.find(shopControls()[:1])...), "undefined: y")
}

// TestEveryControlFitsTheLibrary is the fast part of what the command does: each guard is in one
// place, and the test is there that is meant to catch it.
func TestEveryControlFitsTheLibrary(t *testing.T) {
	t.Parallel()
	m := mustRead(t, libraryRoot)
	rows, err := readRows("rows")
	require.NoError(t, err)
	bySource := make(map[*source][]guard)
	for _, g := range m.find(rows) {
		if assert.NoError(t, g.err, g.name) {
			bySource[g.source] = append(bySource[g.source], g)
			test, _, _ := strings.Cut(g.first.test, "/")
			is := test != "" && strings.Contains(testsOf(t, m, g.first.suite), "\nfunc "+test+"(")
			assert.True(t, is, "%s names no test that is there: %s", g.name, g.first)
		}
	}
	for s, guards := range bySource {
		_, _, broken, err := weave(s, guards)
		require.NoError(t, err)
		assert.Empty(t, broken)
	}
}

// testsOf is the text of the tests of a suite.
func testsOf(t *testing.T, m *module, suite string) (text string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(m.root, filepath.FromSlash(suite), "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		one, err := os.ReadFile(file)
		require.NoError(t, err)
		text += string(one)
	}
	return text
}

func TestSuitesOfAGuard(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{
		"go.mod", "a_test.go", "dynamo/a_test.go", "internal/httpfield/a_test.go", "internal/protocol/a_test.go",
		"proof/go.mod",
		"proof/explore/a_test.go", "cmd/idempotent/go.mod", "cmd/idempotent/internal/page/a_test.go",
	} {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	m := mustRead(t, root)
	for file, want := range map[string][]string{
		"judge.go":                   {".", "./internal/protocol", "./proof/explore"},
		"dynamo/claim.go":            {"./dynamo", "./internal/protocol", ".", "./proof/explore"},
		"store/record.go":            {"./internal/protocol", ".", "./proof/explore"},
		"internal/protocol/judge.go": {"./internal/protocol", ".", "./proof/explore"},
		"internal/httpfield/keys.go": {"./internal/httpfield", "./internal/protocol", ".", "./proof/explore"},

		"cmd/idempotent/internal/page/door.go": {"./cmd/idempotent/internal/page", "./proof/explore", "."},
	} {
		g := guard{place: place{source: &source{name: file}}, control: control{suite: []string{"./proof/explore", "."}}}
		assert.Equal(t, want, m.suites(g), file)
	}
}

func TestInMeansAFunction(t *testing.T) {
	t.Parallel()
	for wanted, want := range map[string]bool{
		"": true, "Claim": true, "claim": true, "Store.Claim": true, "store.Claim": true,
		"Other.Claim": false, "Reclaim": false, "Store": false,
	} {
		assert.Equal(t, want, span{name: "Claim", receiver: "Store"}.meant(wanted), wanted)
	}
	assert.True(t, span{name: "Claim"}.meant("claim"))
}

func TestWhatIsSearched(t *testing.T) {
	t.Parallel()
	var names []string
	for _, s := range mustRead(t, libraryRoot).sources {
		names = append(names, s.name)
	}
	assert.Subset(t, names, []string{
		"idempotent.go", "store/record.go", "dynamo/record_swap.go",
		"internal/powertools/codec.go", "cmd/idempotent/internal/page/door.go",
	})
	for _, name := range names {
		assert.NotRegexp(t, `_test\.go$|^(examples|storetest|bench|proof|internal/dev)/`, name)
	}
}

func TestChoosingControls(t *testing.T) {
	t.Parallel()
	claim, records := &source{name: "claim.go"}, &source{name: "memory/list.go"}
	guards := []guard{
		{control: control{name: "undo"}, place: place{source: claim}},
		{control: control{name: "undo-time"}, place: place{source: claim}},
		{control: control{name: "status"}, place: place{source: records}},
		{control: control{name: "lost"}, err: errors.New("nowhere")},
	}
	chosen, err := choose(guards, "undo$|memory")
	require.NoError(t, err)
	assert.Equal(t, []guard{guards[0], guards[2]}, chosen)
	chosen, err = choose(guards, "")
	require.NoError(t, err)
	assert.Equal(t, guards, chosen, "also what is nowhere: it is to be reported")
	_, err = choose(guards, "nothing")
	require.Error(t, err)
	_, err = choose(guards, "(")
	require.Error(t, err)
}
