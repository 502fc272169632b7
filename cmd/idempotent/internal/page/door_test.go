package page_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/demo"
)

// What a client that knows HTTP does not send, and the names under which 127.0.0.1 may be reached
// by a site that has rebound its own.
func TestOnTheWire(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	u, err := url.Parse(s.home)
	require.NoError(t, err)
	path, host, other := u.Path, "\r\nHost: "+u.Host, "\r\nCookie: idempotent=x; "
	cookie := "\r\nCookie: " + s.cookie(t)
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"as a browser sends it": {"GET " + path + "/ HTTP/1.1" + host + cookie, 200},
		"its other name": {
			"GET " + path + "/ HTTP/1.1\r\nHost: localhost:" + u.Port() + cookie, 200,
		},
		"no host":                {"GET " + path + "/ HTTP/1.1" + cookie, 400},
		"no host, HTTP/1.0":      {"GET " + path + "/ HTTP/1.0" + cookie, 421},
		"two hosts":              {"GET " + path + "/ HTTP/1.1" + host + "\r\nHost: evil.example" + cookie, 400},
		"another in the target":  {"GET http://evil.example" + path + "/ HTTP/1.1" + host + cookie, 421},
		"dots in the path":       {"GET /x/.." + path + "/ HTTP/1.1" + host + cookie, 403},
		"slashes in the path":    {"GET /" + path + "/ HTTP/1.1" + host + cookie, 403},
		"path without its slash": {"GET " + path + " HTTP/1.1" + host + cookie, 403},
		"proxy":                  {"CONNECT " + u.Host + " HTTP/1.1" + host + cookie, 403},
		"any method":             {"SETTLE " + path + "/act HTTP/1.1" + host + cookie, 405},
		"other cookies":          {"GET " + path + "/ HTTP/1.1" + host + other + s.cookie(t) + "; idempotent=", 200},
		"other cookies alone":    {"GET " + path + "/ HTTP/1.1" + host + other + "idempotent=", 403},
		"half of the cookie":     {"GET " + path + "/ HTTP/1.1" + host + cookie[:len(cookie)-3], 403},
	} {
		assert.Equal(t, c.status, status(t, u.Host, c.request+"\r\n\r\n"), name)
	}
	entrance, port := strings.TrimPrefix(s.URL(), s.origin()), u.Port()
	for _, name := range []string{
		"evil.example:" + port, "evil.example", "127.0.0.1", "127.0.0.1:1", "localhost", "localhost.:" + port,
		"localhost.evil.example:" + port, "127.0.0.1.:" + port, "127.1:" + port, "[::1]:" + port, "0.0.0.0:" + port,
		"127.0.0.1:0" + port, "LOCALHOST:" + port,
	} {
		for _, at := range []string{path + "/", entrance} {
			assert.Equal(t, 421, status(t, u.Host, "GET "+at+" HTTP/1.1\r\nHost: "+name+cookie+"\r\n\r\n"), name)
		}
	}
}

// status sends bytes, and returns the status that comes back.
func status(t *testing.T, address, request string) int {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(conn, request)
	require.NoError(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res.StatusCode
}

// A stranger learns nothing: not even which pages there are.
func TestAStrangerIsNotLetIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, address := range []string{
		s.origin() + "/", s.origin() + "/?token=", s.origin() + "/?token=x", s.origin() + "/style.css", s.home + "/",
		s.home + "/style.css", s.home + "/record?key=charge%23uncertain", s.home + "/nothing",
	} {
		a := stranger(t).do(t, http.MethodGet, address, nil, nil)
		assert.Equal(t, http.StatusForbidden, a.status, address)
		assert.Contains(t, a.body, "You are not let in", address)
		assert.NotContains(t, a.body, "charge", address)
		assert.NotContains(t, a.body, strings.TrimPrefix(s.home, s.origin()), address)
		assert.Empty(t, a.header.Values("Set-Cookie"), address)
	}
	a := stranger(t).do(t, http.MethodPost, s.home+"/result", url.Values{"key": {"charge#completed"}}, fromHere)
	assert.Equal(t, http.StatusForbidden, a.status)
	assert.NotContains(t, a.body, "ch_2")
}

