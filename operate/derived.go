package operate

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/store"
)

// derivedKey is the form of a key of idempotent.DerivedKey. No record key has it.
var derivedKey = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// FindDerived returns the record whose execution handed out this key of idempotent.DerivedKey, and
// the name that the key has there. So an event of the service that was called leads to a record.
//
// Only records that somebody has to settle keep the names of their keys; the name of a step is one.
// It reads each of these records through the index: those of one operation, or, if it is empty, of
// all. A process may have died before it had learned a name, so it tries those of other records of
// the operation, too, and the ones that are given. If there is no such record the error is
// [ErrNotFound]; a key of another form is an [ErrInput].
func (o *Operator) FindDerived(ctx context.Context, operation, key string, names ...string) (s Shown,
	name string, err error,
) {
	if !derivedKey.MatchString(key) {
		return Shown{}, "", bad("derived key", "is no key of idempotent.DerivedKey: a UUID of version 8 in lower case")
	}
	others, tried := make(map[string][]idempotent.Description), make(map[string][]string)
	for held, err := range o.records(ctx, store.Query{Attention: true, Index: true, Operation: operation}) {
		switch {
		case errors.As(err, new(*store.UnreadableError)):
			continue // it is some other record, or one that nobody can settle by its key
		case err != nil:
			return Shown{}, "", failed("find a derived key", err)
		}
		d, of := descriptionOf(held), held.Operation()
		for _, name := range slices.AppendSeq(slices.Concat(names, held.Derived), maps.Keys(held.Steps)) {
			if d.DerivedKey(name) == key {
				return o.show(held), name, nil
			}
			if len(tried[of]) < mostTried && !slices.Contains(tried[of], name) {
				tried[of] = append(tried[of], name)
			}
		}
		others[of] = append(others[of], d)
	}
	for of, records := range others {
		for _, d := range records {
			for _, name := range tried[of] {
				if d.DerivedKey(name) == key {
					s, err := o.Inspect(ctx, d.RecordKey)
					return s, name, err
				}
			}
		}
	}
	return Shown{}, "", ErrNotFound
}

// mostTried is how many names of an operation are tried on its other records.
const mostTried = 100

// DerivedKeys are the keys of idempotent.DerivedKey that executions of the record may have handed
// out, by their names: those that it keeps, those of its open steps, and those that are given.
func (s Shown) DerivedKeys(names ...string) map[string]string {
	keys := make(map[string]string)
	for _, name := range slices.Concat(names, s.Record.Derived, s.open) {
		keys[name] = s.DerivedKey(name)
	}
	return keys
}

// DerivedKey returns the key that idempotent.DerivedKey has for this name in every execution of the
// record, whether one has asked for it or not.
func (s Shown) DerivedKey(name string) string { return descriptionOf(s.Record).DerivedKey(name) }

func descriptionOf(r store.Record) idempotent.Description {
	return idempotent.Description{Protected: true, RecordKey: r.Key, Fingerprint: r.Fingerprint}
}
