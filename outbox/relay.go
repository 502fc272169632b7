package outbox

import (
	"cmp"
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/relay"
	"github.com/go-idempotent/idempotent/internal/setup"
	"github.com/go-idempotent/idempotent/report"
)

// Deliver delivers a message. It returns nil if, and only if, the message has arrived: then it is
// marked as done. After an error it is tried again, unless that is [Permanent]; a panic is a
// [PanicError] of its value. It may get the same message more than once. It is called concurrently,
// with a context that ends in time to mark the message: it has to return then.
type Deliver func(ctx context.Context, m Message) error

// Permanent marks the error of a delivery that can never succeed, such as that of a message which
// is too large for the receiver. The message is given up at once. A nil error stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &relay.PermanentError{Err: err}
}

// PanicError is the error of a [Deliver] that has panicked, or has ended its goroutine.
type PanicError = report.PanicError

// Client is what a [Relay] needs of a [*dynamodb.Client]. It has to be safe for concurrent use.
type Client interface {
	GetItem(ctx context.Context, in *dynamodb.GetItemInput,
		optFns ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
		optFns ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	Query(ctx context.Context, in *dynamodb.QueryInput,
		optFns ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// Relay delivers the messages of an outbox: [Relay.Stream] what was just written, [Relay.Drain]
// what is due. Make one with [NewRelay]. It is safe for concurrent use. A table may have many.
type Relay struct {
	box    *box
	config Config
	relay  relay.Relay[stored] // each invocation has a copy that reports to it
}

const (
	// reports is how often a failure is reported to the stream before the message is put off: those
	// behind it wait meanwhile.
	reports  = 5
	grace    = time.Minute
	maxPause = time.Hour
)

// Config adjusts a [Relay]. Its zero value has the defaults.
type Config struct {
	// Concurrency is how many messages are delivered at once. Default 10.
	Concurrency int
	// Timeout bounds each delivery. Default ten seconds. Keep it well under that of the function.
	Timeout time.Duration
	// MaxTries is how often a message is tried before it is given up. Default 20, which takes about
	// nine hours: six tries of the stream, and then the pauses of the drain grow from two minutes
	// to an hour, each up to a quarter longer or shorter. Give both relays the same number.
	MaxTries int
	// NoStream says that the table has no stream: [Relay.Drain] delivers at once what is due. Else
	// it leaves each message to the stream for a minute.
	NoStream bool
	// Retention is how long a delivered message is kept. Default seven days, at least a second.
	Retention time.Duration
	// Observers get a [report.Relay] at the end of each invocation, also of one that fails. They
	// must not panic. Package observe has one for metrics and one for a log.
	Observers []func(context.Context, report.Relay)
	// Trace is called with the table and the source at the start of each invocation. Messages are
	// delivered under its context, and the function that it returns gets the report after the
	// observers. Neither may panic. Package observe/otel has one for OpenTelemetry.
	Trace func(context.Context, report.Relay) (context.Context, func(report.Relay))
}

// NewRelay returns a relay of the messages in a table, given by its name or ARN. It sends nothing.
// It panics with a [*store.ConfigError] that names every problem of the configuration.
func NewRelay(client Client, table string, deliver Deliver, config ...Config) *Relay {
	p := setup.Of("outbox.NewRelay")
	c := setup.One(p, config)
	p.Addf(c.Concurrency < 0, "Concurrency: %d is negative", c.Concurrency)
	p.Addf(c.Timeout < 0, "Timeout: %v is negative", c.Timeout)
	p.Addf(c.MaxTries < 0, "MaxTries: %d is negative", c.MaxTries)
	p.Addf(c.Retention != 0 && c.Retention < time.Second, "Retention: %v is less than a second", c.Retention)
	for i, observe := range c.Observers {
		p.Addf(observe == nil, "Observers: function %d is nil", i+1)
	}
	p.Addf(setup.IsNil(client), "the client is nil")
	p.Addf(table == "", "the name of the table is empty")
	p.Addf(deliver == nil, "deliver is nil")
	p.Panic()
	b := &box{client, table, cmp.Or(c.Retention, 7*24*time.Hour)}
	r := &Relay{box: b, config: c, relay: relay.Relay[stored]{
		Box: b, Deliver: deliver.entry,
		Concurrency: cmp.Or(c.Concurrency, 10), Timeout: cmp.Or(c.Timeout, 10*time.Second),
		Reports: reports, MaxTries: cmp.Or(c.MaxTries, 20), Grace: grace, Pause: pause, Now: time.Now,
	}}
	if c.NoStream {
		r.relay.Grace = 0
	}
	return r
}

// pause is what lies between a try and the next one: a minute as long as a stream tries, and twice
// as much after each other try. It varies by a quarter, so that messages which were due together
// with one that ends the process are not so again.
func pause(tries int) time.Duration {
	p := time.Minute
	for ; tries > reports+1 && p < maxPause; tries-- {
		p *= 2
	}
	p = min(p, maxPause)
	return p*3/4 + rand.N(p/2) //nolint:gosec // no secret
}

func (deliver Deliver) entry(ctx context.Context, e entry) error {
	e.Message.Tries = e.Tries
	return execution.Guarded(func() error { return deliver(ctx, e.Message.message()) })
}

// tableOf returns the name of a table of which a name or an ARN is given, also that of its stream.
func tableOf(name string) string {
	if _, resource, is := strings.Cut(name, ":table/"); is {
		name, _, _ = strings.Cut(resource, "/")
	}
	return name
}

const maxProblems = 100

func (r *Relay) run(ctx context.Context, source string, do func(context.Context, *tally) error) (report.Relay, error) {
	t := &tally{relay: r.relay, r: report.Relay{Table: tableOf(r.box.table), Source: source}}
	t.relay.Report = t.add
	ended := func(report.Relay) {}
	if r.config.Trace != nil {
		ctx, ended = r.config.Trace(ctx, t.r)
	}
	t.r.Err = do(ctx, t)
	for _, observe := range r.config.Observers {
		observe(ctx, t.r)
	}
	ended(t.r)
	return t.r, t.r.Err
}

// tally is a report in the making, to which the relay reports.
type tally struct {
	relay relay.Relay[stored]
	mu    sync.Mutex
	r     report.Relay
}

func (t *tally) add(e entry, o relay.Outcome, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &t.r
	if count := map[relay.Outcome]*int{
		relay.Delivered: &r.Delivered, relay.Elsewhere: &r.Elsewhere, relay.Failed: &r.Failed, relay.PutOff: &r.PutOff,
		relay.GivenUp: &r.GivenUp, relay.Unmarked: &r.Unmarked, relay.Uncounted: &r.Uncounted,
		relay.NotBegun: &r.NotBegun,
	}[o]; count != nil {
		*count++
	}
	switch o { //nolint:exhaustive // the others are counted once
	case relay.Delivered:
		r.Slowest = max(r.Slowest, time.Since(time.UnixMilli(e.Message.CreatedAt)))
	case relay.PutOff:
		r.Failed++
	}
	if err != nil && o != relay.Elsewhere && len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems,
			report.RelayProblem{ID: e.ID, Topic: e.Message.Topic, Outcome: string(o), Tries: e.Tries, Err: err})
	}
}
