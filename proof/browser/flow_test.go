package browser_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Find a stuck record, read its story, say what became of it, see what that does, and do it. No
// script may run in the browser: the page has none.
func TestSettle(t *testing.T) {
	b := open(t)
	b.do(emulation.SetScriptExecutionDisabled(true))
	assert.NotContains(t, b.enterHome(), "token")
	assert.Contains(t, b.text(), "Somebody has to settle: 11")
	b.follow("charge#crashed")
	assert.Contains(t, b.text(), "Became unknown")
	b.follow("Settle or release it")
	b.choose("executed", [2]string{"result", `{"statusCode":201,"body":"it is paid"}`},
		[2]string{"why", "ticket 4711: the provider has ch_1"})
	b.follow("form.act button")
	assert.Contains(t, b.text(), "Nothing has been changed yet.")
	assert.Contains(t, b.text(), "The record is completed with the given result")
	assert.Empty(t, b.printed())
	b.follow("main form button")
	text := b.text()
	assert.Contains(t, text, "It is done. The record is completed now.")
	assert.Contains(t, text, "Settled as executed by dana")
	assert.NotContains(t, text, "it is paid")
	assert.Contains(t, b.printed(), "settle as executed")
	assert.Contains(t, b.printed(), "ticket 4711: the provider has ch_1")
	b.follow(`form[action*="/result"] button`)
	assert.Contains(t, b.text(), "it is paid")
	b.leads(page.Reload())
	assert.Contains(t, b.text(), "it is paid",
		"a browser that sends a form again says that it comes from here")
	b.follow("What is stuck")
	assert.Contains(t, b.text(), "Somebody has to settle: 10")
}

// The same by the keyboard alone: every stop is visible, in the order in which it is read, and
// nobody is trapped.
func TestTheKeyboard(t *testing.T) {
	b := open(t)
	home := b.enterHome()
	assert.Equal(t, []string{"Skip to the content", "idempotent", "What is stuck", "q", "Find"}, b.stops(5))
	b.do(chromedp.Navigate(home))
	assert.Equal(t, []string{"Skip to the content"}, b.stops(1))
	b.do(chromedp.KeyEvent(kb.Enter)) // it stays on the page
	assert.Equal(t, []string{"operation", "Show", "charge#terminal", "charge#not-stored"}, b.stops(4))
	b.enter()
	assert.True(t, strings.HasSuffix(b.location(), "record?key=charge%23not-stored"), b.location())
	b.reach("Settle or release it")
	b.enter()
	b.reach("executed") // the first choice
	b.do(chromedp.KeyEvent(kb.ArrowDown))
	assert.Equal(t, []string{"repeat"}, b.stops(1), "what belongs to other choices is out of the way")
	b.do(chromedp.KeyEvent(" "))
	assert.Equal(t, []string{"by", "why"}, b.stops(2))
	b.do(chromedp.KeyEvent("ticket 4711"))
	assert.Equal(t, []string{"Show what it does"}, b.stops(1))
	b.enter()
	assert.Contains(t, b.text(), "Settle it as not executed?")
	b.reach("Settle it as not executed")
	b.enter()
	assert.Contains(t, b.text(), "It is done. The record is released now.")
}

// What is wrong with a form has the focus when the page comes back.
func TestAMistakeHasTheFocus(t *testing.T) {
	b := open(t)
	b.do(chromedp.Navigate(b.enterHome() + "act?key=charge%23crashed"))
	b.choose("executed", [2]string{"result", "no JSON"}, [2]string{"why", "ticket 4711"})
	b.follow("form.act button")
	assert.Equal(t, "problem", b.focus())
	assert.Equal(t, "no JSON", evaluate[string](b, `document.querySelector("#result").value`))
}

// enter presses the key, and waits for the page that follows.
func (b *tab) enter() {
	b.t.Helper()
	before := evaluate[float64](b, `performance.timeOrigin`)
	b.leads(chromedp.KeyEvent(kb.Enter))
	require.Greater(b.t, evaluate[float64](b, `performance.timeOrigin`), before, "another page")
}

// stops presses Tab so often, and returns what has the focus each time.
func (b *tab) stops(n int) (stops []string) {
	b.t.Helper()
	for range n {
		b.do(chromedp.KeyEvent(kb.Tab))
		stops = append(stops, b.focus())
	}
	return stops
}

// reach presses Tab until something has the focus.
func (b *tab) reach(what string) {
	b.t.Helper()
	for range 40 {
		if b.stops(1)[0] == what {
			return
		}
	}
	require.Fail(b.t, "the focus never comes to "+what)
}

// focus names what has the focus, which has to be visible, and to look like it. It asks after the
// browser has painted: a page that has just loaded gives its autofocus then.
func (b *tab) focus() string {
	b.t.Helper()
	at := evaluate[struct {
		Name, Outline string
		Width         float64
		Inside        bool
	}](b, `new Promise(painted => requestAnimationFrame(() => requestAnimationFrame(painted))).then(() => {
		const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
		const name = e.type === "radio" ? e.value : e.id && e.tagName !== "A" ? e.id : e.innerText;
		return {Name: name, Outline: style.outlineStyle, Width: parseFloat(style.outlineWidth), Inside: box.left >= 0 && box.top >= 0 && box.bottom <= innerHeight};
	})`)
	assert.Equal(b.t, "solid", at.Outline, "%s has no visible focus", at.Name)
	assert.GreaterOrEqual(b.t, at.Width, 3.0, at.Name)
	assert.True(b.t, at.Inside, "%s is out of sight", at.Name)
	return at.Name
}

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
