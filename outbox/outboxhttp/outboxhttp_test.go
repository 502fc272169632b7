package outboxhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/relay"
	"github.com/go-idempotent/idempotent/internal/testkit/configtest"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/outbox/outboxhttp"
)

const id = "7d2cf2a8-64b7-5d3f-9d0c-2f6f2a3c8f10"

// message is one with everything.
func message() outbox.Message {
	return outbox.Message{
		ID: id, Topic: "order-placed", Body: json.RawMessage(`{"order_id":"o-1","email":"secret@example.com"}`),
		Attributes: map[string]string{"Region": "eu", "x-kind": "first order"}, Group: "customer-1", Tenant: "acme",
		Trace: "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1",
	}
}

// receiver keeps what it gets, and counts its connections.
type receiver struct {
	*httptest.Server

	connections atomic.Int64

	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
}

// newReceiver starts a receiver that answers by a function; nil answers with 200.
func newReceiver(t *testing.T, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		assert.NoError(t, err)
		r.mu.Lock()
		r.requests, r.bodies = append(r.requests, req), append(r.bodies, string(body))
		r.mu.Unlock()
		if answer != nil {
			answer(w, req)
		}
	}))
	r.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			r.connections.Add(1)
		}
	}
	r.Start()
	t.Cleanup(r.Close)
	return r
}

func isPermanent(err error) bool {
	_, is := errors.AsType[*relay.PermanentError](err)
	return is
}

func TestAMessageIsAPostWithItsIDAsKey(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	deliver := outboxhttp.To(r.URL+"/v1/messages?a=b",
		outboxhttp.Config{Headers: map[string]string{"authorization": "Bearer t"}})
	require.NoError(t, deliver(t.Context(), message()))
	require.Len(t, r.requests, 1)
	got := r.requests[0]
	assert.Equal(t, "POST /v1/messages?a=b", got.Method+" "+got.RequestURI)
	assert.Equal(t, string(message().Body), r.bodies[0])
	assert.Equal(t, int64(len(message().Body)), got.ContentLength)
	assert.Equal(t, http.Header{
		"Content-Type": {"application/json"}, "Idempotency-Key": {id}, "Outbox-Topic": {"order-placed"},
		"Region": {"eu"}, "X-Kind": {"first order"},
		"X-Amzn-Trace-Id": {"Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1"},
		"Authorization":   {"Bearer t"},
		// Those of net/http.
		"Accept-Encoding": {"gzip"}, "Content-Length": got.Header["Content-Length"],
		"User-Agent": {"Go-http-client/1.1"},
	}, got.Header)
}

func TestAMessageHasNoHeaderForWhatItHasNot(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	m := message()
	m.Attributes = nil
	for _, trace := range []string{"no\ntrace", ""} {
		m.Trace = trace
		require.NoError(t, outboxhttp.To(r.URL)(t.Context(), m))
	}
	for _, got := range r.requests {
		assert.NotContains(t, got.Header, "X-Amzn-Trace-Id")
		for _, values := range got.Header {
			assert.NotContains(t, values, "acme")
		}
	}
}

func TestOnlyASuccessIsDelivered(t *testing.T) {
	t.Parallel()
	for _, status := range []int{
		200, 201, 202, 204, 205, 226, 299, 300, 301, 302, 303, 304, 307, 308, 400, 401, 404,
		409, 410, 413, 422, 429, 500, 503, 599,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			var elsewhere atomic.Int64
			other := newReceiver(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
			r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", other.URL)
				w.WriteHeader(status)
			})
			follows := r.Client() // its connections are its own: a server that closes ends those of all others
			follows.CheckRedirect = func(*http.Request, []*http.Request) error { return nil }
			for name, deliver := range map[string]outbox.Deliver{
				"default": outboxhttp.To(r.URL),
				"client":  outboxhttp.To(r.URL, outboxhttp.Config{Client: follows}),
			} {
				err := deliver(t.Context(), message())
				if status < 300 {
					require.NoError(t, err, name)
					continue
				}
				var se *outboxhttp.StatusError
				require.ErrorAs(t, err, &se, name)
				assert.Equal(t, status, se.Status)
				assert.EqualError(t, err, fmt.Sprintf("outboxhttp: the receiver answered with status %d", status))
				assert.False(t, isPermanent(err), "nobody knows that it will never be another one")
			}
			assert.Zero(t, elsewhere.Load(), "a redirect is not followed")
			assert.Len(t, r.requests, 2, "and nothing is sent twice")
		})
	}
}

