package page_test

import (
	"context"
	"fmt"
	"html"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/demo"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/page"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// What the tests of the page offer each other:
//
//	newSite, newSiteOn    the page over the demo, or another store, on a port of its own, and a browser that it let in
//	stranger              a browser that it did not let in
//	get, post             what a browser does with links and forms; do sends anything
//	preview, confirm      the two steps of a change
//	answer.field, form    a hidden field of a form; all that a form sends
//	site.put, site.kept   a record like one of the demo; one that is in the store

// site is the page on the wire, and a browser that was let in.
type site struct {
	*page.Page
	*browser

	store store.Store
	now   time.Time
	// done and wrong are what the page has told.
	mu    sync.Mutex
	done  []operate.Entry
	wrong []error
}

// origin is what the page is under.
func (s *site) origin() string { return fmt.Sprintf("http://127.0.0.1:%d", s.Port) }

// newSite serves the page over the store of the demo. change changes its configuration.
func newSite(t *testing.T, change ...func(*page.Config)) *site {
	t.Helper()
	over := demo.Store()
	return newSiteOn(t, over, change...)
}

func newSiteOn(t *testing.T, over store.Store, change ...func(*page.Config)) *site {
	t.Helper()
	s := closed(t, over, change...)
	a := s.do(t, http.MethodGet, s.URL(), nil, map[string]string{"Sec-Fetch-Site": "none"})
	require.Equal(t, http.StatusOK, a.status, a.body)
	s.home = strings.TrimSuffix(a.url, "/")
	return s
}

// closed is a site that has let in nobody yet.
func closed(t *testing.T, over store.Store, change ...func(*page.Config)) *site {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	s := &site{browser: stranger(t), store: over, now: demo.Now()}
	c := page.Config{
		Operator: s.operator(), Now: demo.Now, Port: listener.Addr().(*net.TCPAddr).Port,
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
	for _, f := range change {
		f(&c)
	}
	s.Page = page.New(c)
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: s.Page}}
	server.Start()
	t.Cleanup(server.Close)
	return s
}

// operator acts on the records of the site beside the page.
func (s *site) operator() *operate.Operator {
	return operate.New(s.store, operate.Config{Clock: demo.Now})
}

// browser is somebody with cookies, who follows redirects.
type browser struct {
	*http.Client

	// home is the first page after the entrance.
	home string
}

func stranger(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &browser{Client: &http.Client{Jar: jar, Transport: &http.Transport{}}}
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

// request is one with the body of a form, unless that is nil.
func request(ctx context.Context, t *testing.T, method, address string, body io.Reader,
	headers map[string]string,
) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, address, body)
	require.NoError(t, err)
	if body != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	if host := headers["Host"]; host != "" {
		r.Host = host
	}
	return r
}

// do sends a request with a form, if there is one.
func (b *browser) do(t *testing.T, method, address string, form url.Values, headers map[string]string) answer {
	t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	res, err := b.Do(request(t.Context(), t, method, address, body, headers))
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

// record is the page of a record.
func (b *browser) record(t *testing.T, key string) answer {
	t.Helper()
	return b.get(t, "/record?key="+url.QueryEscape(key))
}

// result asks for the result of a record, or of one of its steps, unless that is empty.
func (b *browser) result(t *testing.T, key, step string) answer {
	t.Helper()
	form := b.record(t, "charge#completed").form(t, []string{"form"}, map[string]string{"key": url.QueryEscape(key)})
	if step != "" {
		form.Set("step", url.QueryEscape(step))
	}
	return b.post(t, "/result", form)
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

// verdict is the form that asks for a change of a record.
func (b *browser) verdict(t *testing.T, key string, fields map[string]string) url.Values {
	t.Helper()
	asked := b.get(t, "/act?key="+url.QueryEscape(key))
	require.Equal(t, http.StatusOK, asked.status, asked.body)
	form := asked.form(t, []string{"form", "key", "seen"},
		map[string]string{"by": "dana", "why": "ticket 4711", "repeat": "1"})
	for name, value := range fields {
		form.Set(name, value)
	}
	return form
}

// preview asks for a change of a record, and shows what it would do.
func (b *browser) preview(t *testing.T, key string, fields map[string]string) answer {
	t.Helper()
	return b.post(t, "/preview", b.verdict(t, key, fields))
}

// verdictOf are the fields of a verdict that needs nothing else.
func verdictOf(kind string) map[string]string { return map[string]string{"verdict": kind} }

// confirmation is the form of a preview.
func (a answer) confirmation(t *testing.T) url.Values {
	t.Helper()
	require.Equal(t, http.StatusOK, a.status, a.body)
	return a.form(t, []string{"form", "asked", "seal"}, nil)
}

// confirm does what a preview has shown.
func (b *browser) confirm(t *testing.T, previewed answer) answer {
	t.Helper()
	return b.post(t, "/confirm", previewed.confirmation(t))
}

// put puts a record like one of the demo.
func (s *site) put(t *testing.T, like string, change func(*store.Record)) {
	t.Helper()
	r := recordOf(t, like)
	change(&r)
	_, claimed, err := s.store.Claim(t.Context(), r, r.CreatedAt)
	require.NoError(t, err)
	require.True(t, claimed)
}

func recordOf(t *testing.T, key string) store.Record {
	t.Helper()
	records := demo.Records(demo.Now())
	i := slices.IndexFunc(records, func(r store.Record) bool { return r.Key == key })
	require.GreaterOrEqual(t, i, 0, key)
	return records[i]
}

func (s *site) kept(t *testing.T, key string) store.Record {
	t.Helper()
	r, found, err := s.store.Get(t.Context(), key)
	require.NoError(t, err)
	require.True(t, found)
	return r
}

// untouched checks that nothing was changed.
func (s *site) untouched(t *testing.T, key string) {
	t.Helper()
	was, is := recordOf(t, key), s.kept(t, key)
	assert.Equal(t, was.Owner, is.Owner)
	assert.Equal(t, was.Status, is.Status)
	assert.Empty(t, s.done)
}

// otherwise is the store of the demo, of which a test replaces a method.
type otherwise struct {
	*memory.Store

	get  func(ctx context.Context, key string) (store.Record, bool, error)
	list func(context.Context, store.Query) iter.Seq2[store.Record, error]
	swap func(ctx context.Context, seen, next store.Record) (store.Record, bool, error)
}

func newOtherwise(t *testing.T) *otherwise {
	t.Helper()
	m := demo.Store()
	return &otherwise{m, m.Get, m.List, m.Swap}
}

func (o *otherwise) Get(ctx context.Context, key string) (store.Record, bool, error) {
	return o.get(ctx, key)
}

func (o *otherwise) List(ctx context.Context, q store.Query) iter.Seq2[store.Record, error] {
	return o.list(ctx, q)
}

func (o *otherwise) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	return o.swap(ctx, seen, next)
}
