package observe

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// summary writes lines about invocations that work on many things at once: one line for each S, which says what one of them did.
type summary[S any] struct {
	// constructor is the function that makes it, many what an invocation has many of.
	constructor, many string
	// dimension is the name of the first dimension.
	dimension string
	measures  []measure[S]
	// about returns the value of that dimension, where the work came from, and the error of the invocation.
	about func(*S) (value, source string, err error)
}

// measure is a metric and what it measures.
type measure[S any] struct {
	Metric

	of func(*S) float64
	// known reports whether a line has the metric, which may be zero then; nil if a line has it when it is more than zero.
	known func(*S) bool
}

// happened reports whether a line has the metric.
func (m *measure[S]) happened(s *S) bool {
	if m.known != nil {
		return m.known(s)
	}
	return m.of(s) > 0
}

func metricsIn[S any](measures []measure[S]) []Metric {
	all := make([]Metric, len(measures))
	for i := range measures {
		all[i] = measures[i].Metric
	}
	return all
}

const propertySource = "source"

func (y *summary[S]) emf(w io.Writer, opts []EMFOption) func(context.Context, S) {
	c := configOf(y.constructor, w, opts)
	if c.tenant != nil {
		c.problemf("%s: WithTenant: the %s of an invocation have many tenants", y.constructor, y.many)
	}
	if c.route {
		c.problemf("%s: WithRoute: %s have no routes", y.constructor, y.many)
	}
	c.panicIfWrong()
	t := c.template(y.dimension)
	var mu sync.Mutex // guards line and w
	var line []byte
	return func(ctx context.Context, s S) {
		if !slices.ContainsFunc(y.measures, func(m measure[S]) bool { return m.happened(&s) }) {
			return // a line needs a metric
		}
		mu.Lock()
		defer mu.Unlock()
		line = y.appendLine(line[:0], ctx, t, &s, time.Now())
		_, _ = w.Write(line)
	}
}

func (y *summary[S]) appendLine(b []byte, ctx context.Context, t template, s *S, now time.Time) []byte {
	value, source, err := y.about(s)
	b = append(t.appendHead(b, now), `],"Metrics":[`...)
	comma := false
	for i := range y.measures {
		if m := &y.measures[i]; m.happened(s) {
			b = appendDefinition(b, comma, m.Metric)
			comma = true
		}
	}
	b = append(b, `]}]}`...)
	b = append(appendMember(b, y.dimension, value), t.members...)
	b = appendSaid(b, propertySource, source)
	b = appendSaid(b, properties[propertyErrorType], errorType(err))
	b = appendRequestID(b, ctx)
	for i := range y.measures {
		if m := &y.measures[i]; m.happened(s) {
			b = appendNumber(b, m.Name, m.of(s))
		}
	}
	return append(b, "}\n"...)
}

// Words that several logs have in common.
const (
	wordFailed = string(commitFailed)
	wordParked = "parked"
)

func oneIf(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

// counted is how often something happened in an invocation, as a log calls it.
type counted struct {
	name string
	n    int
}

// appendCounts appends what happened.
func appendCounts(attrs []slog.Attr, counts ...counted) []slog.Attr {
	for _, c := range counts {
		if c.n > 0 {
			attrs = append(attrs, slog.Int(c.name, c.n))
		}
	}
	return attrs
}

// levelOfInvocation is that of the record about a whole invocation.
func levelOfInvocation(err error) slog.Level {
	if err != nil {
		return slog.LevelError
	}
	return slog.LevelInfo
}
