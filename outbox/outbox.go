// Package outbox sends messages that leave if, and only if, their commit happened.
//
// A handler puts a message into a table, in the transaction that also writes its rows and stores
// its answer:
//
//	return dynamo.Commit(ctx, created,
//		dynamo.Put(orders, row, dynamo.IfAbsent("order_id")),
//		outbox.New(table).Message(ctx, "order-placed", row))
//
// A second function delivers it from the stream of the table. A third one runs on a schedule, and
// delivers what the stream has put off or lost:
//
//	lambda.Start(outbox.NewRelay(client, table, deliver).Stream)
//	lambda.Start(outbox.NewRelay(client, table, deliver).Drain)
//
// A message whose commit did not happen is never delivered. One whose commit happened is delivered
// at least once, always with the same [Message.ID], unless it is given up after [Config.MaxTries],
// or a later commit has replaced it, with the same id. It is marked as done after a delivery, and
// never before. No order is promised.
//
// Packages outboxsqs and outboxhttp deliver to SQS and over HTTP. See docs/outbox.md.
//
// A handler that commits messages needs dynamodb:PutItem on the table, a relay on the stream
// dynamodb:UpdateItem, and a drain both this and dynamodb:GetItem, and dynamodb:Query on the index.
package outbox

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/relay"
	"github.com/go-idempotent/idempotent/internal/setup"
	"github.com/go-idempotent/idempotent/store"
)

// Outbox is a DynamoDB table in the account and Region of the idempotency records. Make one with
// [New]. It sends nothing, and is safe for concurrent use.
type Outbox struct{ table string }

// New returns the outbox with this table, given by its name or ARN, which [dynamo.Commit] checks.
func New(table string) *Outbox { return &Outbox{table} }

// Message is a message as it is delivered.
type Message struct {
	// ID is the same whenever the message is delivered. It is the key derived for the name of the
	// message, see idempotent.DerivedKey, a UUID in text form. Pass it on as the idempotency key,
	// so that the receiver knows the message again.
	ID    string
	Topic string
	Body  json.RawMessage
	// Attributes, Group and Tenant are those of [MessageConfig], empty without any.
	Attributes map[string]string
	Group      string
	Tenant     string
	// Trace is the X-Ray trace header of the invocation that has committed the message, if any.
	Trace string
	// CreatedAt is when it was made, by the clock of its function, to the millisecond.
	CreatedAt time.Time
	// Tries is how many deliveries are counted. A drain counts the one that is under way, too. A
	// stream does not, and reads nothing before, so it may not know of all.
	Tries int
}

// Message returns the item of a message, for [dynamo.Commit]. ctx is the handler's.
//
// The name tells messages of one execution apart: the id of the message is
// idempotent.DerivedKey(ctx, name), and one commit takes one message of a name.
//
// The body becomes JSON, now. JSON that is made already is a [json.RawMessage]. The whole item may
// have 399 KB: what a relay or a redrive writes to it later needs room, too.
//
// What is wrong is in the Err of the item, which dynamo.Commit returns before it sends anything.
// Its text names neither the id nor anything of the body.
func (o *Outbox) Message(ctx context.Context, name string, body any, config ...MessageConfig) dynamo.Item {
	d := draft{stored: stored{Topic: name}}
	d.Trace, _ = ctx.Value(traceKey).(string)
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		d.Tenant = lc.TenantID
	}
	d.Addf(strings.TrimSpace(name) == "", "the name is empty")
	d.setBody(body)
	d.configure(config)
	if d.Err() == nil { // a key that nobody gets is not reported
		d.setKey(ctx, name)
		d.checkSize()
	}
	if wrong, is := errors.AsType[*store.ConfigError](d.Err()); is {
		return dynamo.Item{Err: fmt.Errorf("outbox: message %q: %s", name, strings.Join(wrong.Problems, "; "))}
	}
	return dynamo.Put(o.table, d.stored)
}

type draft struct {
	stored
	setup.Problems
}

func (d *draft) setBody(body any) {
	_, bytesOf := body.([]byte)
	d.Addf(bytesOf, "the body is a []byte, whose JSON form is a text in base64: pass JSON as a json.RawMessage, and "+
		"text as a string")
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(body)
	d.Addf(err != nil, "the body, a %T, has no JSON form", body) // the error may quote it
	d.Body = strings.TrimSuffix(text.String(), "\n")
}

// traceKey is under which aws-lambda-go has the X-Ray trace header in a context.
const traceKey = "x-amzn-trace-id"

func (d *draft) setKey(ctx context.Context, name string) {
	claim, protected := execution.From(ctx)
	switch {
	case protected:
		d.ID, d.Owner = claim.DerivedKey(name), claim.Owner
	case execution.IsUnprotected(ctx):
		d.ID = execution.RandomKey()
	default:
		d.Addf(true, "the context belongs to no delivery, so nothing can be committed: pass on the one that the "+
			"handler was given")
		return
	}
	if d.Owner == "" {
		d.Owner = rand.Text()
	}
	now := time.Now().UnixMilli()
	d.CreatedAt, d.Due, d.Shard = now, now, shardOf(d.ID)
}

const maxMessage = 399 << 10

// checkSize counts as DynamoDB does, which takes 400 KB: names and values. See
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html.
func (d *draft) checkSize() {
	const rest = 200 // the names, the numbers, and what a map adds
	size := rest + len(d.ID) + len(d.Topic) + len(d.Body) + len(d.Group) + len(d.Tenant) + len(d.Trace) + len(d.Owner)
	for name, value := range d.Attributes {
		size += len(name) + len(value) + 1
	}
	d.Addf(size > maxMessage, "it has %d bytes, more than the %d of a message", size, maxMessage)
}

func shardOf(id string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // never fails
	return strconv.Itoa(int(h.Sum32() % relay.Shards))
}

// MessageConfig adds something to a message. Its zero value adds nothing.
type MessageConfig struct {
	// Topic says what kind of message it is. Default is the name, which one commit takes once.
	Topic string
	// Attributes are for the receiver: message attributes of SQS, headers of HTTP.
	Attributes map[string]string
	// Group is the message group in SQS. Default is, on a FIFO queue, a group for each message. A
	// group has the order in which messages reach the queue, which is not that of the commits.
	Group string
	// Tenant is whom the message belongs to. Default is the tenant of the invocation, if any.
	Tenant string
}

func (d *draft) configure(given []MessageConfig) {
	d.Addf(len(given) > 1, "there are %d values of MessageConfig, and one counts", len(given))
	for _, c := range given {
		d.Topic, d.Group, d.Tenant = cmp.Or(c.Topic, d.Topic), c.Group, cmp.Or(c.Tenant, d.Tenant)
		d.Attributes = maps.Clone(c.Attributes)
		for _, name := range slices.Sorted(maps.Keys(c.Attributes)) {
			d.Addf(name == "" || c.Attributes[name] == "", "Attributes: %q has no name or no value", name)
		}
	}
}
