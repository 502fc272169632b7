package explore

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"reflect"
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

// newDigest returns an empty one of a world that began at an instant.
func newDigest(origin time.Time) *digest {
	d := &digest{origin: origin}
	d.SetSeed(seed)
	return d
}

// digestOf is the digest of values, see [digest.Add].
func digestOf(origin time.Time, values ...any) uint64 {
	d := newDigest(origin)
	d.Add(values...)
	return d.Sum64()
}

// Add takes up values in their order: texts, numbers, what is so or not, and instants, these by how
// many milliseconds they are from the beginning of the world. Values of another kind are a mistake,
// and panic.
func (d *digest) Add(values ...any) {
	for _, value := range values {
		if at, is := value.(time.Time); is {
			d.number(d.since(at))
			continue
		}
		switch v := reflect.ValueOf(value); {
		case v.Kind() == reflect.String:
			d.WriteString(v.String()) // never fails
			d.WriteByte(0)
		case v.Kind() == reflect.Bool && v.Bool():
			d.WriteByte(1)
		case v.Kind() == reflect.Bool:
			d.WriteByte(0)
		case v.CanInt():
			d.number(uint64(v.Int()))
		default:
			d.number(v.Uint())
		}
	}
}

// since is an instant as a number, another one than those of instants if there is none.
func (d *digest) since(t time.Time) uint64 {
	if t.IsZero() {
		return math.MaxUint64
	}
	return uint64(t.Sub(d.origin).Milliseconds())
}

func (d *digest) number(n uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	d.Write(b[:])
}
