package consumers

import (
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/proof/schedules"
)

// source is a queue or a shard, with the event source mapping that hands its records over.
type source interface {
	// batches are those that may be handed over now, the ordinary one first.
	batches() []handover
	hand(b handover, invocation int)
	// answered is told of an answer that has arrived, broke of an invocation without one, or with
	// an error.
	answered(i *invocation)
	broke(i *invocation)
	// ended reports whether a record does not come again for good: it was acknowledged or given up.
	ended(id string) bool
	// instants are when something changes by itself.
	instants() []time.Time
	digest(d *schedules.Digest)
}

// handover is a batch. A double one is not in the ordinary course of things.
type handover struct {
	records []Record
	double  bool
}

// queue is an SQS queue. Its rules are those of
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html and
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html.
type queue struct {
	*world

	messages []*message
}

type message struct {
	Record

	// visible is when it can be handed over, holder the invocation that it was handed to last,
	// receives how often it was.
	visible               time.Time
	holder, receives      int
	acknowledged, givenUp bool
}

func newQueue(w *world) *queue {
	q := &queue{world: w}
	for _, r := range w.Records {
		q.messages = append(q.messages, &message{Record: r})
	}
	return q
}

func (m *message) over() bool { return m.acknowledged || m.givenUp }

// inFlight reports whether somebody has the message. It is so until its visibility timeout, also if
// the invocation has ended.
func (q *queue) inFlight(m *message) bool { return !m.over() && m.visible.After(q.now) }

// giveUp moves messages to the dead-letter queue that would be received once more than they may.
func (q *queue) giveUp() {
	for _, m := range q.messages {
		if q.Receives > 0 && m.receives >= q.Receives && !m.over() && !q.inFlight(m) {
			m.givenUp = true
			q.Saw("given up by the queue")
			q.Sayf("%s: the queue gives %s up", q.clockText(), m.ID)
		}
	}
}

func (q *queue) batches() (all []handover) {
	q.giveUp()
	free := q.free()
	if n := min(len(free), q.Batch); n > 0 {
		all = append(all, handover{records: free[:n]})
	}
	if q.Source != Standard {
		return all
	}
	if q.Twice && len(free) > 0 {
		all = append(all, handover{records: append([]Record{free[0]}, free[:min(len(free), q.Batch)]...), double: true})
	}
	return append(all, q.doubled()...)
}

// free are the messages that can be handed over. A group of a FIFO queue is locked while one of its
// messages is in flight.
func (q *queue) free() (free []Record) {
	locked := map[string]bool{}
	for _, m := range q.messages {
		if q.Source == FIFO && q.inFlight(m) {
			locked[m.Group] = true
		}
	}
	for _, m := range q.messages {
		if !m.over() && !q.inFlight(m) && !locked[m.Group] {
			free = append(free, m.Record)
		}
	}
	return free
}

// doubled are the batches by which a standard queue hands over what it has handed over before:
// everything once more, and what was acknowledged.
func (q *queue) doubled() (all []handover) {
	var again, gone []Record
	held := false
	for _, m := range q.messages {
		switch {
		case m.acknowledged:
			gone = append(gone, m.Record)
		case !m.over():
			again = append(again, m.Record)
			held = held || q.inFlight(m)
		}
	}
	if held {
		all = append(all, handover{records: again[:min(len(again), q.Batch)], double: true})
	}
	if len(gone) > 0 {
		all = append(all, handover{records: gone[:1], double: true})
	}
	return all
}

func (q *queue) of(id string) *message {
	for _, m := range q.messages {
		if m.ID == id {
			return m
		}
	}
	return nil
}

func (q *queue) hand(b handover, invocation int) {
	for _, r := range b.records {
		m := q.of(r.ID)
		if m.holder != invocation {
			m.receives++
		}
		m.holder, m.visible = invocation, q.now.Add(q.visibility())
	}
}

// answered deletes what is not named. A FIFO queue deletes nothing with the receipt of an earlier
// time.
func (q *queue) answered(i *invocation) {
	for _, r := range i.records {
		m := q.of(r.ID)
		if slices.Contains(i.failed, r.ID) || q.Source == FIFO && (m.holder != i.number || !q.inFlight(m)) {
			continue
		}
		if !m.over() {
			m.acknowledged = true
			q.Sayf("  %s is acknowledged", m.ID)
		}
	}
}