// The token lets in one browser, and is nowhere after that.
func TestTheTokenIsForOnce(t *testing.T) {
	t.Parallel()
	over := demo.Store()
	s, stopped := closed(t, over), stranger(t)
	stopped.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, refused := range []struct{ method, address string }{
		{http.MethodPost, s.URL()},
		{http.MethodHead, s.URL()},
		{http.MethodGet, s.URL() + "x"},
		{http.MethodGet, s.URL() + "&token=x"},
	} {
		assert.Equal(t, http.StatusForbidden, stopped.do(t, refused.method, refused.address, nil, nil).status)
	}
	a := stopped.do(t, http.MethodGet, s.URL(), nil, nil)
	assert.Equal(t, http.StatusSeeOther, a.status)
	token := s.URL()[strings.Index(s.URL(), "=")+1:]
	assert.Len(t, token, 43)
	assert.NotContains(t, a.header.Get("Location")+a.body, token)
	cookie := a.header.Get("Set-Cookie")
	for _, attribute := range []string{"HttpOnly", "SameSite=Strict", "Path=" + a.header.Get("Location")} {
		assert.Contains(t, cookie, attribute)
	}
	assert.NotContains(t, cookie, token)
	assert.NotContains(t, cookie, "Domain")

	again := stranger(t).do(t, http.MethodGet, s.URL(), nil, nil)
	assert.Equal(t, http.StatusForbidden, again.status)
	assert.Empty(t, again.header.Values("Set-Cookie"))
	same := stopped.do(t, http.MethodGet, s.URL(), nil, nil) // a browser that loads an address twice
	stopped.CheckRedirect = nil
	assert.Equal(t, http.StatusOK,
		stopped.do(t, http.MethodGet, s.origin()+same.header.Get("Location"), nil, nil).status)
}

// Another site, also one on another port of this machine, may neither read nor write, whatever it
// sends along.
func TestAnotherSite(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	form := s.verdict(t, "charge#uncertain", verdictOf("not-executed"))
	for _, site := range []string{"cross-site", "same-site", "anything"} {
		for _, path := range []string{
			"/", "/record?key=charge%23uncertain", "/style.css",
			"/search?q=charge%23uncertain",
		} {
			a := s.do(t, http.MethodGet, s.home+path, nil, map[string]string{"Sec-Fetch-Site": site})
			assert.Equal(t, http.StatusForbidden, a.status, path)
		}
		a := s.do(t, http.MethodGet, s.URL(), nil, map[string]string{"Sec-Fetch-Site": site})
		assert.Equal(t, http.StatusForbidden, a.status)
	}
	for name, headers := range map[string]map[string]string{
		"another origin":         {"Origin": "http://evil.example"},
		"another port":           {"Origin": "http://127.0.0.1:1"},
		"the other name":         {"Origin": fmt.Sprintf("http://localhost:%d", s.Port)},
		"no origin":              {"Origin": "null"},
		"another site":           {"Sec-Fetch-Site": "cross-site", "Origin": s.origin()},
		"a site on another port": {"Sec-Fetch-Site": "same-site", "Origin": s.origin()},
	} {
		for _, path := range []string{"/preview", "/confirm", "/result"} {
			a := s.do(t, http.MethodPost, s.home+path, form, headers)
			assert.Equal(t, http.StatusForbidden, a.status, "%s %s", name, path)
			assert.NotContains(t, a.body, "attempt", name)
		}
	}
	s.untouched(t, "charge#uncertain")
	for name, headers := range map[string]map[string]string{
		"a browser of today":       fromHere,
		"one that says its origin": {"Sec-Fetch-Site": "same-origin", "Origin": s.origin()},
		"one of before":            {"Origin": s.origin()},
	} {
		assert.Equal(t, http.StatusOK, s.do(t, http.MethodPost, s.home+"/preview", form, headers).status, name)
	}
}

// A form without the field, or with that of somebody else, does nothing, although the cookie and
// the origin are right.
func TestAFormOfSomebodyElse(t *testing.T) {
	t.Parallel()
	s, other := newSite(t), newSite(t)
	good := s.verdict(t, "charge#uncertain", verdictOf("not-executed"))
	sealed := s.post(t, "/preview", good).confirmation(t)
	for name, field := range map[string]string{
		"none":    "",
		"foreign": other.get(t, "/act?key=charge%23uncertain").field(t, "form"), "cut": good.Get("form")[1:],
	} {
		for path, form := range map[string]url.Values{"/preview": good, "/confirm": sealed, "/result": good} {
			changed := maps.Clone(form)
			changed.Set("form", field)
			a := s.post(t, path, changed)
			assert.Equal(t, http.StatusForbidden, a.status, "%s %s", name, path)
		}
	}
	inAddress := url.Values{"asked": sealed["asked"], "seal": sealed["seal"]}
	a := s.do(t, http.MethodPost, s.home+"/confirm?form="+good.Get("form"), inAddress, fromHere)
	assert.Equal(t, http.StatusForbidden, a.status, "the field has to be in the form")
	s.untouched(t, "charge#uncertain")
}

// What changes something, or shows a result, is no link.
func TestALinkChangesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	previewed := s.preview(t, "charge#uncertain", verdictOf("not-executed"))
	form := previewed.confirmation(t)
	for _, path := range []string{"/preview", "/confirm", "/result"} {
		for _, method := range []string{
			http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete,
			http.MethodOptions,
		} {
			a := s.do(t, method, s.home+path+"?"+form.Encode(), nil, fromHere)
			assert.Equal(t, http.StatusMethodNotAllowed, a.status, "%s %s", method, path)
		}
	}
	for _, path := range []string{"/", "/record", "/act", "/style.css", "/search"} {
		assert.Equal(t, http.StatusMethodNotAllowed, s.post(t, path, form).status, path)
	}
	s.untouched(t, "charge#uncertain")
}

// A body is not read to its end before it is known how long it may be, and not at all from somebody
// who has no right to send one.
func TestALongBody(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for name, length := range map[string]bool{"told": true, "not told": false} {
		read := &counted{r: io.LimitReader(endless{}, 64<<20)}
		r := request(t.Context(), t, http.MethodPost, s.home+"/preview", read, fromHere)
		if length {
			r.ContentLength = 64 << 20
		}
		res, err := s.Do(r)
		if err == nil { // else the server has closed the connection while the client was sending
			assert.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode, name)
			require.NoError(t, res.Body.Close())
		}
		assert.Less(t, read.n.Load(), int64(16<<20), name)
	}
	for _, kind := range []string{"application/json", "text/plain", "multipart/form-data; boundary=x", ""} {
		headers := maps.Clone(fromHere)
		headers["Content-Type"] = kind
		a := s.do(t, http.MethodPost, s.home+"/preview", url.Values{"form": {"x"}}, headers)
		assert.Equal(t, http.StatusUnsupportedMediaType, a.status, kind)
	}
}

// counted counts what is read.
type counted struct {
	r io.Reader
	n atomic.Int64 // the client goes on sending after the answer
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n.Add(int64(n))
	return n, err
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'a'
	}
	return len(b), nil
}

// Every answer, also an error, says to the browser what the page may do.
func TestEveryAnswerIsGuarded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	answers := map[string]answer{
		"page": s.get(t, "/"), "style": s.get(t, "/style.css"), "missing": s.get(t, "/nothing"),
		"refused":  s.do(t, http.MethodPost, s.home+"/confirm", url.Values{}, nil),
		"stranger": stranger(t).do(t, http.MethodGet, s.origin()+"/", nil, nil),
		"record":   s.record(t, "charge#uncertain"),
	}
	for name, a := range answers {
		for field, value := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; " +
				"base-uri 'none'",
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
			"X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin",
			"Cross-Origin-Opener-Policy":  "same-origin",
			"Access-Control-Allow-Origin": "", "Access-Control-Allow-Credentials": "",
		} {
			assert.Equal(t, value, a.header.Get(field), "%s: %s", name, field)
		}
		assert.NotContains(t, a.body, "<script", name)
		assert.NotContains(t, a.body, "style=", name)
		assert.NotContains(t, a.body, "http:", name)
	}
}
