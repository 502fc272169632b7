package idempotent

import (
	"context"
	"encoding/json"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// plainShape is the shape of handlers whose events are not HTTP. An option says where their key is, and they return
// errors as errors.
type plainShape[In, Out any] struct {
	keys *keys[In]
	// payload adds what the fingerprint covers if no option selects it. It is nil for no fingerprint.
	payload func(h *fingerprint.Hash, src *source[In]) error
}

func (s *plainShape[In, Out]) identify(ctx context.Context, src *source[In]) (request, error) {
	key, err := s.keys.selected(src, !s.keys.optional)
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
	add := s.payload
	if s.keys.selectsFingerprint() {
		add = s.keys.addSelected
	}
	if add == nil {
		return req, nil
	}
	h.Reset("fingerprint")
	if err := add(h, src); err != nil {
		return request{}, err
	}
	req.fingerprint = h.Text()
	return req, nil
}

func (*plainShape[In, Out]) answers(_ Out, err error) bool { return err == nil }

func (*plainShape[In, Out]) untouched(Out) bool { return false }

func (*plainShape[In, Out]) stored(a *answer[Out]) ([]byte, error) {
	if a.wire {
		return a.text, a.textErr
	}
	return encodeJSON(a.out)
}

// present answers with a stored text as it is. To what the handler itself returned it adds nothing.
func (*plainShape[In, Out]) present(_ *source[In], a *answer[Out], p presentation) error {
	switch {
	case !p.stored:
	case a.wire:
		a.giveText(p.text)
	default:
		var out Out
		if err := json.Unmarshal(p.text, &out); err != nil {
			return err
		}
		a.give(out)
	}
	return nil
}

func (*plainShape[In, Out]) refuse(_ *source[In], err error) (none Out, _ error) { return none, err }
