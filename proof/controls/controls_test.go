package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

func TestBreaksAlways(t *testing.T) {
	if os.Getenv("IDEMPOTENT_CONTROL") == "" {
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
	return mustRead(t, root)
}

func mustRead(t *testing.T, root string) *module {
	t.Helper()
	m, err := readModule(root)
	require.NoError(t, err)
	return m
}

// caughtBy is a control of the shop with the test that is meant to catch it.
func caughtBy(test, name, old, becomes string) control {
	return control{name: name, without: "all is lost", old: old, new: becomes, suite: ".", test: test}
}

var shopControls = []control{
	caughtBy("TestFreeGoodsAreNotSold/nothing", "free", "if $cost < 1 {", "if false {"),
	caughtBy("TestShutTwice", "method", "if $t == nil {", "if false {"),
	caughtBy("TestLargest", "generic", "if $v > $largest {", "if $v < $largest {"),
	caughtBy("TestLargest", "untested", "$t.open = false", "$t.open = true"),
	caughtBy("TestShutTwice", "by-another", "range $all {", "range $all[:0] {"),
	caughtBy("TestShut", "no-test", "$t.open = false", ""),
	caughtBy("TestFreeGoodsAreNotSold/all", "no-part", "$t.open = false", ""),
	caughtBy("TestBreaksAlways", "broken-test", "$t.open = false", ""),
	caughtBy("TestShutTwice", "absent", "if $price < 2 {", "if false {"),
	caughtBy("TestShutTwice", "twice", "return", "panic(0)"),
	caughtBy("TestShutTwice", "outside", "limit = 3", "limit = 4"),
	caughtBy("TestShutTwice", "no-syntax", "return $price, $price != 13", "return $price,"),
	caughtBy("TestShutTwice", "no-type", "return $price, $price != 13", "return $price"),
	caughtBy("TestShutTwice", "no-name", "return $price, $price != 13", "return $price, $sold"),
	{name: "elsewhere", old: "$t.open = false", in: "till.sell"},
	{name: "elsewhere-too", old: "$t.open = false", in: "hut"},
	{name: "of-type", old: "if $t == nil {", new: "if false {", in: "Till.Shut", suite: ".", test: "TestShutTwice"},
	{name: "alone", old: "if $t == nil {", new: "if false {", in: "Shut", suite: ".", test: "TestShutTwice"},
}

func TestEachControlIsReportedAsWhatItIs(t *testing.T) {
	t.Parallel()
	m := shopModule(t)
	var out bytes.Buffer
	err := check(&out, m, m.find(shopControls), 0)
	require.ErrorContains(t, err, "13 of 18 controls were not caught")
	assert.Contains(t, out.String(), "18 controls, 5 caught, in ")
	for name, want := range map[string]string{
		"free":          `caught +free .* by . TestFreeGoodsAreNotSold/nothing`,
		"method":        `caught +method .* by . TestShutTwice`,
		"generic":       `caught +generic .* by . TestLargest`,
		"untested":      `SURVIVED +untested .* all is lost; . TestLargest passes$`,
		"by-another":    `SURVIVED +by-another .* TestShutTwice passes, but not TestLargest`,
		"no-test":       `BROKEN +no-test .*\. has no test \^TestShut\$`,
		"no-part":       `BROKEN +no-part .*\. has no test \^TestFreeGoodsAreNotSold\$/\^all\$`,
		"broken-test":   `BROKEN +broken-test .* with all guards in place, . TestBreaksAlways fails`,
		"absent":        `BROKEN +absent .* the guard is nowhere`,
		"twice":         `BROKEN +twice .* the guard is in 4 places: shop.go:7 till.sell, shop.go:9 till.sell, shop.go:18 largest, shop.go:23 till.shut`,
		"elsewhere":     `BROKEN +elsewhere .* not where it should be, but shop.go:25 till.shut`,
		"elsewhere-too": `BROKEN +elsewhere-too .* not where it should be`,
		"of-type":       `caught +of-type`,
		"alone":         `caught +alone`,
		"outside":       `BROKEN +outside .* shop.go:28 not within one function`,
		"no-syntax":     `BROKEN +no-syntax .* it is no Go`,
		"no-type":       `BROKEN +no-type .* not enough return values`,
		"no-name":       `BROKEN +no-name .* it is no Go`,
	} {
		assert.Regexp(t, "(?m)^"+want, out.String(), name)
	}
	for name, text := range shop {
		now, err := os.ReadFile(filepath.Join(m.root, name))
		require.NoError(t, err)
		assert.Equal(t, text, string(now), "a control changes no file")
	}
}

func TestNoControlIsBegunAfterTheBudget(t *testing.T) {
	t.Parallel()
	m := shopModule(t)
	var out bytes.Buffer
	require.NoError(t, check(&out, m, m.find(shopControls[:3]), time.Nanosecond))
	assert.Contains(t, out.String(), "3 controls, 0 caught, in ")
	assert.Contains(t, out.String(), "3 are left out, because 1ns are over\n")
}

func TestAModuleThatDoesNotCompileIsAnError(t *testing.T) {
	t.Parallel()
	m := shopModule(t)
	require.NoError(t, os.WriteFile(filepath.Join(m.root, "more.go"), []byte("package shop\n\nvar x = y\n"), 0o600))
	require.ErrorContains(t, check(&bytes.Buffer{}, m, m.find(shopControls[:1]), 0), "undefined: y")
}

// TestEveryControlFitsTheLibrary is the fast part of what the command does: each guard is in one
// place, and the test is there that is meant to catch it.
func TestEveryControlFitsTheLibrary(t *testing.T) {
	t.Parallel()
	m := mustRead(t, libraryRoot)
	rows, err := readRows("rows")
	require.NoError(t, err)
	tests := make(map[string]string)
	for _, g := range m.find(rows) {
		if !assert.NoError(t, g.err, g.name) {
			continue
		}
		_, err := g.branch()
		assert.NoError(t, err, g.name)
		if tests[g.suite] == "" {
			tests[g.suite] = testsOf(t, g.suite)
		}
		test, _, _ := strings.Cut(g.test, "/")
		assert.True(t, strings.Contains(tests[g.suite], "\nfunc "+test+"("), "%s names no test that is there: %s",
			g.name, g.catcher())
	}
}

// testsOf is the text of the tests of a suite.
func testsOf(t *testing.T, suite string) (text string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(libraryRoot, suite, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		one, err := os.ReadFile(file)
		require.NoError(t, err)
		text += string(one)
	}
	return text
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
		assert.NotRegexp(t, `_test\.go$|^(\.|examples|storetest|bench|proof|internal/dev|observe/otel)/`, name)
		assert.NotRegexp(t, `^cmd/idempotent/(\w+\.go|internal/[^p])`, name)
	}
}

