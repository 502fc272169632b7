package main_test

import (
	"bufio"
	"bytes"
	"context"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/operate"
)

// serving is a running page, and a browser that it has let in.
type serving struct {
	*http.Client

	command *exec.Cmd
	// address is what was printed first, home what it leads to.
	address, home string
	out           *bufio.Reader
	pipe          io.Closer
	err           *bytes.Buffer
	stopped       sync.Once
}

// serve runs the page until the test ends.
func serve(t *testing.T, args string, opts ...option) *serving {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), limit)
	c := command(ctx, program("serve "+args))
	for _, o := range opts {
		o(c)
	}
	s := &serving{command: c, err: new(bytes.Buffer)}
	c.Stderr = s.err
	pipe, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() { s.stop(t); cancel() })
	s.out, s.pipe = bufio.NewReader(pipe), pipe
	line, err := s.out.ReadString('\n')
	require.NoError(t, err, "%s", s.err)
	s.address = strings.TrimSpace(line)
	if strings.HasPrefix(s.address, "{") {
		s.address = lines[map[string]string](t, s.address)[0]["url"]
	}
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	s.Client = &http.Client{Jar: jar, Transport: &http.Transport{}}
	res, err := s.Get(s.address)
	require.NoError(t, err)
	read(t, res)
	s.home = strings.TrimSuffix(res.Request.URL.String(), "/")
	return s
}

// stop ends the page as Ctrl-C does, which is no failure, and returns what it has printed since.
func (s *serving) stop(t *testing.T) string {
	t.Helper()
	var rest []byte
	s.stopped.Do(func() {
		assert.NoError(t, s.command.Process.Signal(os.Interrupt))
		var err error
		rest, err = io.ReadAll(s.out)
		assert.NoError(t, err)
		assert.NoError(t, s.command.Wait(), "%s", s.err)
	})
	return string(rest)
}

// leave closes the pipe that standard output is, as a reader that dies does.
func (s *serving) leave(t *testing.T) {
	t.Helper()
	require.NoError(t, s.pipe.Close())
	s.out = bufio.NewReader(strings.NewReader(""))
}

// get follows a link of the page, and post sends a form.
func (s *serving) get(t *testing.T, path string) string {
	t.Helper()
	res, err := s.Get(s.home + path)
	require.NoError(t, err)
	return read(t, res)
}

func (s *serving) post(t *testing.T, path string, form url.Values) string {
	t.Helper()
	res, err := s.PostForm(s.home+path, form)
	require.NoError(t, err)
	return read(t, res)
}

func read(t *testing.T, res *http.Response) string {
	t.Helper()
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(text)
}

// field is the value of a hidden field.
func field(t *testing.T, body, name string) string {
	t.Helper()
	found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(body)
	require.NotNil(t, found, "%s in %s", name, body)
	return html.UnescapeString(found[1])
}

// settle settles a record as not executed, and previewed is the form that does it.
func (s *serving) settle(t *testing.T, key string) string {
	t.Helper()
	return s.post(t, "/confirm", s.previewed(t, key))
}

func (s *serving) previewed(t *testing.T, key string) url.Values {
	t.Helper()
	asked := s.get(t, "/act?key="+url.QueryEscape(key))
	previewed := s.post(t, "/preview", url.Values{
		"form": {field(t, asked, "form")}, "key": {field(t, asked, "key")}, "seen": {field(t, asked, "seen")},
		"repeat": {"1"}, "verdict": {"not-executed"}, "by": {field(t, asked, "by")}, "why": {"ticket 4711"},
	})
	return url.Values{
		"form": {field(t, previewed, "form")}, "asked": {field(t, previewed, "asked")},
		"seal": {field(t, previewed, "seal")},
	}
}

