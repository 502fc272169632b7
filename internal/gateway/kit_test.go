package gateway

import (
	"encoding/json"
	"reflect"
)

// typedFamily is a family with the types of a handler.
type typedFamily[In, Out any] struct{ *Family }

func familyOf[In, Out any](s Settings) (typedFamily[In, Out], bool) {
	f, ok := FamilyOf(reflect.TypeFor[In](), reflect.TypeFor[Out](), s)
	return typedFamily[In, Out]{f}, ok
}

// Read reads an event by value.
func (f typedFamily[In, Out]) Read(in In, r *Request) {
	payload, err := json.Marshal(in)
	if err != nil || !f.Scan(payload, true, r) {
		panic("an encoded event is always scanned")
	}
}

func (f typedFamily[In, Out]) Status(out Out) int { return f.Family.Status(out) }

func (f typedFamily[In, Out]) Storable(out Out) (Out, bool) {
	stored, changed := f.Family.Storable(out)
	return stored.(Out), changed
}

func (f typedFamily[In, Out]) Announce(r *Request, out Out, a Announcement) (Out, bool) {
	answer, changed := f.Family.Announce(r, out, a)
	return answer.(Out), changed
}

func (f typedFamily[In, Out]) Make(r *Request, status int, headers map[string]string, body string) Out {
	return f.Family.Make(r, status, headers, body).(Out)
}