// What a connection is used for again has been read to its end; what is longer than that is not
// read.
func TestAnAnswerIsReadUpToABound(t *testing.T) {
	t.Parallel()
	var size atomic.Int64
	stopped := make(chan int64, 10)
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		for n := int64(0); n < size.Load(); n += 1000 {
			if _, err := io.WriteString(w, strings.Repeat("x", 1000)); err != nil {
				stopped <- n
				return
			}
		}
	})
	deliver := outboxhttp.To(r.URL)
	size.Store(50_000)
	for range 5 {
		require.NoError(t, deliver(t.Context(), message()))
	}
	require.Equal(t, int64(1), r.connections.Load())
	size.Store(1 << 40)
	require.NoError(t, deliver(t.Context(), message()), "the status says it all")
	require.Less(t, <-stopped, int64(100<<20), "what was sent is mostly in the buffers of the connection")
}

func TestAnAnswerThatBreaksOffAfterItsStatusIsDelivered(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, "cut")
		assert.NoError(t, http.NewResponseController(w).Flush())
		panic(http.ErrAbortHandler)
	})
	require.NoError(t, outboxhttp.To(r.URL)(t.Context(), message()))
}

func TestManyDeliveriesAtOnceKeepTheirConnections(t *testing.T) {
	t.Parallel()
	const atOnce, rounds = 20, 5
	var arrived sync.WaitGroup
	r := newReceiver(t, func(http.ResponseWriter, *http.Request) {
		arrived.Done()
		arrived.Wait() // so that all need a connection at the same time
	})
	deliver := outboxhttp.To(r.URL)
	for range rounds {
		arrived.Add(atOnce)
		var all sync.WaitGroup
		for range atOnce {
			all.Go(func() { assert.NoError(t, deliver(t.Context(), message())) })
		}
		all.Wait()
	}
	// A connection that is just being put back may be missed once in a while; with the default of
	// net/http 18 of 20 are opened each round.
	assert.Less(t, r.connections.Load(), int64(2*atOnce))
}

// refusing is a transport that is never reached by what is refused before.
type refusing struct{ err error }

func (r refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, r.err }

func TestErrorsHoldNothingSecret(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(nil)
	closed.Close()
	host := strings.TrimPrefix(closed.URL, "http://")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	answering := newReceiver(t, func(w http.ResponseWriter, req *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, req.Header.Get("Authorization")+req.Header.Get("Idempotency-Key"))
	})
	teapot := strings.TrimPrefix(answering.URL, "http://")
	address := "http://user-1:pass-1@" + host + "/path-1?token=query-1"
	for name, tc := range map[string]struct {
		ctx    context.Context
		url    string
		client *http.Client
		want   string
	}{
		"refused":   {t.Context(), address, nil, "no answer: dial tcp " + host},
		"cancelled": {ended, address, nil, "no answer: context canceled"},
		"status":    {t.Context(), strings.Replace(address, host, teapot, 1), nil, "status 418"},
		"nested": {t.Context(), address, &http.Client{Transport: refusing{
			&url.Error{Op: "Get", URL: "http://user-1:pass-1@" + host, Err: errors.New("no token")},
		}}, "no answer: no token"},
	} {
		config := outboxhttp.Config{Client: tc.client, Headers: map[string]string{"X-Api-Key": "header-1"}}
		err := outboxhttp.To(tc.url, config)(tc.ctx, message())
		require.ErrorContains(t, err, tc.want, name)
		assert.False(t, isPermanent(err), name)
		for _, secret := range []string{
			"user-1", "pass-1", "path-1", "query-1", "header-1", id, "order-placed",
			"secret@", "o-1", "acme", "customer",
		} {
			assert.NotContains(t, err.Error(), secret, name)
		}
		if tc.ctx == ended {
			assert.ErrorIs(t, err, context.Canceled)
		}
	}
}

