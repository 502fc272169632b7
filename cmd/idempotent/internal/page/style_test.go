package page_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every text can be read by people who see contrasts badly, in light and dark: WCAG 2.2 AA, 4.5 for
// texts, 3 for edges and marks.
func TestContrast(t *testing.T) {
	t.Parallel()
	css, err := os.ReadFile("templates/style.css")
	require.NoError(t, err)
	light, dark, found := strings.Cut(string(css), "@media (prefers-color-scheme: dark)")
	require.True(t, found)
	dark, _, _ = strings.Cut(dark, "\n}\n")
	for name, colours := range map[string]map[string]string{"light": variables(light), "dark": variables(dark)} {
		require.Len(t, colours, 16, name)
		for _, pair := range []struct {
			texts, grounds string
			least          float64
		}{
			{"text muted link", "page panel", 4.5},
			{"text", "needs-soft may-soft well-soft quiet-soft", 4.5},
			{"link", "needs-soft may-soft", 4.5},
			{"needs", "needs-soft page panel", 4.5},
			{"may", "may-soft page panel", 4.5},
			{"well", "well-soft page panel", 4.5},
			{"quiet", "quiet-soft page panel", 4.5},
			{"on-link", "link", 4.5},
			{"edge", "page panel", 3},
		} {
			for text := range strings.FieldsSeq(pair.texts) {
				for ground := range strings.FieldsSeq(pair.grounds) {
					require.NotEmpty(t, colours[text], text)
					require.NotEmpty(t, colours[ground], ground)
					assert.GreaterOrEqual(t, contrast(t, colours[text], colours[ground]), pair.least, "%s: %s on %s",
						name, text, ground)
				}
			}
		}
	}
	rest := regexp.MustCompile(`(?m)^\s*--.*$`).ReplaceAllString(string(css), "")
	assert.NotRegexp(t, `#[0-9a-f]{3,8}\b|rgb|hsl|opacity: [^1]`, rest, "every colour is a variable, and whole")
	assert.NotRegexp(t, `animation|transition|url\(|@import`, string(css), "nothing moves, and nothing is loaded")
}

func variables(css string) map[string]string {
	colours := make(map[string]string)
	for _, found := range regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(css, -1) {
		colours[found[1]] = found[2]
	}
	return colours
}

// contrast is that of WCAG 2.2.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		require.NoError(t, err)
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
