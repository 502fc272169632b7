package gateway

import (
	"bytes"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/internal/httpfield"
)

// response holds the parts that the responses of all families have. Its maps and slices belong to
// the handler, which may return one map with every response: replace them, never modify them.
type response struct {
	status  int
	headers map[string]string
	multi   map[string][]string
	cookies []string
	body    string
}

// partsOf takes a response of any family apart. What is no response has no parts.
func partsOf(out any) response {
	if v := reflect.ValueOf(out); v.Kind() == reflect.Pointer && !v.IsNil() {
		out = v.Elem().Interface()
	}
	switch r := out.(type) {
	case events.APIGatewayV2HTTPResponse:
		return response{r.StatusCode, r.Headers, r.MultiValueHeaders, r.Cookies, r.Body}
	case events.LambdaFunctionURLResponse:
		return response{r.StatusCode, r.Headers, nil, r.Cookies, r.Body}
	case events.APIGatewayProxyResponse:
		return response{r.StatusCode, r.Headers, r.MultiValueHeaders, nil, r.Body}
	case events.ALBTargetGroupResponse:
		return response{r.StatusCode, r.Headers, r.MultiValueHeaders, nil, r.Body}
	}
	return response{}
}

// in returns a copy of out with the parts of r, and with the description of another status, such as
// "409 Conflict". What is no response stays as it is.
func (r response) in(out any) any {
	if v := reflect.ValueOf(out); v.Kind() == reflect.Pointer && !v.IsNil() {
		made := reflect.New(v.Type().Elem())
		made.Elem().Set(reflect.ValueOf(r.in(v.Elem().Interface())))
		return made.Interface()
	}
	switch o := out.(type) {
	case events.APIGatewayV2HTTPResponse:
		o.StatusCode, o.Headers, o.MultiValueHeaders = r.status, r.headers, r.multi
		o.Cookies, o.Body = r.cookies, r.body
		return o
	case events.LambdaFunctionURLResponse:
		o.StatusCode, o.Headers, o.Cookies, o.Body = r.status, r.headers, r.cookies, r.body
		return o
	case events.APIGatewayProxyResponse:
		o.StatusCode, o.Headers, o.MultiValueHeaders, o.Body = r.status, r.headers, r.multi, r.body
		return o
	case events.ALBTargetGroupResponse:
		if o.StatusCode != r.status {
			phrase := http.StatusText(r.status)
			if r.status == http.StatusUnprocessableEntity {
				phrase = "Unprocessable Content" // as RFC 9110 calls it
			}
			o.StatusDescription = strconv.Itoa(r.status) + " " + phrase
		}
		o.StatusCode, o.Headers, o.MultiValueHeaders, o.Body = r.status, r.headers, r.multi, r.body
		return o
	}
	return out
}

// headerMap says in which of the two header maps of a response the gateway looks: headers, with one
// value of each header, or multiValueHeaders, with several.
type headerMap int

const (
	// What is added to headers arrives if the other map has no header of that name: a REST API
	// merges both maps, an HTTP API and a function URL know headers alone.
	eitherMap headerMap = iota
	// A load balancer looks in one map only, and ignores the other.
	singleMap
	multiMap
)

// adding returns r with more headers, in the map in which the gateway looks. r must not have
// headers of these names in either map. The map of headers is the caller's no longer. If the target
// group was configured otherwise when r was stored, the headers of r move to that map.
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
	r.headers = headers
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

// singleOf joins the values of each header with commas (RFC 9110, section 5.3), but of cookies,
// which cannot be joined, it keeps the last one.
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

// drop returns r without some headers, and whether it had any.
func (r response) drop(dropped func(name string) bool) (kept response, fewer bool) {
	for name := range r.headers {
		fewer = fewer || dropped(name)
	}
	for name := range r.multi {
		fewer = fewer || dropped(name)
	}
	if fewer {
		r.headers, r.multi = maps.Clone(r.headers), maps.Clone(r.multi)
		maps.DeleteFunc(r.headers, func(name, _ string) bool { return dropped(name) })
		maps.DeleteFunc(r.multi, func(name string, _ []string) bool { return dropped(name) })
	}
	return r, fewer
}

// connectionOptions are the names of headers that the Connection header says belong to the
// connection. As in a request, if multi has values of it, these are all of them.
func (r response) connectionOptions() (names []string) {
	var lists []string
	for header, values := range r.multi {
		if strings.EqualFold(header, httpfield.Connection) {
			lists = append(lists, values...)
		}
	}
	if lists == nil {
		for header, value := range r.headers {
			if strings.EqualFold(header, httpfield.Connection) {
				lists = append(lists, value)
			}
		}
	}
	for _, list := range lists {
		for name := range strings.SplitSeq(list, ",") {
			names = append(names, strings.Trim(name, " \t"))
		}
	}
	return names
}

