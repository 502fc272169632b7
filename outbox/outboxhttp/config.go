package outboxhttp

import (
	"cmp"
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
}

func configOf(address string, given []Config) *config {
	p := setup.Of("outboxhttp.To")
	// It may hold a password, so it is not quoted.
	u, err := url.Parse(address)
	p.Addf(err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https",
		"the URL is not one of the form https://host[:port][/path]")
	of := setup.One(p, given)
	c := &config{url: address, headers: http.Header{}, permanent: of.Permanent}
	check := func(field, name string) (canonical string) {
		canonical = textproto.CanonicalMIMEHeaderKey(name)
		problem := ""
		switch {
		case !httpfield.IsToken(name):
			problem = "is no name of a header"
		case ours[canonical]:
			problem = "is set by this package, or by net/http"
		case c.sets(canonical):
			problem = "is set twice"
		}
		p.Addf(problem != "", "%s: %q %s", field, name, problem)
		return canonical
	}
	for _, name := range slices.Sorted(maps.Keys(of.Headers)) {
		problem := unusable(of.Headers[name])
		p.Addf(problem != "", "Headers: the value of %q %s", name, problem) // the value may be a secret
		c.headers[check("Headers", name)] = []string{of.Headers[name]}
	}
	if of.TenantHeader != "" {
		c.tenant = check("TenantHeader", of.TenantHeader)
	}
	p.Panic()
	client := cmp.Or(of.Client, &http.Client{Transport: transport()})
	copied := *client
	copied.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.client = &copied
	return c
}

// sets reports whether the configuration has set a header.
func (c *config) sets(canonical string) bool {
	_, is := c.headers[canonical]
	return is || c.tenant == canonical
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
