package observe

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Attention says how many records of an operation wait for somebody to settle them, at one instant. No invocation can tell: a
// record whose client has given up makes no more events. A job that lists the records, say every five minutes, can. They are those
// that are UNKNOWN, and those that stopped between two steps and that nobody has retried, as operate.Operator.List yields them by
// default.
type Attention struct {
	// Operation is the name of the wrapped handler.
	Operation string
	// Open is how many records wait.
	Open int
	// Oldest is for how long the one has waited that has waited longest, since it was due, 0 if none waits. A record that a reconciliation
	// has asked about in vain is due again later, and waits since then.
	Oldest time.Duration
	// Parked is how many of them no reconciliation asks about any more. A person has to settle these.
	Parked int
}

const seconds = "Seconds"

var attentionMetrics = [...]Metric{{"OpenAttention", count}, {"OldestAttention", seconds}, {"ParkedAttention", count}}

// AttentionMetrics lists the metrics that [AttentionEMF] writes, in their order.
func AttentionMetrics() []Metric { return slices.Clone(attentionMetrics[:]) }

// AttentionEMF returns a function that writes one line of JSON for each [Attention], in the format, the namespace and with the
// dimension of [EMF]. Unlike that one it writes zeros: an alarm learns from them that nothing is open any more, and a line that is
// missing says that nobody has counted.
//
// The function is safe for concurrent use and hands each line to w in one call of Write, whose error it returns. A wrong option or
// a nil w panics with an [*idempotent.ConfigError] that names every problem; [WithTenant] is a wrong one, because a
// record does not tell its tenant.
func AttentionEMF(w io.Writer, opts ...EMFOption) func(Attention) error {
	c := configOf("observe.AttentionEMF", w, opts)
	if c.tenant != nil {
		c.problemf("observe.AttentionEMF: WithTenant: a record does not tell its tenant")
	}
	if c.route {
		c.problemf("observe.AttentionEMF: WithRoute: a record does not tell its route")
	}
	c.panicIfWrong()
	t := c.template(dimensionOperation)
	var mu sync.Mutex // guards w
	return func(a Attention) error {
		line := t.appendAttention(nil, a, time.Now())
		mu.Lock()
		defer mu.Unlock()
		if _, err := w.Write(line); err != nil {
			return fmt.Errorf("observe: attention of %q: %w", a.Operation, err)
		}
		return nil
	}
}

func (t template) appendAttention(b []byte, a Attention, now time.Time) []byte {
	b = append(t.appendHead(b, now), `],"Metrics":[`...)
	for i, m := range attentionMetrics {
		b = appendDefinition(b, i > 0, m)
	}
	b = append(b, `]}]}`...)
	b = append(appendMember(b, dimensionOperation, a.Operation), t.members...)
	for i, value := range [...]float64{float64(a.Open), max(a.Oldest, 0).Seconds(), float64(a.Parked)} {
		b = appendNumber(b, attentionMetrics[i].Name, value)
	}
	return append(b, "}\n"...)
}
