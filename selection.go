package idempotent

import (
	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/jmespath"
)

// WithKeyPath selects the key with a JMESPath expression on the event as the caller sent it, for example
//
//	idempotent.WithKeyPath("powertools_json(body).[tenant, order_id]")
//
// Numbers stay exact, and the functions of AWS Powertools are there; package jmespath has the language, and options for
// functions of your own. The selection counts by its
// value: 1.0 and 1 are one key, 1 and "1" are two.
//
// A selection without content (null, or an empty string, array or object) is a missing key. So is one that is
// partly missing, such as [null, "o-1"], because different requests can easily share it; [WithPartialKey] allows it. The
// number 0 and false are content. An event on which the expression fails is refused as one with an invalid key.
//
// On an HTTP handler it replaces the key header; scope and fingerprint stay. [Handler.Handle] evaluates it on the JSON of
// its argument.
func WithKeyPath(expression string, opts ...jmespath.Option) Option {
	return optionFunc(func(c *config) (err error) {
		c.keyPathSet, c.keyPathOptions = true, opts
		c.keyPath, err = jmespath.Compile(expression, opts...)
		return naming("WithKeyPath", err)
	})
}

// WithPartialKey lets [WithKeyPath] and [WithFingerprintPath] use selections of which a part is missing. The danger: two
// requests that both lack what tells them apart share a key, and the second one gets the result of the first.
func WithPartialKey() Option {
	return optionFunc(func(c *config) error { c.partialKey = true; return nil })
}

// WithFingerprintPath derives the fingerprint from what a JMESPath expression selects from the event, as [WithKeyPath]
// selects the key: what AWS Powertools calls payload validation. A missing or partly missing selection refuses the
// request with [ErrInvalidKey]: there is nothing to tell whether the key stands for it.
func WithFingerprintPath(expression string, opts ...jmespath.Option) Option {
	return optionFunc(func(c *config) (err error) {
		c.fingerprintPathOptions = opts
		c.fingerprintPath, err = jmespath.Compile(expression, opts...)
		return naming("WithFingerprintPath", err)
	})
}

// WithDigestKey computes record keys and fingerprints with HMAC-SHA-256 and this secret, for teams that must not store
// plain digests of personal data: who knows the possible values of a key can tell from a plain digest which one it was.
// The secret is random and at least 16 bytes long (32 are advised). Adding or changing it
// forgets all records and changes every [DerivedKey], as [WithOperation] says of a new name.
func WithDigestKey(secret []byte) Option {
	return optionFunc(func(c *config) error {
		c.digestKey = append([]byte(nil), secret...)
		return atLeastBytes("WithDigestKey", len(secret), fingerprint.MinKeySize)
	})
}

// newHash begins a digest, keyed if the handler has a secret.
func (c *config) newHash(purpose string) *fingerprint.Hash {
	if c.digestKey != nil {
		return fingerprint.NewKeyed(c.digestKey, purpose)
	}
	return fingerprint.New(purpose)
}

// selectKey evaluates the key path. The key is the selection in canonical form. An empty one without an error says that
// the delivery has none and needs none.
func (c *config) selectKey(payload []byte) (string, error) {
	selected, err := c.keyPath.Search(payload)
	if err != nil {
		return "", &InvalidKeyError{
			Operation: c.operation, Source: sourceEvent, Reason: "has no key: " + err.Error(), Err: err,
		}
	}
	missing := &MissingKeyError{Operation: c.operation, Source: "the selection of WithKeyPath"}
	switch selected.Presence() {
	case jmespath.Missing:
		if c.optionalKey {
			return "", nil
		}
		return "", missing
	case jmespath.Partial:
		if !c.partialKey {
			return "", missing // also where a key is optional: half a key is a mistake, not a choice
		}
	case jmespath.Present:
	}
	key, err := fingerprint.Canonical(nil, selected.JSON())
	if err != nil {
		return "", &InvalidKeyError{
			Operation: c.operation, Source: "the selection of WithKeyPath", Reason: "has no canonical form", Err: err,
		}
	}
	return string(key), nil
}

// selectFingerprint is the digest of what the fingerprint path selects.
func (c *config) selectFingerprint(payload []byte) (string, error) {
	selected, err := c.selectedFingerprint(payload)
	if err != nil {
		return "", err
	}
	h := c.newHash("fingerprint")
	h.String("selection")
	if err := h.JSON(selected.JSON()); err != nil {
		return "", c.invalidSelection(sourceFingerprint, "has no canonical form", err)
	}
	return h.Text(), nil
}

// selectedFingerprint evaluates the fingerprint path.
func (c *config) selectedFingerprint(payload []byte) (jmespath.Value, error) {
	selected, err := c.fingerprintPath.Search(payload)
	if err != nil {
		return selected, c.invalidSelection(sourceFingerprint, "fails: "+err.Error(), err)
	}
	presence := selected.Presence()
	if presence == jmespath.Missing || presence == jmespath.Partial && !c.partialKey {
		return selected, c.invalidSelection(sourceFingerprint, "is missing or incomplete", nil)
	}
	return selected, nil
}

const sourceFingerprint = "the selection of WithFingerprintPath"

func (c *config) invalidSelection(source, reason string, err error) error {
	return &InvalidKeyError{Operation: c.operation, Source: source, Reason: reason, Err: err}
}
