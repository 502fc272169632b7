package idempotent

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/gateway"
	"github.com/go-idempotent/idempotent/internal/httpfield"
	"github.com/go-idempotent/idempotent/jmespath"
	"github.com/go-idempotent/idempotent/store"
)

type httpShape struct {
	keys    *keys
	http    HTTP
	routes  *gateway.Routes
	gateway *gateway.Family
	out     reflect.Type
	now     func() time.Time
}

// neverProtected are the methods that have no effect, with what is said of their requests.
var neverProtected = map[string]string{
	"GET":     "the method GET is never protected",
	"HEAD":    "the method HEAD is never protected",
	"OPTIONS": "the method OPTIONS is never protected",
}

func (s *httpShape) identify(ctx context.Context, src *source) (request, error) {
	r := new(gateway.Request)
	src.http = r
	if src.decoded || !s.gateway.Scan(src.payload, r) {
		in, err := src.event()
		if err == nil && !s.gateway.Read(in, r) {
			_, err = src.encoded() // says what of it has no JSON form
		}
		if err != nil {
			return request{}, err
		}
	}
	defer r.Forget()
	if r.Refusal != nil {
		return request{}, s.keys.refused("WithHTTP", r.Refusal)
	}
	if src.observed {
		src.route = s.routes.Of(r)
	}
	if reason := neverProtected[r.Method]; reason != "" && !s.keys.selects {
		return request{unprotected: reason}, nil
	}
	if s.http.Protect != nil && !s.http.protects(r) {
		return request{unprotected: "the function of HTTP.Protect leaves this method and path unprotected"}, nil
	}
	key, keyErr := s.key(src)
	if key == "" && keyErr == nil {
		return request{}, nil
	}
	// A caller who is not identified is not told what is wrong with the key.
	if err := s.requireTenant(ctx, r); err != nil {
		return request{}, err
	}
	if keyErr != nil {
		return request{}, keyErr
	}
	if s.http.TimestampHeader != "" {
		if err := s.requestAge(r); err != nil {
			return request{}, err
		}
	}
	if s.keys.records != nil {
		return s.keys.sharedRequest(key, src)
	}
	who, err := s.keys.caller(ctx, src)
	if err != nil {
		return request{}, err
	}
	h := s.keys.newHash("record key")
	r.Scope(h, tenantID(ctx), who, key, s.keys.selects)
	req := request{recordKey: recordKey(s.keys.operation, h)}
	h.Reset("fingerprint")
	if !s.keys.selectsFingerprint {
		req.fingerprint = r.Fingerprint(h, s.http.FingerprintHeaders, s.keys.exactNames)
		return req, nil
	}
	// /accounts/1 and /accounts/2 behind one route are two requests, whatever an option selects.
	r.Endpoint(h, s.http.FingerprintHeaders)
	if err := s.keys.addSelected(h, src); err != nil {
		return request{}, err
	}
	req.fingerprint = h.Text()
	return req, nil
}

func (s *httpShape) key(src *source) (string, error) {
	r := src.http
	needed := !s.keys.optionalKey && (s.keys.records != nil || slices.Contains(s.http.RequireKey, r.Method))
	if s.keys.selects {
		key, err := s.keys.selected(src, needed)
		if err != nil && s.lacksKey(r, err) {
			return "", nil
		}
		return key, err
	}
	values := r.Header(s.http.Header)
	if len(values) == 0 {
		return "", s.keys.missing(sourceHeader+s.http.Header, needed)
	}
	key, err := httpfield.ReadKey(values, s.http.CheckKey)
	if err != nil {
		return "", s.keys.invalid(sourceHeader+s.http.Header, err.Error(), err)
	}
	return key, nil
}

// lacksKey reports whether a request has no key because a function of the expression found no body
// to work on. Whatever else is wrong is refused, or a client could choose to be unprotected.
func (s *httpShape) lacksKey(r *gateway.Request, err error) bool {
	if s.keys.records != nil || neverProtected[r.Method] == "" || r.HasBody() {
		return false
	}
	failed, ok := errors.AsType[*jmespath.Error](err)
	return ok && failed.Nothing
}

