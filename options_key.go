package idempotent

import (
	"context"

	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/jmespath"
)

// Errors name the place of what they are about with these texts.
const (
	sourceKeyPath     = "the selection of WithKeyPath"
	sourceFingerprint = "the selection of WithFingerprintPath"
	optionTenant      = "WithTenant"
	optionFingerprint = "WithFingerprint" // the function, not the path
)

// WithKey selects the key with a function of the event. An empty key counts as a missing one. If the function returns
// an error, the request is refused with [ErrInvalidKey]. The function runs before any I/O and must not modify its
// argument.
//
// On an HTTP handler the function replaces the key header; scope and fingerprint stay as they are. Any other handler
// has no fingerprint of its own: without [WithFingerprint], an event with a known key and other content gets the first
// result.
func WithKey[In any](key func(in In) (string, error)) Option {
	return userFunc("WithKey", key, func(c *config) { c.user.key = key })
}

// WithOptionalKey runs a request without a key unprotected, instead of refusing it with [ErrMissingKey].
func WithOptionalKey() Option {
	return optionFunc(func(c *config) error { c.optionalKey = true; return nil })
}

// WithFingerprint computes the fingerprint from what the function returns, encoded as canonical JSON. On an HTTP
// handler it replaces the default (method, path, query, body). Any other handler has no default, because redeliveries
// of one event often differ in receipt handles and counts.
func WithFingerprint[In any](fingerprint func(in In) (any, error)) Option {
	return userFunc("WithFingerprint", fingerprint, func(c *config) { c.user.fingerprint = fingerprint })
}

// WithTenant makes a tenant part of the scope of every key, and so of every [DerivedKey]. On an HTTP handler it
// replaces the identity that the authorizer of the event established. If the function returns an error or an empty
// tenant, the request is refused.
func WithTenant[In any](tenant func(ctx context.Context, in In) (string, error)) Option {
	return userFunc(optionTenant, tenant, func(c *config) { c.user.tenant = tenant })
}

// WithKeyPath selects the key with a JMESPath expression on the event as the caller sent it, for example
//
//	idempotent.WithKeyPath("powertools_json(body).[tenant, order_id]")
//
// Numbers stay exact, and the functions of AWS Powertools can be used. Package jmespath describes the language, and has
// options that add functions of your own. The value of the selection is the key: 1.0 and 1 are one key, 1 and "1" are
// two.
//
// A selection without content (null, or an empty string, array or object) counts as a missing key. So does a selection
// of which a part is missing, such as [null, "o-1"], because different requests can easily share it; [WithPartialKey]
// allows it. The number 0 and false are content. If the expression fails on an event, the event is refused with
// [ErrInvalidKey].
//
// On an HTTP handler the selection replaces the key header; scope and fingerprint stay as they are. [Handler.Handle]
// evaluates the expression on the JSON of its argument.
func WithKeyPath(expression string, opts ...jmespath.Option) Option {
	return optionFunc(func(c *config) (err error) {
		c.keyPathSet, c.keyPathOptions = true, opts
		c.keyPath, err = jmespath.Compile(expression, opts...)
		return naming("WithKeyPath", err)
	})
}

// WithPartialKey lets [WithKeyPath] and [WithFingerprintPath] use selections of which a part is missing. This is a
// danger: two requests that both lack the part that would tell them apart share a key, and the second one gets the
// result of the first.
func WithPartialKey() Option {
	return optionFunc(func(c *config) error { c.partialKey = true; return nil })
}

// WithFingerprintPath computes the fingerprint from what a JMESPath expression selects from the event, as [WithKeyPath]
// selects the key. AWS Powertools calls this payload validation. If the selection is missing or partly missing, the
// request is refused with [ErrInvalidKey], because nothing tells then whether the key belongs to it.
func WithFingerprintPath(expression string, opts ...jmespath.Option) Option {
	return optionFunc(func(c *config) (err error) {
		c.fingerprintPathOptions = opts
		c.fingerprintPath, err = jmespath.Compile(expression, opts...)
		return naming("WithFingerprintPath", err)
	})
}

// WithDigestKey computes record keys and fingerprints with HMAC-SHA-256 and this secret. It is for teams that must not
// store plain digests of personal data: who knows all possible values of a key can find out which one a plain digest
// was made of. The secret is random and at least 16 bytes long (32 are advised).
//
// A handler with another secret does not find earlier records, and every [DerivedKey] changes, as with a new name in
// [WithOperation].
func WithDigestKey(secret []byte) Option {
	return optionFunc(func(c *config) error {
		c.digestKey = append([]byte(nil), secret...)
		return atLeastBytes("WithDigestKey", len(secret), fingerprint.MinKeySize)
	})
}
