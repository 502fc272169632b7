package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
	"github.com/go-idempotent/idempotent/internal/dev/services"
	"github.com/go-idempotent/idempotent/internal/dev/streams"
)

// orderStory sends orders as a client does, kills the functions meanwhile, prints what comes back
// and checks it.
type orderStory struct {
	*world

	front *lambdaruntime.Front
	// victims are the functions that can be killed.
	victims map[string]*lambdaruntime.Pool
	mapping *streams.Pump
	drained bool
	wait    time.Duration // what clients were told at most
}

// purchase is what a client wants: one request, however often it is sent.
type purchase struct {
	plot

	number int
	key    string
}

const orderLine = "%5s  %-42s %-38s %9v %8v %9v %5v %8v\n"

func demoOrders(ctx context.Context, w *world) error {
	function := w.function(ordering, invocationTimeout)
	run := rand.Text()[:8] // the records of an earlier run may still be there
	var all []*purchase
	for i, p := range plots {
		all = append(all, &purchase{plot: p, number: i + 1, key: fmt.Sprintf("order-%d-%s", i+1, run)})
	}
	lost := all[len(all)-1]
	loses := func(event []byte) bool { return bytes.Contains(event, []byte(lost.email())) }
	relays, mapping, err := w.relaying(ctx, loses)
	if err != nil {
		return err
	}
	s := &orderStory{world: w, front: orders.front(function), mapping: mapping}
	s.victims = map[string]*lambdaruntime.Pool{ordering: function, relay: relays}
	return s.tell(ctx, all)
}

func (s *orderStory) introduce() {
	fmt.Fprintf(s.out, `One order has two effects, at two services: a reservation and a charge. If the payment is declined, the
reservation is cancelled instead. Each effect is a step. The function is killed between any two of them, and within
each. Then the order is a row in table %s and a message in table %s, written in one transaction with its
answer. The function is killed before and after this commit. The stream of the outbox invokes the function relay
with each message, which delivers it to the mail and marks it as done. It is killed before and after the delivery,
and before and after the mark.
The records are %s.
An invocation may take %v and its claim is protected for two seconds more: that is how long a crash blocks its key.
`, table(rows), table(messages), s.where, invocationTimeout)
}

func (s *orderStory) header(what string) {
	fmt.Fprintf(s.out, "\n"+orderLine,
		"order", what, "came back", "reserved", "charged", "cancelled", "rows", "messages")
}

// tell plays all scenes, up to the first that goes wrong.
func (s *orderStory) tell(ctx context.Context, all []*purchase) error {
	s.introduce()
	s.header("who is killed (SIGKILL)")
	if err := s.each(ctx, all, s.first); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "\nSent again at once, each client is told to wait: 409 Conflict, Retry-After: %d at most."+
		" After these %v:\n", s.wait/time.Second, s.wait)
	if err := sleep(ctx, s.wait); err != nil {
		return err
	}
	s.header("sent again, to another process")
	if err := s.each(ctx, all, s.again); err != nil {
		return err
	}
	fmt.Fprintln(s.out, "\nThe stream has lost a message. The function drain, which a schedule invokes, finds it.")
	if err := s.drain(ctx, all[len(all)-1]); err != nil {
		return fmt.Errorf("the drain: %w", err)
	}
	return s.sumUp(ctx, all)
}

func (s *orderStory) each(ctx context.Context, all []*purchase, scene func(context.Context, *purchase) error) error {
	for _, o := range all {
		s.services.For(o.key)
		if err := scene(ctx, o); err != nil {
			return fmt.Errorf("order %d: %w", o.number, err)
		}
	}
	return nil
}

// first sends an order, and kills a function when its moment has come. If that was the order's
// function, the order is sent again at once.
func (s *orderStory) first(ctx context.Context, o *purchase) error {
	died := make(chan error, 1)
	if o.kills != "" {
		s.watch.arm(o.at, func() bool {
			died <- s.victims[o.kills].Kill()
			return false
		})
	} else {
		died <- nil
	}
	a := s.send(ctx, o)
	select {
	case err := <-died:
		if err != nil {
			return err
		}
	case <-time.After(patience):
		return fmt.Errorf("the function %s was not killed: the moment did not come", o.kills)
	}
	if o.kills != ordering {
		return errors.Join(a.is(o.status()), s.settled(ctx, o), s.row(ctx, o, o.what, a.String()))
	}
	how := a.String() + " (" + s.victims[ordering].Ended() + ")"
	if err := errors.Join(a.is(500), s.row(ctx, o, o.what, how)); err != nil {
		return err
	}
	a = s.send(ctx, o)
	if o.answered() {
		// Nobody knows the first answer.
		return errors.Join(a.replays(o.status(), a.body()), s.settled(ctx, o))
	}
	wait, err := a.wait()
	s.wait = max(s.wait, wait)
	return err
}

// again sends an order again, and then once more.
func (s *orderStory) again(ctx context.Context, o *purchase) error {
	a, what := s.send(ctx, o), "goes on"
	if o.answered() {
		what = "has its answer"
	}
	if err := errors.Join(a.is(o.status()), s.settled(ctx, o), s.row(ctx, o, what, a.String())); err != nil {
		return err
	}
	return errors.Join(s.send(ctx, o).replays(o.status(), a.body()), s.settled(ctx, o))
}