// guardIn is a guard in a file of the library.
func guardIn(name, area, file, suite string) *guard {
	return &guard{
		control: control{name: name, area: area, suite: suite, test: "TestIt"}, source: &source{name: file},
	}
}

func TestChoosingControls(t *testing.T) {
	t.Parallel()
	guards := []*guard{
		guardIn("undo", "", "claim.go", ""), guardIn("undo-time", "", "claim.go", ""),
		guardIn("status", "", "memory/list.go", ""),
		{control: control{name: "lost"}},
	}
	chosen, err := choose(guards, "undo$|memory")
	require.NoError(t, err)
	assert.Equal(t, []*guard{guards[0], guards[2]}, chosen)
	chosen, err = choose(guards, "")
	require.NoError(t, err)
	assert.Equal(t, guards, chosen, "also what is nowhere: it is to be reported")
	for _, only := range []string{"nothing", "("} {
		_, err = choose(guards, only)
		require.Error(t, err)
	}
}

func TestWhichControlsAChangeConcerns(t *testing.T) {
	t.Parallel()
	packages, err := changes.Read(t.Context(), mustRead(t, libraryRoot).root)
	require.NoError(t, err)
	guards := []*guard{
		guardIn("claim", "claims", "internal/protocol/claim.go", "."),
		guardIn("lease", "claims", "internal/protocol/claim.go", "."),
		guardIn("memory", "memory", "memory/memory.go", "./memory"),
		guardIn("digest", "fingerprints", "fingerprint/digest.go", "./fingerprint"),
	}
	before := make(map[string]control)
	for _, g := range guards[1:] { // the first is new
		before[g.name] = g.control
	}
	for files, want := range map[string][]string{
		"README.md":                         nil,
		"store/store.go":                    {"claim", "memory", "lease"},
		"memory/memory_test.go":             {"memory"},
		"memory/memory.go":                  {"memory", "claim", "lease"},
		"internal/protocol/claim.go":        {"claim", "lease", "memory"},
		"proof/controls/rows/claims.txt":    {"claim"},
		"fingerprint/digest.go memory/a.go": {"digest", "claim", "memory", "lease"},
	} {
		var names []string
		for _, g := range urgent(guards, packages, strings.Fields(files), before) {
			names = append(names, g.name)
		}
		assert.Equal(t, want, names, files)
	}
	lost := append(guards, &guard{err: os.ErrNotExist})
	assert.Len(t, urgent(lost, packages, nil, before), 1, "what fits nowhere is to be reported")
}
