package idempotent

import (
	"reflect"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/internal/gateway"
	"github.com/go-idempotent/idempotent/internal/queue"
)

// payloadOf returns a function that adds to a fingerprint what all deliveries of an event have in common: the whole event, if its
// type is the user's own; the payload, if it is a message of a queue or a stream. It returns nil, and adds a problem, for any other type of package
// events: those carry request ids and times.
func payloadOf(in reflect.Type, exact bool, p *problems) func(h *fingerprint.Hash, src *source) error {
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
	if named := foreignEvent(in, map[reflect.Type]bool{}); named != nil {
		p.addf("WithFingerprint or WithFingerprintPath: choose what tells two requests in %v apart: the whole event "+
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

// foreignEvent returns the type of package events that a type is, embeds, points to, or has as its elements. It returns nil if there
// is none. Types may embed themselves: seen are those that are not looked at again.
func foreignEvent(t reflect.Type, seen map[reflect.Type]bool) reflect.Type {
	if seen[t] {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return foreignEvent(t.Elem(), seen)
	case reflect.Struct:
	default:
		return nil
	}
	if t.PkgPath() == reflect.TypeFor[events.SQSMessage]().PkgPath() {
		return t
	}
	for f := range t.Fields() {
		if f.Anonymous {
			if named := foreignEvent(f.Type, seen); named != nil {
				return named
			}
		}
	}
	return nil
}
