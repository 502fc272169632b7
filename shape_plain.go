package idempotent

import (
	"context"
	"reflect"

	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/internal/gateway"
	"github.com/go-idempotent/idempotent/internal/queue"
	"github.com/go-idempotent/idempotent/internal/setup"
)

type plainShape struct {
	keys *keys
	out  reflect.Type
	// covers adds what the fingerprint covers. It is nil for no fingerprint.
	covers func(h *fingerprint.Hash, src *source) error
}

func (s *plainShape) identify(ctx context.Context, src *source) (request, error) {
	key, err := s.keys.selected(src, !s.keys.optionalKey)
	if key == "" || err != nil {
		return request{}, err
	}
	if s.keys.records != nil {
		return s.keys.sharedRequest(key, src)
	}
	h := s.keys.newHash("record key")
	h.String("plain")
	h.String(tenantID(ctx))
	if s.keys.tenant != nil {
		tenant, err := s.keys.tenantOf(ctx, src)
		if err != nil {
			return request{}, err
		}
		h.String(tenant)
	}
	h.String(key)
	req := request{recordKey: recordKey(s.keys.operation, h)}
	if s.covers == nil {
		return req, nil
	}
	h.Reset("fingerprint")
	if err := s.covers(h, src); err != nil {
		return request{}, err
	}
	req.fingerprint = h.Text()
	return req, nil
}

func (*plainShape) answers(a *answer) bool { return a.err == nil }

func (*plainShape) untouched(any) bool { return false }

func (*plainShape) stored(a *answer) ([]byte, error) {
	if a.wire {
		return a.text, a.textErr
	}
	return encodeJSON(a.out)
}

// present answers with a stored text as it is. To what the handler itself returned it adds nothing.
func (s *plainShape) present(_ *source, a *answer, p presentation) error {
	switch {
	case !p.stored:
	case a.wire:
		a.given, a.text, a.textErr = true, p.text, nil // the value behind it is not decoded
	default:
		out, err := decodeResult(p.text, s.out)
		if err != nil {
			return err
		}
		a.give(out)
	}
	return nil
}

func (*plainShape) refuse(_ *source, err error) (out any, _ error) { return nil, err }

// payloadOf returns a function that adds to a fingerprint what all deliveries of an event have in
// common: the whole event, if its type is the user's own; the payload, if it is a message of a
// queue or a stream. It returns nil, and adds a problem, for any other type of package events.
func payloadOf(in reflect.Type, exact bool, p *setup.Problems) func(h *fingerprint.Hash, src *source) error {
	if add := queue.Payload(in, exact); add != nil {
		return func(h *fingerprint.Hash, src *source) error {
			in, err := src.event()
			if err != nil {
				return err
			}
			h.String("record")
			return add(h, in)
		}
	}
	if named := queue.Event(in); named != nil {
		p.Addf(true, "WithFingerprint or WithFingerprintPath: choose what tells two requests in %v apart: the whole event "+
			"does not, because %v holds ids or times that differ between deliveries", in, named)
		return nil
	}
	return func(h *fingerprint.Hash, src *source) error {
		payload, err := src.json()
		if err != nil {
			return err
		}
		h.String("event")
		gateway.DigestJSON(h, payload, exact)
		return nil
	}
}
