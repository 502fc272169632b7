package main

import (
	"bytes"
	"fmt"
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

// shopCases are controls of the shop, and what is said of them.
var shopCases = []struct{ test, in, old, becomes, want string }{
	{"TestFreeGoodsAreNotSold/nothing", "", "if $cost < 1 {", "if false {", `caught .* by . TestFree\w+/nothing`},
	{"TestShutTwice", "", "if $t == nil {", "if false {", `caught .* by . TestShutTwice`},
	{"TestShutTwice", "Till.Shut", "if $t == nil {", "if false {", `caught `},
	{"TestShutTwice", "Shut", "if $t == nil {", "if false {", `caught `},
	{"TestLargest", "", "if $v > $largest {", "if $v < $largest {", `caught .* by . TestLargest`},
	{"TestLargest", "", "$t.open = false", "$t.open = true", `SURVIVED .* all is lost; . TestLargest passes$`},
	{"TestShut", "", "$t.open = false", "", `BROKEN .*\. has no test \^TestShut\$`},
	{"TestFreeGoodsAreNotSold/all", "", "$t.open = false", "", `BROKEN .* has no test .*/\^all\$`},
	{"TestBreaksAlways", "", "$t.open = false", "", `BROKEN .* with all guards in place, . TestBreaksAlways fails`},
	{"TestLargest", "", "if $price < 2 {", "if false {", `BROKEN .* the guard is nowhere`},
	{"TestLargest", "", "return", "panic(0)", `BROKEN .* in 4 places: shop.go:7 till.sell, shop.go:9 till.sell, `},
	{"TestLargest", "", "limit = 3", "limit = 4", `BROKEN .* shop.go:28 not within one function`},
	{"TestLargest", "till.sell", "$t.open = false", "", `BROKEN .* not where it should be, but shop.go:25 till.shut`},
	{"TestLargest", "hut", "$t.open = false", "", `BROKEN .* not where it should be, but shop.go:25 till.shut`},
	{"TestLargest", "", "return $price, $price != 13", "return $price,", `BROKEN .* it is no Go`},
	{"TestLargest", "", "return $price, $price != 13", "return $price, $sold", `BROKEN .* it is no Go`},
}

// The controls have the names c0, c1 and so on.
func TestEachControlIsReportedAsWhatItIs(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range shop {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	m := mustRead(t, root)
	var controls []control
	for i, c := range shopCases {
		controls = append(controls, control{
			name: fmt.Sprint("c", i), without: "all is lost", in: c.in, old: c.old, new: c.becomes,
			suite: ".", test: c.test,
		})
	}
	guards := m.find(controls)
	var out bytes.Buffer
	require.ErrorContains(t, check(&out, m, guards, 0), "11 of 16 controls were not caught")
	assert.Contains(t, out.String(), "16 controls, 5 caught, in ")
	for i, c := range shopCases {
		word, what, _ := strings.Cut(c.want, " ")
		assert.Regexp(t, fmt.Sprintf("(?m)^%s +c%d .*%s", word, i, what), out.String(), c)
	}
	for name, text := range shop {
		now, err := os.ReadFile(filepath.Join(m.root, name))
		require.NoError(t, err)
		assert.Equal(t, text, string(now), "a control changes no file")
	}

	out.Reset()
	require.NoError(t, check(&out, m, guards[:3], time.Nanosecond))
	assert.Contains(t, out.String(), "3 controls, 0 caught, in ")
	assert.Contains(t, out.String(), "3 are left out, because 1ns are over\n")
	half := m.find([]control{{name: "half", old: "return $price, $price != 13", new: "return $price", suite: "."}})
	require.ErrorContains(t, check(&out, m, half, 0), "/control/half:", "it does not compile, and is named")
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
		is := strings.Contains(tests[g.suite], "\nfunc "+test+"(")
		assert.True(t, is, "%s names no test that is there: %s", g.name, g.catcher())
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

func mustRead(t *testing.T, root string) *module {
	t.Helper()
	m, err := readModule(root)
	require.NoError(t, err)
	return m
}

func TestWhichControlsAChangeConcerns(t *testing.T) {
	t.Parallel()
	packages, err := changes.Read(t.Context(), mustRead(t, libraryRoot).root)
	require.NoError(t, err)
	var guards []*guard
	for _, row := range [][4]string{ // a name, its area, the file of the guard, and the suite
		{"claim", "claims", "internal/protocol/claim.go", "."},
		{"lease", "claims", "internal/protocol/claim.go", "."},
		{"memory", "memory", "memory/memory.go", "./memory"},
		{"digest", "fingerprints", "fingerprint/digest.go", "./fingerprint"},
	} {
		c := control{name: row[0], area: row[1], suite: row[3]}
		guards = append(guards, &guard{control: c, source: &source{name: row[2]}})
	}
	before := make(map[string]control)
	for _, g := range guards[1:] { // the first is new
		before[g.name] = g.control
	}
	for files, want := range map[string]struct{ touched, others []string }{
		"README.md":                         {},
		"store/store.go":                    {nil, []string{"claim", "memory", "lease"}},
		"memory/memory_test.go":             {nil, []string{"memory"}},
		"memory/memory.go":                  {[]string{"memory"}, []string{"claim", "lease"}},
		"internal/protocol/claim.go":        {[]string{"claim", "lease"}, []string{"memory"}},
		"proof/controls/rows/claims.txt":    {[]string{"claim"}, nil},
		"fingerprint/digest.go memory/a.go": {[]string{"digest"}, []string{"claim", "memory", "lease"}},
	} {
		var names []string
		for _, g := range urgent(guards, packages, strings.Fields(files), before) {
			names = append(names, g.name)
		}
		require.Len(t, names, len(want.touched)+len(want.others), files)
		assert.ElementsMatch(t, want.touched, names[:len(want.touched)], files)
		assert.ElementsMatch(t, want.others, names[len(want.touched):], files)
	}
	guards = append(guards, &guard{err: os.ErrNotExist})
	assert.Len(t, urgent(guards, packages, nil, before), 1, "what fits nowhere is to be reported")
}
