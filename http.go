package idempotent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// HTTP configures an HTTP handler. A zero field means its default.
type HTTP struct {
	// Profile is what the other fields default to, and the form of problem documents. Default [ProfileIETF].
	Profile Profile

	// Header is the request header with the key. Default "Idempotency-Key". One that means something else, such as
	// "Authorization", is refused.
	Header string
	// MinKey and MaxKey bound the length of the key in that header, in characters. Default 1 and 255; neither is above 255.
	MinKey, MaxKey int
	// KeyFormat is a regular expression of package regexp that the whole key in that header must match, say [KeyUUID].
	// Clients that break it are told the expression. Default none.
	KeyFormat string
	// RequireKey names the methods that must carry a key. Default POST and PATCH; empty but not nil means none. Other
	// methods run unprotected without one. GET, HEAD and OPTIONS have no effect to protect: they always do, and cannot
	// be named here.
	RequireKey []string

	// RequireTenant refuses a request that carries a key, or must, with 401 if its caller cannot be identified, instead of
	// letting it share the scope of all such callers. What identifies a caller is listed at [WithHTTP]; the tenant of a
	// function with tenant isolation does so too. With [WithTenant] it changes nothing: that fails closed by itself, with
	// 500. Behind a load balancer, or a function URL that everybody may call, nobody can be identified: there it takes
	// [WithTenant].
	RequireTenant bool
	// FingerprintHeaders are request headers that the fingerprint covers besides method, path, query and body, say
	// "Accept-Language". Default none. Their values count in the order they were sent, and a missing header is not an empty
	// one. They must be the same in every retry, so the header of the key, and headers that carry credentials, times, ids or
	// addresses, are refused. Changing the list makes a retry of an earlier request a mismatch until its record expires.
	FingerprintHeaders []string

	// TimestampHeader and MaxRequestAge, given together, refuse a request that carries a key and whose timestamp in that
	// header is missing, has reached this age, or is more than a minute ahead of the clock, with 400. The timestamp is Unix
	// time in seconds, a time of RFC 3339, or an HTTP-date (Sun, 06 Nov 1994 08:49:37 GMT), and never part of the fingerprint.
	// It keeps a request that is sent again after its record expired from being executed again: the limit is at least one
	// second, and with that minute at most the retention. Default no limit.
	TimestampHeader string
	MaxRequestAge   time.Duration

	// InProgressStatus answers a request that meets a running one: 409, which is the default, 425 or 202. The last is no
	// error: the same members are then of type application/json.
	InProgressStatus int
	// MismatchStatus answers a key that was used for another request: 400, 409 or 422. Default 422, or 400 of
	// [ProfileStripe].
	MismatchStatus int
	// MaxRetryAfter caps the Retry-After header; at least one second, of which fractions do not count. Default no cap: a
	// client is told the time that the lease of the running request has left.
	MaxRetryAfter time.Duration

	// StoreStatus decides which responses are stored by their status, which is 200 to 599: without one of those, none is.
	// Default is the rule of the profile, see [WithHTTP]. It contradicts [WithStoreIf].
	StoreStatus func(status int) bool
	// StoreCookies stores Set-Cookie headers and cookies with the response, so that a replay sets them again. By default
	// they are left out of what is stored: a session must not be handed out twice.
	StoreCookies bool

	// ExpiresHeader is the response header that says until when the answer is replayed, as an HTTP-date. Default
	// "Idempotency-Key-Expires"; "-" sends none. One that means something else, such as "Expires", is refused.
	ExpiresHeader string
	// ProblemBase is what the type of a problem document begins with; the name of the problem follows as it is, say
	// "mismatch". It is a URI with the scheme http, https, urn or tag, say "https://api.example.com/problems#", or a relative
	// reference. Default is the page of this module that explains the problems.
	ProblemBase string
}

