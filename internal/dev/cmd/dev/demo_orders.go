package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/internal/testkit/services"
)

// purchase is an order that a client wants: one request, however often it is sent.
type purchase struct {
	what     string // says who is killed, and when
	killed   moment // zero if nobody is
	declined bool   // the payment is

	number int
	key    string
}

// purchases are the orders. The stream loses the message of the last one.
func (s *story) purchases() []*purchase {
	all := []*purchase{
		{what: "nobody"},
		{what: "before the reservation", killed: before(services.Reservation)},
		{what: "after the reservation, before its answer", killed: after(services.Reservation)},
		{what: "between reservation and charge", killed: before(services.Charge)},
		{what: "after the charge, before its answer", killed: after(services.Charge)},
		{what: "between refusal and cancellation", killed: before(services.Cancellation), declined: true},
		{what: "after the cancellation, before its answer", killed: after(services.Cancellation), declined: true},
		{what: "before the commit", killed: before(commit)},
		{what: "after the commit, before its reply", killed: after(commit)},
		{what: "the relay, before the message", killed: before(services.Message)},
		{what: "the relay, after it, before its answer", killed: after(services.Message)},
		{what: "the relay, between delivery and mark", killed: before(mark)},
		{what: "the relay, after the mark", killed: after(mark)},
		{what: "nobody, but the stream loses the message"},
	}
	for i, o := range all {
		o.number, o.key = i+1, s.key(i+1)
	}
	return all
}

func (o *purchase) interrupted() bool { return o.killed.kind != "" && !o.killed.relayed() }

// answered reports whether the order was decided before anything was sent again.
func (o *purchase) answered() bool { return !o.interrupted() || o.killed == after(commit) }

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

func (o *purchase) answer() string {
	if o.declined {
		return "402 Payment Required"
	}
	return created
}

// counts are how often an order was reserved, charged and cancelled, and its rows and messages.
type counts [5]int

type item = map[string]types.AttributeValue

type orderStory struct {
	*story

	all  []*purchase
	wait time.Duration // what clients were told at most
}

const orderLine = "%5s  %-42s %-38s %9v %8v %9v %5v %8v\n"

func tellOfOrders(of *story) {
	s := &orderStory{story: of, all: of.purchases()}
	last := s.all[len(s.all)-1:]
	s.must(s.relaying(s.ctx, last[0].email()))
	fmt.Printf(`One order has two effects, at two services: a reservation and a charge. If the payment is declined, the
reservation is cancelled instead. Each effect is a step. The function is killed between any two of them, and within
each. Then the order is a row in table %s and a message in table %s, written in one transaction with its
answer. The function is killed before and after this commit. The stream of the outbox invokes the function relay
with each message, which delivers it to the mail and marks it as done. It is killed before and after the delivery,
and before and after the mark.
The records are %s.
An invocation may take %v and its claim is protected for two seconds more: that is how long a crash blocks its key.
`, table(rows), table(messages), s.where, invocationTimeout)
	s.each("who is killed (SIGKILL)", s.all, s.first)
	fmt.Printf("\nSent again at once, each client is told to wait: 409 Conflict, Retry-After: %d at most."+
		" After these %v:\n", s.wait/time.Second, s.wait)
	time.Sleep(s.wait)
	s.each("sent again, to another process", s.all, s.again)
	fmt.Printf("\nThe stream has lost a message. The function drain, which a schedule invokes, finds it.\n")
	s.each("the drain runs", last, s.drain)
	s.sumUp()
}

func (s *orderStory) each(what string, of []*purchase, scene func(*purchase)) {
	fmt.Printf("\n"+orderLine, "order", what, "came back", "reserved", "charged", "cancelled", "rows", "messages")
	for _, o := range of {
		s.chapter = fmt.Sprint("order ", o.number)
		s.services.For(o.key)
		scene(o)
	}
}

