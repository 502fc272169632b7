// Package docs_test tests the pages: their length, their links, and their words.
package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// budgets are the most words of each page. A page that needs more says something that stands
// elsewhere.
var budgets = map[string]int{
	"../README.md": 850, "../CONTRIBUTING.md": 1000, "../SECURITY.md": 400, "../CHANGELOG.md": 200,
	"README.md": 300, "start.md": 1000, "http.md": 1900, "problems.md": 600, "glossary.md": 400, "keys.md": 1300,
	"routers.md": 1000,
	"effects.md": 2300, "commit.md": 1600, "outbox.md": 1300, "batches.md": 1400, "testing.md": 1000, "deploy.md": 2000,
	"runbook.md": 1400, "operate.md": 1600, "observability.md": 1500, "guarantees.md": 1800, "powertools.md": 1200,
	"cost.md":    800,
	"compare.md": 700, "threats.md": 900,
}

const budgetOfAll = 26000

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

func TestEveryPageKeepsItsBudget(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	all := 0
	for _, page := range pages {
		assert.Contains(t, budgets, page)
		all += len(strings.Fields(read(t, page)))
	}
	for page, budget := range budgets {
		assert.LessOrEqual(t, len(strings.Fields(read(t, page))), budget, page)
	}
	assert.LessOrEqual(t, all, budgetOfAll)
}

var (
	link    = regexp.MustCompile(`(?:\]\(|src="|srcset=")([^)"\s]+)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	id      = regexp.MustCompile(`<a id="([^"]+)"></a>`)
	fences  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	code    = regexp.MustCompile("`[^`\n]*`")
)

// anchors are the names to which links within a page lead.
func anchors(page string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(fences.ReplaceAllString(page, ""), -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	for _, m := range id.FindAllStringSubmatch(page, -1) {
		names = append(names, m[1])
	}
	return names
}

// TestEveryLinkLeadsSomewhereAndEveryPageIsReached starts at the README, as a reader does.
func TestEveryLinkLeadsSomewhereAndEveryPageIsReached(t *testing.T) {
	t.Parallel()
	reached := map[string]bool{}
	next := []string{filepath.Join("..", "README.md")}
	for len(next) > 0 {
		page := next[0]
		next = next[1:]
		if reached[page] {
			continue
		}
		reached[page] = true
		if filepath.Ext(page) != ".md" {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(prose(read(t, page)), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			file := page
			if target != "" {
				file = filepath.Join(filepath.Dir(page), target)
			}
			info, err := os.Stat(file)
			if !assert.NoError(t, err, "%s links to %s", page, m[1]) {
				continue
			}
			if anchor != "" {
				assert.Contains(t, anchors(read(t, file)), anchor, "%s links to %s", page, m[1])
			}
			if !info.IsDir() {
				next = append(next, file)
			}
		}
	}
	for _, pattern := range []string{"*.md", "images/*"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			assert.True(t, reached[filepath.Join("..", "docs", file)], "%s is not reached from the README", file)
		}
	}
}

// old are words that the pages have no use for: another word has their meaning, or the spelling is
// American.
var old = regexp.MustCompile(
	`(?i)\b(lapse[sd]?|parked|parks?|sweeps?|swept|formerly|behavior|canceled|color|recognize[sd]?|organize[sd]?|` +
		`initialize[sd]?|normalize[sd]?|serialize[sd]?|linearizable|favor|honor|center)\b`)

func prose(page string) string { return code.ReplaceAllString(fences.ReplaceAllString(page, ""), "X") }

func TestPagesUseOneWordForOneThing(t *testing.T) {
	t.Parallel()
	for page := range budgets {
		text := regexp.MustCompile(`\]\([^)]*\)`).ReplaceAllString(prose(read(t, page)), "]")
		text = strings.ReplaceAll(text, "IAM Identity Center", "")
		assert.Empty(t, old.FindAllString(text, -1), page)
	}
}

// firstScreen is how many lines of a page a reader sees at once.
const firstScreen, mostWords = 40, 30

func TestTheFirstScreenHasShortSentences(t *testing.T) {
	t.Parallel()
	for page := range budgets {
		lines := strings.Split(prose(read(t, page)), "\n")
		var text []string
		for _, line := range lines[:min(len(lines), firstScreen)] {
			if strings.HasPrefix(line, "|") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "<!--") {
				line = "" // what stands in a table, or is a heading, is no sentence
			}
			text = append(text, line)
		}
		for paragraph := range strings.SplitSeq(strings.Join(text, "\n"), "\n\n") {
			for _, item := range regexp.MustCompile(`\n *(?:-|\d+\.) `).Split(paragraph, -1) {
				for _, sentence := range regexp.MustCompile(`[.:?!](?:\*\*)?\s`).Split(item, -1) {
					words := slices.DeleteFunc(strings.Fields(sentence),
						func(w string) bool { return !regexp.MustCompile(`[\pL\pN]`).MatchString(w) })
					assert.LessOrEqual(t, len(words), mostWords, "%s: %s", page, sentence)
				}
			}
		}
	}
}

// TestTheTreeIsWhole: whoever adds a package says what it is.
func TestTheTreeIsWhole(t *testing.T) {
	t.Parallel()
	tree := read(t, "../CONTRIBUTING.md")
	for _, parent := range []string{"", "internal/"} {
		folders, err := os.ReadDir(filepath.Join("..", parent))
		require.NoError(t, err)
		for _, f := range folders {
			code, err := filepath.Glob(filepath.Join("..", parent, f.Name(), "*.go"))
			require.NoError(t, err)
			if f.IsDir() && len(code) > 0 {
				assert.Contains(t, tree, "`"+parent+f.Name()+"/`")
			}
		}
	}
}
