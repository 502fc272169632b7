package schedules

import (
	"hash/maphash"
	"time"
)

// seed makes the digests of this process comparable.
var seed = maphash.MakeSeed()

// Digest takes up the parts of a state. Two states with the same digest are taken for one: with 64
// bits and a million states, one search in some ten million would leave something out.
type Digest struct {
	maphash.Hash

	origin time.Time
}

// NewDigest returns an empty one of a world that began at an instant.
func NewDigest(origin time.Time) *Digest {
	d := &Digest{origin: origin}
	d.SetSeed(seed)
	return d
}

// Text adds a text.
func (d *Digest) Text(s string) {
	d.WriteString(s) // never fails
	d.WriteByte(0)
}

// Number adds a number.
func (d *Digest) Number(n int64) {
	var b [8]byte
	for i := range b {
		b[i] = byte(n >> (8 * i))
	}
	d.Write(b[:])
}

// Time adds an instant, by how many milliseconds it is from the beginning of the world.
func (d *Digest) Time(t time.Time) {
	if t.IsZero() {
		d.Number(-1)
		return
	}
	d.Number(t.Sub(d.origin).Milliseconds())
}

// Flags adds what is so and what is not, always in the same order.
func (d *Digest) Flags(flags ...bool) {
	var n int64
	for _, f := range flags {
		n <<= 1
		if f {
			n++
		}
	}
	d.Number(n)
}
