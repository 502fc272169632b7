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
	return f.fresh(response{status: status, body: body}.adding(headers, r.answerIn))
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
