package consumers

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/proof/schedules"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// state is the digest of all that the rest of a schedule depends on. What an invocation will do
// depends on what it was told. The order matters where the batch itself gets control: when a
// delivery of a record, or a function of the configuration, has ended.
func (w *world) state() uint64 {
	d := schedules.NewDigest(w.origin)
	d.Time(w.now)
	for _, left := range []int{w.polls, w.doubles, w.faults, w.timeSteps, len(w.late)} {
		d.Number(int64(left))
	}
	for _, s := range w.late {
		d.Number(int64(s.of.number))
		d.Text(strings.Join(s.records, " "))
		d.Number(int64(s.after))
	}
	w.source.digest(d)
	for _, r := range w.Records {
		key := w.parts.RecordKey(r)
		d.Flags(w.took[r.ID], w.unknown[key])
		if held := w.held(key); held != nil {
			w.record(d, *held)
		}
	}
	for _, i := range w.invocations {
		if !i.running() {
			continue
		}
		d.Number(int64(i.number))
		d.Text(strings.Join(idsOf(i.records), " "))
		d.Time(i.deadline)
		d.Number(int64(i.order))
		for _, key := range slices.Sorted(maps.Keys(i.told)) {
			d.Text(key)
			d.Number(int64(i.told[key]))
			d.Number(int64(i.begun[key]))
			d.Flags(i.inside[key])
		}
		for _, r := range i.records {
			d.Number(int64(i.endings[r.ID]))
			d.Flags(i.done[r.ID])
		}
	}
	d.Text("stops")
	for _, s := range w.stops {
		d.Number(int64(s.of.number))
		d.Number(int64(s.at))
		d.Text(s.key)
		d.Text(s.id)
		d.Text(s.call.op)
	}
	return d.Sum64()
}

// learn adds what a goroutine is told to what its invocation knows.
func (w *world) learn(s *stop, g grant) {
	i := s.of
	d := schedules.NewDigest(w.origin)
	if s.at != atCall && s.at != atEnding {
		i.gets(s)
		d.Number(int64(i.order))
	}
	key := s.key + s.id
	if s.key != "" {
		key = s.key
	}
	d.Number(int64(i.told[key]))
	d.Time(w.now)
	d.Number(int64(s.at))
	d.Number(int64(g.fault))
	d.Number(int64(g.ending))
	d.Text(s.call.op)
	d.Flags(g.reply.done, g.reply.err != nil, g.err != nil)
	if failure, ok := errors.AsType[*store.Error](g.reply.err); ok {
		d.Text(string(failure.Kind))
	}
	w.record(d, g.reply.held)
	i.told[key] = d.Sum64()
}

// forgets drops what a delivery was told that has ended: the batch knows no more of it than its
// outcome, and, if the record is in progress, the lease.
func (i *invocation) forgets(s *stop) {
	if s.outcome != report.InProgress && s.outcome != report.Superseded {
		i.told[s.key] = 0
	}
}

// gets notes that the batch itself gets control.
func (i *invocation) gets(s *stop) {
	d := schedules.NewDigest(i.world.origin)
	d.Number(int64(i.order))
	d.Number(int64(s.at))
	d.Text(s.key)
	d.Text(s.id)
	d.Text(string(s.outcome))
	d.Time(i.world.now)
	i.order = d.Sum64()
}

func (w *world) record(d *schedules.Digest, r store.Record) {
	d.Text(string(r.Status))
	d.Text(w.ownerOf(r.Owner))
	d.Time(r.Lease)
	d.Text(r.Fingerprint)
	d.Text(string(r.Result))
	d.Text(r.Reason)
	d.Number(int64(r.Attempt))
}

// ownerOf is the invocation whose token it is: tokens are random, and the same schedule has others
// each time.
func (w *world) ownerOf(token string) string {
	if name, known := w.owners[token]; known {
		return name
	}
	return token
}
