package lambdaruntime

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// client is a process as its API sees it.
type client struct {
	t   *testing.T
	api *api
}

func newClient(t *testing.T, f Function) *client {
	t.Helper()
	a := serveAPI(f)
	t.Cleanup(a.close)
	return &client{t: t, api: a}
}

// do sends a request and returns the status, and the type of the error that was answered.
func (c *client) do(method, path, body string) (status int, kind string, header http.Header) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.api.server.URL+path, strings.NewReader(body))
	require.NoError(c.t, err)
	response, err := c.api.server.Client().Do(r)
	require.NoError(c.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(c.t, err)
	var d struct {
		Type string `json:"errorType"`
	}
	if json.Unmarshal(text, &d) != nil {
		d.Type = string(text)
	}
	return response.StatusCode, d.Type, response.Header
}

func (c *client) post(path, body string) (status int, kind string) {
	c.t.Helper()
	status, kind, _ = c.do(http.MethodPost, path, body)
	return status, kind
}

// next hands the process an event.
func (c *client) next() *invocation {
	c.t.Helper()
	i := newInvocation([]byte(`{"n":1}`), time.Minute)
	go func() { c.api.next <- i }()
	status, _, header := c.do(http.MethodGet, "/2018-06-01/runtime/invocation/next", "")
	require.Equal(c.t, http.StatusOK, status)
	require.Equal(c.t, i.id, header.Get("Lambda-Runtime-Aws-Request-Id"))
	return i
}

func path(id, what string) string { return "/2018-06-01/runtime/invocation/" + id + "/" + what }

func TestAnEventCarriesItsHeaders(t *testing.T) {
	t.Parallel()
	c := newClient(t, Function{Name: "shop"})
	i := newInvocation([]byte(`{}`), 3*time.Second)
	go func() { c.api.next <- i }()
	before := time.Now()
	status, _, header := c.do(http.MethodGet, "/2018-06-01/runtime/invocation/next", "")
	require.Equal(t, http.StatusOK, status)

	deadline, err := strconv.ParseInt(header.Get("Lambda-Runtime-Deadline-Ms"), 10, 64)
	require.NoError(t, err)
	assert.WithinRange(t, time.UnixMilli(deadline), before.Add(2*time.Second), time.Now().Add(3*time.Second))
	assert.Equal(t, i.id, header.Get("Lambda-Runtime-Aws-Request-Id"))
	assert.Equal(t, Function{Name: "shop"}.arn(), header.Get("Lambda-Runtime-Invoked-Function-Arn"))
	assert.Regexp(t, `^Root=1-[0-9a-f]{8}-[0-9a-f]{24};Parent=[0-9a-f]{16};Sampled=0$`,
		header.Get("Lambda-Runtime-Trace-Id"))
}

func TestAResponseAndAnErrorAreAccepted(t *testing.T) {
	t.Parallel()
	c := newClient(t, Function{})
	for _, tc := range []struct{ what, body string }{
		{"response", `"ok"`},
		{"error", `{"errorType":"E","errorMessage":"m"}`},
	} {
		i := c.next()
		status, _ := c.post(path(i.id, tc.what), tc.body)
		assert.Equal(t, http.StatusAccepted, status)
		r := <-i.answered
		if tc.what == "response" {
			assert.Equal(t, tc.body, string(r.response))
			continue
		}
		assert.Equal(t, &FunctionError{Type: "E", Message: "m", Payload: []byte(tc.body)}, r.err)
	}
}

func TestAnErrorInAnotherFormIsPassedOn(t *testing.T) {
	t.Parallel()
	c := newClient(t, Function{})
	i := c.next()
	status, _ := c.post(path(i.id, "error"), "not JSON")
	assert.Equal(t, http.StatusAccepted, status)
	assert.Equal(t, &FunctionError{Payload: []byte("not JSON")}, (<-i.answered).err)
}

func TestAnotherRequestIDIsABadRequest(t *testing.T) {
	t.Parallel()
	c := newClient(t, Function{})
	for _, what := range []string{"response", "error"} {
		status, kind := c.post(path("nobody", what), "{}")
		assert.Equal(t, http.StatusBadRequest, status)
		assert.Equal(t, "InvalidRequestID", kind, "before the first event")
	}
	first := c.next()
	_, _ = c.post(path(first.id, "response"), "{}")
	c.next()
	status, kind := c.post(path(first.id, "response"), "{}")
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Equal(t, "InvalidRequestID", kind, "that of an earlier event")
	assert.Equal(t, "{}", string((<-first.answered).response), "the first answer stays")
}

func TestOtherPathsAreNotFound(t *testing.T) {
	t.Parallel()
	c := newClient(t, Function{})
	status, _, _ := c.do(http.MethodGet, "/2015-03-31/functions", "")
	assert.Equal(t, http.StatusNotFound, status)
}
