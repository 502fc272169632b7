// Package outboxhttp delivers the messages of an outbox over HTTP:
//
//	relay := outbox.NewRelay(client, table, outboxhttp.To("https://mail.example.com/v1/messages"))
//
// The receiver gets a POST whose body is the body of the message, with these headers:
//
//   - Content-Type: application/json
//   - Idempotency-Key: the id of the message, as plain text without quotes. A message may come more
//     than once, always with the same key: a receiver that knows it again acts once
//   - Outbox-Topic: the topic
//   - X-Amzn-Trace-Id: the trace header of the invocation that has committed the message, if any
//   - each attribute of the message, by its name
//   - those of [Config]
//
// A status from 200 to 299 means that the message has arrived. Anything else is tried again. A
// redirect is not followed, because a POST would become a GET, whose 200 says nothing of the
// message. What stands in the answer does not matter.
//
// A message whose id, topic or attribute cannot be a header is given up at once: its text has to be
// printable ASCII without spaces at the ends, and the name of an attribute a header name. An
// attribute sets no header that this package, net/http or a [Config] sets, and none that tells who
// the sender is: Authorization, Cookie and Proxy-Authorization.
package outboxhttp

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/internal/httpfield"
	"github.com/go-idempotent/idempotent/internal/setup"
	"github.com/go-idempotent/idempotent/outbox"
)

// maxDrained is how much of an answer is read, so that its connection can be used again.
const maxDrained = 64 << 10

// To returns a function that delivers messages to a URL, for [outbox.NewRelay], which bounds each
// delivery. The function is safe for concurrent use. The URL is absolute and begins with http or
// https; a user and a password in it become basic authentication.
//
// To sends nothing. It panics with a [*store.ConfigError] that names every problem of the
// configuration. Neither that nor an error of a delivery has anything of the URL but the host, nor
// anything of a message but the name of an attribute.
//
// The error of a delivery is a [*StatusError] if there was an answer. Otherwise the receiver may
// have got the message, or not: net/http itself sends it again only on a connection that had been
// idle and turns out to be closed. Only what can be no header is an [outbox.Permanent] error: a 404
// may be a receiver that is being deployed, and a 400 one whose next version takes the message. Who
// knows better, say of a 413, calls the function in one of their own that marks the error.
func To(address string, config ...Config) outbox.Deliver {
	p := setup.Of("outboxhttp.To")
	u, err := url.Parse(address)
	p.Addf(err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https",
		"the URL is not one of the form https://host[:port][/path]")
	of := setup.One(p, config)
	c := &receiver{url: address, headers: http.Header{}}
	for _, name := range slices.Sorted(maps.Keys(of.Headers)) {
		problem := unusable(of.Headers[name])
		p.Addf(problem != "", "Headers: the value of %q %s", name, problem) // the value may be a secret
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		p.Addf(!httpfield.IsToken(name), "Headers: %q is no name of a header", name)
		p.Addf(ours[canonical], "Headers: %q is set by this package, or by net/http", name)
		p.Addf(c.headers[canonical] != nil, "Headers: %q is set twice", name)
		c.headers[canonical] = []string{of.Headers[name]}
	}
	p.Panic()
	c.client = *cmp.Or(of.Client, &http.Client{Transport: transport()})
	c.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c.deliver
}

type receiver struct {
	url     string
	client  http.Client
	headers http.Header
}

func (c *receiver) deliver(ctx context.Context, m outbox.Message) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(m.Body))
	if err != nil {
		return fmt.Errorf("outboxhttp: no request can be made: %w", withoutURL(err))
	}
	if req.Header, err = c.headersOf(m); err != nil {
		return outbox.Permanent(fmt.Errorf("outboxhttp: %w", err))
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return fmt.Errorf("outboxhttp: no answer: %w", withoutURL(err))
	}
	defer resp.Body.Close()
	// The status has decided already: an answer that breaks off here costs its connection alone.
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrained)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return &StatusError{Status: resp.StatusCode}
	}
	return nil
}

// StatusError is that of a receiver whose answer has another status than one from 200 to 299.
type StatusError struct{ Status int }

