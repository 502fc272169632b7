package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// moduleRoot is the root of this module.
const moduleRoot = "../.."

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

// shopRoot writes the shop and returns where it is.
func shopRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range shop {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	t.Setenv("SHOP_MARKER", filepath.Join(root, "marker"))
	return root
}

func shopControls() []control {
	const file = "shop.go"
	return []control{
		{name: "free", file: file, old: "if price < 1 {", new: "if false {"},
		{name: "method", file: file, old: "if t == nil {", new: "if false {"},
		{name: "generic", file: file, old: "if v > largest {", new: "if v < largest {"},
		{name: "untested", without: "nothing", file: file, old: "t.open = false", new: "t.open = true"},
		{name: "by-chance", file: file, old: "price != 13", new: "true"},
		{name: "absent", file: file, old: "if price < 2 {", new: "if false {"},
		{name: "twice", file: file, old: "return", new: "panic(0)"},
		{name: "outside", file: file, old: "limit = 3", new: "limit = 4"},
		{name: "no-syntax", file: file, old: "return price, price != 13", new: "return price,"},
		{name: "no-type", file: file, old: "return price, price != 13", new: "return price"},
		{name: "position", file: file, line: 6, column: 11, old: "<", new: "<="},
		{name: "wrong-position", file: file, line: 6, column: 10, old: "<", new: "<="},
	}
}

func TestEachControlIsReportedAsWhatItIs(t *testing.T) {
	root := shopRoot(t)
	var out bytes.Buffer
	err := run(&out, root, shopControls(), nil, 2)
	require.ErrorContains(t, err, "9 of 12")
	for name, want := range map[string]string{
		"free":           `caught +free .* by TestFreeGoodsAreNotSold/nothing`,
		"method":         `caught +method .* by TestShutTwice`,
		"generic":        `caught +generic .* by TestLargest`,
		"position":       `SURVIVED +position `,
		"untested":       `SURVIVED +untested .* nothing`,
		"by-chance":      `BROKEN +by-chance .* TestFailsOnce failed once, but not again`,
		"absent":         `BROKEN +absent .* shop.go holds the guard 0 times`,
		"twice":          `BROKEN +twice .* shop.go holds the guard [2-9] times`,
		"outside":        `BROKEN +outside .* not within one function`,
		"no-syntax":      `BROKEN +no-syntax `,
		"no-type":        `BROKEN +no-type .* not enough return values`,
		"wrong-position": `BROKEN +wrong-position .* shop.go:6:10: no < here`,
	} {
		assert.Regexp(t, "(?m)^"+want, out.String(), name)
	}
	for name, text := range shop {
		now, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		assert.Equal(t, text, string(now), "a control changes no file")
	}
}

func TestCaughtControlsAreNoError(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(&out, shopRoot(t), shopControls()[:3], nil, 1))
	assert.Contains(t, out.String(), "3 controls, 3 caught")
}

func TestASuiteThatFailsByItselfProvesNothing(t *testing.T) {
	root := shopRoot(t)
	t.Setenv("SHOP_IS_BROKEN", "1")
	require.ErrorContains(t, run(&bytes.Buffer{}, root, shopControls()[:1], nil, 1), "TestBreaksOften fails")
}

func TestAModuleThatDoesNotCompileIsAnError(t *testing.T) {
	root := shopRoot(t)
	require.NoError(t, os.WriteFile(filepath.Join(root, "more.go"), []byte("package shop\n\nvar x = y\n"), 0o600))
	require.ErrorContains(t, run(&bytes.Buffer{}, root, shopControls()[:1], nil, 1), "undefined: y")
}

func TestNamesAreUniqueAndPartOfAnIdentifier(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, c := range all() {
		assert.Regexp(t, `^[a-z0-9]+(-[a-z0-9]+)*$`, c.name)
		assert.False(t, seen[c.name], c.name)
		assert.NotEmpty(t, c.without, c.name)
		seen[c.name] = true
	}
}

// TestEveryControlFitsTheModule is the fast part of what the command does: each guard is where its control looks for it.
func TestEveryControlFitsTheModule(t *testing.T) {
	t.Parallel()
	byFile := make(map[string][]control)
	for _, c := range all() {
		byFile[c.file] = append(byFile[c.file], c)
	}
	for file, controls := range byFile {
		source, err := os.ReadFile(filepath.Join(moduleRoot, filepath.FromSlash(file)))
		require.NoError(t, err)
		_, _, broken, err := weave(source, controls)
		require.NoError(t, err)
		assert.Empty(t, broken)
	}
}