// WithHTTP configures an HTTP handler. On any other handler it is a configuration error.
//
// The rules follow the expired Internet-Draft draft-ietf-httpapi-idempotency-key-header-07 and, where it is silent, the
// Stripe API.
//
// # Events
//
// REST APIs, HTTP APIs with either payload format, function URLs and Application Load Balancers send them, each as its own
// type of package events; the types of an HTTP API with payload format 2.0 serve a function URL too, and find the same
// records. An event that is clearly of another kind than its type is refused. A load balancer reads either headers or
// multiValueHeaders of a response, as its target group is configured: what is added here goes where it is read.
//
// # Key
//
// The header is a structured string of RFC 9651 ("abc") or the bare text (abc); both are the same key, and
// parameters after it are ignored. A key has 1 to 255 printable ASCII characters, or what MinKey, MaxKey and KeyFormat ask
// for; a bare one holds no space, comma, semicolon, double quote or backslash, so UUIDs, base64 and URLs can be sent as they
// are. Upper and lower case count. Any other header is refused, and one that was sent more than once, be it with the same
// value: it is no list. Of a repeated header or query parameter a load balancer without multi-value headers passes on the
// last value only. GET, HEAD and OPTIONS run unprotected whatever they carry.
//
// # Scope
//
// A key counts for one caller, API, stage, method and route; behind a function URL for one caller, URL, method and path;
// behind a load balancer for one target group, method and path. Where the route is $default or ends in a greedy path
// variable, it counts for the path, as the event has it. Domain names do not count. The caller is the first of these that
// the gateway has established; request headers have no say in it:
//
//  1. iss and sub of a JWT or of a Cognito user pool; a token without sub identifies nobody
//  2. principalId of a Lambda authorizer, a string or an integer below 2^53; an HTTP API passes it on only if the authorizer
//     returns it in its context
//  3. the identity of a Cognito identity pool, which a function URL does not pass on
//  4. IAM account and user or role; all sessions of a role are one caller, be they of SSO, SAML or a web identity
//  5. the API key
//
// In a function with tenant isolation, the tenant of the invocation counts in addition. Client certificates are not looked
// at. A load balancer identifies nobody: it passes on x-amzn-oidc-identity from a rule that authenticates, and from any client
// where no rule does. If no request can reach the target group without being authenticated, return that header from
// [WithTenant], better after verifying the signature and the signer of x-amzn-oidc-data.
//
// All callers who cannot be identified share one scope, unless RequireTenant refuses them: without an authorizer, with one
// that does not say who they are, such as a Lambda authorizer that returns no principalId, and the users of an identity pool
// behind a function URL, who have one role and one session name. Whoever sends the same key with the same request then gets
// the stored response. Tell them apart with [WithTenant], also where an authorizer gives all of them one name.
//
// # Fingerprint
//
// It covers method, path, query and decoded body. A body whose media type is JSON (also with the suffix +json) or absent
// counts by value, with exact numbers; anything else, such as forms and multipart bodies, and what is not valid JSON, by
// its bytes. The order of query parameters counts only within one name. Of the headers, only FingerprintHeaders count.
//
// # Response
//
// Responses with a status of 200 to 499 are stored, except 401, 403, 408, 409, 423, 425 and 429; all others are left to the
// policy for errors, see [WithErrorPolicy], which by default releases the key. [ProfileStripe] stores 500 to 599 too. An
// error that the handler returns without a response is always left to the policies.
//
// Stored is status, headers, body and whether it is in base64, but not Set-Cookie (see StoreCookies), Date, headers of the
// connection, and the two headers below, which a handler may have got from another service. A replay is what was stored,
// and the header Idempotent-Replayed: true. It and the first answer carry Idempotency-Key-Expires, the date until which
// the key is replayed; without it, nothing was stored. What the handler returns under these two names is left out of every
// answer to a request with a key, so that they are never untrue. A request that runs unprotected gets what the handler
// returns, untouched.
//
// Whatever keeps the handler from running is answered by a problem document of RFC 9457; docs/problems.md explains each
// type. That includes an event without an HTTP method, which is one of another payload format or none of a gateway.
// docs/http.md is what the clients of an API have to know.
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
	if h.MinKey == 0 {
		h.MinKey = 1
	}
	if h.MaxKey == 0 {
		h.MaxKey = maxKey
	}
	if h.RequireKey == nil {
		h.RequireKey = []string{"POST", "PATCH"}
	}
	h.RequireKey = slices.Clone(h.RequireKey) // the caller may go on using the slice
	h.FingerprintHeaders = lowered(h.FingerprintHeaders)
	if h.InProgressStatus == 0 {
		h.InProgressStatus = 409
	}
	if h.MismatchStatus == 0 {
		h.MismatchStatus = h.Profile.mismatchStatus()
	}
	if h.ExpiresHeader == "" {
		h.ExpiresHeader = expiresHeader
	}
	if h.ProblemBase == "" {
		h.ProblemBase = problemBase
	}
	return h
}

func (h HTTP) validate() error {
	var errs []error
	switch {
	case h.Header != "" && !isToken(h.Header):
		errs = append(errs, fmt.Errorf("WithHTTP: Header %q is no header name", h.Header))
	case hasMeaning(h.Header):
		errs = append(errs, fmt.Errorf("WithHTTP: Header %q has another meaning", h.Header))
	}
	for _, m := range h.RequireKey {
		switch {
		case !isToken(m) || strings.ToUpper(m) != m:
			errs = append(errs, fmt.Errorf("WithHTTP: RequireKey: %q is no method in capitals", m))
		case neverProtected(m):
			errs = append(errs, fmt.Errorf("WithHTTP: RequireKey: %s has no effect to protect", m))
		}
	}
	errs = append(errs, h.validateKey()...)
	errs = append(errs, h.validateFingerprintHeaders()...)
	return joinProblems(append(errs, h.validateRequestAge(), h.validateAnswers())...)
}

