package browser_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"
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

// A second tab knows everything about the page but its cookie, even the path of this run and what
// its forms hold: it posts forms, fetches, frames, opens windows and rebinds its name, with the
// cookies of the browser where that sends them. It reads nothing, and changes nothing. The page
// itself can send the very form afterwards.
func TestAHostileSecondTab(t *testing.T) {
	s := serve(t)
	b := open(t)
	b.do(t, chromedp.Navigate(s.address))
	home := b.location(t)
	require.NotEqual(t, s.address, home)
	fields := b.previewed(t, home)
	site, heard := hostile(t)
	port := s.origin()[strings.LastIndex(s.origin(), ":"):]
	local := "http://localhost" + site.URL[strings.LastIndex(site.URL, ":"):]

	for name, from := range map[string]string{"another port": site.URL, "another name": local} {
		evil := b.another(t)
		evil.do(t, chromedp.Navigate(from))
		for _, to := range []string{home, strings.Replace(home, "127.0.0.1", "localhost", 1)} {
			evil.fetches(t, name, to, fields)
			evil.frames(t, name, to)
			evil.posts(t, name, from, to, fields)
			evil.loads(t, name, to)
			evil.opens(t, name, to)
		}
	}
	rebound := b.another(t)
	rebound.do(t, chromedp.Navigate("http://rebound.example"+port+strings.TrimPrefix(home, s.origin())))
	assert.Contains(t, rebound.text(t), "Not under this name")
	for _, r := range heard() {
		for _, c := range r.Cookies() {
			assert.NotEqual(t, "idempotent", c.Name, "the cookie went to another port")
		}
		assert.NotContains(t, r.Referer(), s.origin())
	}
	assert.Empty(t, s.printed(), "something was changed")
	b.follow(t, "main form button")
	assert.Contains(t, b.text(t), "It is done.")
	assert.Contains(t, s.printed(), "charge#crashed")
	b.do(t, chromedp.Navigate(home))
	assert.Contains(t, b.text(t), "Somebody has to settle: 10", "nothing but what the page itself has sent")
}

// previewed asks what a release would do, and returns what the form that confirms it holds.
func (b *tab) previewed(t *testing.T, home string) (fields string) {
	t.Helper()
	b.do(t, chromedp.Navigate(home+"act?key=charge%23crashed"),
		chromedp.Click(`input[value=released]`, chromedp.ByQuery),
		chromedp.SendKeys("#why", "the provider knows nothing", chromedp.ByQuery),
		chromedp.Click("#repeat", chromedp.ByQuery))
	b.follow(t, "form.act button")
	require.Contains(t, b.text(t), "Nothing has been changed yet.")
	b.do(t, chromedp.Evaluate(`new URLSearchParams(new FormData(document.querySelector("main form"))).toString()`,
		&fields))
	for _, name := range []string{"form=", "asked=", "seal="} {
		require.Contains(t, fields, name)
	}
	return fields
}

// fetches reads and writes by script, in all ways that there are.
func (b *tab) fetches(t *testing.T, name, to, fields string) {
	t.Helper()
	for _, how := range []string{
		`{credentials: "include"}`, `{credentials: "include", mode: "no-cors"}`,
		fmt.Sprintf(`{credentials: "include", method: "POST", body: new URLSearchParams(%q)}`, fields),
		fmt.Sprintf(`{credentials: "include", mode: "no-cors", method: "POST", body: new URLSearchParams(%q)}`, fields),
		`{method: "POST", headers: {"X-Own": "1"}, credentials: "include"}`,
		`{credentials: "include", method: "DELETE"}`,
	} {
		for _, path := range []string{
			"", "record?key=charge%23crashed", "record/charge/crashed", "preview", "confirm",
			"result", "redrive", "style.css",
		} {
			var read string
			b.evaluate(t, fmt.Sprintf(`fetch(%q, %s).then(r => r.text()).then(text => text, () => "")`, to+path, how),
				&read)
			assert.Empty(t, read, "%s: %s %s", name, how, path)
		}
	}
}

// frames shows the page inside of another one, for somebody to click on.
func (b *tab) frames(t *testing.T, name, to string) {
	t.Helper()
	for _, kind := range []string{`iframe`, `embed`, `object`} {
		var read string
		b.evaluate(t, fmt.Sprintf(`new Promise(done => {
			const e = document.createElement(%[1]q);
			const look = () => { let text = ""; try { text = (e.contentDocument || e.getSVGDocument()).body.innerText } catch (_) {} done(text) };
			e.onload = look; e.onerror = look; e[%[1]q === "object" ? "data" : "src"] = %[2]q;
			document.body.append(e); setTimeout(look, 1000);
		})`, kind, to), &read)
		assert.NotContains(t, read, "charge", "%s: %s", name, kind)
		assert.NotContains(t, read, "stuck", "%s: %s", name, kind)
	}
	frames, err := target.GetTargets().Do(b.executor())
	require.NoError(t, err)
	for _, f := range frames {
		if f.Type == "iframe" {
			assert.NotContains(t, f.Title, "stuck", name)
		}
	}
}