// Status returns the status of a response, and 0 if there is no response.
func (f *Family) Status(out any) int { return partsOf(out).status }

// Storable returns a response without the headers and cookies that must not be replayed: those of
// one connection, of one moment and of one client, and those that this module sets itself. changed
// is false if there are none; then stored is out. out stays as it is.
func (f *Family) Storable(out any) (stored any, changed bool) {
	all := partsOf(out)
	named := all.connectionOptions()
	r, fewer := all.drop(func(name string) bool {
		return strings.EqualFold(name, httpfield.DateHeader) || strings.EqualFold(name, httpfield.SetCookie) ||
			httpfield.IsConnection(name) || owns(name) || httpfield.IsOneOf(named, name)
	})
	if !fewer && len(r.cookies) == 0 {
		return out, false
	}
	r.cookies = nil
	return r.in(out), true
}

func owns(name string) bool {
	return strings.EqualFold(name, httpfield.ExpiresHeader) || strings.EqualFold(name, httpfield.Replayed)
}

// Announces reports whether a response already has a header of an announcement. Another service
// that uses this module, too, has set it.
func (f *Family) Announces(out any) bool {
	_, announces := partsOf(out).drop(owns)
	return announces
}

// Announce adds an announcement to a response, in the header map in which the gateway of r looks.
// Headers of the same names give way, also if the announcement adds nothing. changed is false if
// answer is out. out stays as it is. r may be refused or never read.
func (f *Family) Announce(r *Request, out any, a Announcement) (answer any, changed bool) {
	p, fewer := partsOf(out).drop(owns)
	if added := a.headers(); len(added) > 0 {
		p = p.adding(added, r.answerIn)
	} else if !fewer {
		return out, false
	}
	return p.in(out), true
}

// Make makes a response, with its headers in the map in which the gateway of r looks. The map of
// headers is the caller's no longer. r may be refused or never read.
func (f *Family) Make(r *Request, status int, headers map[string]string, body string) any {
	return response{status: status, body: body}.adding(headers, r.answerIn).in(f.none)
}

// Announcement is what an answer says about itself.
type Announcement struct {
	Expires  time.Time // until when the answer is replayed; zero if it is not stored
	Replayed bool      // the answer is a replay
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

const small = 1 << 10 // below it, a copy costs less than room that most results do not need

// Room returns the capacity with which a text of this size needs no copy in [Family.Splice].
func Room(size int) int {
	if size < small {
		return size
	}
	return size + maxAnnounced
}

// Splice adds an announcement as [Family.Announce] does, but to the JSON of a response, and without
// reading it: the headers stand at its beginning. The text is the caller's no longer: where there
// is room, it becomes the answer. The caller vouches that text is what encoding/json, without
// escaping HTML, makes of a response of any family, without a header that an announcement replaces.
//
// Splice reports false, and leaves text and the work to Announce, if the announcement adds nothing,
// if the response is one of another family, and for a load balancer, which reads the headers in
// either of two maps.
func (f *Family) Splice(text []byte, a Announcement) (answer []byte, ok bool) {
	const begin, status, headers = `{"statusCode":`, `200`, `,"headers":`
	const size = len(begin) + len(status) + len(headers)
	ended := func(end string) bool { return bytes.HasSuffix(text, []byte(end)) }
	if !a.Replayed && a.Expires.IsZero() || len(text) < size || !slices.ContainsFunc(f.ends, ended) ||
		!bytes.HasPrefix(text, []byte(begin)) || !bytes.HasSuffix(text[:size], []byte(headers)) {
		return nil, false
	}
	added := append(make([]byte, 0, maxAnnounced), '{') // nothing in it has to be escaped
	if !a.Expires.IsZero() {
		added = append(added, `"`+httpfield.ExpiresHeader+`":"`...)
		added = append(a.Expires.UTC().AppendFormat(added, httpfield.Date), `",`...)
	}
	if a.Replayed {
		added = append(added, `"`+httpfield.Replayed+`":"`+replayMark+`",`...)
	}
	last, end := len(added)-1, size+len("{") // the comma, and the end of what the announcement replaces
	switch rest := text[size:]; {
	case bytes.HasPrefix(rest, []byte("null,")):
		added[last], end = '}', size+len("null")
	case bytes.HasPrefix(rest, []byte("{}")):
		added = added[:last]
	case rest[0] != '{':
		return nil, false
	}
	if cap(text) < len(text)+len(added) {
		text = append(make([]byte, 0, len(text)+len(added)), text...)
	}
	return slices.Replace(text, size, end, added...), true
}

// maxAnnounced is about the most that an announcement adds to a text.
const maxAnnounced = len(`{`) + 2*len(`"":"",`) + len(httpfield.Replayed) + len(replayMark) +
	len(httpfield.ExpiresHeader) + len(httpfield.Date)
