package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/velmie/idempo"
	idempomemory "github.com/velmie/idempo/memory"
	"github.com/velmie/idempo/middleware"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

// libraries are grouped as the tables are: by value, HTTP requests.
var libraries = [][]library{
	{{"idempo, Engine", openEngine}, {"this library", openPlain}},
	{{"idempo, net/http", openMiddleware}, {"this library", openHTTP}},
}

type order struct {
	ID     string `json:"id"`
	Amount int    `json:"amount"`
}

type receipt struct {
	Charge string `json:"charge"`
	Amount int    `json:"amount"`
}

var errAnswer = errors.New("the answer is not what the handler returned")

// delivery delivers under a key and reports the status of the answer.
type delivery = func(key string) (status int, err error)

func nothingToClose() error { return nil }

func openPlain(t *till) (delivery, func() error) {
	expected := receipt{Charge: "ch_3PqX7c2eZvKYlo2C", Amount: 1999}
	h := idempotent.Wrap(func(_ context.Context, o order) (receipt, error) {
		t.charge()
		return receipt{Charge: expected.Charge, Amount: o.Amount}, nil
	}, memory.New(), idempotent.WithOperation("charge"),
		idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }))
	return func(key string) (int, error) {
		ctx, cancel := invocation()
		defer cancel()
		out, err := h.Handle(ctx, order{ID: key, Amount: 1999})
		if err == nil && out != expected {
			err = errAnswer
		}
		return statusCreated, err
	}, nothingToClose
}

// openEngine does what the middleware of idempo does around its engine.
func openEngine(t *till) (delivery, func() error) {
	store := idempomemory.New()
	engine := idempo.NewEngine(store)
	return func(key string) (int, error) {
		ctx, cancel := invocation()
		defer cancel()
		r, err := engine.Process(ctx, key, idempo.Fingerprint{})
		switch {
		case err != nil:
			return 0, err
		case r.Response != nil:
			var out receipt
			if err := json.Unmarshal(r.Response.Body, &out); err != nil || out.Amount != 1999 {
				return 0, errors.Join(errAnswer, err)
			}
			return r.Response.StatusCode, nil
		}
		t.charge()
		body, err := json.Marshal(receipt{Charge: "ch_3PqX7c2eZvKYlo2C", Amount: 1999})
		if err != nil {
			return 0, err
		}
		return statusCreated, engine.Commit(ctx, key, r.Token,
			&idempo.Response{StatusCode: statusCreated, Body: body})
	}, store.Close
}

// requestOf is testdata/event.json, decoded.
func requestOf() request {
	var in request
	if err := json.Unmarshal(eventText, &in); err != nil {
		panic(fmt.Sprintf("testdata/event.json: %v", err))
	}
	return in
}

func openHTTP(t *till) (delivery, func() error) {
	h := idempotent.Wrap(func(context.Context, request) (response, error) {
		t.charge()
		return response{
			StatusCode: statusCreated, Headers: map[string]string{contentType: mediaType}, Body: smallResult,
		}, nil
	}, memory.New())
	in := requestOf()
	return func(key string) (int, error) {
		ctx, cancel := invocation()
		defer cancel()
		in.Headers[keyHeader] = key
		out, err := h.Handle(ctx, in)
		if err == nil && out.StatusCode == statusCreated && out.Body != smallResult {
			err = errAnswer
		}
		return out.StatusCode, err
	}, nothingToClose
}

// answerWriter is a response in memory that is used again.
type answerWriter struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (w *answerWriter) Header() http.Header         { return w.header }
func (w *answerWriter) WriteHeader(status int)      { w.status = status }
func (w *answerWriter) Write(p []byte) (int, error) { return w.body.Write(p) }

func openMiddleware(t *till) (delivery, func() error) {
	store := idempomemory.New()
	mw := middleware.Middleware(
		middleware.WithEngine(idempo.NewEngine(store)),
		middleware.WithRequireKey(true),
		middleware.WithAllowedResponseHeaders("Content-Type"),
	)
	h := mw(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		t.charge()
		w.Header().Set(contentType, mediaType)
		w.WriteHeader(statusCreated)
		_, _ = io.WriteString(w, smallResult) // to a buffer
	}))
	in := requestOf()
	var body bytes.Reader
	w := &answerWriter{header: make(http.Header)}
	r, err := http.NewRequest(http.MethodPost, in.RawPath+"?"+in.RawQueryString, http.NoBody)
	if err != nil {
		panic(err) // the URL is a constant
	}
	r.Header.Set(contentType, mediaType)
	return func(key string) (int, error) {
		ctx, cancel := invocation()
		defer cancel()
		clear(w.header)
		w.body.Reset()
		body.Reset([]byte(in.Body))
		r.Body = io.NopCloser(&body)
		r.Header.Set("Idempotency-Key", key)
		h.ServeHTTP(w, r.WithContext(ctx))
		if w.status == statusCreated && w.body.String() != smallResult {
			return w.status, errAnswer
		}
		return w.status, nil
	}, store.Close
}
