package page_test

import (
	"bufio"
	"bytes"
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

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/page"
)

// The names under which 127.0.0.1 may be reached by a site that has rebound its own.
func TestItAnswersToItsOwnNameOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, nil)
	b := s.enter(t)
	port, cookie := fmt.Sprint(s.Port), b.cookie(t)
	for _, host := range []string{
		"evil.example:" + port, "evil.example", "127.0.0.1", "127.0.0.1:1", "localhost", "localhost.:" + port,
		"localhost.evil.example:" + port,
		"127.0.0.1.:" + port, "127.1:" + port, "[::1]:" + port, "0.0.0.0:" + port, "127.0.0.1:0" + port,
		"127.0.0.1:" + port + ".", "LOCALHOST:" + port,
	} {
		a := b.do(t, http.MethodGet, b.home+"/", nil, map[string]string{"Host": host, "Cookie": cookie})
		assert.Equal(t, http.StatusMisdirectedRequest, a.status, host)
		assert.NotContains(t, a.body, "charge", host)
		a = b.do(t, http.MethodGet, s.URL(), nil, map[string]string{"Host": host})
		assert.Equal(t, http.StatusMisdirectedRequest, a.status, host)
		assert.Empty(t, a.header.Values("Set-Cookie"), host)
	}
	a := b.do(t, http.MethodGet, b.home+"/", nil, map[string]string{"Host": "localhost:" + port, "Cookie": cookie})
	assert.Equal(t, http.StatusOK, a.status)
}

// What cannot be sent by a client that knows HTTP.
func TestOnTheWire(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, nil)
	b := s.enter(t)
	u, err := url.Parse(b.home)
	require.NoError(t, err)
	cookie := b.cookie(t)
	own := u.Host
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"as a browser sends it": {"GET " + u.Path + "/ HTTP/1.1\r\nHost: " + own + "\r\nCookie: " + cookie, 200},
		"no host":               {"GET " + u.Path + "/ HTTP/1.1\r\nCookie: " + cookie, 400},
		"no host, HTTP/1.0":     {"GET " + u.Path + "/ HTTP/1.0\r\nCookie: " + cookie, 421},
		"two hosts": {"GET " + u.Path + "/ HTTP/1.1\r\nHost: " + own +
			"\r\nHost: evil.example\r\nCookie: " + cookie, 400},
		"another in the target": {"GET http://evil.example" + u.Path + "/ HTTP/1.1\r\nHost: " + own +
			"\r\nCookie: " + cookie, 421},
		"dots in the path":       {"GET /x/.." + u.Path + "/ HTTP/1.1\r\nHost: " + own + "\r\nCookie: " + cookie, 403},
		"slashes in the path":    {"GET /" + u.Path + "/ HTTP/1.1\r\nHost: " + own + "\r\nCookie: " + cookie, 403},
		"path without its slash": {"GET " + u.Path + " HTTP/1.1\r\nHost: " + own + "\r\nCookie: " + cookie, 403},
		"proxy":                  {"CONNECT " + own + " HTTP/1.1\r\nHost: " + own + "\r\nCookie: " + cookie, 403},
		"any method":             {"SETTLE " + u.Path + "/act HTTP/1.1\r\nHost: " + own + "\r\nCookie: " + cookie, 405},
		"other cookies": {"GET " + u.Path + "/ HTTP/1.1\r\nHost: " + own + "\r\nCookie: idempotent=x; " +
			cookie + "; idempotent=", 200},
		"other cookies alone": {"GET " + u.Path + "/ HTTP/1.1\r\nHost: " + own +
			"\r\nCookie: idempotent=x; idempotent=", 403},
		"half of the cookie": {"GET " + u.Path + "/ HTTP/1.1\r\nHost: " + own + "\r\nCookie: " +
			cookie[:len(cookie)-3], 403},
	} {
		assert.Equal(t, c.status, status(t, own, c.request+"\r\n\r\n"), name)
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
	s := newSite(t, nil, nil)
	in := s.enter(t)
	for _, address := range []string{
		s.origin() + "/", s.origin() + "/?token=", s.origin() + "/?token=x", s.origin() + "/style.css", in.home + "/",
		in.home + "/style.css",
		in.home + "/record?key=charge%23uncertain", in.home + "/nothing",
	} {
		b := s.stranger(t)
		a := b.do(t, http.MethodGet, address, nil, nil)
		assert.Equal(t, http.StatusForbidden, a.status, address)
		assert.Contains(t, a.body, "You are not let in", address)
		assert.NotContains(t, a.body, "charge", address)
		assert.NotContains(t, a.body, strings.TrimPrefix(in.home, s.origin()), address)
		assert.Empty(t, a.header.Values("Set-Cookie"), address)
	}
	a := s.stranger(t).do(t, http.MethodPost, in.home+"/result", url.Values{"key": {"charge#completed"}}, fromHere)
	assert.Equal(t, http.StatusForbidden, a.status)
	assert.NotContains(t, a.body, "ch_2")
}

// The token lets in one browser, and is nowhere after that.
func TestTheTokenIsForOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, nil)
	stopped := s.stranger(t)
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

	again := s.stranger(t).do(t, http.MethodGet, s.URL(), nil, nil)
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
	s := newSite(t, nil, nil)
	b := s.enter(t)
	page := b.get(t, "/act?key=charge%23uncertain")
	form := page.form(t, []string{"form", "key", "seen"},
		map[string]string{"verdict": "not-executed", "repeat": "1", "by": "dana", "why": "ticket 4711"})
	for _, site := range []string{"cross-site", "same-site", "anything"} {
		for _, path := range []string{
			"/", "/record?key=charge%23uncertain", "/style.css",
			"/search?q=charge%23uncertain",
		} {
			a := b.do(t, http.MethodGet, b.home+path, nil, map[string]string{"Sec-Fetch-Site": site})
			assert.Equal(t, http.StatusForbidden, a.status, path)
		}
		a := b.do(t, http.MethodGet, s.URL(), nil, map[string]string{"Sec-Fetch-Site": site})
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
			a := b.do(t, http.MethodPost, b.home+path, form, headers)
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
		assert.Equal(t, http.StatusOK, b.do(t, http.MethodPost, b.home+"/preview", form, headers).status, name)
	}
}

