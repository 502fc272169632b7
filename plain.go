package idempotent

import (
	"context"
	"encoding/base64"
	"time"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// plainShape is that of handlers whose events are not HTTP: the key comes from a function, errors are errors.
type plainShape[In, Out any] struct {
	*config
	functions functions[In, Out]
}

func (s *plainShape[In, Out]) prepare(ctx context.Context, src *source[In]) (*request, error) {
	key, err := chosenKey(s.config, s.functions, src)
	if key == "" || err != nil {
		return nil, err
	}
	if s.powertools != nil {
		return powertoolsRequest(s.config, key, src)
	}
	h := s.newHash("record key")
	h.String("plain")
	h.String(tenantID(ctx))
	if s.functions.tenant != nil {
		tenant, err := tenantOf(ctx, s.config, s.functions.tenant, src)
		if err != nil {
			return nil, err
		}
		h.String(tenant)
	}
	h.String(key)
	req := &request{recordKey: recordKey(s.operation, h)}
	req.fingerprint, err = chosenFingerprint(s.config, s.functions, src)
	return req, err
}

func (*plainShape[In, Out]) answers(Out) bool                       { return false }
func (*plainShape[In, Out]) stores(Out) bool                        { return true }
func (*plainShape[In, Out]) storedForm(out Out) (Out, bool)         { return out, false }
func (*plainShape[In, Out]) replaysBytes() bool                     { return true }
func (*plainShape[In, Out]) problem(*source[In], error) (Out, bool) { var none Out; return none, false }

func (*plainShape[In, Out]) answerForm(_ *source[In], out Out, _ time.Time, _ bool) (Out, bool) {
	return out, false
}

func (*plainShape[In, Out]) spliced(*source[In], []byte, time.Time, bool) ([]byte, bool) {
	return nil, false
}

// How errors name what they are about.
const (
	sourceEvent  = "the event"
	optionTenant = "WithTenant"
	// optionFingerprint is the function, not the path.
	optionFingerprint = "WithFingerprint"
)

// recordKey is what the store knows a key by.
func recordKey(operation string, h *fingerprint.Hash) string {
	sum := h.Sum()
	key := make([]byte, 0, 128) // enough for most operations
	key = append(append(key, operation...), '#')
	return string(base64.RawURLEncoding.AppendEncode(key, sum[:]))
}

// chosenKey is what the options make of the event. It is empty without an error if the delivery has none and needs none.
func chosenKey[In, Out any](c *config, f functions[In, Out], src *source[In]) (string, error) {
	if c.keyPath == nil && c.powertools == nil {
		return keyOf(c, f.key, src)
	}
	payload, err := src.json()
	if err != nil {
		return "", err
	}
	if c.powertools != nil {
		return c.powertoolsKey(payload)
	}
	return c.selectKey(payload)
}

// keyOf asks the user's function for the key.
func keyOf[In any](c *config, f func(In) (string, error), src *source[In]) (string, error) {
	in, err := src.event()
	if err != nil {
		return "", err
	}
	key, err := f(in)
	switch {
	case err != nil:
		return "", &InvalidKeyError{
			Operation: c.operation, Source: sourceEvent, Reason: "was refused by the function of WithKey", Err: err,
		}
	case key == "" && !c.optionalKey:
		return "", &MissingKeyError{Operation: c.operation, Source: sourceEvent}
	default:
		return key, nil
	}
}

// tenantOf asks the user's function for the tenant. It fails closed: nobody gets into a shared scope by accident.
func tenantOf[In any](
	ctx context.Context, c *config, f func(context.Context, In) (string, error), src *source[In],
) (string, error) {
	in, err := src.event()
	if err != nil {
		return "", err
	}
	tenant, err := f(ctx, in)
	switch {
	case err != nil:
		return "", &RefusedError{Operation: c.operation, Source: optionTenant, Err: err}
	case tenant == "":
		return "", &RefusedError{Operation: c.operation, Source: optionTenant, Err: errNoTenant}
	default:
		return tenant, nil
	}
}

// chosenFingerprint is what the options make of the event, empty if there is no such option.
func chosenFingerprint[In, Out any](c *config, f functions[In, Out], src *source[In]) (string, error) {
	switch {
	case c.fingerprintPath != nil:
		payload, err := src.json()
		if err != nil {
			return "", err
		}
		return c.selectFingerprint(payload)
	case f.fingerprint != nil:
		in, err := src.event()
		if err != nil {
			return "", err
		}
		return fingerprintOf(c, f.fingerprint, in)
	default:
		return "", nil
	}
}

// fingerprintOf asks the user's function for what the fingerprint covers.
func fingerprintOf[In any](c *config, f func(In) (any, error), in In) (string, error) {
	covered, err := f(in)
	if err != nil {
		return "", &RefusedError{Operation: c.operation, Source: optionFingerprint, Err: err}
	}
	h := c.newHash("fingerprint")
	h.String("value")
	if err := h.Value(covered); err != nil {
		return "", &RefusedError{Operation: c.operation, Source: optionFingerprint, Err: err}
	}
	return h.Text(), nil
}