// first sends an order, and kills a function when its moment has come. If that was the order's
// function, the order is sent again at once.
func (s *orderStory) first(o *purchase) {
	a := s.kill(o.killed, o.key, o.body())
	if !o.interrupted() {
		s.row(o, o.what, a.String(), o.answer())
		return
	}
	s.row(o, o.what, a.String()+s.ended(a), killed)
	a = s.send(o.key, o.body())
	if o.answered() { // nobody knows the first answer
		s.expect(a.String(), o.answer()+", replayed")
		return
	}
	s.wait = max(s.wait, a.wait())
	s.expect(a.String(), blocked)
}

func (s *orderStory) again(o *purchase) {
	a, what, want := s.send(o.key, o.body()), "goes on", o.answer()
	if o.answered() {
		what, want = "has its answer", want+", replayed"
	}
	s.row(o, what, a.String(), want)
	same := s.send(o.key, o.body())
	s.expect(same.String(), o.answer()+", replayed")
	s.checkf(same.Body.String() == a.Body.String(), "the replayed body is %s, the first one was %s", same.Body, a.Body)
}

// drain delivers what the stream has lost. A drain leaves a message to the stream for a minute, so
// the story makes the message older.
func (s *orderStory) drain(lost *purchase) {
	waiting := s.items(messages, lost)
	s.checkf(len(waiting) == 1, "%d messages wait, want 1", len(waiting))
	_, err := s.client.UpdateItem(s.ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String(table(messages)), Key: item{"id": waiting[0]["id"]},
		UpdateExpression:          aws.String("SET outbox_due = :due"),
		ExpressionAttributeValues: item{":due": &types.AttributeValueMemberN{Value: "1"}},
	})
	s.must(err)
	_, err = s.function("drain", drainTimeout).Invoke(s.ctx, []byte("{}"))
	s.must(err)
	s.row(lost, "delivered", "", "")
}

func (s *orderStory) row(o *purchase, what, came, want string) {
	n := s.count(o)
	fmt.Printf(orderLine, strconv.Itoa(o.number), what, came, n[0], n[1], n[2], n[3], n[4])
	s.expect(came, want)
}

// count counts what has become of an order, once the relay has handled what the stream has.
func (s *orderStory) count(o *purchase) counts {
	s.must(s.mapping.Idle(s.ctx))
	done := s.services.Done(o.key)
	return counts{
		done[services.Reservation], done[services.Charge], done[services.Cancellation], len(s.items(rows, o)),
		done[services.Message],
	}
}

func (s *orderStory) items(of string, o *purchase) (found []item) {
	all, err := s.client.Scan(s.ctx, &dynamodb.ScanInput{
		TableName: aws.String(table(of)), ConsistentRead: aws.Bool(true),
	})
	s.must(err)
	for _, it := range all.Items {
		text, err := json.Marshal(it)
		s.must(err)
		if strings.Contains(string(text), o.email()) {
			found = append(found, it)
		}
	}
	return found
}

// sumUp checks that every order has come to its end, with each effect once, and prints what the
// services were asked for.
func (s *orderStory) sumUp() {
	fmt.Printf("\nAsked for twice, with the same key, because nobody got or had noted the first answer:\n")
	dead := 0
	for _, o := range s.all {
		s.chapter = fmt.Sprint("order ", o.number)
		want := counts{1, 1, 0, 1, 1}
		if o.declined {
			want = counts{1, 0, 1, 0, 0}
		}
		got := s.count(o)
		s.checkf(got == want, "there is %v, want %v", got, want)
		if o.killed.kind != "" {
			dead++
		}
		for _, e := range s.services.Effects(o.key, "") {
			want := 1
			if o.killed == after(e.Kind) || e.Kind == services.Message && o.killed.kind == mark {
				want = 2 // nobody got the first answer, or nobody noted it
			}
			s.checkf(e.Calls == want, "the %s was asked for %d times with its key, want %d", e.Kind, e.Calls, want)
			if e.Calls > 1 {
				fmt.Printf("  the %s of order %d, key %s\n", e.Kind, o.number, e.Key)
			}
		}
	}
	done := s.services.Done("")
	fmt.Printf("\nOK: %d orders, %d processes killed: "+
		"%d reservations, %d charges, %d cancellations, %d rows, %d messages, each once\n",
		len(s.all), dead, done[services.Reservation], done[services.Charge], done[services.Cancellation],
		done[services.Message], done[services.Message])
}