// broke does nothing: everything comes again after its visibility timeout.
func (q *queue) broke(*invocation) {}

// change sets when messages come again, as long as the receipt of an invocation is the last one.
func (q *queue) change(ids []string, invocation int, after time.Duration) {
	for _, id := range ids {
		if m := q.of(id); m != nil && m.holder == invocation && q.inFlight(m) {
			m.visible = q.now.Add(after)
		}
	}
}

func (q *queue) ended(id string) bool {
	q.giveUp()
	return q.of(id).over()
}

func (q *queue) instants() (all []time.Time) {
	for _, m := range q.messages {
		if !m.over() {
			all = append(all, m.visible)
		}
	}
	return all
}

func (q *queue) digest(d *schedules.Digest) {
	for _, m := range q.messages {
		d.Add(m.acknowledged, m.givenUp)
		if !m.over() {
			d.Add(m.receives, m.holder)
			if m.visible.After(q.now) {
				d.Add(m.visible)
			}
		}
	}
}

// shard is one of a stream. Its rules are those of
// https://docs.aws.amazon.com/lambda/latest/dg/services-kinesis-batchfailurereporting.html and
// https://docs.aws.amazon.com/lambda/latest/dg/kinesis-on-failure-destination.html.
type shard struct {
	*world

	// checkpoint is the index of the first record that has not ended, end where the batch that is
	// under way ends, tries how often it has failed.
	checkpoint, end, tries int
	// handed is the number of the invocation whose answer counts, 0 if none is under way.
	handed int
}

func newShard(w *world) *shard { return &shard{world: w} }

// batches is the one from the checkpoint on. It is handed over once more, if at all, because its
// answer is not waited for any longer.
func (s *shard) batches() []handover {
	if s.checkpoint == len(s.Records) {
		return nil
	}
	end := s.end
	if end == 0 {
		end = min(s.checkpoint+s.Batch, len(s.Records))
	}
	return []handover{{records: s.Records[s.checkpoint:end], double: s.handed != 0}}
}

func (s *shard) hand(b handover, invocation int) {
	s.end, s.handed = s.checkpoint+len(b.records), invocation
}

// counts reports whether the answer of an invocation is the one that is waited for.
func (s *shard) counts(i *invocation) bool { return i.number == s.handed }

func (s *shard) broke(i *invocation) {
	if !s.counts(i) {
		return
	}
	s.handed = 0
	if half := (s.end - s.checkpoint) / 2; s.Bisects && half > 0 {
		s.end = s.checkpoint + half
		s.Saw("bisected")
		s.Sayf("  the batch is halved")
		return
	}
	s.failed()
}

// failed counts a failure of the rest of a batch.
func (s *shard) failed() {
	s.tries++
	if s.Retries == 0 || s.tries <= s.Retries {
		return
	}
	for _, r := range s.Records[s.checkpoint:s.end] {
		s.Sayf("  the mapping gives %s up", r.ID)
	}
	s.Saw("given up by the mapping")
	s.checkpoint, s.end, s.tries = s.end, 0, 0
}

func (s *shard) answered(i *invocation) {
	if !s.counts(i) {
		return
	}
	s.handed = 0
	for n := s.checkpoint; n < s.end; n++ {
		if slices.Contains(i.failed, s.sequence(s.Records[n])) {
			s.checkpoint = n
			s.Sayf("  the checkpoint is at %s", s.Records[n].ID)
			s.failed()
			return
		}
	}
	s.checkpoint, s.end, s.tries = s.end, 0, 0
	s.Sayf("  the batch is acknowledged")
}

func (s *shard) ended(id string) bool {
	for n, r := range s.Records {
		if r.ID == id {
			return n < s.checkpoint
		}
	}
	return false
}

func (s *shard) instants() []time.Time { return nil }

func (s *shard) digest(d *schedules.Digest) {
	d.Add(s.checkpoint, s.end, s.tries, s.handed)
}
