package outboxhttp

import (
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/internal/httpfield"
	"github.com/go-idempotent/idempotent/outbox"
)

// The headers that a receiver reads.
const (
	headerKey   = "Idempotency-Key"
	headerTopic = "Outbox-Topic"
	headerTrace = "X-Amzn-Trace-Id"
	headerType  = "Content-Type"
)

// ours are the headers that neither a [Config] nor a message sets, in their canonical form: those
// of this package, those that net/http sets, and those of a connection rather than of a request.
var ours = map[string]bool{
	headerKey: true, headerTopic: true, headerTrace: true, headerType: true,
	"Host": true, "Content-Length": true, "Content-Encoding": true, "Accept-Encoding": true, "Expect": true,
	"Connection": true, "Keep-Alive": true, "Proxy-Connection": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true,
}

// sender are the headers that tell who the sender is. A [Config] sets them, but no message does.
var sender = map[string]bool{"Authorization": true, "Cookie": true, "Proxy-Authorization": true}

// headersOf returns the headers of a request. An error says what of the message can be none.
func (c *config) headersOf(m outbox.Message) (http.Header, error) {
	h := make(http.Header, len(c.headers)+len(m.Attributes)+5)
	h[headerType] = []string{"application/json"}
	for _, field := range [...]struct{ of, name, value string }{
		{"the id", headerKey, m.ID}, {"the topic", headerTopic, m.Topic}, {"the tenant", c.tenant, m.Tenant},
	} {
		if field.name == "" || field.name == c.tenant && field.value == "" {
			continue
		}
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

func (c *config) addAttribute(h http.Header, name, value string) error {
	canonical := textproto.CanonicalMIMEHeaderKey(name)
	// Some receivers read an underscore in a name as a hyphen.
	read := textproto.CanonicalMIMEHeaderKey(strings.ReplaceAll(name, "_", "-"))
	problem := unusable(value)
	switch {
	case !httpfield.IsToken(name):
		problem = "is no name of a header"
	case ours[read] || sender[read] || c.sets(read):
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
