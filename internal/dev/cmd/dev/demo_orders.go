package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
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

func (o *purchase) body() string {
	source := "tok_visa"
	if o.declined {
		source = services.DeclinedSource
	}
	return fmt.Sprintf(`{"sku":"A-%d","quantity":2,"amount":1999,"currency":"usd","source":%q,"email":%q}`, o.number,
		source, o.email())
}

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

// counts are how often an order was reserved, charged and cancelled, and its rows and messages.
type counts [5]int

type item = map[string]types.AttributeValue

// orderStory is one of orders.
type orderStory struct {
	*story

	mapping *streams.Pump
	all     []*purchase
	wait    time.Duration // what clients were told at most
}

const orderLine = "%5s  %-42s %-38s %9v %8v %9v %5v %8v\n"

func demoOrders(ctx context.Context, w *world) (err error) {
	s := &orderStory{story: w.story(orders), all: purchases()}
	run := rand.Text()[:8] // the records of an earlier run may still be there
	for i, o := range s.all {
		o.number, o.key = i+1, fmt.Sprintf("order-%d-%s", i+1, run)
	}
	if s.victims[relay], s.mapping, err = w.relaying(ctx, s.all[len(s.all)-1].email()); err != nil {
		return err
	}
	s.printf(`One order has two effects, at two services: a reservation and a charge. If the payment is declined, the
reservation is cancelled instead. Each effect is a step. The function is killed between any two of them, and within
each. Then the order is a row in table %s and a message in table %s, written in one transaction with its
answer. The function is killed before and after this commit. The stream of the outbox invokes the function relay
with each message, which delivers it to the mail and marks it as done. It is killed before and after the delivery,
and before and after the mark.
The records are %s.
An invocation may take %v and its claim is protected for two seconds more: that is how long a crash blocks its key.
`, table(rows), table(messages), s.where, invocationTimeout)
	s.tell(ctx)
	return s.err
}

// tell plays all scenes.
func (s *orderStory) tell(ctx context.Context) {
	s.each(ctx, "who is killed (SIGKILL)", s.all, s.first)
	s.printf("\nSent again at once, each client is told to wait: 409 Conflict, Retry-After: %d at most."+
		" After these %v:\n", s.wait/time.Second, s.wait)
	s.sleep(ctx, s.wait)
	s.each(ctx, "sent again, to another process", s.all, s.again)
	s.printf("\nThe stream has lost a message. The function drain, which a schedule invokes, finds it.\n")
	s.each(ctx, "the drain runs", s.all[len(s.all)-1:], s.drain)
	s.sumUp(ctx)
}

func (s *orderStory) each(ctx context.Context, what string, of []*purchase, scene func(context.Context, *purchase)) {
	s.printf("\n"+orderLine, "order", what, "came back", "reserved", "charged", "cancelled", "rows", "messages")
	for _, o := range of {
		if s.err != nil {
			return
		}
		s.services.For(o.key)
		if scene(ctx, o); s.err != nil {
			s.err = fmt.Errorf("order %d: %w", o.number, s.err)
		}
	}
}

// first sends an order, and kills a function when its moment has come. If that was the order's
// function, the order is sent again at once.
func (s *orderStory) first(ctx context.Context, o *purchase) {
	a := s.kill(ctx, o.kills, o.at, o.key, o.body())
	if o.kills != ordering {
		s.row(ctx, o, o.what, a.String(), o.answer())
		return
	}
	s.row(ctx, o, o.what, a.String()+s.ended(a), killed)
	a = s.send(ctx, o.key, o.body())
	if o.answered() { // nobody knows the first answer
		s.expect(a.String(), o.answer()+", replayed")
		return
	}
	s.wait = max(s.wait, a.wait())
	s.expect(a.String(), blocked)
}