func TestWhatCanBeNoHeaderIsPermanent(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	deliver := outboxhttp.To(r.URL,
		outboxhttp.Config{Headers: map[string]string{"X-Api-Key": "k"}})
	attribute := func(name, value string) func(*outbox.Message) {
		return func(m *outbox.Message) { m.Attributes = map[string]string{"fine": "fine", name: value} }
	}
	const (
		ascii  = " of the message can be no header: it is not printable ASCII"
		ours   = "is the name of a header that no message sets"
		noName = "of the message is no name of a header"
	)
	for name, tc := range map[string]struct {
		change func(*outbox.Message)
		want   string
	}{
		"id":    {func(m *outbox.Message) { m.ID = "a\r\nb" }, "the id" + ascii},
		"no id": {func(m *outbox.Message) { m.ID = "" }, "the id of the message can be no header: it is empty"},
		"topic": {func(m *outbox.Message) { m.Topic = "größe" }, "the topic" + ascii},

		"space in a name": {attribute("my name", "v1secret"), `the attribute "my name" ` + noName},
		"colon in a name": {attribute("a:", "v1secret"), `the attribute "a:" ` + noName},
		"foreign name":    {attribute("größe", "v1secret"), "no name of a header"},
		"twice": {
			attribute("FINE", "v1secret"),
			`the attribute "fine" of the message is the same header as another attribute`,
		},

		"line in a value": {
			attribute("a", "v1secret\r\nIdempotency-Key: other"),
			`the attribute "a" of the message has a value that is not printable ASCII`,
		},
		"foreign value":    {attribute("a", "v1secretö"), "not printable ASCII"},
		"space at the end": {attribute("a", "v1secret "), "begins or ends with a space"},
		"empty value":      {attribute("a", ""), "is empty"},

		"the key":            {attribute("idempotency-key", "v1secret"), ours},
		"the key of WSGI":    {attribute("idempotency_key", "v1secret"), ours},
		"the type":           {attribute("CONTENT-TYPE", "v1secret"), ours},
		"the length":         {attribute("Content-Length", "1"), ours},
		"the host":           {attribute("host", "v1secret"), ours},
		"the topic's header": {attribute("outbox-topic", "v1secret"), ours},
		"the trace's header": {attribute("x-amzn-trace-id", "v1secret"), ours},
		"the sender":         {attribute("authorization", "v1secret"), ours},
		"of an option":       {attribute("x-api-key", "v1secret"), ours},
	} {
		m := message()
		tc.change(&m)
		err := deliver(t.Context(), m)
		require.ErrorContains(t, err, "outboxhttp: the ", name)
		require.ErrorContains(t, err, tc.want, name)
		assert.True(t, isPermanent(err), name)
		assert.NotContains(t, err.Error(), "v1secret", name)
	}
	assert.Empty(t, r.requests, "nothing was sent")
}

func TestAWrongConfigurationIsNamedAllAtOnce(t *testing.T) {
	t.Parallel()
	const fine = "https://example.com"
	for name, tc := range map[string]struct {
		url    string
		config []outboxhttp.Config
		want   string
	}{
		"no URL":         {"", nil, "the URL is not one of the form https://host[:port][/path]"},
		"a path":         {"/v1/messages", nil, "the URL is not"},
		"another scheme": {"ftp://example.com", nil, "the URL is not"},
		"no host":        {"https://:443/a", nil, "the URL is not"},
		"no URL at all":  {"https://user-1:pass-1@exa mple.com", nil, "the URL is not"},
		"two":            {fine, make([]outboxhttp.Config, 2), "there are 2 values of Config"},
		"header without": {fine, with("", "v1secret"), `Headers: "" is no name of a header`},
		"header of ours": {fine, with("idempotency-key", "v1secret"), `Headers: "idempotency-key" is set by this package`},
		"content type":   {fine, with("content-type", "v1secret"), "is set by this package"},
		"header value":   {fine, with("A", "v1secret\n"), `Headers: the value of "A" is not printable ASCII`},
		"header twice":   {fine, with("A", "v", "a", "v1secret"), `Headers: "a" is set twice`},
	} {
		problems := configtest.ProblemsOf(t, func() { outboxhttp.To(tc.url, tc.config...) })
		require.Len(t, problems, 1, name)
		assert.Contains(t, problems[0], tc.want, name)
		assert.Contains(t, problems[0], "outboxhttp.To: ", name)
		assert.NotContains(t, problems[0], "pass-1", name)
		assert.NotContains(t, problems[0], "v1secret", name)
	}
	assert.Len(t, configtest.ProblemsOf(t, func() { outboxhttp.To("", with("", "v")[0], outboxhttp.Config{}) }), 3)
}

// with is a configuration with these headers, names and values in turn.
func with(headers ...string) []outboxhttp.Config {
	c := outboxhttp.Config{Headers: map[string]string{}}
	for i := 0; i < len(headers); i += 2 {
		c.Headers[headers[i]] = headers[i+1]
	}
	return []outboxhttp.Config{c}
}

func TestTheClientIsCopied(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	client := r.Client()
	deliver := outboxhttp.To(r.URL, outboxhttp.Config{Client: client})
	assert.Nil(t, client.CheckRedirect, "that of the caller goes on following redirects")
	client.Transport = refusing{errors.New("changed")}
	require.NoError(t, deliver(t.Context(), message()))
}

func TestBasicAuthenticationOfTheURLIsSent(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	require.NoError(t, outboxhttp.To(strings.Replace(r.URL, "http://", "http://me:secret@", 1))(t.Context(), message()))
	user, password, ok := r.requests[0].BasicAuth()
	assert.Equal(t, []any{"me", "secret", true}, []any{user, password, ok})
}
