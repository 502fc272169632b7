package page_test

import (
	"crypto/rand"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/demo"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/page"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// What the tests of the page offer each other:
//
//	newSite               the page over a store, on a port of its own
//	site.enter            a browser that was let in
//	browser.get, .post    what a browser does with links and forms; site.raw sends anything
//	answer.field          a hidden field of a form

// site is the page on the wire.
type site struct {
	*page.Page

	server *httptest.Server
	store  store.Store
	now    time.Time
	// done and wrong are what the page has told.
	mu    sync.Mutex
	done  []operate.Entry
	wrong []error
}

// origin is what the page is under.
func (s *site) origin() string { return fmt.Sprintf("http://127.0.0.1:%d", s.Port) }

// newSite serves the page over a store, of the demo if it is nil. change changes its configuration.
func newSite(t *testing.T, over store.Store, change func(*page.Config)) *site {
	t.Helper()
	now := demo.Now()
	if over == nil {
		m, err := demo.Store(t.Context(), now)
		require.NoError(t, err)
		over = m
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	s := &site{store: over, now: now}
	clock := func() time.Time { return now }
	c := page.Config{
		Operator: operate.New(over, operate.Config{Clock: clock}), Now: clock,
		Port:  listener.Addr().(*net.TCPAddr).Port,
		Store: "records in memory", By: "dana",
		Sentence: func(err error) string { return err.Error() },
		Done: func(e operate.Entry) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.done = append(s.done, e)
			return nil
		},
		Wrong: func(err error) { s.mu.Lock(); defer s.mu.Unlock(); s.wrong = append(s.wrong, err) },
	}
	if change != nil {
		change(&c)
	}
	s.Page, err = page.New(c, rand.Reader)
	require.NoError(t, err)
	s.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: s.Page}}
	s.server.Start()
	t.Cleanup(s.server.Close)
	return s
}

// browser is somebody with cookies, who follows redirects.
type browser struct {
	*http.Client

	site *site
	// home is the first page after the entrance.
	home string
}

// stranger is a browser that was not let in.
func (s *site) stranger(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &browser{Client: &http.Client{Jar: jar}, site: s}
}

// enter lets somebody in.
func (s *site) enter(t *testing.T) *browser {
	t.Helper()
	b := s.stranger(t)
	a := b.do(t, http.MethodGet, s.URL(), nil, map[string]string{"Sec-Fetch-Site": "none"})
	require.Equal(t, http.StatusOK, a.status, a.body)
	b.home = strings.TrimSuffix(a.url, "/")
	return b
}

// cookie is the header with the cookie of the session.
func (b *browser) cookie(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(b.home + "/")
	require.NoError(t, err)
	cookies := b.Jar.Cookies(u)
	require.Len(t, cookies, 1)
	return cookies[0].Name + "=" + cookies[0].Value
}

// answer is what came back.
type answer struct {
	status    int
	header    http.Header
	url, body string
}

// do sends a request with a form, if there is one.
func (b *browser) do(t *testing.T, method, address string, form url.Values, headers map[string]string) answer {
	t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(t.Context(), method, address, body)
	require.NoError(t, err)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range headers {
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Set(name, value)
	}
	res, err := b.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return answer{res.StatusCode, res.Header, res.Request.URL.String(), string(text)}
}

// fromHere is what a browser says of a form that the page itself sends.
var fromHere = map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "null"}

func (b *browser) get(t *testing.T, path string) answer {
	t.Helper()
	return b.do(t, http.MethodGet, b.home+path, nil, map[string]string{"Sec-Fetch-Site": "same-origin"})
}

func (b *browser) post(t *testing.T, path string, form url.Values) answer {
	t.Helper()
	return b.do(t, http.MethodPost, b.home+path, form, fromHere)
}

// field is the value of a hidden field.
func (a answer) field(t *testing.T, name string) string {
	t.Helper()
	found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(a.body)
	require.NotNil(t, found, "%s in %s", name, a.body)
	return html.UnescapeString(found[1])
}

// form is what the form of a page sends, with more.
func (a answer) form(t *testing.T, hidden []string, more map[string]string) url.Values {
	t.Helper()
	form := make(url.Values)
	for _, name := range hidden {
		form.Set(name, a.field(t, name))
	}
	for name, value := range more {
		form.Set(name, value)
	}
	return form
}

// preview asks for a change of a record, and shows what it would do.
func (b *browser) preview(t *testing.T, key string, fields map[string]string) answer {
	t.Helper()
	asked := b.get(t, "/act?key="+url.QueryEscape(key))
	require.Equal(t, http.StatusOK, asked.status, asked.body)
	form := asked.form(t, []string{"form", "key", "seen"},
		map[string]string{"by": "dana", "why": "ticket 4711", "repeat": "1"})
	for name, value := range fields {
		form.Set(name, value)
	}
	return b.post(t, "/preview", form)
}

// confirm does what a preview has shown.
func (b *browser) confirm(t *testing.T, previewed answer) answer {
	t.Helper()
	require.Equal(t, http.StatusOK, previewed.status, previewed.body)
	return b.post(t, "/confirm", previewed.form(t, []string{"form", "asked", "seal"}, nil))
}

func (s *site) get(t *testing.T, key string) store.Record {
	t.Helper()
	r, found, err := s.store.Get(t.Context(), key)
	require.NoError(t, err)
	require.True(t, found)
	return r
}

// untouched checks that nothing was changed.
func (s *site) untouched(t *testing.T, key string) {
	t.Helper()
	for _, r := range demo.Records(t.Context(), s.now) {
		if r.Key == key {
			assert.Equal(t, r.Owner, s.get(t, key).Owner)
			assert.Equal(t, r.Status, s.get(t, key).Status)
		}
	}
	assert.Empty(t, s.done)
}
