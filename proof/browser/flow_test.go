package browser_test

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Find a stuck record, read its story, say what became of it, see what that does, and do it. With
// scripts turned off in the browser it is the same, because the page has none.
func TestSettle(t *testing.T) {
	for name, scripts := range map[string]bool{"with scripts": true, "without scripts": false} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			b := open(t)
			b.do(t, emulation.SetScriptExecutionDisabled(!scripts), chromedp.Navigate(s.address))
			assert.NotContains(t, b.location(t), "token")
			assert.Contains(t, b.text(t), "Somebody has to settle: 11")
			b.click(t, "charge#crashed")
			assert.Contains(t, b.text(t), "Became unknown")
			b.click(t, "Settle or release it")
			b.do(t,
				chromedp.Click(`input[value="executed"]`, chromedp.ByQuery),
				chromedp.SendKeys("#result", `{"statusCode":201,"body":"it is paid"}`, chromedp.ByQuery),
				chromedp.SendKeys("#why", "ticket 4711: the provider has ch_1", chromedp.ByQuery))
			b.follow(t, "form.act button")
			assert.Contains(t, b.text(t), "Nothing has been changed yet.")
			assert.Contains(t, b.text(t), "The record is completed with the given result")
			assert.Empty(t, s.printed())
			b.follow(t, "main form button")
			text := b.text(t)
			assert.Contains(t, text, "It is done. The record is completed now.")
			assert.Contains(t, text, "Settled as executed by dana")
			assert.NotContains(t, text, "it is paid")
			assert.Contains(t, s.printed(), "settle as executed")
			assert.Contains(t, s.printed(), "ticket 4711: the provider has ch_1")
			b.follow(t, `form[action*="/result"] button`)
			assert.Contains(t, b.text(t), "it is paid")
			_, err := chromedp.RunResponse(b.Context, page.Reload())
			require.NoError(t, err)
			assert.Contains(t, b.text(t), "it is paid",
				"a browser that sends a form again says that it comes from here")
			b.click(t, "What is stuck")
			assert.Contains(t, b.text(t), "Somebody has to settle: 10")
		})
	}
}

// click follows a link.
func (b *tab) click(t *testing.T, link string) {
	t.Helper()
	_, err := chromedp.RunResponse(b.Context, chromedp.Click(`//a[text()="`+link+`"]`, chromedp.BySearch))
	require.NoError(t, err)
}

// The same by the keyboard alone: every stop is visible, in the order in which it is read, and
// nobody is trapped.
func TestTheKeyboard(t *testing.T) {
	s := serve(t)
	b := open(t)
	b.do(t, chromedp.Navigate(s.address))
	assert.Equal(t, []string{"Skip to the content", "idempotent", "What is stuck", "q", "Find"}, b.stops(t, 5))
	b.do(t, chromedp.Navigate(b.location(t)))
	assert.Equal(t, []string{"Skip to the content"}, b.stops(t, 1))
	b.enter(t)
	assert.Equal(t, []string{"operation", "Show", "charge#terminal", "charge#not-stored"}, b.stops(t, 4))
	b.enter(t)
	assert.True(t, strings.HasSuffix(b.location(t), "record/charge/not-stored"), b.location(t))
	b.reach(t, "Settle or release it")
	b.enter(t)
	assert.Equal(t, "executed", b.reach(t, "executed"), "the first choice")
	b.do(t, chromedp.KeyEvent(kb.ArrowDown)) // chooses the next one
	assert.Equal(t, []string{"repeat"}, b.stops(t, 1), "what belongs to other choices is out of the way")
	b.do(t, chromedp.KeyEvent(" "))
	assert.Equal(t, []string{"by", "why"}, b.stops(t, 2))
	b.do(t, chromedp.KeyEvent("ticket 4711"))
	assert.Equal(t, []string{"Show what it does"}, b.stops(t, 1))
	b.enter(t)
	assert.Contains(t, b.text(t), "Settle it as not executed?")
	b.reach(t, "Settle it as not executed")
	b.enter(t)
	assert.Contains(t, b.text(t), "It is done. The record is released now.")
}

// What is wrong with a form has the focus when the page comes back.
func TestAMistakeHasTheFocus(t *testing.T) {
	s := serve(t)
	b := open(t)
	b.do(t, chromedp.Navigate(s.address))
	b.do(t, chromedp.Navigate(b.location(t)+"act?key=charge%23crashed"),
		chromedp.Click(`input[value="executed"]`, chromedp.ByQuery),
		chromedp.SendKeys("#result", "no JSON", chromedp.ByQuery),
		chromedp.SendKeys("#why", "ticket 4711", chromedp.ByQuery))
	b.follow(t, "form.act button")
	assert.Equal(t, "problem", b.focus(t))
	var typed string
	b.do(t, chromedp.Value("#result", &typed, chromedp.ByQuery))
	assert.Equal(t, "no JSON", typed)
}

// enter presses the key, and waits for the page that follows.
func (b *tab) enter(t *testing.T) {
	t.Helper()
	var before, after float64
	b.do(t, chromedp.Evaluate(`performance.timeOrigin`, &before))
	var at string
	b.do(t, chromedp.Evaluate(`document.activeElement.getAttribute("href") || ""`, &at))
	if strings.HasPrefix(at, "#") {
		b.do(t, chromedp.KeyEvent(kb.Enter))
		return
	}
	_, err := chromedp.RunResponse(b.Context, chromedp.KeyEvent(kb.Enter))
	require.NoError(t, err)
	b.do(t, chromedp.Evaluate(`performance.timeOrigin`, &after))
	require.Greater(t, after, before, "another page")
}

// stops presses Tab so often, and returns what has the focus each time.
func (b *tab) stops(t *testing.T, n int) []string {
	t.Helper()
	var stops []string
	for range n {
		b.do(t, chromedp.KeyEvent(kb.Tab))
		stops = append(stops, b.focus(t))
	}
	return stops
}

// reach presses Tab until something has the focus.
func (b *tab) reach(t *testing.T, what string) string {
	t.Helper()
	for range 40 {
		if at := b.stops(t, 1)[0]; at == what {
			return at
		}
	}
	require.Fail(t, "the focus never comes to "+what)
	return ""
}

// focus names what has the focus, which has to be visible, and to look like it. It asks after the
// browser has painted: a page that has just loaded gives its autofocus then.
func (b *tab) focus(t *testing.T) string {
	t.Helper()
	var at struct {
		Name, Outline string
		Width, Inside float64
	}
	b.evaluate(t, `new Promise(painted => requestAnimationFrame(() => requestAnimationFrame(painted))).then(() => {
		const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
		const name = e.type === "radio" ? e.value : e.id && e.tagName !== "A" ? e.id : e.innerText;
		return {Name: name, Outline: style.outlineStyle, Width: parseFloat(style.outlineWidth), Inside: box.left >= 0 && box.top >= 0 && box.bottom <= innerHeight ? 1 : 0};
	})`, &at)
	assert.Equal(t, "solid", at.Outline, "%s has no visible focus", at.Name)
	assert.GreaterOrEqual(t, at.Width, 3.0, at.Name)
	assert.InDelta(t, 1, at.Inside, 0, "%s is out of sight", at.Name)
	return at.Name
}
