package gateway

import (
	"maps"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/internal/httpfield"
)

// response holds the parts that the responses of all families have. Its maps and slices belong to
// the response of the handler: replace them, never modify them. A handler may return one map with
// every response.
type response struct {
	status  int
	headers map[string]string
	multi   map[string][]string
	cookies []string
	body    string
}

// headerMap says in which of the two header maps of a response the gateway looks: headers, with one
// value of each header, or multiValueHeaders, with several.
type headerMap int

const (
	// eitherMap is the zero value. A REST API merges both maps. An HTTP API and a function URL know
	// headers alone. So what is added to headers arrives, provided that the other map has no header
	// of that name.
	eitherMap headerMap = iota
	// A load balancer looks in one map only, and ignores the other.
	singleMap
	multiMap
)

// adding returns r with more headers, in the map in which the gateway looks. r must not have
// headers of these names in either map.
//
// A stored response may have its headers in the map that the gateway ignores, if its target group
// was configured otherwise when the response was stored. They move to the other map then.
func (r response) adding(headers map[string]string, in headerMap) response {
	if in == multiMap {
		own := r.multi
		if len(own) == 0 {
			own = multiOf(r.headers)
		}
		r.multi = multiOf(headers)
		maps.Copy(r.multi, own)
		return r
	}
	own := r.headers
	if in == singleMap && len(own) == 0 {
		own = singleOf(r.multi)
	}
	r.headers = maps.Clone(headers)
	maps.Copy(r.headers, own)
	return r
}

func multiOf(single map[string]string) map[string][]string {
	multi := make(map[string][]string, len(single))
	for name, value := range single {
		multi[name] = []string{value}
	}
	return multi
}

// singleOf joins the values of each header with commas (RFC 9110, section 5.3). Cookies cannot be
// joined, so it keeps the last one.
func singleOf(multi map[string][]string) map[string]string {
	single := make(map[string]string, len(multi))
	for name, values := range multi {
		switch {
		case len(values) == 0:
		case strings.EqualFold(name, httpfield.SetCookie):
			single[name] = values[len(values)-1]
		default:
			single[name] = strings.Join(values, ", ")
		}
	}
	return single
}

// without returns a map without the dropped headers, and whether there were any. m itself stays as
// it is.
func without[V any](m map[string]V, dropped func(name string) bool) (kept map[string]V, fewer bool) {
	for name := range m {
		if dropped(name) {
			kept = maps.Clone(m)
			maps.DeleteFunc(kept, func(name string, _ V) bool { return dropped(name) })
			return kept, true
		}
	}
	return m, false
}

// connectionOptions are the names of headers that the Connection header says belong to the
// connection. Few responses have that header. As in a request, if multi has values of it, these are
// all of them.
func (r response) connectionOptions() []string {
	var values []string
	for name, several := range r.multi {
		if strings.EqualFold(name, httpfield.Connection) {
			values = append(values, several...)
		}
	}
	if len(values) == 0 {
		for name, value := range r.headers {
			if strings.EqualFold(name, httpfield.Connection) {
				values = append(values, value)
			}
		}
	}
	var names []string
	for _, value := range values {
		for name := range strings.SplitSeq(value, ",") {
			names = append(names, strings.Trim(name, " \t"))
		}
	}
	return names
}

// Status returns the status of a response, and 0 if there is no response.
func (f *Family) Status(out any) int { return f.parts(out).status }

// Storable returns a response without the headers and cookies that must not be replayed: those of
// one connection, of one moment and of one client, and those that this module sets itself. changed
// is false if there are none; then stored is out. out itself stays as it is.
func (f *Family) Storable(out any) (stored any, changed bool) {
	r := f.parts(out)
	named := r.connectionOptions()
	dropped := func(name string) bool { return drops(name) || httpfield.IsOneOf(named, name) }
	headers, fewer := without(r.headers, dropped)
	multi, fewerMulti := without(r.multi, dropped)
	if !fewer && !fewerMulti && len(r.cookies) == 0 {
		return out, false
	}
	r.headers, r.multi, r.cookies = headers, multi, nil
	return f.with(out, r), true
}

// drops reports whether a header is left out of the stored form of every response.
func drops(name string) bool {
	return strings.EqualFold(name, httpfield.DateHeader) || strings.EqualFold(name, httpfield.SetCookie) ||
		httpfield.IsConnection(name) || owns(name)
}

func owns(name string) bool {
	return strings.EqualFold(name, httpfield.ExpiresHeader) || strings.EqualFold(name, httpfield.Replayed)
}

// Announces reports whether a response already has a header of an announcement. It speaks of the
// answer of another service, which uses this module, too.
func (f *Family) Announces(out any) bool {
	r := f.parts(out)
	_, one := without(r.headers, owns)
	_, several := without(r.multi, owns)
	return one || several
}

// Announce adds an announcement to a response, in the header map in which the gateway looks.
// Headers of the same names that the response has give way, also if the announcement adds nothing.
// changed is false if answer is out. out itself stays as it is.
//
// r may be refused or never read.
func (f *Family) Announce(r *Request, out any, a Announcement) (answer any, changed bool) {
	p := f.parts(out)
	var fewer, fewerMulti bool
	p.headers, fewer = without(p.headers, owns)
	p.multi, fewerMulti = without(p.multi, owns)
	if added := a.headers(); len(added) > 0 {
		p = p.adding(added, r.answerIn)
	} else if !fewer && !fewerMulti {
		return out, false
	}
	return f.with(out, p), true
}

// Make makes a response, with its headers in the map in which the gateway of r looks. r may be
// refused or never read.
func (f *Family) Make(r *Request, status int, headers map[string]string, body string) any {
	return f.with(f.none, response{status: status, body: body}.adding(headers, r.answerIn))
}

// Announcement is what an answer says about itself.
type Announcement struct {
	// Expires is until when the answer is replayed. Zero means that it is not stored.
	Expires time.Time
	// Replayed says that the answer is a replay.
	Replayed bool
}

// replayMark is the value of the header that marks a replay.
const replayMark = "true"

func (a Announcement) headers() map[string]string {
	added := make(map[string]string, 2)
	if !a.Expires.IsZero() {
		added[httpfield.ExpiresHeader] = a.Expires.UTC().Format(httpfield.Date)
	}
	if a.Replayed {
		added[httpfield.Replayed] = replayMark
	}
	return added
}