// requireTenant refuses a caller whom an authorizer let in without a usable name, because those
// must not share a scope, and, on demand, one whom nothing identifies. A function of [WithTenant]
// refuses by itself. Keys that another program shares have no callers.
func (s *httpShape) requireTenant(ctx context.Context, r *gateway.Request) error {
	var reason string
	switch {
	case s.keys.tenant != nil || s.keys.records != nil:
		return nil
	case r.Caller.Unusable():
		reason = "the authorizer gave it no name that tells callers apart"
	case s.http.RequireTenant && r.Caller.Anonymous() && tenantID(ctx) == "":
		reason = "there is no authorizer"
	default:
		return nil
	}
	return &Error{Kind: ErrMissingTenant, Operation: s.keys.operation, Reason: reason}
}

// requestAge refuses a request whose record may have expired: it would be executed again.
func (s *httpShape) requestAge(r *gateway.Request) error {
	name := s.http.TimestampHeader
	if reason := s.http.staleness(r.Header(name), s.now()); reason != "" {
		return &Error{Kind: ErrStaleRequest, Operation: s.keys.operation, Field: sourceHeader + name, Reason: reason}
	}
	return nil
}

// staleness says what is wrong with "the timestamp", which begins the sentence, without quoting it.
func (h HTTP) staleness(values []string, now time.Time) string {
	switch len(values) {
	case 0:
		return "is missing"
	case 1:
	default:
		return "was sent more than once"
	}
	at, ok := httpfield.ParseTimestamp(strings.Trim(values[0], " \t"))
	switch {
	case !ok:
		return "is neither Unix time in seconds, nor a time of RFC 3339, nor an HTTP-date, or was sent more than once"
	case store.Reached(at.Add(h.MaxRequestAge), now):
		return "is " + httpfield.Seconds(h.MaxRequestAge) + " old or older"
	case !store.Reached(at, now.Add(clockSkew)):
		return "is more than " + httpfield.Seconds(clockSkew) + " ahead of the clock"
	default:
		return ""
	}
}

// answers accepts a response also beside a marked error, or a noted one. An empty response is none.
func (s *httpShape) answers(a *answer) bool {
	a.announces = s.gateway.Announces(a.out)
	if a.err == nil {
		return true
	}
	beside := execution.MarkOf(a.err) != execution.Unmarked || execution.StandsBeside(a.err)
	return beside && s.gateway.Status(a.out) != 0
}

// keeps does not store an answer after which a retry may succeed: the client was not let in, came
// too early or too often, met a conflict that passes, or the server failed (no valid status).
func (s *httpShape) keeps(out any) bool {
	switch status := s.gateway.Status(out); status {
	case 401, 403, 408, 409, 423, 425, 429:
		return false
	default:
		return status >= 200 && status < 500
	}
}

func (s *httpShape) untouched(out any) bool {
	status := s.gateway.Status(out)
	return status == 401 || status == 403 || status == 429
}

func (s *httpShape) stored(a *answer) (text []byte, err error) {
	out, changed := s.gateway.Storable(a.out)
	if text, err = a.text, a.textErr; changed || !a.wire {
		text, err = encodeJSON(out)
	}
	return text, err
}

// present announces the answer, if it can without decoding its text.
func (s *httpShape) present(src *source, a *answer, p presentation) error {
	added := gateway.Announcement{Replayed: p.replayed, Expires: p.expires}
	text := a.text
	if p.stored {
		text = p.text
	}
	if a.wire && (p.sealed || !p.stored && !a.announces) {
		if spliced, ok := s.gateway.Splice(text, added); ok {
			a.given, a.text, a.textErr = true, spliced, nil
			return nil
		}
	}
	out := a.out
	if p.stored || a.shed {
		stored, err := decodeResult(text, s.out)
		if err != nil {
			return err
		}
		out = stored
	}
	if out, changed := s.gateway.Announce(src.http, out, added); changed || p.stored {
		a.give(out)
	}
	return nil
}

func (s *httpShape) refuse(src *source, err error) (out any, _ error) {
	refused, ok := err.(*Error) //nolint:errorlint // an error that wraps one of this package is somebody else's
	if !ok || problemKinds[refused.Kind].status == 0 {
		return nil, err
	}
	status, body, encodeErr := s.http.problem(src.http, refused)
	if encodeErr != nil {
		return nil, errors.Join(err, encodeErr)
	}
	return s.gateway.Make(src.http, status, problemHeaders(refused), body), nil
}

// protects asks about every path that a router may take for the one of the request: nobody gets
// around the protection by another spelling.
func (h HTTP) protects(r *gateway.Request) bool {
	return slices.ContainsFunc(r.Paths(), func(path string) bool { return h.Protect(r.Method, path) })
}
