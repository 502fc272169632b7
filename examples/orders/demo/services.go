package main

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/go-idempotent/idempotent/examples/orders/counting"
)

// services are those of one order.
type services struct {
	*counting.Services

	watch *watch
}

// ServeHTTP implements [http.Handler].
func (s *services) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	s.watch.pass(s.KindOf(req), s.Services, w, req)
}

// done counts the effects of each kind.
func (s *services) done() (counts [4]int) {
	for i, kind := range counting.Kinds() {
		counts[i] = s.Done(kind)
	}
	return counts
}

// ofOrder finds the services of the order that a message is about.
type ofOrder func(message []byte) *services

// ServeHTTP implements [http.Handler]: it is the mail, for all orders.
func (of ofOrder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	sent, err := io.ReadAll(req.Body)
	if err != nil {
		return // the relay is gone
	}
	req.Body = io.NopCloser(bytes.NewReader(sent))
	if s := of(sent); s != nil {
		s.ServeHTTP(w, req)
		return
	}
	http.Error(w, "the message is about none of these orders", http.StatusNotFound)
}

// database is DynamoDB as a function reaches it: all calls go through, and find the watch for those that the story waits for.
type database struct {
	forward *httputil.ReverseProxy
	// find returns the kind of effect that a call asks for, and who watches for it, nil if nobody does.
	find func(call string, input []byte) (counting.Kind, *watch)
}

func newDatabase(endpoint string, find func(call string, input []byte) (counting.Kind, *watch)) (*database, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.ErrorLog = log.New(io.Discard, "", 0) // those who were killed hung up
	return &database{forward, find}, nil
}

// ServeHTTP implements [http.Handler].
func (d *database) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	input, err := io.ReadAll(req.Body)
	if err != nil {
		return // the function is gone
	}
	req.Body = io.NopCloser(bytes.NewReader(input))
	_, call, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	if kind, watch := d.find(call, input); watch != nil {
		watch.pass(kind, d.forward, w, req)
		return
	}
	d.forward.ServeHTTP(w, req)
}
