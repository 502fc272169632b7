package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/internal/dev/services"
	"github.com/go-idempotent/idempotent/internal/dev/streams"
)

// purchase is an order that a client wants: one request, however often it is sent.
type purchase struct {
	what string // says who is killed, and when
	// kills is the function that is killed in the moment at, empty for none.
	kills    string
	at       moment
	declined bool // the payment is

	number int
	key    string
}

const (
	ordering = "orders"
	relay    = "relay"
)

// purchases are the orders. The stream loses the message of the last one.
func purchases() []*purchase {
	return []*purchase{
		{what: "nobody"},
		{what: "before the reservation", kills: ordering, at: moment{services.Reservation, false}},
		{what: "after the reservation, before its answer", kills: ordering, at: moment{services.Reservation, true}},
		{what: "between reservation and charge", kills: ordering, at: moment{services.Charge, false}},
		{what: "after the charge, before its answer", kills: ordering, at: moment{services.Charge, true}},
		{
			what: "between refusal and cancellation", kills: ordering, at: moment{services.Cancellation, false},
			declined: true,
		},
		{
			what: "after the cancellation, before its answer", kills: ordering, at: moment{services.Cancellation, true},
			declined: true,
		},
		{what: "before the commit", kills: ordering, at: moment{commit, false}},
		{what: "after the commit, before its reply", kills: ordering, at: moment{commit, true}},
		{what: "the relay, before the message", kills: relay, at: moment{services.Message, false}},
		{what: "the relay, after it, before its answer", kills: relay, at: moment{services.Message, true}},
		{what: "the relay, between delivery and mark", kills: relay, at: moment{mark, false}},
		{what: "the relay, after the mark", kills: relay, at: moment{mark, true}},
		{what: "nobody, but the stream loses the message"},
	}
}

// answered reports whether the order was decided before anything was sent again.
func (o *purchase) answered() bool { return o.kills != ordering || o.at == moment{commit, true} }

// email is an address that no other order has.
func (o *purchase) email() string { return o.key + "@example.com" }

// answer is what comes back once the order is decided.
func (o *purchase) answer() string {
	if o.declined {
		return "402 Payment Required"
	}
	return created
}

// calls are how often a service has to be asked for an effect: twice if nobody got the first
// answer, or nobody noted it.
func (o *purchase) calls(kind services.Kind) int {
	if o.at == (moment{kind, true}) || kind == services.Message && o.at.kind == mark {
		return 2
	}
	return 1
}

// counts are how often each thing has happened to an order.
type counts struct{ reserved, charged, cancelled, rows, messages int }

// orderStory sends orders, kills the functions meanwhile, prints what comes back and checks it.
type orderStory struct {
	*world

	front http.Handler
	// victims are the functions that can be killed.
	victims map[string]*function
	mapping *streams.Pump
	all     []*purchase
	wait    time.Duration // what clients were told at most
}

const orderLine = "%5s  %-42s %-38s %9v %8v %9v %5v %8v\n"

func demoOrders(ctx context.Context, w *world) error {
	s := &orderStory{world: w, all: purchases()}
	run := rand.Text()[:8] // the records of an earlier run may still be there
	for i, o := range s.all {
		o.number, o.key = i+1, fmt.Sprintf("order-%d-%s", i+1, run)
	}
	shop := w.function(ordering, invocationTimeout)
	relays, mapping, err := w.relaying(ctx, s.all[len(s.all)-1].email())
	if err != nil {
		return err
	}
	s.front, s.mapping = orders.front(shop), mapping
	s.victims = map[string]*function{ordering: shop, relay: relays}
	fmt.Fprintf(s.out, `One order has two effects, at two services: a reservation and a charge. If the payment is declined, the
reservation is cancelled instead. Each effect is a step. The function is killed between any two of them, and within
each. Then the order is a row in table %s and a message in table %s, written in one transaction with its
answer. The function is killed before and after this commit. The stream of the outbox invokes the function relay
with each message, which delivers it to the mail and marks it as done. It is killed before and after the delivery,
and before and after the mark.
The records are %s.
An invocation may take %v and its claim is protected for two seconds more: that is how long a crash blocks its key.
`, table(rows), table(messages), s.where, invocationTimeout)
	return s.tell(ctx)
}

// tell plays all scenes, up to the first that goes wrong.
func (s *orderStory) tell(ctx context.Context) error {
	if err := s.each(ctx, "who is killed (SIGKILL)", s.all, s.first); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "\nSent again at once, each client is told to wait: 409 Conflict, Retry-After: %d at most."+
		" After these %v:\n", s.wait/time.Second, s.wait)
	if err := sleep(ctx, s.wait); err != nil {
		return err
	}
	if err := s.each(ctx, "sent again, to another process", s.all, s.again); err != nil {
		return err
	}
	fmt.Fprintln(s.out, "\nThe stream has lost a message. The function drain, which a schedule invokes, finds it.")
	if err := s.each(ctx, "the drain runs", s.all[len(s.all)-1:], s.drain); err != nil {
		return err
	}
	return s.sumUp(ctx)
}

func (s *orderStory) each(ctx context.Context, what string, of []*purchase,
	scene func(context.Context, *purchase) error,
) error {
	fmt.Fprintf(s.out, "\n"+orderLine,
		"order", what, "came back", "reserved", "charged", "cancelled", "rows", "messages")
	for _, o := range of {
		s.services.For(o.key)
		if err := scene(ctx, o); err != nil {
			return fmt.Errorf("order %d: %w", o.number, err)
		}
	}
	return nil
}

// patience is how long a message may take that the relay is killed with.
const patience = 30 * time.Second