// again sends an order again, and then once more.
func (s *orderStory) again(ctx context.Context, o *purchase) {
	a, what, want := s.send(ctx, o.key, o.body()), "goes on", o.answer()
	if o.answered() {
		what, want = "has its answer", want+", replayed"
	}
	s.row(ctx, o, what, a.String(), want)
	same := s.send(ctx, o.key, o.body())
	s.expect(same.String(), o.answer()+", replayed")
	if s.err == nil && same.Body.String() != a.Body.String() {
		s.err = fmt.Errorf("the replayed body is %s, the first one was %s", same.Body, a.Body)
	}
}

// drain delivers what the stream has lost. A drain leaves a message to the stream for a minute, so
// the story makes the message older.
func (s *orderStory) drain(ctx context.Context, lost *purchase) {
	waiting, err := s.items(ctx, messages, lost)
	if err == nil && len(waiting) != 1 {
		err = fmt.Errorf("%d messages wait, want 1", len(waiting))
	}
	if err == nil {
		_, err = s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: aws.String(table(messages)), Key: item{"id": waiting[0]["id"]},
			UpdateExpression:          aws.String("SET outbox_due = :due"),
			ExpressionAttributeValues: item{":due": &types.AttributeValueMemberN{Value: "1"}},
		})
	}
	if err == nil {
		_, err = s.function("drain", drainTimeout).invoke(ctx, []byte("{}"))
	}
	s.err = err
	s.row(ctx, lost, "delivered", "", "")
}

// row prints what came back, which it checks, and what has become of an order so far.
func (s *orderStory) row(ctx context.Context, o *purchase, what, came, want string) {
	n := s.count(ctx, o)
	s.printf(orderLine, strconv.Itoa(o.number), what, came, n[0], n[1], n[2], n[3], n[4])
	s.expect(came, want)
}

// count counts what has become of an order, once the relay has handled what the stream has.
func (s *orderStory) count(ctx context.Context, o *purchase) counts {
	if s.err != nil {
		return counts{}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	done := func(kind services.Kind) int { return s.services.Done(o.key, kind) }
	var kept []item
	if s.err = s.mapping.Idle(ctx); s.err == nil {
		kept, s.err = s.items(ctx, rows, o)
	}
	return counts{
		done(services.Reservation), done(services.Charge), done(services.Cancellation), len(kept),
		done(services.Message),
	}
}

// items are those of a table that are about an order.
func (s *orderStory) items(ctx context.Context, of string, o *purchase) (found []item, err error) {
	in := &dynamodb.ScanInput{TableName: aws.String(table(of)), ConsistentRead: aws.Bool(true)}
	all, err := s.client.Scan(ctx, in)
	if err != nil {
		return nil, err
	}
	for _, it := range all.Items {
		if text, err := json.Marshal(it); err != nil || strings.Contains(string(text), o.email()) {
			found = append(found, it)
		}
	}
	return found, nil
}

// sumUp checks that every order has come to its end, with each effect once, and prints what the
// services were asked for.
func (s *orderStory) sumUp(ctx context.Context) {
	s.printf("\nAsked for twice, with the same key, because nobody got or had noted the first answer:\n")
	dead := 0
	for _, o := range s.all {
		want := counts{1, 1, 0, 1, 1}
		if o.declined {
			want = counts{1, 0, 1, 0, 0}
		}
		if got := s.count(ctx, o); s.err == nil && got != want {
			s.err = fmt.Errorf("order %d: there is %v, want %v", o.number, got, want)
		}
		if o.kills != "" {
			dead++
		}
		for _, e := range s.services.Effects(o.key, "") {
			if want := o.calls(e.Kind); s.err == nil && e.Calls != want {
				s.err = fmt.Errorf("order %d: the service was asked for the %s %d times with its key, want %d",
					o.number, e.Kind, e.Calls, want)
			}
			if e.Calls > 1 {
				s.printf("  the %s of order %d, key %s\n", e.Kind, o.number, e.Key)
			}
		}
	}
	done := func(kind services.Kind) int { return s.services.Done("", kind) }
	s.printf("\nOK: %d orders, %d processes killed: "+
		"%d reservations, %d charges, %d cancellations, %d rows, %d messages, each once\n",
		len(s.all), dead, done(services.Reservation), done(services.Charge), done(services.Cancellation),
		done(services.Message), done(services.Message))
}
