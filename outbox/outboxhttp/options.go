package outboxhttp

import (
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"

	"github.com/go-idempotent/idempotent/store"
)

// maxIdle is how many connections are kept open between deliveries. The default of net/http is two for each host, so that of ten deliveries
// at once eight would open a connection each time.
const maxIdle = 100

// Option adjusts [To].
type Option func(*config)

type config struct {
	url       string
	client    *http.Client
	headers   http.Header
	tenant    string // the header of the tenant, empty for none
	permanent func(status int) bool
	problems  []string
}

func (c *config) problemf(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf("outboxhttp.To: "+format, args...))
}

// WithClient sets the client that sends. It is copied as it is then, and the copy follows no redirect. What signs a request, or fetches a
// token for it, is the Transport of the client. Default is one of this package, which keeps connections open.
func WithClient(client *http.Client) Option {
	return func(c *config) {
		if client == nil {
			c.problemf("WithClient: the client is nil")
			return
		}
		c.client = client
	}
}

// WithHeader adds a header to each request, say Authorization. Each name is given once. It cannot be one that this package or net/http sets.
func WithHeader(name, value string) Option {
	return func(c *config) {
		if !c.canSet("WithHeader", name) {
			return
		}
		if problem := unusable(value); problem != "" {
			c.problemf("WithHeader: the value of %q %s", name, problem) // the value may be a secret
			return
		}
		c.headers[textproto.CanonicalMIMEHeaderKey(name)] = []string{value}
	}
}

// WithTenantHeader sends the tenant of a message, if it has one, in the header of that name. Default is that it is not sent: not every
// receiver is to know it.
func WithTenantHeader(name string) Option {
	return func(c *config) {
		if c.canSet("WithTenantHeader", name) {
			c.tenant = textproto.CanonicalMIMEHeaderKey(name)
		}
	}
}

// WithPermanent decides by the status of an answer whether a message can never be delivered, and is parked at once instead of being tried
// again. It is not asked about a status from 200 to 299, and runs concurrently. Default is that no status is permanent: a 404 may be a
// receiver that is being deployed, and a 400 one whose next version takes the message.
//
//	outboxhttp.WithPermanent(func(status int) bool { return status == http.StatusRequestEntityTooLarge })
func WithPermanent(permanent func(status int) bool) Option {
	return func(c *config) {
		c.permanent = permanent
		if permanent == nil {
			c.problemf("WithPermanent: the function is nil")
		}
	}
}

// canSet reports whether an option can set a header, and notes why not.
func (c *config) canSet(option, name string) bool {
	canonical := textproto.CanonicalMIMEHeaderKey(name)
	switch {
	case !isToken(name):
		c.problemf("%s: %q is no name of a header", option, name)
	case ours[canonical]:
		c.problemf("%s: %q is set by this package, or by net/http", option, name)
	case c.sets(canonical):
		c.problemf("%s: %q is set twice", option, name)
	default:
		return true
	}
	return false
}

// sets reports whether an option has set a header.
func (c *config) sets(canonical string) bool {
	_, is := c.headers[canonical]
	return is || c.tenant == canonical
}

func configOf(address string, opts []Option) *config {
	c := &config{url: address, headers: http.Header{}}
	// It may hold a password, so it is not quoted.
	if u, err := url.Parse(address); err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		c.problemf("the URL is not one of the form https://host[:port][/path]")
	}
	for i, opt := range opts {
		if opt == nil {
			c.problemf("option %d is nil", i+1)
			continue
		}
		opt(c)
	}
	if c.client == nil {
		c.client = &http.Client{Transport: transport()}
	}
	copied := *c.client
	copied.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.client = &copied
	return c
}

func (c *config) panicIfWrong() {
	if len(c.problems) > 0 {
		panic(&store.ConfigError{Problems: c.problems})
	}
}

// transport is that of net/http, which keeps more connections open.
func transport() http.RoundTripper {
	std, is := http.DefaultTransport.(*http.Transport)
	if !is {
		return http.DefaultTransport // somebody has replaced it
	}
	t := std.Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = maxIdle, maxIdle
	return t
}
