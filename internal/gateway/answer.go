package gateway

import (
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/internal/httpfield"
)

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

// owned are the response headers that only this module sets, sorted as encoding/json sorts names. A
// handler may have passed on the response of another service that uses this module.
var owned = [maxAdded]string{httpfield.ExpiresHeader, httpfield.Replayed}

func owns(name string) bool { return httpfield.IsOneOf(owned[:], name) }

// Announce adds an announcement to a response, in the header map in which the gateway looks.
// Headers of the same names that the response has give way, also if the announcement adds nothing:
// they speak of the answer of another service. changed is false if answer is out. out itself stays
// as it is.
//
// r may be refused or never read.
func (f *Family) Announce(r *Request, out any, a Announcement) (answer any, changed bool) {
	p := f.parts(out)
	var fewer, fewerMulti bool
	p.headers, fewer = without(p.headers, owns)
	p.multi, fewerMulti = without(p.multi, owns)
	if room, n := added(a); n > 0 {
		headers := make(map[string]string, n)
		for _, h := range room[:n] {
			headers[h.name] = h.value()
		}
		p = p.adding(headers, r.answerIn)
	} else if !fewer && !fewerMulti {
		return out, false
	}
	return f.with(out, p), true
}

// added returns the headers of an announcement, and how many there are. They are sorted by name, as
// encoding/json sorts them.
func added(a Announcement) (headers [maxAdded]addedHeader, n int) {
	if !a.Expires.IsZero() {
		headers[n] = addedHeader{name: httpfield.ExpiresHeader, expires: a.Expires}
		n++
	}
	if a.Replayed {
		headers[n] = addedHeader{name: httpfield.Replayed}
		n++
	}
	return headers, n
}

// Make makes a response, with its headers in the map in which the gateway of r looks. r may be
// refused or never read.
func (f *Family) Make(r *Request, status int, headers map[string]string, body string) any {
	return f.fresh(response{status: status, body: body}.adding(headers, r.answerIn))
}

// Announcement is what an answer says about itself.
type Announcement struct {
	// Expires is until when the answer is replayed. Zero means that it is not stored.
	Expires time.Time
	// Replayed says that the answer is a replay.
	Replayed bool
}

// maxAdded is how many headers an announcement has: the mark of a replay, and the expiry.
const maxAdded = 2

// addedHeader is the expiry if it has a time, and the mark of a replay if not. Nothing in either has to be escaped in JSON.
type addedHeader struct {
	name    string
	expires time.Time
}

// replayMark is the value of the header that marks a replay.
const replayMark = "true"

func (h addedHeader) value() string {
	if h.expires.IsZero() {
		return replayMark
	}
	return h.expires.UTC().Format(httpfield.Date)
}

func (h addedHeader) appendTo(dst []byte, multi bool) []byte {
	dst = append(append(append(dst, '"'), h.name...), `":`...)
	if multi {
		dst = append(dst, '[')
	}
	dst = append(dst, '"')
	if h.expires.IsZero() {
		dst = append(dst, replayMark...)
	} else {
		dst = h.expires.UTC().AppendFormat(dst, httpfield.Date)
	}
	dst = append(dst, '"')
	if multi {
		dst = append(dst, ']')
	}
	return dst
}