// The demo needs nothing but the program. Its token is printed once, and nowhere else.
func TestServeTheDemo(t *testing.T) {
	t.Parallel()
	s := serve(t, "--demo --by dana")
	assert.Regexp(t, `^http://127\.0\.0\.1:\d+/\?token=[A-Za-z0-9_-]{43}$`, s.address)
	assert.NotContains(t, s.home, "token")
	assert.Contains(t, s.settle(t, "charge#uncertain"), "It is done")
	stranger, err := http.Get(s.address)
	require.NoError(t, err)
	read(t, stranger)
	assert.Equal(t, http.StatusForbidden, stranger.StatusCode)
	printed := s.stop(t)
	assert.Contains(t, printed, "settle as not executed")
	assert.Contains(t, printed, "ticket 4711")
	_, token, _ := strings.Cut(s.address, "=")
	assert.NotContains(t, printed+s.err.String(), token)
	assert.Contains(t, s.err.String(), "it lets in one browser, once")
}

// Where standard output goes may die: idempotent serve | tee audit. The page goes on, and the
// entries are on standard error.
func TestServeSurvivesTheReaderOfItsAudit(t *testing.T) {
	t.Parallel()
	for _, output := range []string{"table", "json"} {
		s := serve(t, "--demo --by dana -o "+output)
		s.leave(t)
		for _, key := range []string{"charge#uncertain", "charge#crashed"} {
			assert.Contains(t, s.settle(t, key), "It is done")
		}
		s.stop(t)
		for _, says := range []string{
			"charge#uncertain", "charge#crashed", "ticket 4711",
			"standard output does not take it",
		} {
			assert.Contains(t, s.err.String(), says)
		}
		if output == "json" {
			line, _, _ := strings.Cut(s.err.String(), "\n")
			assert.Equal(t, "charge#uncertain", lines[operate.Entry](t, line)[0].RecordKey)
		}
	}
}

// Ctrl-C waits for a change that is under way, and for its audit entry.
func TestServeEndsBehindAChange(t *testing.T) {
	t.Parallel()
	tb := newTable(t)
	tb.put(t, recordOf(t, "charge#uncertain"))
	endpoint, err := url.Parse(tb.endpoint)
	require.NoError(t, err)
	table, writes := httputil.NewSingleHostReverseProxy(endpoint), make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if action := r.Header.Get("X-Amz-Target"); strings.HasSuffix(action, ".PutItem") ||
			strings.HasSuffix(action, ".UpdateItem") {
			writes <- struct{}{}
			time.Sleep(3 * time.Second) // longer than the page waits for a browser
		}
		table.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s := serve(t, "-o json --by dana", tb.env, env("AWS_ENDPOINT_URL_DYNAMODB="+server.URL))
	assert.Contains(t, s.get(t, "/"), tb.name)
	confirm := s.previewed(t, "charge#uncertain")
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		// The page may have hung up before it was done.
		if res, err := s.PostForm(s.home+"/confirm", confirm); err == nil {
			assert.NoError(t, res.Body.Close())
		}
	}()
	<-writes
	entry := lines[operate.Entry](t, s.stop(t))[0]
	assert.Equal(t, "charge#uncertain", entry.RecordKey)
	assert.Equal(t, operate.ActionNotExecuted, entry.Action)
	<-answered
	r := tb.get(t, "charge#uncertain")
	assert.Equal(t, []string{"dana", "ticket 4711"}, []string{r.SettledBy, r.SettledReason})
}

// Nobody else on the network reaches it.
func TestServeListensOnThisMachineOnly(t *testing.T) {
	t.Parallel()
	s := serve(t, "--demo --by dana --read-only")
	u, err := url.Parse(s.address)
	require.NoError(t, err)
	addresses, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range addresses {
		ip := a.(*net.IPNet).IP
		if ip.To4() == nil || ip.IsLoopback() {
			continue
		}
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", net.JoinHostPort(ip.String(), u.Port()))
		if !assert.Error(t, err, "%s", ip) {
			assert.NoError(t, conn.Close())
		}
	}
	assert.Contains(t, s.get(t, "/record?key=charge%23uncertain"), "read only")
	taken := run(t, "serve --demo --by dana --port "+u.Port())
	assert.Equal(t, 2, taken.code)
	assert.Contains(t, taken.err, "--port "+u.Port()+" cannot be listened on")
}
