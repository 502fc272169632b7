package consumers

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/proof/calls"
	"github.com/go-idempotent/idempotent/report"
)

// Consumer is a Lambda function of a queue or a stream: it gets the records of an invocation, and
// returns the identifiers that its answer has.
type Consumer func(ctx context.Context, records []Record) (failed []string, err error)

// Parts are what a consumer is made of. Functions that the scenario does not have are nil.
type Parts struct {
	Source Source
	// Handle is the wrapped handler, RecordKey names the stored record, empty if the record has no
	// key. Identifier is what an answer calls a record.
	Handle           func(ctx context.Context, r Record) error
	RecordKey        func(r Record) string
	Identifier       func(r Record) string
	Terminal, Poison func(ctx context.Context, r Record, err error) error
	Visibility       func(ctx context.Context, records []Record, after time.Duration) error
	Reserve          time.Duration
}

// body is what a producer writes, and id is in it, so that whoever has a record knows which one it
// is.
type body struct {
	ID     string `json:"id"`
	Key    string `json:"key"`
	Amount int    `json:"amount"`
}

// function handles the records of one invocation. It returns the identifiers that its answer has.
type function[R any] = func(ctx context.Context, all []R) (failed []string, err error)

// shape is how records of a source look.
type shape[R any] struct {
	event func(s *stage, r Record) R
	body  func(R) string
	// function is that of package batch.
	function func(h *idempotent.Handler[R, string], c batch.Config[R]) function[R]
}

// answering is a function of package batch, whose event is made of all records.
func answering[R, E, A any](f func(context.Context, E) (A, error), event func(all []R) E) function[R] {
	return func(ctx context.Context, all []R) (failed []string, err error) {
		answer, err := f(ctx, event(all))
		text, broken := json.Marshal(answer)
		var named events.SQSEventResponse // as of every source
		if broken = errors.Join(broken, json.Unmarshal(text, &named)); broken != nil {
			panic(broken)
		}
		for _, one := range named.BatchItemFailures {
			failed = append(failed, one.ItemIdentifier)
		}
		return failed, err
	}
}

var messages = shape[events.SQSMessage]{
	event: func(s *stage, r Record) events.SQSMessage {
		m := events.SQSMessage{
			MessageId: r.ID, Body: r.text(), EventSource: "aws:sqs",
			EventSourceARN: "arn:aws:sqs:eu-central-1:1:orders",
		}
		// fair standard queues have groups, too
		m.Attributes = map[string]string{"ApproximateReceiveCount": "1", "MessageGroupId": r.Group}
		if s.Source == FIFO {
			m.EventSourceARN += ".fifo"
		}
		return m
	},
	body: func(m events.SQSMessage) string { return m.Body },
	function: func(h *idempotent.Handler[events.SQSMessage, string],
		c batch.Config[events.SQSMessage],
	) function[events.SQSMessage] {
		return answering(batch.SQS(h, c),
			func(all []events.SQSMessage) events.SQSEvent { return events.SQSEvent{Records: all} })
	},
}

var kinesisRecords = shape[events.KinesisEventRecord]{
	event: func(s *stage, r Record) events.KinesisEventRecord {
		return events.KinesisEventRecord{
			EventID: "shardId-0:" + s.sequence(r), EventSource: "aws:kinesis",
			Kinesis: events.KinesisRecord{PartitionKey: r.Group, SequenceNumber: s.sequence(r), Data: []byte(r.text())},
		}
	},
	body: func(r events.KinesisEventRecord) string { return string(r.Kinesis.Data) },
	function: func(h *idempotent.Handler[events.KinesisEventRecord, string],
		c batch.Config[events.KinesisEventRecord],
	) function[events.KinesisEventRecord] {
		return answering(batch.Kinesis(h, c),
			func(all []events.KinesisEventRecord) events.KinesisEvent { return events.KinesisEvent{Records: all} })
	},
}

var changes = shape[events.DynamoDBEventRecord]{
	event: func(s *stage, r Record) events.DynamoDBEventRecord {
		return events.DynamoDBEventRecord{
			EventID: r.ID, EventSource: "aws:dynamodb",
			Change: events.DynamoDBStreamRecord{
				Keys:           map[string]events.DynamoDBAttributeValue{"id": events.NewStringAttribute(r.Group)},
				NewImage:       map[string]events.DynamoDBAttributeValue{"order": events.NewStringAttribute(r.text())},
				SequenceNumber: s.sequence(r),
			},
		}
	},
	body: func(r events.DynamoDBEventRecord) string { return r.Change.NewImage["order"].String() },
	function: func(h *idempotent.Handler[events.DynamoDBEventRecord, string],
		c batch.Config[events.DynamoDBEventRecord],
	) function[events.DynamoDBEventRecord] {
		return answering(batch.DynamoDB(h, c),
			func(all []events.DynamoDBEventRecord) events.DynamoDBEvent { return events.DynamoDBEvent{Records: all} })
	},
}

