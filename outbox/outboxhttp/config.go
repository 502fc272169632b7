package outboxhttp

import (
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"

	"github.com/go-idempotent/idempotent/internal/httpfield"
	"github.com/go-idempotent/idempotent/internal/setup"
)

// maxIdle is how many connections are kept open between deliveries. The default of net/http is two
// for each host, so that of ten deliveries at once eight would open a connection each time.
const maxIdle = 100

// Config adjusts [To]. Its zero value has the defaults.
type Config struct {
	// Client sends. It is copied as it is then, and the copy follows no redirect. What signs a
	// request, or fetches a token for it, is the Transport of the client. Default is one of this
	// package, which keeps connections open.
	Client *http.Client
	// Headers are added to each request, say Authorization. None can be one that this package or
	// net/http sets.
	Headers map[string]string
	// TenantHeader is the header for the tenant of a message that has one. Default is that it is
	// not sent: not every receiver is to know it.
	TenantHeader string
	// Permanent decides by the status of an answer whether a message can never be delivered, and is
	// given up at once instead of being tried again. It is not asked about a status from 200 to
	// 299, and runs concurrently. Default is that no status is permanent: a 404 may be a receiver
	// that is being deployed, and a 400 one whose next version takes the message.
	//
	//	Permanent: func(status int) bool { return status == http.StatusRequestEntityTooLarge }
	Permanent func(status int) bool
}

type config struct {
	url       string
	client    *http.Client
	headers   http.Header
	tenant    string // the header of the tenant, empty for none
	permanent func(status int) bool
	wrong     *setup.Problems
}

// set sets a header, or notes why not.
func (c *config) set(name, value string) {
	if !c.canSet("Headers", name) {
		return
	}
	if problem := unusable(value); problem != "" {
		c.wrong.Addf(true, "Headers: the value of %q %s", name, problem) // the value may be a secret
		return
	}
	c.headers[textproto.CanonicalMIMEHeaderKey(name)] = []string{value}
}

// canSet reports whether a field can set a header, and notes why not.
func (c *config) canSet(field, name string) bool {
	canonical := textproto.CanonicalMIMEHeaderKey(name)
	switch {
	case !httpfield.IsToken(name):
		c.wrong.Addf(true, "%s: %q is no name of a header", field, name)
	case ours[canonical]:
		c.wrong.Addf(true, "%s: %q is set by this package, or by net/http", field, name)
	case c.sets(canonical):
		c.wrong.Addf(true, "%s: %q is set twice", field, name)
	default:
		return true
	}
	return false
}

// sets reports whether the configuration has set a header.
func (c *config) sets(canonical string) bool {
	_, is := c.headers[canonical]
	return is || c.tenant == canonical
}

func configOf(address string, given []Config) *config {
	c := &config{url: address, headers: http.Header{}, wrong: setup.Of("outboxhttp.To")}
	// It may hold a password, so it is not quoted.
	u, err := url.Parse(address)
	c.wrong.Addf(err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https",
		"the URL is not one of the form https://host[:port][/path]")
	of := setup.One(c.wrong, given)
	c.client, c.permanent = of.Client, of.Permanent
	for _, name := range slices.Sorted(maps.Keys(of.Headers)) {
		c.set(name, of.Headers[name])
	}
	if of.TenantHeader != "" && c.canSet("TenantHeader", of.TenantHeader) {
		c.tenant = textproto.CanonicalMIMEHeaderKey(of.TenantHeader)
	}
	if c.client == nil {
		c.client = &http.Client{Transport: transport()}
	}
	copied := *c.client
	copied.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.client = &copied
	return c
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
