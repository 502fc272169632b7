package batch_test

import (
	"slices"
	"time"
)

// source is a queue or a shard, with the event source mapping that hands its records over, by their
// names.
type source interface {
	// next hands over a batch, none if there is nothing of that kind.
	next(p pick, to *invocation) (names []string)
	// ends is told of the answer of an invocation, or that none has arrived, or an error.
	ends(i *invocation, answered bool)
	// ended reports whether a record does not come again for good: it was acknowledged or given up.
	ended(name string) bool
}

// pick says which batch is handed over: the ordinary one, or one that is not in the ordinary course
// of things.
type pick int

const (
	ordinary pick = iota
	// twiceInOne has a message twice, inFlight what others have at the moment, and acknowledged
	// what was acknowledged: a standard queue may hand over all of that. A stream hands over a
	// batch whose answer is not waited for any longer.
	twiceInOne
	inFlight
	acknowledged
)

// queueModel is an SQS queue. Its rules are those of
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html and
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html.
type queueModel struct {
	*world

	messages []*message
}

// message is one of a queue: until when somebody has it, who had it last, and how often it was
// handed over.
type message struct {
	sent

	held                  time.Time
	holder                *invocation
	receives              int
	acknowledged, givenUp bool
}

func (m *message) over() bool { return m.acknowledged || m.givenUp }

// inFlight reports whether somebody has the message. It is so until its visibility timeout, also if
// the invocation has ended.
func (m *message) inFlight() bool { return !m.over() && m.held.After(time.Now()) }

func (q *queueModel) next(p pick, to *invocation) []string {
	names := q.those(func(m *message) bool { return !m.over() && !m.inFlight() && !q.locked(m.group()) })
	switch {
	case p == ordinary || q.Source == fifo:
	case p == twiceInOne && len(names) > 0:
		names = append([]string{names[0]}, names...)
	case p == inFlight:
		names = q.those(func(m *message) bool { return !m.over() })
	case p == acknowledged:
		names = q.those(func(m *message) bool { return m.acknowledged })
	}
	names = names[:min(len(names), q.Batch)]
	for _, name := range names {
		m := q.of(name)
		if m.holder != to {
			m.receives++
		}
		m.holder, m.held = to, time.Now().Add(q.Visibility)
	}
	return names
}

func (q *queueModel) of(name string) *message { return q.messages[q.index(name)] }

// those are the names of messages. One that would be received once more than it may goes to the
// dead-letter queue first.
func (q *queueModel) those(are func(*message) bool) (names []string) {
	for _, m := range q.messages {
		if q.Limit > 0 && m.receives >= q.Limit && !m.over() && !m.inFlight() {
			m.givenUp = true
			q.saw("the queue gives up")
		}
		if are(m) {
			names = append(names, m.Name)
		}
	}
	return names
}

// locked reports whether a message of a group is in flight: a FIFO queue hands over no other one of
// the group then.
func (q *queueModel) locked(group string) bool {
	return q.Source == fifo && slices.ContainsFunc(q.messages, func(m *message) bool {
		return m.group() == group && m.inFlight()
	})
}

// ends deletes what an answer does not name. A FIFO queue deletes nothing with the receipt of an
// earlier time. Without an answer everything comes again after its visibility timeout.
func (q *queueModel) ends(i *invocation, answered bool) {
	for _, name := range i.names {
		m := q.of(name)
		stale := q.Source == fifo && (m.holder != i || !m.inFlight())
		if answered && !stale && !m.over() {
			m.acknowledged = !slices.Contains(i.failed, name)
		}
	}
}

// change sets when messages come again, as long as the receipt of an invocation is the last one.
func (q *queueModel) change(names []string, i *invocation, after time.Duration) {
	for _, name := range names {
		if m := q.of(name); m.holder == i && m.inFlight() {
			m.held = time.Now().Add(after)
			q.saw("the visibility is changed")
		}
	}
}

func (q *queueModel) ended(name string) bool {
	return slices.Contains(q.those((*message).over), name)
}

// shardModel is a shard of a stream. Its rules are those of
// https://docs.aws.amazon.com/lambda/latest/dg/services-kinesis-batchfailurereporting.html and
// https://docs.aws.amazon.com/lambda/latest/dg/kinesis-on-failure-destination.html.
type shardModel struct {
	*world

	// checkpoint is the index of the first record that has not ended, end where the batch that is
	// under way ends, tries how often it has failed.
	checkpoint, end, tries int
	// waits is the invocation whose answer counts, nil if none is under way.
	waits *invocation
}

func (s *shardModel) next(p pick, to *invocation) (names []string) {
	if s.waits != nil && p == ordinary || s.checkpoint == len(s.Sent) {
		return nil
	}
	if s.end == 0 {
		s.end = min(s.checkpoint+s.Batch, len(s.Sent))
	}
	for _, r := range s.Sent[s.checkpoint:s.end] {
		names = append(names, r.Name)
	}
	s.waits = to
	return names
}

func (s *shardModel) ends(i *invocation, answered bool) {
	if i != s.waits {
		return
	}
	s.waits = nil
	half := (s.end - s.checkpoint) / 2
	failed := slices.IndexFunc(s.Sent, func(r sent) bool { return slices.Contains(i.failed, r.Name) })
	switch {
	case answered && failed < 0:
		s.checkpoint, s.end, s.tries = s.end, 0, 0
		return
	case answered:
		s.checkpoint = failed
	case s.Bisects && half > 0:
		s.end = s.checkpoint + half
		s.saw("a batch is halved")
		return
	}
	if s.tries++; s.Limit > 0 && s.tries > s.Limit {
		s.saw("the mapping gives up")
		s.checkpoint, s.end, s.tries = s.end, 0, 0
	}
}

func (s *shardModel) ended(name string) bool { return s.index(name) < s.checkpoint }