func (r Record) text() string {
	text, err := json.Marshal(body{ID: r.ID, Key: r.Key, Amount: r.Amount})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func read(text string) body {
	var b body
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		panic(err)
	}
	return b
}

// stage is what the schedules of a scenario share: the consumer, whose configuration never changes.
type stage struct {
	*Scenario

	consumer Consumer
	parts    Parts
	// described are the records as the handler sees them, by their ids. One without a key is not
	// there.
	described map[string]idempotent.Description
	world     *world // that of the schedule which is played
}

func newStage(s *Scenario) *stage {
	st := &stage{Scenario: s, described: map[string]idempotent.Description{}}
	switch s.Source {
	case Standard, FIFO:
		equip(st, messages)
	case Kinesis:
		equip(st, kinesisRecords)
	case DynamoDB:
		equip(st, changes)
	}
	return st
}

// sequence is the sequence number of a record. They get longer: nobody may compare them as texts.
func (s *stage) sequence(r Record) string {
	for n, one := range s.Records {
		if one.ID == r.ID {
			return [...]string{"8", "9", "10", "11", "12"}[n]
		}
	}
	panic("consumers: no record " + r.ID)
}

func (s *stage) recordOf(id string) Record {
	for _, r := range s.Records {
		if r.ID == id {
			return r
		}
	}
	panic("consumers: no record " + id)
}

// equip makes the consumer for records of one shape.
func equip[R any](st *stage, as shape[R]) {
	handle := func(ctx context.Context, r R) (string, error) { return invocationOf(ctx).handle(read(as.body(r)).ID) }
	h := idempotent.Wrap(handle, calls.Store(atGate), append([]idempotent.Option{
		idempotent.WithOperation("consumers"),
		idempotent.WithKey(func(r R) (string, error) { return read(as.body(r)).Key, nil }),
		idempotent.WithFingerprint(func(r R) (any, error) { return read(as.body(r)).Amount, nil }),
		idempotent.WithObserver(func(ctx context.Context, e report.Delivery) {
			invocationOf(ctx).note(stop{at: atDone, key: e.RecordKey, outcome: e.Outcome})
		}),
	}, st.Options...)...)
	c := batch.Config[R]{Concurrency: st.Concurrency, Visibility: st.visibility()}
	// takes is a function of the configuration, for package batch and for a consumer by hand.
	takes := func(at point) (func(context.Context, R, error) error, func(context.Context, Record, error) error) {
		take := func(ctx context.Context, id string) error { return invocationOf(ctx).take(at, id) }
		return func(ctx context.Context, r R, _ error) error { return take(ctx, read(as.body(r)).ID) },
			func(ctx context.Context, r Record, _ error) error { return take(ctx, r.ID) }
	}
	st.parts.Source, st.parts.Reserve = st.Source, batch.DefaultReserve
	st.parts.Handle = func(ctx context.Context, r Record) error { _, err := h.Handle(ctx, as.event(st, r)); return err }
	st.parts.RecordKey = func(r Record) string { return st.described[r.ID].RecordKey }
	st.parts.Identifier = func(r Record) string {
		if st.Source.stream() {
			return st.sequence(r)
		}
		return r.ID
	}
	for _, r := range st.Records {
		if d, err := h.Describe(context.Background(), as.event(st, r)); err == nil {
			st.described[r.ID] = d
		}
	}
	if st.Terminal {
		c.Terminal, st.parts.Terminal = takes(atTerminal)
	}
	if st.Poison {
		c.Poison, st.parts.Poison = takes(atPoison)
	}
	if st.Consumer != nil {
		st.consumer = st.Consumer(st.parts)
		return
	}
	f := as.function(h, c)
	st.consumer = func(ctx context.Context, records []Record) ([]string, error) {
		all := make([]R, len(records))
		for n, r := range records {
			all[n] = as.event(st, r)
		}
		return f(ctx, all)
	}
}

// visibility is the function that says when messages come again, nil if the scenario has none.
func (s *stage) visibility() func(ctx context.Context, all []events.SQSMessage, after time.Duration) error {
	if !s.Visible {
		return nil
	}
	s.parts.Visibility = func(ctx context.Context, all []Record, after time.Duration) error {
		return invocationOf(ctx).setVisibility(idsOf(all), after)
	}
	return func(ctx context.Context, all []events.SQSMessage, after time.Duration) error {
		ids := make([]string, len(all))
		for n, m := range all {
			ids[n] = m.MessageId
		}
		return invocationOf(ctx).setVisibility(ids, after)
	}
}
