package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hostile is another site, on another port of this machine, which writes down what browsers send
// it. Of all sites it is the closest: for a browser it is the same site, though not the same
// origin.
func hostile(t *testing.T) (site *httptest.Server, heard func() []*http.Request) {
	t.Helper()
	var mu sync.Mutex
	var all []*http.Request
	site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		all = append(all, r)
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html><title>hostile</title><body>a page of somebody else")
	}))
	t.Cleanup(site.Close)
	return site, func() []*http.Request {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// What a page of somebody else can do by script to the page at the address to, with the fields of a
// form of that: each promises what it has learned.
var attacks = map[string]string{
	"reads and writes, in all ways that there are": `Promise.all([
		{}, {mode: "no-cors"}, {method: "POST", body: fields}, {mode: "no-cors", method: "POST", body: fields},
		{method: "POST", headers: {"X-Own": "1"}}, {method: "DELETE"},
	].flatMap(how => [
		"", "record?key=charge%23crashed", "preview", "confirm", "result", "redrive", "style.css",
	].map(path => fetch(to + path, {...how, credentials: "include"}).then(r => r.text(), () => "")))).then(all => all.join(""))`,
	"shows it inside of its own page, for somebody to click on": `Promise.all(
		["iframe", "embed", "object"].map(kind => new Promise(done => {
			const e = document.createElement(kind);
			const look = () => { let text = ""; try { text = (e.contentDocument || e.getSVGDocument()).body.innerText } catch (_) {} done(text) };
			e.onload = look; e.onerror = look; e[kind === "object" ? "data" : "src"] = to;
			document.body.append(e); setTimeout(look, 1000);
		}))).then(all => all.join("").replaceAll("a page of somebody else", ""))`,
	"uses it as what it is not": `Promise.all(["script", "img"].map(kind => new Promise(done => {
		const e = document.createElement(kind); e.onload = () => done(kind); e.onerror = () => done("");
		e.src = to + "style.css"; document.body.append(e);
	}))).then(all => all.join(""))`,
	"uses its style": `new Promise(done => {
		const e = document.createElement("link"); e.rel = "stylesheet"; e.href = to + "style.css";
		const look = () => { let text = ""; try { text = e.sheet.cssRules[0]?.cssText || "" } catch (_) {} done(text) };
		e.onload = look; e.onerror = look; document.head.append(e);
	})`,
	"looks at a window through its opener": `new Promise(done => {
		const w = window.open(to); setTimeout(() => { let text = ""; try { text = w.document.body.innerText } catch (_) {} try { w.close() } catch (_) {} done(text) }, 500);
	})`,
}

// What it can do without: it sends forms, and follows links, which is what the browser sends
// cookies with most readily.
const (
	posts = `(() => {
		const f = document.createElement("form"); f.method = "post"; f.action = to + path;
		for (const [name, value] of new URLSearchParams(fields + "&key=charge%2523crashed&verdict=released&by=mallory&why=because&repeat=1")) {
			const i = document.createElement("input"); i.name = name; i.value = value; f.append(i);
		}
		document.body.append(f); HTMLFormElement.prototype.submit.call(f);
	})()`
	links = `location.assign(to + path)`
)

// A second tab knows everything about the page but its cookie, even the path of this run and what
// its forms hold: it posts forms, fetches, frames, opens windows and rebinds its name, with the
// cookies of the browser where that sends them. It reads nothing, and changes nothing. The page
// itself can send the very form afterwards.
func TestAHostileSecondTab(t *testing.T) {
	b := open(t)
	home := b.enterHome()
	fields := b.previewed(home)
	site, heard := hostile(t)
	origin, _, _ := strings.Cut(b.address, "/?")
	port := func(of string) string { return of[strings.LastIndex(of, ":"):] }

	for _, from := range []string{site.URL, "http://localhost" + port(site.URL)} { // another port, and another name
		evil := b.another()
		for _, to := range []string{home, strings.Replace(home, "127.0.0.1", "localhost", 1)} {
			given := func(path, script string) string {
				return fmt.Sprintf("{ const to = %q, fields = %q, path = %q; %s }", to, fields, path, script)
			}
			evil.do(chromedp.Navigate(from))
			for what, script := range attacks {
				assert.Empty(t, strings.TrimSpace(evaluate[string](evil, given("", script))), "%s %s", from, what)
			}
			targets, err := chromedp.Targets(evil.Context)
			require.NoError(t, err)
			for _, f := range targets {
				assert.False(t, f.Type == "iframe" && strings.Contains(f.Title, "stuck"), from)
			}
			for path, script := range map[string]string{
				"preview": posts, "confirm": posts, "result": posts, "redrive": posts,
				"record?key=charge%23crashed": links,
			} {
				evil.do(chromedp.Navigate(from))
				status := evil.leads(chromedp.Evaluate(given(path, script), nil))
				assert.Equal(t, int64(http.StatusForbidden), status, "%s: %s", from, path)
				assert.NotContains(t, evil.text(), "charge", "%s: %s", from, path)
			}
		}
	}
	rebound := b.another()
	rebound.do(chromedp.Navigate("http://rebound.example" + port(origin) + strings.TrimPrefix(home, origin)))
	assert.Contains(t, rebound.text(), "Not under this name")
	for _, r := range heard() {
		for _, c := range r.Cookies() {
			assert.NotEqual(t, "idempotent", c.Name, "the cookie went to another port")
		}
		assert.NotContains(t, r.Referer(), origin)
	}
	assert.Empty(t, b.printed(), "something was changed")
	b.follow("main form button")
	assert.Contains(t, b.text(), "It is done.")
	assert.Contains(t, b.printed(), "charge#crashed")
	b.do(chromedp.Navigate(home))
	assert.Contains(t, b.text(), "Somebody has to settle: 10", "nothing but what the page itself has sent")
}

// previewed asks what a release would do, and returns what the form that confirms it holds.
func (b *tab) previewed(home string) (fields string) {
	b.t.Helper()
	b.do(chromedp.Navigate(home + "act?key=charge%23crashed"))
	b.choose("released", [2]string{"why", "the provider knows nothing"}, [2]string{"repeat"})
	b.follow("form.act button")
	require.Contains(b.t, b.text(), "Nothing has been changed yet.")
	fields = evaluate[string](b, `new URLSearchParams(new FormData(document.querySelector("main form"))).toString()`)
	for _, name := range []string{"form=", "asked=", "seal="} {
		require.Contains(b.t, fields, name)
	}
	return fields
}
