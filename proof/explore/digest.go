package explore

import (
	"hash/maphash"
	"time"
)

// seed makes the digests of this process comparable.
var seed = maphash.MakeSeed()

// digest takes up the parts of a state. Two states with the same digest are taken for one: with 64
// bits and a million states, one search in some ten million would leave something out.
type digest struct {
	maphash.Hash

	origin time.Time
}

// newDigest returns one of a world that began at an instant, with values, see [digest.Add].
func newDigest(origin time.Time, values ...any) *digest {
	d := &digest{origin: origin}
	d.SetSeed(seed)
	d.Add(values...)
	return d
}

// Add takes up values in their order, instants by how many milliseconds they are from the beginning
// of the world. Values that cannot be compared are a mistake, and panic.
func (d *digest) Add(values ...any) {
	for _, value := range values {
		if at, is := value.(time.Time); is {
			value = at.Sub(d.origin).Milliseconds() // as far as can be if there is none
		}
		maphash.WriteComparable(&d.Hash, value)
	}
}
