package protocol

import (
	"iter"

	"github.com/go-idempotent/idempotent/internal/execution"
)

// Handed yields the derived keys that the execution handed out, in the order of their names. What [execution.Names] leaves out
// is missing.
func (d *Delivery) Handed() iter.Seq2[string, string] {
	return func(yield func(name, key string) bool) {
		c := execution.Claim{RecordKey: d.RecordKey, Fingerprint: d.mine.Fingerprint}
		for _, name := range d.handed.Sorted() {
			if !yield(name, c.DerivedKey(name)) {
				return
			}
		}
	}
}
