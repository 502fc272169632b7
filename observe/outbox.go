package observe

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"
)

// Outbox says what one invocation of the relay of an outbox did. It is the Report of package outbox in a form that needs neither that package
// nor the AWS SDK; package outboxobserve makes one of the other.
type Outbox struct {
	// Table is the name of the table. Source is where the messages came from: "stream" or "drain".
	Table, Source string
	// What became of the messages, as outbox.Report counts it.
	Delivered, Elsewhere, Failed, PutOff, Parked, Unmarked, Uncounted, NotBegun, Skipped, Foreign int
	// Slowest is how long the one took that took longest from its commit to its delivery, 0 if none was delivered.
	Slowest time.Duration
	// Left is what is in the outbox, nil if nobody has looked.
	Left *OutboxLeft
	// Problems are what went wrong with single messages.
	Problems []OutboxProblem
	// Err is the error of the invocation, nil if it did not fail.
	Err error
}

// OutboxLeft is what is in an outbox.
type OutboxLeft struct {
	// Pending is how many messages wait for their delivery, Oldest for how long the one has waited that has waited longest.
	Pending int
	Oldest  time.Duration
	// Parked is how many nobody delivers any more before somebody has looked at them.
	Parked int
	// Partial: there are more than were counted.
	Partial bool
}

// OutboxProblem is what went wrong with a message.
type OutboxProblem struct {
	// ID and Topic are those of the message. Outcome is what has become of it.
	ID, Topic, Outcome string
	// Tries is how many deliveries were tried, as far as that is known.
	Tries int
	// Err is why.
	Err error
}

// outboxMetric is a metric and what it measures.
type outboxMetric struct {
	Metric

	of func(o *Outbox) float64
	// left: it is about what is left, and has a value whenever somebody has looked, also zero.
	left bool
}

// Alarms hold on to the names: a name that has been published does not change.
var outboxMetrics = [...]outboxMetric{
	{Metric{"MessageDelivered", count}, func(o *Outbox) float64 { return float64(o.Delivered) }, false},
	{Metric{"MessageFailed", count}, func(o *Outbox) float64 { return float64(o.Failed) }, false},
	{Metric{"MessagePutOff", count}, func(o *Outbox) float64 { return float64(o.PutOff) }, false},
	{Metric{"MessageParked", count}, func(o *Outbox) float64 { return float64(o.Parked) }, false},
	{Metric{"MessageUnmarked", count}, func(o *Outbox) float64 { return float64(o.Unmarked) }, false},
	{Metric{"MessageUncounted", count}, func(o *Outbox) float64 { return float64(o.Uncounted) }, false},
	{Metric{"MessageNotBegun", count}, func(o *Outbox) float64 { return float64(o.NotBegun) }, false},
	{Metric{"MessageForeign", count}, func(o *Outbox) float64 { return float64(o.Foreign) }, false},
	{Metric{"RelayFailed", count}, func(o *Outbox) float64 { return oneIf(o.Err != nil) }, false},
	{Metric{"MessageLatency", milliseconds}, func(o *Outbox) float64 { return inMilliseconds(max(o.Slowest, 0)) }, false},
	{Metric{"PendingMessages", count}, func(o *Outbox) float64 { return float64(o.Left.Pending) }, true},
	{Metric{"OldestMessage", seconds}, func(o *Outbox) float64 { return max(o.Left.Oldest, 0).Seconds() }, true},
	{Metric{"ParkedMessages", count}, func(o *Outbox) float64 { return float64(o.Left.Parked) }, true},
}

func oneIf(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

// happened reports whether a line has the metric.
func (m *outboxMetric) happened(o *Outbox) bool {
	if m.left {
		return o.Left != nil
	}
	return m.of(o) > 0
}

// OutboxMetrics lists the metrics that [OutboxEMF] can write, in the order that they have in a line.
func OutboxMetrics() []Metric {
	all := make([]Metric, len(outboxMetrics))
	for i := range outboxMetrics {
		all[i] = outboxMetrics[i].Metric
	}
	return all
}

const propertySource = "source"

// OutboxEMF returns a function that writes one line of JSON for each [Outbox], in the format and the namespace of [EMF]. The dimension is
// Outbox, the name of the table. See [OutboxMetrics] for the metrics: a line has those that happened, and no line is written of an invocation
// of which none did. What is left after a drain is always in its line, also zeros: an alarm learns from them that nothing waits any more,
// and a line that is missing says that no drain runs. Beside them a line has the properties source, errorType (of the error of the
// invocation) and requestId. It holds nothing of a message and no text of an error.
//
// The function is safe for concurrent use and hands each line to w in one call of Write. A line that w refuses is dropped: an
// invocation does not fail because of its metrics. A wrong option or a nil w panics with an [*idempotent.ConfigError]
// that names every problem; [WithTenant] and [WithRoute] are wrong ones, because the messages of an invocation have many tenants and no route.
func OutboxEMF(w io.Writer, opts ...EMFOption) func(context.Context, Outbox) {
	c := configOf("observe.OutboxEMF", w, opts)
	if c.tenant != nil {
		c.problemf("observe.OutboxEMF: WithTenant: the messages of an invocation have many tenants")
	}
	if c.route {
		c.problemf("observe.OutboxEMF: WithRoute: messages have no routes")
	}
	c.panicIfWrong()
	t := c.template(dimensionOutbox)
	var mu sync.Mutex // guards line and w
	var line []byte
	return func(ctx context.Context, o Outbox) {
		if !slices.ContainsFunc(outboxMetrics[:], func(m outboxMetric) bool { return m.happened(&o) }) {
			return // a line needs a metric
		}
		mu.Lock()
		defer mu.Unlock()
		line = t.appendOutbox(line[:0], ctx, &o, time.Now())
		_, _ = w.Write(line)
	}
}

func (t template) appendOutbox(b []byte, ctx context.Context, o *Outbox, now time.Time) []byte {
	b = append(t.appendHead(b, now), `],"Metrics":[`...)
	comma := false
	for i := range outboxMetrics {
		if m := &outboxMetrics[i]; m.happened(o) {
			b = appendDefinition(b, comma, m.Metric)
			comma = true
		}
	}
	b = append(b, `]}]}`...)
	b = append(appendMember(b, dimensionOutbox, o.Table), t.members...)
	b = appendSaid(b, propertySource, o.Source)
	b = appendSaid(b, properties[propertyErrorType], errorType(o.Err))
	b = appendRequestID(b, ctx)
	for i := range outboxMetrics {
		if m := &outboxMetrics[i]; m.happened(o) {
			b = appendNumber(b, m.Name, m.of(o))
		}
	}
	return append(b, "}\n"...)
}
