package browser_test

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The pictures of the docs, and what can be seen in them: nothing sticks out of the window, however
// narrow it is. They are written only if IDEMPOTENT_PICTURES names a folder: make pictures.
func TestPictures(t *testing.T) {
	s := serve(t)
	b := open(t)
	b.do(t, chromedp.Navigate(s.address))
	home := b.location(t)
	folder := os.Getenv("IDEMPOTENT_PICTURES")
	record := "record?key=" + url.QueryEscape("order#begun")
	act := "act?key=" + url.QueryEscape("order#begun")
	for _, p := range []struct {
		name, path string
		before     func()
		// docs are the looks that the docs show.
		docs []string
	}{
		{"overview", "", nil, []string{"light"}},
		{"record", record, nil, []string{"light"}},
		{"settle", act, func() {
			b.do(t, chromedp.Click(`input[value=executed]`, chromedp.ByQuery),
				chromedp.SetValue("#step", "charge", chromedp.ByQuery),
				chromedp.SendKeys("#result", `{"id":"ch_1"}`, chromedp.ByQuery))
		}, []string{"light"}},
		{"preview", act, func() {
			b.do(t, chromedp.Click(`input[value=not-executed]`, chromedp.ByQuery),
				chromedp.SendKeys("#why", "ticket 4711: the provider has no charge", chromedp.ByQuery),
				chromedp.Click("#repeat", chromedp.ByQuery))
			b.follow(t, "form.act button")
			require.Contains(t, b.text(t), "Nothing has been changed yet.")
		}, []string{"dark"}},
		{"missing", "record?key=" + url.QueryEscape("charge#nothing"), nil, nil},
		{"settled", "record?key=" + url.QueryEscape("charge#settled-not-executed"), nil, nil},
		{"long", "record?key=" + url.QueryEscape(strings.Repeat("a", 200)+"#"+strings.Repeat("b", 200)), nil, nil},
	} {
		b.do(t, chromedp.Navigate(home+p.path))
		if p.before != nil {
			p.before()
		}
		for _, look := range []struct {
			name   string
			width  int64
			scheme string
		}{{"light", 1100, "light"}, {"dark", 1100, "dark"}, {"narrow", 320, "light"}} {
			b.look(t, look.width, look.scheme)
			var wide int64
			b.do(t, chromedp.Evaluate(`document.documentElement.scrollWidth`, &wide))
			assert.LessOrEqual(t, wide, look.width, "%s %s", p.name, look.name)
			if folder != "" && (slices.Contains(p.docs, look.name) || os.Getenv("IDEMPOTENT_PICTURES_ALL") != "") {
				file := filepath.Join(folder, "page-"+p.name+"-"+look.name+".png")
				require.NoError(t, os.WriteFile(file, small(t, b.picture(t, look.width)), 0o644))
			}
		}
	}
}

// small is a picture in 256 colours, those that it has most of: a page has few, and the edges of
// its letters many.
func small(t *testing.T, text []byte) []byte {
	t.Helper()
	whole, err := png.Decode(bytes.NewReader(text))
	require.NoError(t, err)
	count := make(map[color.Color]int)
	bounds := whole.Bounds()
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			count[color.RGBAModel.Convert(whole.At(x, y))]++
		}
	}
	most := slices.SortedFunc(maps.Keys(count), func(a, b color.Color) int {
		return cmp.Or(count[b]-count[a], cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	few := image.NewPaletted(bounds, most[:min(256, len(most))])
	draw.Draw(few, bounds, whole, bounds.Min, draw.Src)
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	require.NoError(t, encoder.Encode(&b, few))
	return b.Bytes()
}