// first sends an order, and kills a function when its moment has come. If that was the order's
// function, the order is sent again at once.
func (s *orderStory) first(ctx context.Context, o *purchase) error {
	died := make(chan error, 1)
	if o.kills == "" {
		died <- nil
	} else {
		s.watch.arm(o.at, func() { died <- s.victims[o.kills].Kill() })
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
		return s.row(ctx, o, o.what, a.String(), o.answer())
	}
	if err := s.row(ctx, o, o.what, a.String()+s.ended(a), killed); err != nil {
		return err
	}
	a = s.send(ctx, o)
	if o.answered() { // nobody knows the first answer
		return expect(a.String(), o.answer()+", replayed")
	}
	s.wait = max(s.wait, a.wait())
	return expect(a.String(), blocked)
}

// again sends an order again, and then once more.
func (s *orderStory) again(ctx context.Context, o *purchase) error {
	a, what, want := s.send(ctx, o), "goes on", o.answer()
	if o.answered() {
		what, want = "has its answer", want+", replayed"
	}
	if err := s.row(ctx, o, what, a.String(), want); err != nil {
		return err
	}
	same := s.send(ctx, o)
	if same.Body.String() != a.Body.String() {
		return fmt.Errorf("the replayed body is %s, the first one was %s", same.Body, a.Body)
	}
	return expect(same.String(), o.answer()+", replayed")
}

// drain delivers what the stream has lost. A drain leaves a message to the stream for a minute, so
// the story makes the message older.
func (s *orderStory) drain(ctx context.Context, lost *purchase) error {
	waiting, err := s.items(ctx, messages, lost)
	if err != nil || len(waiting) != 1 {
		return errors.Join(err, fmt.Errorf("%d messages wait, want 1", len(waiting)))
	}
	_, err = s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String(table(messages)), Key: map[string]types.AttributeValue{"id": waiting[0]["id"]},
		UpdateExpression:          aws.String("SET outbox_due = :due"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":due": &types.AttributeValueMemberN{Value: "1"}},
	})
	if err != nil {
		return err
	}
	if _, err := s.function("drain", drainTimeout).invoke(ctx, []byte("{}")); err != nil {
		return err
	}
	return s.row(ctx, lost, "delivered", "", "")
}

// row prints what came back, which it checks, and what has become of an order so far.
func (s *orderStory) row(ctx context.Context, o *purchase, what, came, want string) error {
	n, err := s.count(ctx, o)
	fmt.Fprintf(s.out, orderLine, strconv.Itoa(o.number), what, came,
		n.reserved, n.charged, n.cancelled, n.rows, n.messages)
	return errors.Join(err, expect(came, want))
}

// count counts what has become of an order, once the relay has handled what the stream has.
func (s *orderStory) count(ctx context.Context, o *purchase) (counts, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := s.mapping.Idle(ctx); err != nil {
		return counts{}, err
	}
	done := func(kind services.Kind) int { return s.services.Done(o.key, kind) }
	kept, err := s.items(ctx, rows, o)
	return counts{
		done(services.Reservation), done(services.Charge), done(services.Cancellation), len(kept),
		done(services.Message),
	}, err
}

// items are those of a table that are about an order.
func (s *orderStory) items(ctx context.Context, of string, o *purchase) (found []map[string]types.AttributeValue,
	err error,
) {
	in := &dynamodb.ScanInput{TableName: aws.String(table(of)), ConsistentRead: aws.Bool(true)}
	for pages := dynamodb.NewScanPaginator(s.client, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, it := range page.Items {
			if text, err := json.Marshal(it); err != nil || strings.Contains(string(text), o.email()) {
				found = append(found, it)
			}
		}
	}
	return found, nil
}

func (s *orderStory) send(ctx context.Context, o *purchase) reply {
	source := "tok_visa"
	if o.declined {
		source = services.DeclinedSource
	}
	return post(ctx, s.front, orders.path, o.key, fmt.Sprintf(
		`{"sku":"A-%d","quantity":2,"amount":1999,"currency":"usd","source":%q,"email":%q}`, o.number,
		source, o.email()))
}

// sumUp checks that every order has come to its end, with each effect once, and prints what the
// services were asked for.
func (s *orderStory) sumUp(ctx context.Context) error {
	fmt.Fprintln(s.out, "\nAsked for twice, with the same key, because nobody got or had noted the first answer:")
	dead := 0
	for _, o := range s.all {
		want := counts{reserved: 1, charged: 1, rows: 1, messages: 1}
		if o.declined {
			want = counts{reserved: 1, cancelled: 1}
		}
		if got, err := s.count(ctx, o); err != nil || got != want {
			return errors.Join(err, fmt.Errorf("order %d: there is %+v, want %+v", o.number, got, want))
		}
		if o.kills != "" {
			dead++
		}
		for _, e := range s.services.Effects(o.key) {
			if want := o.calls(e.Kind); e.Calls != want {
				return fmt.Errorf("order %d: the service was asked for the %s %d times with its key, want %d",
					o.number, e.Kind, e.Calls, want)
			}
			if e.Calls > 1 {
				fmt.Fprintf(s.out, "  the %s of order %d, key %s\n", e.Kind, o.number, e.Key)
			}
		}
	}
	done := func(kind services.Kind) int { return s.services.Done("", kind) }
	fmt.Fprintf(s.out, "\nOK: %d orders, %d processes killed: "+
		"%d reservations, %d charges, %d cancellations, %d rows, %d messages, each once\n",
		len(s.all), dead, done(services.Reservation), done(services.Charge), done(services.Cancellation),
		done(services.Message), done(services.Message))
	return nil
}
