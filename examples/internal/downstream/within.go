package downstream

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Within returns a client of a service that is part of this process: the handler is called, and nothing goes over a network.
func Within(name string, service http.Handler) *Client {
	return &Client{name, &url.URL{Scheme: "http", Host: name}, time.Minute, &http.Client{Transport: Transport(service)}}
}

// Transport hands each request to the handler of a service that is part of this process, whatever host the URL names.
func Transport(service http.Handler) http.RoundTripper { return within{service} }

type within struct{ http.Handler }

// RoundTrip implements [http.RoundTripper].
func (w within) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body == nil {
		req = req.Clone(req.Context())
		req.Body = http.NoBody
	}
	a := &answer{header: http.Header{}, status: http.StatusOK}
	w.ServeHTTP(a, req)
	return &http.Response{
		StatusCode: a.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()), Request: req,
	}, nil
}

// answer is an [http.ResponseWriter] that keeps what is written.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }
