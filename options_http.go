package idempotent

import (
	"slices"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/internal/httpfield"
	"github.com/go-idempotent/idempotent/internal/setup"
)

// WithHTTP configures an HTTP handler. On any other handler it is a configuration error. The rules
// follow the expired Internet-Draft draft-ietf-httpapi-idempotency-key-header-07 and, where it is
// silent, the Stripe API.
//
// # Events
//
// HTTP requests come from REST APIs, from HTTP APIs with either payload format, from function URLs
// and from Application Load Balancers. Package events has its own types for each of them. The types
// of an HTTP API with payload format 2.0 serve a function URL too, and find the same records. An
// event that is clearly of another kind than the handler's type is refused. What this module adds
// goes into headers or multiValueHeaders, as the target group of a load balancer reads them.
//
// # Key
//
// The header holds a structured string of RFC 9651 ("abc") or the bare text (abc). Both are the
// same key. Parameters after a string are ignored. A key has 1 to 255 printable ASCII characters;
// CheckKey can ask for more. A bare key holds no space, comma, semicolon, double quote or
// backslash, so UUIDs, base64 and URLs can be sent as they are. Upper and lower case differ.
//
// Any other header is refused, and so is one that was sent more than once, even with equal values,
// because a key is no list. A load balancer without multi-value headers is the exception: it passes
// on only the last value of a repeated header or query parameter.
//
// GET, HEAD and OPTIONS run unprotected, whatever header they carry. A key that [WithKey],
// [WithKeyPath] or [WithPowertools] finds protects them. [HTTP.Protect] takes others out.
//
// # Scope
//
// A key in the header counts for one caller, API, stage, method and route. Behind a function URL
// the URL stands for API and stage, behind a load balancer the target group does. There the path
// stands for the route, and also where that is $default or ends in a greedy path variable. A key
// that [WithKey] or [WithKeyPath] finds counts for one caller, API and stage, whatever the method,
// route and path. Domain names do not count.
//
// The caller is the first of these that the gateway, and no request header, has established:
//
//  1. iss and sub of a JWT or of a Cognito user pool
//  2. principalId of a Lambda authorizer, a string or an integer below 2^53; an HTTP API passes it
//     on only if the authorizer returns it in its context
//  3. the identity of a Cognito identity pool, which a function URL does not pass on
//  4. IAM account and user or role. All sessions of a role are one caller, except where the session
//     is a person: in the roles of IAM Identity Center (AWSReservedSSO_…), and where its name is an
//     e-mail address, as providers of SAML and OIDC give it. No event tells other people apart who
//     share a federated role
//  5. the API key
//
// A caller whom an authorizer let in without such a name is refused with 401, if the request
// carries a key or must carry one:
//
//   - a token without sub
//   - a Lambda authorizer without a principalId, or with one that is neither a string nor an
//     integer below 2^53
//   - IAM without a user, and a role of IAM Identity Center without a session
//   - a name that holds U+FFFD, which stands for characters that could not be decoded
//   - the users of an identity pool behind a function URL, who have one role and one session name
//
// [WithTenant] tells such callers apart, and those to whom an authorizer gives one name.
//
// In a function with tenant isolation, the tenant of the invocation counts in addition. Client
// certificates do not count. A load balancer identifies nobody: where no rule of it authenticates,
// any client can send the header x-amzn-oidc-identity. If every request to the target group has
// been authenticated, return that header from [WithTenant]; verify the signature and the signer of
// x-amzn-oidc-data before, if you can.
//
// Callers whom nothing identifies, such as those of a route without an authorizer, share one scope,
// unless RequireTenant refuses them with 401: whoever of them sends the same key with the same
// request gets the stored response.
//
// # Fingerprint
//
// The fingerprint covers method, path, query and decoded body. A body counts by its value, with
// exact numbers, if it is valid JSON and its media type is JSON (also with the suffix +json) or
// absent. Any other body counts by its bytes, also JSON with names that differ only in case, see
// [WithExactNames]. The order of query parameters counts only among those of one name. Of the
// headers, only FingerprintHeaders count. [WithFingerprint] and [WithFingerprintPath] replace query
// and body.
//
// # Response
//
// A response with a status of 200 to 499 is stored, except 401, 403, 408, 409, 423, 425 and 429.
// For any other response the key is released, or, under [Unrepeatable], its record becomes UNKNOWN.
// After a 401, 403 or 429 without a marked error beside it, the key is always released: nothing has
// happened. [WithStoreIf] replaces this rule. For an error without a response, [WithEffects]
// decides. A handler that returns no errors, such as an http.Handler, notes them with [Mark].
//
// Status, headers and body are stored, and whether the body is in base64. Not stored are
// Set-Cookie, Date, headers of the connection, and the two headers below. A replay is what was
// stored, and the header Idempotent-Replayed: true. The first answer and every replay carry
// Idempotency-Key-Expires, the date until which the answer is replayed. An answer without that
// header was not stored. If the handler returns one of these two itself, say from another service,
// it is removed from every answer to a request with a key. A request that runs unprotected gets
// what the handler returns, untouched.
//
// If the handler does not run, also because the event has no HTTP method, the answer is a problem
// document of RFC 9457; docs/problems.md explains each type; docs/http.md is for clients.
func WithHTTP(h HTTP) Option {
	return optionFunc(func(c *config) {
		c.http, c.httpSet, c.requireKeySet = h.withDefaults(), true, h.RequireKey != nil
		h.check(&c.Problems)
	})
}

func (c *config) checkHTTP() {
	if longest := c.settings.Retention - clockSkew; c.http.MaxRequestAge > max(longest, 0) {
		c.Addf(true, "WithHTTP: MaxRequestAge %v is more than %v, the retention less %v of clock skew: an old request "+
			"would be executed again after its record expired", c.http.MaxRequestAge, longest, clockSkew)
	}
}

func (h HTTP) check(p *setup.Problems) {
	p.Addf(h.Header != "" && !httpfield.IsToken(h.Header), "WithHTTP: Header %q is no header name", h.Header)
	p.Addf(httpfield.HasMeaning(h.Header), "WithHTTP: Header %q has another meaning", h.Header)
	for _, m := range h.RequireKey {
		p.Addf(!httpfield.IsToken(m) || strings.ToUpper(m) != m, "WithHTTP: RequireKey: %q is no method in capitals", m)
		p.Addf(neverProtected[m] != "", "WithHTTP: RequireKey: %s has no effect to protect", m)
	}
	h.checkFingerprintHeaders(p)
	h.checkRequestAge(p)
	p.Addf(!slices.Contains([]int{0, 400, 409, 422}, h.MismatchStatus),
		"WithHTTP: MismatchStatus %d is not 400, 409 or 422", h.MismatchStatus)
}

func (h HTTP) checkFingerprintHeaders(p *setup.Problems) {
	seen := map[string]bool{}
	for _, name := range h.FingerprintHeaders {
		lower, wrong := strings.ToLower(name), ""
		switch {
		case !httpfield.IsToken(name):
			wrong = "is no header name"
		case seen[lower]:
			wrong = "is there twice"
		case strings.EqualFold(name, h.withDefaults().Header):
			wrong = "carries the key"
		case httpfield.Unsteady(lower):
			wrong = "differs between deliveries of one request"
		}
		p.Addf(wrong != "", "WithHTTP: FingerprintHeaders: %q %s", name, wrong)
		seen[lower] = true
	}
}

func (h HTTP) checkRequestAge(p *setup.Problems) {
	p.Addf(h.TimestampHeader == "" && h.MaxRequestAge != 0, "WithHTTP: MaxRequestAge needs a TimestampHeader")
	p.Addf(h.TimestampHeader != "" && h.MaxRequestAge == 0, "WithHTTP: TimestampHeader needs a MaxRequestAge")
	if h.TimestampHeader == "" || h.MaxRequestAge == 0 {
		return
	}
	atLeast(p, "WithHTTP: MaxRequestAge", h.MaxRequestAge, time.Second)
	is := func(name string) bool { return strings.EqualFold(name, h.TimestampHeader) }
	p.Addf(!httpfield.IsToken(h.TimestampHeader), "WithHTTP: TimestampHeader %q is no header name", h.TimestampHeader)
	p.Addf(is(h.withDefaults().Header), "WithHTTP: TimestampHeader %q is the header of the key", h.TimestampHeader)
	p.Addf(slices.ContainsFunc(h.FingerprintHeaders, is), "WithHTTP: TimestampHeader %q is also one of "+
		"FingerprintHeaders: a retry at another time would be another request", h.TimestampHeader)
}
