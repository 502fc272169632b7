package browser_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The pictures of the docs, and what can be seen in them: nothing sticks out of the window, however
// narrow it is. They are written only if IDEMPOTENT_PICTURES names a folder: make pictures.
func TestPictures(t *testing.T) {
	b := open(t)
	home := b.enterHome()
	folder := os.Getenv("IDEMPOTENT_PICTURES")
	record := "record?key=" + url.QueryEscape("order#begun")
	act := "act?key=" + url.QueryEscape("order#begun")
	for _, p := range []struct {
		name, path string
		before     func()
		// shown is the look that the docs show.
		shown string
	}{
		{"overview", "", nil, "light"},
		{"record", record, nil, "light"},
		{"settle", act, func() {
			b.choose("executed", [2]string{"result", `{"id":"ch_1"}`})
			b.do(chromedp.SetValue("#step", "charge", chromedp.ByQuery))
		}, "light"},
		{"preview", act, func() {
			b.choose("not-executed", [2]string{"why", "ticket 4711: the provider has no charge"}, [2]string{"repeat"})
			b.follow("form.act button")
			require.Contains(t, b.text(), "Nothing has been changed yet.")
		}, "dark"},
		{"missing", "record?key=" + url.QueryEscape("charge#nothing"), nil, ""},
		{"settled", "record?key=" + url.QueryEscape("charge#settled-not-executed"), nil, ""},
		{"long", "record?key=" + url.QueryEscape(strings.Repeat("a", 200)+"#"+strings.Repeat("b", 200)), nil, ""},
	} {
		b.do(chromedp.Navigate(home + p.path))
		if p.before != nil {
			p.before()
		}
		for _, look := range []struct {
			name   string
			width  int64
			scheme string
		}{{"light", 1100, "light"}, {"dark", 1100, "dark"}, {"narrow", 320, "light"}} {
			b.do(chromedp.EmulateViewport(look.width, 800), emulation.SetEmulatedMedia().WithFeatures(
				[]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: look.scheme}}))
			wide := evaluate[int64](b, `document.documentElement.scrollWidth`)
			assert.LessOrEqual(t, wide, look.width, "%s %s", p.name, look.name)
			if folder != "" && p.shown == look.name {
				var picture []byte
				b.do(chromedp.FullScreenshot(&picture, 100))
				file := filepath.Join(folder, "page-"+p.name+"-"+look.name+".png")
				require.NoError(t, os.WriteFile(file, picture, 0o644))
			}
		}
	}
}
