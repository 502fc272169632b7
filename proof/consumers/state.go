package consumers

import (
	"errors"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/store"
)

// seed makes the digests of this process comparable.
var seed = maphash.MakeSeed()

// digest takes up the parts of a state. Two states with the same digest are taken for one.
type digest struct {
	maphash.Hash

	origin time.Time
}

func (w *world) newDigest() *digest {
	d := &digest{origin: w.origin}
	d.SetSeed(seed)
	return d
}

func (d *digest) text(s string) {
	d.WriteString(s) // never fails
	d.WriteByte(0)
}

func (d *digest) number(n int64) {
	var b [8]byte
	for i := range b {
		b[i] = byte(n >> (8 * i))
	}
	d.Write(b[:])
}

func (d *digest) time(t time.Time) {
	if t.IsZero() {
		d.number(-1)
		return
	}
	d.number(t.Sub(d.origin).Milliseconds())
}

func (d *digest) flags(flags ...bool) {
	var n int64
	for _, f := range flags {
		n <<= 1
		if f {
			n++
		}
	}
	d.number(n)
}

// state is the digest of all that the rest of a schedule depends on. What an invocation will do depends on what it was told. The order matters where
// the batch itself gets control: when a delivery of a record, or a function of the configuration, has ended.
func (w *world) state() uint64 {
	d := w.newDigest()
	d.time(w.now)
	for _, left := range []int{w.polls, w.doubles, w.faults, w.timeSteps, len(w.late)} {
		d.number(int64(left))
	}
	for _, s := range w.late {
		d.number(int64(s.of.number))
		d.text(strings.Join(s.records, " "))
		d.number(int64(s.after))
	}
	w.source.digest(d)
	for _, r := range w.Records {
		key := w.parts.RecordKey(r)
		d.flags(w.took[r.ID], w.unknown[key])
		if held := w.held(key); held != nil {
			w.record(d, *held)
		}
	}
	for _, i := range w.invocations {
		if !i.running() {
			continue
		}
		d.number(int64(i.number))
		d.text(strings.Join(idsOf(i.records), " "))
		d.time(i.deadline)
		d.number(int64(i.order))
		for _, key := range slices.Sorted(maps.Keys(i.told)) {
			d.text(key)
			d.number(int64(i.told[key]))
			d.number(int64(i.begun[key]))
			d.flags(i.inside[key])
		}
		for _, r := range i.records {
			d.number(int64(i.endings[r.ID]))
			d.flags(i.done[r.ID])
		}
	}
	d.text("stops")
	for _, s := range w.stops {
		d.number(int64(s.of.number))
		d.number(int64(s.at))
		d.text(s.key)
		d.text(s.id)
		d.text(s.call.op)
	}
	return d.Sum64()
}

// learn adds what a goroutine is told to what its invocation knows.
func (w *world) learn(s *stop, g grant) {
	i := s.of
	d := w.newDigest()
	if s.at != atCall && s.at != atEnding {
		i.gets(s)
		d.number(int64(i.order))
	}
	key := s.key + s.id
	if s.key != "" {
		key = s.key
	}
	d.number(int64(i.told[key]))
	d.time(w.now)
	d.number(int64(s.at))
	d.number(int64(g.fault))
	d.number(int64(g.ending))
	d.text(s.call.op)
	d.flags(g.reply.done, g.reply.err != nil, g.err != nil)
	if failure, ok := errors.AsType[*store.Error](g.reply.err); ok {
		d.text(string(failure.Kind))
	}
	w.record(d, g.reply.held)
	i.told[key] = d.Sum64()
}

// forgets drops what a delivery was told that has ended: the batch knows no more of it than its outcome, and, if the record is in progress, the lease.
func (i *invocation) forgets(s *stop) {
	if s.outcome != idempotent.OutcomeInProgress && s.outcome != idempotent.OutcomeSuperseded {
		i.told[s.key] = 0
	}
}

// gets notes that the batch itself gets control.
func (i *invocation) gets(s *stop) {
	d := i.world.newDigest()
	d.number(int64(i.order))
	d.number(int64(s.at))
	d.text(s.key)
	d.text(s.id)
	d.text(string(s.outcome))
	d.time(i.world.now)
	i.order = d.Sum64()
}

func (w *world) record(d *digest, r store.Record) {
	d.text(string(r.Status))
	d.text(w.ownerOf(r.Owner))
	d.time(r.Lease)
	d.text(r.Fingerprint)
	d.text(string(r.Result))
	d.text(r.Reason)
	d.number(int64(r.Attempt))
}

// ownerOf is the invocation whose token it is: tokens are random, and the same schedule has others each time.
func (w *world) ownerOf(token string) string {
	if name, known := w.owners[token]; known {
		return name
	}
	return token
}
