package idempotent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// HTTP configures an HTTP handler. A zero field means its default.
type HTTP struct {
	// Header is the request header with the key. Default "Idempotency-Key".
	Header string
	// RequireKey names the methods that must carry a key. Default POST and PATCH; empty but not nil means none. Other
	// methods run unprotected without one. GET, HEAD and OPTIONS have no effect to protect: they always do, and cannot
	// be named here.
	RequireKey []string
	// InProgressStatus answers a request that meets a running one. Default 409, allowed is 400 to 599.
	InProgressStatus int
	// StoreCookies stores Set-Cookie headers and cookies with the response, so that a replay sets them again. By default
	// they are left out of what is stored: a session must not be handed out twice.
	StoreCookies bool
}

// WithHTTP configures an HTTP handler. On any other handler it is a configuration error.
//
// The rules follow the expired Internet-Draft draft-ietf-httpapi-idempotency-key-header-07 and, where it is silent, the
// Stripe API.
//
// # Key
//
// The header is a structured string of RFC 9651 ("abc") or the bare text (abc); both are the same key, and
// parameters after it are ignored. A key has 1 to 255 printable ASCII characters; a bare one holds no space, comma,
// semicolon, double quote or backslash, so UUIDs, base64 and URLs can be sent as they are. Any other header, and one
// that was sent twice, is refused. GET, HEAD and OPTIONS run unprotected whatever they carry.
//
// # Scope
//
// A key counts for one caller, API, stage, method and route. Where the route is $default or ends in a greedy path
// variable, it counts for the path. The caller is the first of these that the gateway has established; request
// headers have no say in it:
//
//  1. iss and sub of a JWT or of a Cognito user pool
//  2. principalId of a Lambda authorizer; an HTTP API passes it on only if the authorizer returns it in its context
//  3. the identity of a Cognito identity pool
//  4. IAM account and user or role; all sessions of a role are one caller
//  5. the API key
//
// In a function with tenant isolation, the tenant of the invocation counts in addition. Client certificates are not looked
// at.
//
// All callers whom nothing names share one scope: without an authorizer, and with one that names nobody, such as a Lambda
// authorizer that returns no principalId. Whoever sends the same key with the same request then gets the stored
// response. Name them with [WithTenant], also where an authorizer names everybody alike.
//
// # Fingerprint
//
// It covers method, path, query and decoded body. A body whose media type is JSON or absent counts by value, with exact
// numbers; anything else, and what is not valid JSON, by its bytes. The order of query parameters counts only within one
// name. Other headers do not count.
//
// # Response
//
// Responses with a status of 200 to 499 are stored, except 401, 403, 408, 409, 423, 425 and 429; all others release the
// key. Set-Cookie (see StoreCookies), Date and headers of the connection are not stored. Replays carry the header
// Idempotent-Replayed: true. Whatever keeps the handler from running is answered by a problem document of RFC 9457;
// docs/problems.md explains each type. That includes an event without an HTTP method, which is one of another payload
// format or none of a gateway.
func WithHTTP(h HTTP) Option {
	return optionFunc(func(c *config) error {
		c.http, c.httpSet = h.withDefaults(), true
		return h.validate()
	})
}

func (h HTTP) withDefaults() HTTP {
	if h.Header == "" {
		h.Header = "Idempotency-Key"
	}
	if h.RequireKey == nil {
		h.RequireKey = []string{"POST", "PATCH"}
	}
	h.RequireKey = slices.Clone(h.RequireKey) // the caller may go on using the slice
	if h.InProgressStatus == 0 {
		h.InProgressStatus = 409
	}
	return h
}

func (h HTTP) validate() error {
	var errs []error
	if h.Header != "" && !isToken(h.Header) {
		errs = append(errs, fmt.Errorf("WithHTTP: Header %q is no header name", h.Header))
	}
	for _, m := range h.RequireKey {
		switch {
		case !isToken(m) || strings.ToUpper(m) != m:
			errs = append(errs, fmt.Errorf("WithHTTP: RequireKey: %q is no method in capitals", m))
		case neverProtected(m):
			errs = append(errs, fmt.Errorf("WithHTTP: RequireKey: %s has no effect to protect", m))
		}
	}
	if s := h.InProgressStatus; s != 0 && (s < 400 || s > 599) {
		errs = append(errs, fmt.Errorf("WithHTTP: InProgressStatus %d is not 400 to 599", s))
	}
	return joinProblems(errs...)
}

func neverProtected(method string) bool {
	return method == "GET" || method == "HEAD" || method == "OPTIONS"
}

// httpShape is that of HTTP handlers.
type httpShape[In, Out any] struct {
	*config
	functions functions[In, Out]
	family    family[In, Out]
}

// errNoMethod meets events of another payload format, which decode into an empty request: they would run unprotected,
// or under the scope of any route.
var errNoMethod = errors.New("the event has no HTTP method; is it one of another payload format, or none of a gateway?")

func (s *httpShape[In, Out]) prepare(ctx context.Context, src *source[In]) (*request, error) {
	in, err := src.event()
	if err != nil {
		return nil, err
	}
	r := s.family.request(in)
	switch {
	case r.method == "":
		return nil, &RefusedError{Operation: s.operation, Source: "WithHTTP", Err: errNoMethod}
	case neverProtected(r.method):
		return nil, nil //nolint:nilnil // no request: no protection
	}
	key, err := s.key(src, r)
	if key == "" || err != nil {
		return nil, err
	}
	who, err := s.caller(ctx, src, r)
	if err != nil {
		return nil, err
	}
	h := s.newHash("record key")
	r.scope(h, tenantID(ctx), who, key)
	req := &request{recordKey: recordKey(s.operation, h)}
	req.fingerprint, err = chosenFingerprint(s.config, s.functions, src)
	if req.fingerprint == "" && err == nil {
		req.fingerprint = r.fingerprint(s.newHash("fingerprint"))
	}
	return req, err
}

// key is empty without an error if the request carries none and needs none.
func (s *httpShape[In, Out]) key(src *source[In], r httpRequest) (string, error) {
	needed := !s.optionalKey && slices.Contains(s.http.RequireKey, r.method)
	if s.functions.key != nil || s.keyPath != nil {
		c := *s.config
		c.optionalKey = !needed // here the method has a say
		return chosenKey(&c, s.functions, src)
	}
	source := "header " + s.http.Header
	values := r.headers[strings.ToLower(s.http.Header)]
	switch {
	case len(values) == 0 && needed:
		return "", &MissingKeyError{Operation: s.operation, Source: source}
	case len(values) == 0:
		return "", nil
	}
	key, err := parseKey(values)
	if err != nil {
		return "", &InvalidKeyError{Operation: s.operation, Source: source, Reason: err.Error(), Err: err}
	}
	return key, nil
}

// isToken reports whether s is a token of RFC 9110, section 5.6.2: a header name or a method.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		alphanumeric := c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !alphanumeric && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}