// drain delivers what the stream has lost. A drain leaves a message to the stream for a minute, so
// the story makes the message older.
func (s *orderStory) drain(ctx context.Context, lost *purchase) error {
	pending, err := s.pending(ctx, lost)
	if err != nil || len(pending) != 1 {
		return errors.Join(err, fmt.Errorf("%d messages wait, want 1", len(pending)))
	}
	_, err = s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String(table(messages)), Key: map[string]types.AttributeValue{"id": pending[0]["id"]},
		UpdateExpression:          aws.String("SET outbox_due = :due"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":due": &types.AttributeValueMemberN{Value: "1"}},
	})
	if err != nil {
		return err
	}
	s.services.For(lost.key)
	if _, err := s.world.function("drain", drainTimeout).Invoke(ctx, []byte("{}")); err != nil {
		return err
	}
	s.drained = true
	s.header("the drain runs")
	return errors.Join(s.row(ctx, lost, "delivered", ""), s.settled(ctx, lost))
}

// patience is how long a message may take that the relay is killed with.
const patience = 30 * time.Second

// settled waits until the message of an order is delivered, if the stream has it, and checks that
// the order has come to its end.
func (s *orderStory) settled(ctx context.Context, o *purchase) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for pending := true; pending; {
		if err := s.mapping.Idle(ctx); err != nil {
			return fmt.Errorf("its message is not delivered: %w", err)
		}
		waiting, err := s.pending(ctx, o)
		if err != nil {
			return err
		}
		pending = len(waiting) > 0 && (!o.lost || s.drained)
	}
	idle := s.mapping.Idle(ctx) // what is repeated is not pending
	got, err := s.count(ctx, o)
	if want := o.end(s.drained); err == nil && got != want {
		err = fmt.Errorf("there is %+v, want %+v", got, want)
	}
	for _, e := range s.services.Effects(o.key) {
		err = errors.Join(err, o.check(e))
	}
	return errors.Join(idle, err)
}

// count counts what has become of an order so far.
func (s *orderStory) count(ctx context.Context, o *purchase) (counts, error) {
	done := func(kind services.Kind) int { return s.services.Done(o.key, kind) }
	kept, err := s.scan(ctx, rows, o)
	return counts{
		done(services.Reservation), done(services.Charge), done(services.Cancellation), len(kept),
		done(services.Message),
	}, err
}

// pending are the messages of an order that are not delivered yet.
func (s *orderStory) pending(ctx context.Context, o *purchase) ([]map[string]types.AttributeValue, error) {
	all, err := s.scan(ctx, messages, o)
	return slices.DeleteFunc(all, func(m map[string]types.AttributeValue) bool { return m["outbox_due"] == nil }), err
}

// scan returns the items of a table that are about an order.
func (s *orderStory) scan(ctx context.Context, of string, o *purchase) (
	found []map[string]types.AttributeValue, err error,
) {
	in := &dynamodb.ScanInput{TableName: aws.String(table(of)), ConsistentRead: aws.Bool(true)}
	for pages := dynamodb.NewScanPaginator(s.client, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		found = append(found, page.Items...)
	}
	return slices.DeleteFunc(found, func(it map[string]types.AttributeValue) bool {
		email, _ := it["email"].(*types.AttributeValueMemberS)
		body, _ := it["body"].(*types.AttributeValueMemberS)
		return (email == nil || email.Value != o.email()) && (body == nil || !strings.Contains(body.Value, o.email()))
	}), nil
}

// email is an address that no other order has.
func (o *purchase) email() string { return o.key + "@example.com" }

func (s *orderStory) send(ctx context.Context, o *purchase) reply {
	source := "tok_visa"
	if o.declined {
		source = services.DeclinedSource
	}
	return post(ctx, s.front, orders.path, o.key, fmt.Sprintf(
		`{"sku":"A-%d","quantity":2,"amount":1999,"currency":"usd","source":%q,"email":%q}`, o.number,
		source, o.email()))
}

// row prints what has become of an order so far.
func (s *orderStory) row(ctx context.Context, o *purchase, what, cameBack string) error {
	n, err := s.count(ctx, o)
	fmt.Fprintf(s.out, orderLine, strconv.Itoa(o.number), what, cameBack,
		n.reserved, n.charged, n.cancelled, n.rows, n.messages)
	return err
}

// sumUp checks once more that every order has come to its end, and prints what the services were
// asked for.
func (s *orderStory) sumUp(ctx context.Context, all []*purchase) error {
	if err := s.each(ctx, all, s.settled); err != nil {
		return err
	}
	fmt.Fprintln(s.out, "\nAsked for twice, with the same key, because nobody got or had noted the first answer:")
	killed := 0
	for _, o := range all {
		if o.kills != "" {
			killed++
		}
		for _, e := range s.services.Effects(o.key) {
			if e.Calls > 1 {
				fmt.Fprintf(s.out, "  the %s of order %d, key %s\n", e.Kind, o.number, e.Key)
			}
		}
	}
	done := func(kind services.Kind) int { return s.services.Done("", kind) }
	fmt.Fprintf(s.out, "\nOK: %d orders, %d processes killed: "+
		"%d reservations, %d charges, %d cancellations, %d rows, %d messages, each once\n",
		len(all), killed, done(services.Reservation), done(services.Charge), done(services.Cancellation),
		done(services.Message), done(services.Message))
	return nil
}
