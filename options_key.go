package idempotent

import (
	"context"

	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/internal/setup"
	"github.com/go-idempotent/idempotent/jmespath"
)

// WithKey selects the key with a function of the event. An empty key counts as a missing one. If
// the function returns an error, the request is refused with [ErrInvalidKey]. The function runs
// before any I/O and must not modify its argument.
//
// On an HTTP handler the function replaces the key header. The key then counts for the caller, the
// API and the stage, whatever the method and the path: a client could redeem one code once for each
// spelling of a path. They stay in the fingerprint, so the key on another route is a mismatch. A
// GET with a key is protected, too. For a request that needs no key return an empty one, and no
// error: that is an error only for the methods of [HTTP.RequireKey].
func WithKey[In any](key func(in In) (string, error)) Option {
	return userFunc("WithKey", key, func(c *config) {
		c.keys.key = func(in any) (string, error) { return key(*in.(*In)) } //nolint:forcetypeassert // see config.given
	})
}

// WithOptionalKey runs a request without a key unprotected, instead of refusing it with
// [ErrMissingKey].
func WithOptionalKey() Option {
	return optionFunc(func(c *config) { c.keys.optionalKey = true })
}

// WithFingerprint computes the fingerprint from what the function returns, encoded as canonical
// JSON. On an HTTP handler this replaces query and body, and never method, path and
// [HTTP.FingerprintHeaders]: /accounts/1 and /accounts/2 behind one route are two requests.
//
// Without this option, [WithHTTP] says what counts on an HTTP handler. On any other it covers
//
//   - the whole event, if its type is one of your own
//   - of events.SQSMessage: the body and the message attributes, without those that carry the
//     context of a trace
//   - of events.SNSEventRecord and events.SNSEntity: topic, subject, message and attributes, as
//     above
//   - of events.KinesisEventRecord and events.KinesisRecord: partition key and data
//   - of events.DynamoDBEventRecord and events.DynamoDBStreamRecord: keys, old and new image, and
//     of the first the name of the event
//   - of events.EventBridgeEvent (events.CloudWatchEvent): source, detail type and detail
//
// Any other type of package events holds ids and times that differ between deliveries. For such a
// type, for one of yours that embeds it, and for a slice or a map of either, Wrap demands this
// option or [WithFingerprintPath]. JSON texts count by their value, see [WithExactNames].
//
// If the key is a digest of everything that counts, let the function return nil: then an event with
// a known key gets the first result, whatever else it says.
func WithFingerprint[In any](fingerprint func(in In) (any, error)) Option {
	return userFunc("WithFingerprint", fingerprint, func(c *config) {
		c.keys.fingerprint = func(in any) (any, error) { return fingerprint(*in.(*In)) } //nolint:forcetypeassert // see config.given
	})
}

// WithExactNames says that the handler tells names of JSON members apart which differ only in case.
// Package encoding/json does not: it takes {"Code": …} for the field "code", and of two such
// members the last one. So without this option
//
//   - a path of [WithKeyPath] or [WithFingerprintPath] refuses an event with [ErrInvalidKey] if an
//     object on its way has two such names, or the name of the path only in another spelling
//   - a JSON body, or event, with two such names in one object counts for the fingerprint by its
//     bytes, because their order decides what the handler reads
//
// Say it if the handler decodes into maps, or with a decoder that folds no case.
func WithExactNames() Option {
	return optionFunc(func(c *config) { c.keys.exactNames = true })
}

// WithTenant makes a tenant part of the scope of every key, and so of every [DerivedKey]. On an
// HTTP handler it replaces the identity that the authorizer of the event established. An error or
// an empty tenant refuses the request with [ErrRefused], an HTTP request with status 500.
func WithTenant[In any](tenant func(ctx context.Context, in In) (string, error)) Option {
	return userFunc(optionTenant, tenant, func(c *config) {
		c.keys.tenant = func(ctx context.Context, in any) (string, error) { return tenant(ctx, *in.(*In)) } //nolint:forcetypeassert // see config.given
	})
}

// WithKeyPath selects the key with a JMESPath expression on the event as the caller sent it:
//
//	idempotent.WithKeyPath("powertools_json(body).[tenant, order_id]")
//
// Numbers stay exact, and the functions of AWS Powertools can be used. Package jmespath describes
// the language. The value of the selection is the key: 1.0 and 1 are one key, 1 and "1" are two,
// unless the handler reads both as one, as a json.Number does.
//
// Two events that the handler reads as equal have one key, or one is refused. So a number that goes
// into a float of the handler's event, or into an any, is refused with [ErrInvalidKey] if the float
// changes it: 42.000000000000000001. Elsewhere, as in the body of a request, nobody knows how the
// handler decodes: there it is refused if a float changes it and it is no integer. For decimals
// with more than 15 digits use [WithKey], or send them as strings. A text that a type of the
// handler's event reads by itself, such as a time or a UUID, counts as that type writes it.
//
// Select what names the request, and not an object: of an object each member counts, also one that
// the handler does not know, and as it is spelled.
//
// A selection without content (null, or an empty string, array or object) counts as a missing key.
// So does one of which a part is missing, such as [null, "o-1"], because different requests can
// easily share it. The number 0 and false are content. An event on which the expression fails is
// refused with [ErrInvalidKey]. Names are exact, see [WithExactNames].
//
// On an HTTP handler the selection replaces the key header, with the scope that [WithKey]
// describes. A GET, HEAD or OPTIONS request without a body has no key if a function of the
// expression fails on null or an empty text, say because it decodes the body. [Handler.Handle]
// evaluates the expression on the JSON of its argument.
func WithKeyPath(expression string) Option {
	return optionFunc(func(c *config) {
		c.keyPathSet = true
		c.keys.keyPath = compile(&c.Problems, "WithKeyPath", expression)
	})
}

// WithFingerprintPath computes the fingerprint from what a JMESPath expression selects from the
// event, as [WithKeyPath] selects the key. On an HTTP handler it replaces what [WithFingerprint]
// replaces. AWS Powertools calls this payload validation. A request whose selection is missing,
// also in part, is refused with [ErrInvalidKey].
func WithFingerprintPath(expression string) Option {
	return optionFunc(func(c *config) {
		c.keys.fingerprintPath = compile(&c.Problems, "WithFingerprintPath", expression)
	})
}

func compile(p *setup.Problems, option, expression string) *jmespath.Expression {
	path, err := jmespath.Compile(expression)
	p.Addf(err != nil, "%s: %v", option, err)
	return path
}

// WithDigestKey computes record keys and fingerprints with HMAC-SHA-256 and this secret. Whoever
// can try all values of a key finds out which one a plain digest was made of: teams that must not
// store such digests of personal data need it. The secret is random, 16 bytes or more (better 32).
//
// A handler with another secret does not find earlier records, and every [DerivedKey] changes, as
// with a new name in [WithOperation].
func WithDigestKey(secret []byte) Option {
	return optionFunc(func(c *config) {
		c.keys.digestKey = append([]byte(nil), secret...)
		c.Addf(len(secret) < fingerprint.MinKeySize, "WithDigestKey: %d bytes are less than %d", len(secret),
			fingerprint.MinKeySize)
	})
}
