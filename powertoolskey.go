package idempotent

import "github.com/go-idempotent/idempotent/jmespath"

// powertoolsKey is the record key of an event. It is empty without an error if the event has no key and needs none.
func (c *config) powertoolsKey(payload []byte) (string, error) {
	m := c.powertools
	selected, presence := payload, jmespath.Present
	if c.keyPath != nil {
		v, err := c.keyPath.Search(payload)
		if err != nil {
			return "", c.invalidSelection(sourceEvent, "has no key: "+err.Error(), err)
		}
		selected, presence = v.JSON(), v.Presence()
	}
	const source = "the selection of WithKeyPath"
	partly := presence == jmespath.Partial && !c.partialKey
	if partly || presence == jmespath.Missing || c.keyPath == nil && m.codec.Missing(selected) {
		if c.optionalKey && !partly {
			return "", nil
		}
		return "", &MissingKeyError{Operation: c.operation, Source: source}
	}
	key, err := m.codec.Key(m.Prefix, selected)
	if err != nil {
		return "", c.invalidSelection(source, "has no key of "+string(m.Language)+": "+err.Error(), err)
	}
	return key, nil
}

// powertoolsFingerprint is the validation digest of an event, empty if none is asked for.
func (c *config) powertoolsFingerprint(payload []byte) (string, error) {
	if c.fingerprintPath == nil {
		return "", nil
	}
	selected, err := c.selectedFingerprint(payload)
	if err != nil {
		return "", err
	}
	digest, err := c.powertools.codec.Digest(selected.JSON())
	if err != nil {
		return "", c.invalidSelection(sourceFingerprint, "has no digest of "+string(c.powertools.Language)+": "+err.Error(), err)
	}
	return digest, nil
}

// powertoolsRequest is the request of an event that has this key.
func powertoolsRequest[In any](c *config, key string, src *source[In]) (*request, error) {
	payload, err := src.json()
	if err != nil {
		return nil, err
	}
	req := &request{recordKey: key}
	req.fingerprint, err = c.powertoolsFingerprint(payload)
	return req, err
}