// A form without the field, or with that of somebody else, does nothing, although the cookie and
// the origin are right.
func TestAFormOfSomebodyElse(t *testing.T) {
	t.Parallel()
	s, other := newSite(t, nil, nil), newSite(t, nil, nil)
	b, foreign := s.enter(t), other.enter(t)
	page := b.get(t, "/act?key=charge%23uncertain")
	good := page.form(t, []string{"form", "key", "seen"},
		map[string]string{"verdict": "not-executed", "repeat": "1", "by": "dana", "why": "ticket 4711"})
	previewed := b.post(t, "/preview", good)
	sealed := previewed.form(t, []string{"form", "asked", "seal"}, nil)
	for name, field := range map[string]string{
		"none":    "",
		"foreign": foreign.get(t, "/act?key=charge%23uncertain").field(t, "form"), "cut": good.Get("form")[1:],
	} {
		for path, form := range map[string]url.Values{"/preview": good, "/confirm": sealed, "/result": good} {
			changed := maps.Clone(form)
			changed.Set("form", field)
			a := b.post(t, path, changed)
			assert.Equal(t, http.StatusForbidden, a.status, "%s %s", name, path)
		}
	}
	inAddress := url.Values{"asked": sealed["asked"], "seal": sealed["seal"]}
	a := b.do(t, http.MethodPost, b.home+"/confirm?form="+good.Get("form"), inAddress, fromHere)
	assert.Equal(t, http.StatusForbidden, a.status, "the field has to be in the form")
	s.untouched(t, "charge#uncertain")
}

// What changes something, or shows a result, is no link.
func TestALinkChangesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, nil)
	b := s.enter(t)
	previewed := b.preview(t, "charge#uncertain", map[string]string{"verdict": "not-executed"})
	form := previewed.form(t, []string{"form", "asked", "seal"}, nil)
	for _, path := range []string{"/preview", "/confirm", "/result"} {
		for _, method := range []string{
			http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete,
			http.MethodOptions,
		} {
			a := b.do(t, method, b.home+path+"?"+form.Encode(), nil, fromHere)
			assert.Equal(t, http.StatusMethodNotAllowed, a.status, "%s %s", method, path)
		}
	}
	for _, path := range []string{"/", "/record", "/act", "/style.css", "/search"} {
		assert.Equal(t, http.StatusMethodNotAllowed, b.post(t, path, form).status, path)
	}
	s.untouched(t, "charge#uncertain")
}

// A body is not read to its end before it is known how long it may be, and not at all from somebody
// who has no right to send one.
func TestALongBody(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, nil)
	b := s.enter(t)
	for name, length := range map[string]bool{"told": true, "not told": false} {
		read := &counted{r: io.LimitReader(endless{}, 64<<20)}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.home+"/preview", read)
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		if length {
			r.ContentLength = 64 << 20
		}
		res, err := b.Do(r)
		if err == nil { // else the server has closed the connection while the client was sending
			assert.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode, name)
			require.NoError(t, res.Body.Close())
		}
		assert.Less(t, read.n.Load(), int64(16<<20), name)
	}
	for _, kind := range []string{"application/json", "text/plain", "multipart/form-data; boundary=x", ""} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.home+"/preview",
			strings.NewReader("form=x"))
		require.NoError(t, err)
		r.Header.Set("Content-Type", kind)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		res, err := b.Do(r)
		require.NoError(t, err)
		assert.Equal(t, http.StatusUnsupportedMediaType, res.StatusCode, kind)
		require.NoError(t, res.Body.Close())
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
	s := newSite(t, nil, nil)
	b := s.enter(t)
	answers := map[string]answer{
		"page": b.get(t, "/"), "style": b.get(t, "/style.css"), "missing": b.get(t, "/nothing"),
		"refused":  b.do(t, http.MethodPost, b.home+"/confirm", url.Values{}, nil),
		"stranger": s.stranger(t).do(t, http.MethodGet, s.origin()+"/", nil, nil),
		"record":   b.get(t, "/record?key=charge%23uncertain"),
	}
	for name, a := range answers {
		h := a.header
		assert.Equal(t, "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'", h.Get("Content-Security-Policy"), name)
		assert.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), name)
		assert.Equal(t, "no-referrer", h.Get("Referrer-Policy"), name)
		assert.Equal(t, "no-store", h.Get("Cache-Control"), name)
		assert.Equal(t, "DENY", h.Get("X-Frame-Options"), name)
		assert.Equal(t, "same-origin", h.Get("Cross-Origin-Resource-Policy"), name)
		assert.Equal(t, "same-origin", h.Get("Cross-Origin-Opener-Policy"), name)
		for _, allowed := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials"} {
			assert.Empty(t, h.Get(allowed), name)
		}
		assert.NotContains(t, a.body, "<script", name)
		assert.NotContains(t, a.body, "style=", name)
		assert.NotContains(t, a.body, "http:", name)
	}
}

// A page without random bytes would let everybody in.
func TestNoRandomBytes(t *testing.T) {
	t.Parallel()
	_, err := page.New(page.Config{}, bytes.NewReader(make([]byte, 20)))
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
}
