// Package wire stands between the AWS SDK and DynamoDB, or between any client and its server, and
// makes the network fail. A [Proxy] forwards HTTP requests to an endpoint and lets a [Rule] choose
// a [Fault] for each of them: it loses, delays, truncates and repeats requests and replies, answers
// with errors of DynamoDB in its place (also those that DynamoDB Local never gives), or refuses
// connections. It records all that it saw.
//
//	proxy, err := wire.Start(endpoint, wire.On("UpdateItem", 1, wire.LoseReply()))
//
// Faults act on whole requests of HTTP/1.1. What is forwarded goes out once, on a connection of its
// own, and stays on its way when the client has given up: the server sees a delayed request all the
// same, and a lost reply is one that the server has given.
package wire

import (
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// Proxy forwards requests to one endpoint. It is safe for concurrent use. Make one with [Start] and
// end it with [Proxy.Close].
type Proxy struct {
	target *url.URL
	client *http.Client
	// lifetime is that of everything that is forwarded or held.
	lifetime context.Context
	end      context.CancelFunc
	// active counts all goroutines of the proxy.
	active sync.WaitGroup

	mu        sync.Mutex
	address   string       // empty before it is known
	server    *http.Server // nil while connections are refused
	closed    bool
	rule      Rule
	requests  int            // since the rule was set
	ofKind    map[string]int // the same by operation
	exchanges []*Exchange
}

// Start starts a proxy on a free port of this machine. A nil rule passes every request.
func Start(endpoint string, rule Rule) (*Proxy, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("wire: endpoint: %w", err)
	}
	p := &Proxy{
		target: target,
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}},
		rule:   rule,
		ofKind: make(map[string]int),
	}
	p.lifetime, p.end = context.WithCancel(context.Background())
	return p, p.Accept()
}

// URL is the endpoint for clients. It stays the same for the life of the proxy.
func (p *Proxy) URL() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return "http://" + p.address
}

// SetRule replaces the rule for the requests that arrive from now on, and counts them anew. What
// was recorded stays.
func (p *Proxy) SetRule(rule Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rule, p.requests = rule, 0
	clear(p.ofKind)
}

// Exchanges are the requests so far, in the order in which they arrived, as they stand now.
func (p *Proxy) Exchanges() []Exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Exchange, len(p.exchanges))
	for i, x := range p.exchanges {
		all[i] = *x
	}
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
func (p *Proxy) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.exchanges = nil
}

// Refuse closes all connections and refuses new ones, like a machine on which nothing listens.
func (p *Proxy) Refuse() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		return nil
	}
	err := p.server.Close()
	p.server = nil
	return err
}

// Accept ends what [Proxy.Refuse] began.
func (p *Proxy) Accept() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server != nil || p.closed {
		return nil
	}
	listener, err := p.listen()
	if err != nil {
		return fmt.Errorf("wire: %w", err)
	}
	p.address = listener.Addr().String()
	server := &http.Server{
		Handler:           http.HandlerFunc(p.serve),
		ErrorLog:          log.New(io.Discard, "", 0), // connections are broken on purpose
		ReadHeaderTimeout: time.Minute,
	}
	p.server = server
	p.active.Go(func() { _ = server.Serve(listener) }) // ends with Refuse
	return nil
}

// Close ends the proxy and everything that is on its way through it, and waits for that. Calling it
// again has no effect.
func (p *Proxy) Close() error {
	err := p.Refuse()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.end()
	p.active.Wait()
	return err
}

// begin counts one more goroutine, unless the proxy is closed.
func (p *Proxy) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.active.Add(1)
	}
	return !p.closed
}

// arrive records a request and chooses its fault.
func (p *Proxy) arrive(r Request) (*Exchange, Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	p.ofKind[r.Operation]++
	r.Number, r.Nth = p.requests, p.ofKind[r.Operation]
	fault := Pass()
	if p.rule != nil {
		fault = p.rule(r)
	}
	x := &Exchange{Request: r, Fault: fault.Name}
	p.exchanges = append(p.exchanges, x)
	return x, fault
}

// note changes the record of an exchange.
func (p *Proxy) note(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

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

// listen takes the proxy's address, or a free one if it has none yet. That is below the ports that
// systems hand out by themselves: after a refusal the proxy wants it back, and nobody else must
// have been given it meanwhile.
func (p *Proxy) listen() (net.Listener, error) {
	var lc net.ListenConfig
	if p.address != "" {
		return lc.Listen(p.lifetime, "tcp", p.address)
	}
	var err error
	for range 100 {
		var listener net.Listener
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(15000+rand.IntN(15000)))
		if listener, err = lc.Listen(p.lifetime, "tcp", address); err == nil {
			return listener, nil
		}
	}
	return nil, err
}
