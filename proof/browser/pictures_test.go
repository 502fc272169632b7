package browser_test

import (
	"bytes"
	"cmp"
	"context"
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

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
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
		// docs are the looks that the docs show.
		docs []string
	}{
		{"overview", "", nil, []string{"light"}},
		{"record", record, nil, []string{"light"}},
		{"settle", act, func() {
			b.choose("executed", [2]string{"result", `{"id":"ch_1"}`})
			b.do(chromedp.SetValue("#step", "charge", chromedp.ByQuery))
		}, []string{"light"}},
		{"preview", act, func() {
			b.choose("not-executed", [2]string{"why", "ticket 4711: the provider has no charge"}, [2]string{"repeat"})
			b.follow("form.act button")
			require.Contains(t, b.text(), "Nothing has been changed yet.")
		}, []string{"dark"}},
		{"missing", "record?key=" + url.QueryEscape("charge#nothing"), nil, nil},
		{"settled", "record?key=" + url.QueryEscape("charge#settled-not-executed"), nil, nil},
		{"long", "record?key=" + url.QueryEscape(strings.Repeat("a", 200)+"#"+strings.Repeat("b", 200)), nil, nil},
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
			if folder != "" && (slices.Contains(p.docs, look.name) || os.Getenv("IDEMPOTENT_PICTURES_ALL") != "") {
				file := filepath.Join(folder, "page-"+p.name+"-"+look.name+".png")
				require.NoError(t, os.WriteFile(file, small(t, b.picture(look.width)), 0o644))
			}
		}
	}
}

// picture is the whole page.
func (b *tab) picture(width int64) (picture []byte) {
	height := evaluate[int64](b, `document.documentElement.scrollHeight`)
	b.do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		picture, err = page.CaptureScreenshot().WithCaptureBeyondViewport(true).
			WithClip(&page.Viewport{Width: float64(width), Height: float64(height), Scale: 1}).Do(ctx)
		return err
	}))
	return picture
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
