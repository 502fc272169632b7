package outbox

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"runtime/debug"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/internal/relay"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// Deliver delivers a message. It returns nil if, and only if, the message has arrived: then it is marked as done. After an error it is
// tried again, see [Permanent]. It may get the same message more than once, always with the same [Message.ID]. It is called concurrently,
// with a context that ends in time to mark the message: it has to return then. A panic counts as an error, see [PanicError].
type Deliver func(ctx context.Context, m Message) error

// Permanent marks the error of a delivery that can never succeed, such as a message that is larger than the receiver takes. The message is
// parked at once. A nil error stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &relay.PermanentError{Err: err}
}

// PanicError is the error of a [Deliver] that has panicked. Its text names the type of the value alone; a log gets the stack, too.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("the delivery panicked with a value of type %T", e.Value)
}

// LogValue implements [slog.LogValuer].
func (e *PanicError) LogValue() slog.Value {
	return slog.GroupValue(slog.String("message", e.Error()), slog.String("stack", string(e.Stack)))
}

// Client is what a [Relay] needs of a DynamoDB client. [*dynamodb.Client] implements it. It has to be safe for concurrent use.
type Client interface {
	GetItem(ctx context.Context, in *dynamodb.GetItemInput, optFns ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, optFns ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	Query(ctx context.Context, in *dynamodb.QueryInput, optFns ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// Relay delivers the messages of an outbox. It does so in two ways, which two functions have: [Relay.Stream] takes what was just written
// from the stream of the table, and [Relay.Drain] looks on a schedule for what the stream has put off or lost. Make one with [NewRelay]. It
// is safe for concurrent use. Any number of relays may work on one table.
type Relay struct {
	table   string
	box     *box
	deliver Deliver
	relay   *relay.Relay[Message]
	c       relayConfig
}

// The defaults of a [Relay].
const (
	DefaultConcurrency = 10
	DefaultTimeout     = 10 * time.Second
	DefaultMaxTries    = 20
	DefaultGrace       = time.Minute
	DefaultRetention   = 7 * 24 * time.Hour
)

const (
	// reports is how often a failure is reported to the stream before the message is put off: those behind it wait meanwhile.
	reports = 5
	// reserve is what is kept of an invocation for marks.
	reserve  = time.Second
	maxPause = time.Hour
)

// RelayOption adjusts a [Relay].
type RelayOption func(*relayConfig)

type relayConfig struct {
	concurrency, maxTries     int
	timeout, grace, retention time.Duration
	observers                 []func(context.Context, report.Relay)
	problems                  []string
}

func (c *relayConfig) problemf(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// WithConcurrency sets how many messages are delivered at once, from 1 on. Default [DefaultConcurrency].
func WithConcurrency(n int) RelayOption {
	return func(c *relayConfig) {
		c.concurrency = n
		if n < 1 {
			c.problemf("WithConcurrency: %d is less than 1", n)
		}
	}
}

// WithTimeout bounds each delivery. Default [DefaultTimeout]. Keep it well under the timeout of the function.
func WithTimeout(d time.Duration) RelayOption {
	return func(c *relayConfig) {
		c.timeout = d
		if d <= 0 {
			c.problemf("WithTimeout: %v is not positive", d)
		}
	}
}

// WithMaxTries sets how often a message is tried before it is parked, from 1 on. Default [DefaultMaxTries], which takes about nine hours:
// the first six tries are those of the stream, and then the pauses of the drain grow from two minutes to an hour, each a quarter
// longer or shorter at most. Give the relay of the stream and that of the drain the same number.
func WithMaxTries(n int) RelayOption {
	return func(c *relayConfig) {
		c.maxTries = n
		if n < 1 {
			c.problemf("WithMaxTries: %d is less than 1", n)
		}
	}
}

// WithGrace sets how long [Relay.Drain] leaves a message to the stream after it is due. Default [DefaultGrace]; use 0 for a table without a
// stream.
func WithGrace(d time.Duration) RelayOption {
	return func(c *relayConfig) {
		c.grace = d
		if d < 0 {
			c.problemf("WithGrace: %v is negative", d)
		}
	}
}

// WithRetention sets how long a delivered message is kept, before DynamoDB's time to live deletes it. Default [DefaultRetention], at least a
// second.
func WithRetention(d time.Duration) RelayOption {
	return func(c *relayConfig) {
		c.retention = d
		if d < time.Second {
			c.problemf("WithRetention: %v is less than a second", d)
		}
	}
}

// WithObserver adds a function that gets a [report.Relay] at the end of each invocation, also of one that fails. It must not panic. Package observe
// has one for metrics and one for a log.
func WithObserver(observer func(context.Context, report.Relay)) RelayOption {
	return func(c *relayConfig) {
		c.observers = append(c.observers, observer)
		if observer == nil {
			c.problemf("WithObserver: the function is nil")
		}
	}
}

// NewRelay returns a relay of the messages in a table, given by its name or ARN. It sends nothing; see [Check].
//
// It panics with a [*store.ConfigError] that names every problem of the configuration.
func NewRelay(client Client, table string, deliver Deliver, opts ...RelayOption) *Relay {
	c := relayConfig{
		concurrency: DefaultConcurrency, maxTries: DefaultMaxTries, timeout: DefaultTimeout, grace: DefaultGrace, retention: DefaultRetention,
	}
	if v := reflect.ValueOf(client); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		c.problemf("the client is nil")
	}
	if table == "" {
		c.problemf("the name of the table is empty")
	}
	if deliver == nil {
		c.problemf("deliver is nil")
	}
	for i, opt := range opts {
		if opt == nil {
			c.problemf("option %d is nil", i+1)
			continue
		}
		opt(&c)
	}
	if len(c.problems) > 0 {
		for i, p := range c.problems {
			c.problems[i] = "outbox.NewRelay: " + p
		}
		panic(&store.ConfigError{Problems: c.problems})
	}
	r := &Relay{table: table, box: &box{client, table, c.retention}, deliver: deliver, c: c}
	r.relay = relay.New(r.box, r.deliverEntry, reportOf, relay.Settings{
		Concurrency: c.concurrency, Timeout: c.timeout, Reserve: reserve, Reports: reports, MaxTries: c.maxTries, Grace: c.grace,
		Pause: spread, Now: time.Now,
	})
	return r
}

// pause is what lies between a try and the next one: a minute as long as a stream tries, and twice as much after each other try.
func pause(tries int) time.Duration {
	p := time.Minute
	for ; tries > reports+1 && p < maxPause; tries-- {
		p *= 2
	}
	return min(p, maxPause)
}

// spread is a pause, or up to a quarter more or less: messages that were due together with one that ends the process are not so the next time.
func spread(tries int) time.Duration {
	p := pause(tries)
	return p*3/4 + rand.N(p/2) //nolint:gosec // no secret
}

func (r *Relay) deliverEntry(ctx context.Context, e relay.Entry[Message]) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	e.Message.Tries = e.Tries
	return r.deliver(ctx, e.Message)
}

// tableOf returns the name of a table of which a name or an ARN is given, also that of its stream.
func tableOf(name string) string {
	if _, resource, is := strings.Cut(name, ":table/"); is {
		name, _, _ = strings.Cut(resource, "/")
	}
	return name
}