func (e *StatusError) Error() string {
	return fmt.Sprintf("outboxhttp: the receiver answered with status %d", e.Status)
}

// withoutURL drops the URL from an error of net/http: any part of it may be a secret.
func withoutURL(err error) error {
	for {
		ue, is := err.(*url.Error) //nolint:errorlint // what wraps it may quote it
		if !is {
			return err
		}
		err = ue.Err
	}
}

// maxIdle is how many connections are kept open between deliveries. With the two of net/http for
// each host, eight of ten deliveries at once would open a connection each time.
const maxIdle = 100

// Config adjusts [To]. Its zero value has the defaults.
type Config struct {
	// Client sends. To copies it, and the copy follows no redirect. Its Transport is what signs a
	// request, or fetches a token for it. Default is one that keeps connections open.
	Client *http.Client
	// Headers are added to each request, say Authorization. None is one that is set anyway.
	Headers map[string]string
}

func transport() http.RoundTripper {
	std, is := http.DefaultTransport.(*http.Transport)
	if !is {
		return http.DefaultTransport // somebody has replaced it
	}
	t := std.Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = maxIdle, maxIdle
	return t
}

const (
	headerKey   = "Idempotency-Key"
	headerTopic = "Outbox-Topic"
	headerTrace = "X-Amzn-Trace-Id"
	headerType  = "Content-Type"
)

// ours are the headers, in their canonical form, that neither a [Config] nor a message sets: those
// of this package, of net/http, and of a connection rather than of a request.
var ours = map[string]bool{
	headerKey: true, headerTopic: true, headerTrace: true, headerType: true,
	"Host": true, "Content-Length": true, "Content-Encoding": true, "Accept-Encoding": true, "Expect": true,
	"Connection": true, "Keep-Alive": true, "Proxy-Connection": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true,
}

// sender are the headers that tell who the sender is. A [Config] sets them, but no message does.
var sender = map[string]bool{"Authorization": true, "Cookie": true, "Proxy-Authorization": true}

func (c *receiver) headersOf(m outbox.Message) (http.Header, error) {
	h := make(http.Header, len(c.headers)+len(m.Attributes)+5)
	h[headerType] = []string{"application/json"}
	for _, field := range [...]struct{ of, name, value string }{
		{"the id", headerKey, m.ID}, {"the topic", headerTopic, m.Topic},
	} {
		if problem := unusable(field.value); problem != "" {
			return nil, fmt.Errorf("%s of the message can be no header: it %s", field.of, problem)
		}
		h[field.name] = []string{field.value}
	}
	if unusable(m.Trace) == "" { // a message does not fail because of its trace
		h[headerTrace] = []string{m.Trace}
	}
	maps.Copy(h, c.headers)
	for _, name := range slices.Sorted(maps.Keys(m.Attributes)) {
		if err := c.addAttribute(h, name, m.Attributes[name]); err != nil {
			return nil, err
		}
	}
	return h, nil
}

func (c *receiver) addAttribute(h http.Header, name, value string) error {
	canonical := textproto.CanonicalMIMEHeaderKey(name)
	// Some receivers read an underscore in a name as a hyphen.
	read := textproto.CanonicalMIMEHeaderKey(strings.ReplaceAll(name, "_", "-"))
	problem := unusable(value)
	switch {
	case !httpfield.IsToken(name):
		problem = "is no name of a header"
	case ours[read] || sender[read] || c.headers[read] != nil:
		problem = "is the name of a header that no message sets"
	case h[canonical] != nil:
		problem = "is the same header as another attribute"
	case problem != "":
		problem = "has a value that " + problem
	default:
		h[canonical] = []string{value}
		return nil
	}
	return fmt.Errorf("the attribute %q of the message %s", name, problem)
}

// unusable says why a text cannot be the value of a header, empty if it can. What is not ASCII each
// receiver reads in its own way.
func unusable(value string) string {
	switch {
	case value == "":
		return "is empty"
	case strings.Trim(value, " ") != value:
		return "begins or ends with a space"
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
		return "is not printable ASCII"
	default:
		return ""
	}
}