// checkHTTP finds what contradicts other options.
func (c *config) checkHTTP(p *problems) {
	if c.user.storeIf != nil && c.http.StoreStatus != nil {
		p.addf("WithStoreIf and WithHTTP: StoreStatus contradict each other: one of them decides what is stored")
	}
	if longest := c.retention - clockSkew; c.http.MaxRequestAge > max(longest, 0) {
		p.addf("WithHTTP: MaxRequestAge %v is more than %v, the retention less %v of clock skew: an old request would be executed "+
			"again after its record expired", c.http.MaxRequestAge, longest, clockSkew)
	}
}

func neverProtected(method string) bool {
	return method == "GET" || method == "HEAD" || method == "OPTIONS"
}

// httpShape is that of HTTP handlers.
type httpShape[In, Out any] struct {
	*config
	functions functions[In, Out]
	family    family[In, Out]
	keys      keyRules
	// names are those of the headers that requests are looked at for, plan reads these requests. It may be nil.
	names []string
	plan  *eventPlan
}

func newHTTPShape[In, Out any](c *config, f functions[In, Out], kind family[In, Out]) *httpShape[In, Out] {
	names := c.http.looksAt()
	return &httpShape[In, Out]{
		config: c, functions: f, family: kind, keys: c.http.keyRules(), names: names, plan: kind.plan(names),
	}
}

// What meets events of another kind, which decode into a request all the same: they would run unprotected, or under the
// scope of any route.
var (
	errNoMethod      = errors.New("the event has no HTTP method; is it one of another payload format, or none of a gateway?")
	errNoAPI         = errors.New("the event has neither API nor resource; is it one of a load balancer (events.ALBTargetGroupRequest)?")
	errNoTargetGroup = errors.New("the event has no target group; is it one of a REST API (events.APIGatewayProxyRequest)?")
	errHTTPAPI       = errors.New("the event is of no function URL; is it one of an HTTP API (events.APIGatewayV2HTTPRequest)?")
)

func (s *httpShape[In, Out]) prepare(ctx context.Context, src *source[In]) (*request, error) {
	r := &src.http
	if err := s.read(src, &r.event); err != nil {
		return nil, err
	}
	s.family.request(r)
	defer func() { r.event.body = nil }() // it may be large, and answers do not need it
	switch {
	case r.refusal != nil:
		return nil, &RefusedError{Operation: s.operation, Source: "WithHTTP", Err: r.refusal}
	case r.method == "":
		return nil, &RefusedError{Operation: s.operation, Source: "WithHTTP", Err: errNoMethod}
	case neverProtected(r.method):
		return nil, nil //nolint:nilnil // no request: no protection
	}
	key, keyErr := s.key(src, r)
	if key == "" && keyErr == nil {
		return nil, nil //nolint:nilnil // as above
	}
	// Before the key: who is not known is not told what is wrong with it.
	if err := s.requireTenant(ctx, r); err != nil {
		return nil, err
	}
	if keyErr != nil {
		return nil, keyErr
	}
	if err := s.requestAge(r); err != nil {
		return nil, err
	}
	if s.powertools != nil {
		return powertoolsRequest(s.config, key, src)
	}
	who, err := s.caller(ctx, src, r)
	if err != nil {
		return nil, err
	}
	h := s.newHash("record key")
	r.scope(h, tenantID(ctx), who, key)
	req := &r.protected
	req.recordKey = recordKey(s.operation, h)
	req.fingerprint, err = chosenFingerprint(s.config, s.functions, src)
	if req.fingerprint == "" && err == nil {
		h.Reset("fingerprint")
		req.fingerprint = r.fingerprint(h, s.http.FingerprintHeaders)
	}
	return req, err
}

// read reads what counts of an event from its JSON, or from the decoded event where that has no easy answer.
func (s *httpShape[In, Out]) read(src *source[In], e *httpEvent) error {
	if !src.decoded && s.plan.scan(src.payload, e) {
		return nil
	}
	in, err := src.event()
	if err == nil {
		*e = s.family.event(in, s.names)
	}
	return err
}

// sourceHeader stands before the name of a header where an error says what it is about.
const sourceHeader = "header "

// key is empty without an error if the request carries none and needs none.
func (s *httpShape[In, Out]) key(src *source[In], r *httpRequest) (string, error) {
	needed := !s.optionalKey && slices.Contains(s.http.RequireKey, r.method)
	if s.functions.key != nil || s.keyPath != nil || s.powertools != nil {
		c := *s.config
		c.optionalKey = !needed // here the method has a say
		return chosenKey(&c, s.functions, src)
	}
	values := r.event.headers.of(s.http.Header)
	switch {
	case len(values) == 0 && needed:
		return "", &MissingKeyError{Operation: s.operation, Source: sourceHeader + s.http.Header}
	case len(values) == 0:
		return "", nil
	}
	key, err := s.keys.read(values)
	if err != nil {
		return "", &InvalidKeyError{
			Operation: s.operation, Source: sourceHeader + s.http.Header, Reason: err.Error(), Err: err,
		}
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
