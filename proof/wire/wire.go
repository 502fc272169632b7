// Package wire stands between the AWS SDK and DynamoDB, or between any client and its server, and
// makes the network fail. A [Proxy] forwards HTTP requests to an endpoint and lets a [Rule] choose
// a [Fault] for each of them: it loses, delays, truncates and repeats requests and replies, answers
// with errors of DynamoDB in its place (also those that DynamoDB Local never gives), or hangs up on
// everybody. It records all that it saw.
//
//	proxy, err := wire.Start(endpoint)
//	proxy.SetRule(wire.On("UpdateItem", 1, wire.LoseReply()))
//
// Faults act on whole requests of HTTP/1.1. What is forwarded goes out once, on a connection of its
// own, and stays on its way when the client has given up: the server sees a delayed request all the
// same, and a lost reply is one that the server has given.
package wire

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
)

// Proxy forwards requests to one endpoint. It is safe for concurrent use. Make one with [Start] and
// end it with [Proxy.Close].
type Proxy struct {
	target *url.URL
	client *http.Client
	server *httptest.Server
	// lifetime is that of everything that is forwarded or held.
	lifetime context.Context
	end      context.CancelFunc
	// later counts what is forwarded beside an exchange.
	later sync.WaitGroup

	mu        sync.Mutex
	refuses   bool
	rule      Rule
	requests  int            // since the rule was set
	ofKind    map[string]int // the same by operation
	exchanges []*Exchange
}

// Request is a request as it arrived.
type Request struct {
	// Number counts the requests since the rule was set, from 1, Nth those of the same operation.
	Number, Nth int
	// Operation is the name of the API call, for example "PutItem"; of a server that is not
	// DynamoDB the method and the path, for example "POST /v1/charges".
	Operation string
	// Header and Body are the request as it was sent.
	Header http.Header
	Body   []byte
}

// Exchange is a request and what became of it.
type Exchange struct {
	Request
	// Fault is the name of the fault that was chosen.
	Fault string
	// Forwarded is how often the request was sent to the server, Status what the server answered
	// the first time; 0 if it has not.
	Forwarded, Status int
	// Answered is the status of the reply that was sent to the client, 0 if none was, or only half
	// of one.
	Answered int
	// Err is the failure of the proxy to reach the server.
	Err error
}

// Start starts a proxy on a free port of this machine. It passes every request until it has a rule.
func Start(endpoint string) (*Proxy, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("wire: endpoint: %w", err)
	}
	p := &Proxy{
		target: target,
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}},
		ofKind: make(map[string]int),
	}
	p.lifetime, p.end = context.WithCancel(context.Background())
	p.server = httptest.NewServer(http.HandlerFunc(p.serve))
	return p, nil
}

// URL is the endpoint for clients.
func (p *Proxy) URL() string { return p.server.URL }

// SetRule replaces the rule for the requests that arrive from now on, and counts them anew. A nil
// rule passes every request. What was recorded stays.
func (p *Proxy) SetRule(rule Rule) {
	p.note(func() { p.rule, p.requests, p.ofKind = rule, 0, make(map[string]int) })
}

// Exchanges are the requests so far, in the order in which they arrived, as they stand now.
func (p *Proxy) Exchanges() (all []Exchange) {
	p.note(func() {
		for _, x := range p.exchanges {
			all = append(all, *x)
		}
	})
	return all
}

// Operations are those of the exchanges so far.
func (p *Proxy) Operations() []string {
	names := []string{}
	for _, x := range p.Exchanges() {
		names = append(names, x.Operation)
	}
	return names
}

// Forget empties the record of exchanges.
func (p *Proxy) Forget() { p.note(func() { p.exchanges = nil }) }

// Faults are the names of the faults so far, without passed requests.
func (p *Proxy) Faults() []string {
	var names []string
	for _, x := range p.Exchanges() {
		if x.Fault != Pass().Name {
			names = append(names, x.Fault)
		}
	}
	return names
}

// Refuse closes all connections, and hangs up on whoever comes.
func (p *Proxy) Refuse() {
	p.note(func() { p.refuses = true })
	p.server.CloseClientConnections()
}

// Accept ends what [Proxy.Refuse] began.
func (p *Proxy) Accept() { p.note(func() { p.refuses = false }) }

// Close ends the proxy and everything that is on its way through it, and waits for that. Calling it
// again has no effect.
func (p *Proxy) Close() {
	p.end()
	p.Refuse()
	p.server.Close()
	p.later.Wait()
}

// arrive records a request and chooses its fault, unless the proxy refuses it.
func (p *Proxy) arrive(r *http.Request, body []byte) (*Exchange, Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuses {
		return nil, LoseRequest()
	}
	_, operation, called := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if !called {
		operation = r.Method + " " + r.URL.Path
	}
	p.requests++
	p.ofKind[operation]++
	x := &Exchange{Request: Request{p.requests, p.ofKind[operation], operation, r.Header, body}}
	fault := Pass()
	if p.rule != nil {
		fault = p.rule(x.Request)
	}
	x.Fault = fault.Name
	p.exchanges = append(p.exchanges, x)
	return x, fault
}

// note changes what the proxy keeps.
func (p *Proxy) note(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}
