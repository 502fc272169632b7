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
	d.Add(w.now, w.polls, w.doubles, w.faults, w.timeSteps, len(w.late))
	for _, s := range w.late {
		d.Add(s.of.number, strings.Join(s.records, " "), s.after)
	}
	w.source.digest(d)
	for _, r := range w.Records {
		key := w.parts.RecordKey(r)
		d.Add(w.took[r.ID], w.unknown[key])
		if held := w.held(key); held != nil {
			w.record(d, *held)
		}
	}
	for _, i := range w.invocations {
		if !i.running() {
			continue
		}
		d.Add(i.number, strings.Join(idsOf(i.records), " "), i.deadline, i.order)
		for _, key := range slices.Sorted(maps.Keys(i.told)) {
			d.Add(key, i.told[key], i.begun[key], i.inside[key])
		}
		for _, r := range i.records {
			d.Add(i.endings[r.ID], i.done[r.ID])
		}
	}
	d.Add("stops")
	for _, s := range w.stops {
		d.Add(s.of.number, s.at, s.key, s.id, s.call.Op)
	}
	return d.Sum64()
}

// learn adds what a goroutine is told to what its invocation knows.
func (w *world) learn(s *stop, g grant) {
	i := s.of
	d := schedules.NewDigest(w.origin)
	if s.at != atCall && s.at != atEnding {
		i.gets(s)
		d.Add(i.order)
	}
	key := s.key + s.id
	if s.key != "" {
		key = s.key
	}
	d.Add(i.told[key], w.now, s.at, g.fault, g.ending, s.call.Op, g.reply.Done, g.reply.Err != nil, g.err != nil)
	if failure, ok := errors.AsType[*store.Error](g.reply.Err); ok {
		d.Add(failure.Kind)
	}
	w.record(d, g.reply.Held)
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
	i.order = schedules.Sum(i.world.origin, i.order, s.at, s.key, s.id, s.outcome, i.world.now)
}

func (w *world) record(d *schedules.Digest, r store.Record) {
	d.Add(r.Status, w.ownerOf(r.Owner), r.Lease, r.Fingerprint, string(r.Result), r.Reason, r.Attempt)
}

// ownerOf is the invocation whose token it is: tokens are random, and the same schedule has others
// each time.
func (w *world) ownerOf(token string) string {
	if name, known := w.owners[token]; known {
		return name
	}
	return token
}