// loads uses the page as what it is not.
func (b *tab) loads(t *testing.T, name, to string) {
	t.Helper()
	for _, tag := range []string{"script", "img"} {
		var loaded bool
		b.evaluate(t, fmt.Sprintf(`new Promise(done => {
			const e = document.createElement(%q); e.onload = () => done(true); e.onerror = () => done(false); e.src = %q; document.body.append(e);
		})`, tag, to+"style.css"), &loaded)
		assert.False(t, loaded, "%s: %s", name, tag)
	}
	var rules int
	b.evaluate(t, fmt.Sprintf(`new Promise(done => {
		const e = document.createElement("link"); e.rel = "stylesheet"; e.href = %q;
		const count = () => { let n = 0; try { n = e.sheet.cssRules.length } catch (_) {} done(n) };
		e.onload = count; e.onerror = count; document.head.append(e);
	})`, to+"style.css"), &rules)
	assert.Zero(t, rules, name)
}

// posts sends forms, as a page without scripts could.
func (b *tab) posts(t *testing.T, name, from, to, fields string) {
	t.Helper()
	for _, path := range []string{"preview", "confirm", "result", "redrive"} {
		b.do(t, chromedp.Navigate(from))
		script := fmt.Sprintf(`(() => {
			const f = document.createElement("form"); f.method = "post"; f.action = %q;
			for (const [name, value] of new URLSearchParams(%q + "&key=charge%%2523crashed&verdict=released&by=mallory&why=because&repeat=1")) {
				const i = document.createElement("input"); i.name = name; i.value = value; f.append(i);
			}
			document.body.append(f); HTMLFormElement.prototype.submit.call(f);
		})()`, to+path, fields)
		res, err := chromedp.RunResponse(b.Context, chromedp.Evaluate(script, nil))
		require.NoError(t, err)
		assert.Equal(t, int64(http.StatusForbidden), res.Status, "%s: %s", name, path)
		assert.NotContains(t, b.text(t), "charge", "%s: %s", name, path)
	}
	b.do(t, chromedp.Navigate(from))
}

// opens follows links, which is what the browser sends cookies with most readily, and looks at the
// window through its opener.
func (b *tab) opens(t *testing.T, name, to string) {
	t.Helper()
	var read string
	b.evaluate(t, fmt.Sprintf(`new Promise(done => {
		const w = window.open(%q); setTimeout(() => { let text = ""; try { text = w.document.body.innerText } catch (_) {} try { w.close() } catch (_) {} done(text) }, 500);
	})`, to), &read)
	assert.NotContains(t, read, "charge", name)
	var here string
	b.do(t, chromedp.Location(&here))
	res, err := chromedp.RunResponse(b.Context,
		chromedp.Evaluate(fmt.Sprintf(`location.assign(%q)`, to+"record?key=charge%23crashed"), nil))
	require.NoError(t, err)
	assert.Equal(t, int64(http.StatusForbidden), res.Status, name)
	b.do(t, chromedp.Navigate(here))
}

// What is in a record never runs: the browser itself would refuse it, and would say so.
func TestThePolicyHolds(t *testing.T) {
	s := serve(t)
	b := open(t)
	site, heard := hostile(t)
	b.do(t, network.Enable(), chromedp.Navigate(s.address))
	var ran, sent string
	b.evaluate(t, fmt.Sprintf(`new Promise(done => {
		document.body.insertAdjacentHTML("beforeend", '<img src="%[1]s/img"><a href="%[1]s/out" id="out">out</a><form id="away" method="post" action="%[1]s/form"></form>');
		const e = document.createElement("script"); e.textContent = 'window.ran = "ran"'; document.body.append(e);
		fetch("%[1]s/fetch").then(() => done("sent"), () => done("refused"));
	})`, site.URL), &sent)
	b.do(t, chromedp.Evaluate(`window.ran || ""`, &ran))
	assert.Empty(t, ran)
	assert.Equal(t, "refused", sent)
	b.evaluate(t, `new Promise(done => { document.addEventListener("securitypolicyviolation", v => done(v.effectiveDirective)); document.getElementById("away").submit(); })`, &sent)
	assert.Equal(t, "form-action", sent)
	assert.Empty(t, heard())
	b.follow(t, "#out")
	require.Len(t, heard(), 1, "of %s", must(json.Marshal(paths(heard()))))
	assert.Empty(t, heard()[0].Referer())
}

func paths(requests []*http.Request) []string {
	var all []string
	for _, r := range requests {
		all = append(all, r.URL.Path)
	}
	return all
}

func must(text []byte, err error) string {
	if err != nil {
		panic(err)
	}
	return string(text)
}

// The address works once: whoever finds it in a history, or in a scrollback, is not let in.
func TestTheAddressIsForOnce(t *testing.T) {
	s := serve(t)
	first := open(t)
	first.do(t, chromedp.Navigate(s.address), chromedp.Navigate(s.address))
	assert.Contains(t, first.text(t), "What is stuck", "the same browser may load it twice")
	second := open(t)
	second.do(t, chromedp.Navigate(s.address))
	assert.Contains(t, second.text(t), "You are not let in")
	second.do(t, chromedp.Navigate(first.location(t)+"record?key="+url.QueryEscape("charge#crashed")))
	assert.Contains(t, second.text(t), "You are not let in")
}