var modelRow = regexp.MustCompile("(?m)^\\| `(NO_[A-Z_]+)` \\|")

func TestEveryControlOfTheModelIsOneOfTheCode(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(moduleRoot, "model", "README.md"))
	require.NoError(t, err)
	var model, code []string
	for _, row := range modelRow.FindAllStringSubmatch(string(readme), -1) {
		model = append(model, row[1])
	}
	require.NotEmpty(t, model)
	seen := make(map[string]bool)
	for _, c := range all() {
		if c.model != "" && !seen[c.model] {
			seen[c.model], code = true, append(code, c.model)
		}
	}
	assert.ElementsMatch(t, model, code)
}

func TestTableOfControls(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, table(&out, []control{
		{name: "own-claim", model: "NO_OWN_CLAIM", without: "a claim blocks itself", file: "judge.go"},
		{name: "undo-time", without: "no time is left", file: "claim.go"},
	}))
	assert.Equal(t, "| control | in | without the guard | model |\n|---|---|---|---|\n"+
		"| `own-claim` | judge.go | a claim blocks itself | `NO_OWN_CLAIM` |\n"+
		"| `undo-time` | claim.go | no time is left |  |\n", out.String())
}

func TestChoosingControls(t *testing.T) {
	t.Parallel()
	controls := []control{{name: "undo", file: "claim.go"}, {name: "undo-time", file: "claim.go"}, {name: "status", file: "memory/records.go"}}
	chosen, err := choose(controls, "undo|memory", "time")
	require.NoError(t, err)
	assert.Equal(t, []control{controls[0], controls[2]}, chosen)
	_, err = choose(controls, "nothing", "^$")
	require.Error(t, err)
	_, err = choose(controls, "(", "^$")
	require.Error(t, err)
}

func TestMutantsOfAReport(t *testing.T) {
	root := shopRoot(t)
	path := filepath.Join(root, "mutants.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"files":[{"file_name":"shop.go","mutations":[
		{"type":"CONDITIONALS_BOUNDARY","status":"RUNNABLE","line":6,"column":11},
		{"type":"CONDITIONALS_NEGATION","status":"RUNNABLE","line":6,"column":11},
		{"type":"CONDITIONALS_BOUNDARY","status":"NOT COVERED","line":14,"column":8},
		{"type":"ARITHMETIC_BASE","status":"RUNNABLE","line":28,"column":17}]}]}`), 0o600))
	mutants, err := readMutants(root, path)
	require.NoError(t, err)
	require.Len(t, mutants, 3, "without the one of the constant")
	assert.Equal(t, "< becomes >= in if price < 1 {", mutants[1].without)

	var out bytes.Buffer
	explained := []explanation{
		{"shop.go", "> becomes >= in if v > largest {", "an equal one is as large"},
		{"shop.go", mutants[1].without, "it cannot be caught"},
	}
	require.ErrorContains(t, run(&out, root, mutants, explained, 2), "2 of 3")
	for _, want := range []string{
		`SURVIVED +shop-6-11-conditionals-boundary .* < becomes <= in if price < 1 {`,
		`STALE +shop-6-11-conditionals-negation .* by Test`,
		`explained +shop-14-8-conditionals-boundary .* an equal one is as large`,
	} {
		assert.Regexp(t, "(?m)^"+want, out.String())
	}
}

func TestAReportOfOtherSourcesIsRefused(t *testing.T) {
	root := shopRoot(t)
	path := filepath.Join(root, "mutants.json")
	for place, want := range map[string]string{
		`"line":6,"column":12`:  "no CONDITIONALS_BOUNDARY here",
		`"line":6,"column":99`:  "no such place",
		`"line":999,"column":1`: "no such place",
		`"line":0,"column":1`:   "no such place",
	} {
		require.NoError(t, os.WriteFile(path, []byte(
			`{"files":[{"file_name":"shop.go","mutations":[{"type":"CONDITIONALS_BOUNDARY",`+place+`}]}]}`), 0o600))
		_, err := readMutants(root, path)
		require.ErrorContains(t, err, want)
	}
}
