package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/examples/internal/sandbox"
	"github.com/go-idempotent/idempotent/examples/orders/counting"
)

// plot is what happens to an order.
type plot struct {
	what string // says who is killed, and when
	// kills is the function that is killed in the moment at, empty for none.
	kills string
	at    moment
	// declined: the payment is declined. lost: the stream loses the message.
	declined, lost bool
}

// plots are the orders.
var plots = []plot{
	{what: "nobody"},
	{what: "before the reservation", kills: orders, at: moment{counting.Reservation, false}},
	{what: "after the reservation, before its answer", kills: orders, at: moment{counting.Reservation, true}},
	{what: "between reservation and charge", kills: orders, at: moment{counting.Charge, false}},
	{what: "after the charge, before its answer", kills: orders, at: moment{counting.Charge, true}},
	{what: "between refusal and cancellation", kills: orders, at: moment{counting.Cancellation, false}, declined: true},
	{what: "after the cancellation, before its answer", kills: orders, at: moment{counting.Cancellation, true}, declined: true},
	{what: "before the commit", kills: orders, at: moment{commit, false}},
	{what: "after the commit, before its reply", kills: orders, at: moment{commit, true}},
	{what: "the relay, before the message", kills: relay, at: moment{counting.Message, false}},
	{what: "the relay, after it, before its answer", kills: relay, at: moment{counting.Message, true}},
	{what: "the relay, between delivery and mark", kills: relay, at: moment{mark, false}},
	{what: "the relay, after the mark", kills: relay, at: moment{mark, true}},
	{what: "nobody, but the stream loses the message", lost: true},
}

// needsTables reports whether there is such an order only where there are rows and messages.
func (p plot) needsTables() bool { return p.kills == relay || p.at.kind == commit || p.lost }

// answered reports whether the order was decided before anything was sent again.
func (p plot) answered() bool { return p.kills != orders || p.at == moment{commit, true} }

// twice reports whether an effect is asked for twice, because nobody got the first answer, or nobody knows that there was one.
func (p plot) twice(kind counting.Kind) bool {
	return p.at == moment{kind, true} || kind == counting.Message && p.at.kind == mark
}

// purchase is what a client wants: one request, however often it is sent.
type purchase struct {
	plot

	number int
	key    string

	services *services
	servers  []*sandbox.Server
	// variables tell the function orders where its services are.
	variables []string
	sandbox   *sandbox.Sandbox
	wait      time.Duration
}

func (o *purchase) body() string {
	source := "tok_visa"
	if o.declined {
		source = payments.DeclinedSource
	}
	return fmt.Sprintf(`{"sku":"A-%d","quantity":2,"amount":1999,"currency":"usd","source":%q,"email":%q}`, o.number, source, o.email())
}

// email is an address that no other order has, so that its rows can be counted.
func (o *purchase) email() string { return o.key + "@example.com" }

func (o *purchase) send(ctx context.Context) sandbox.Answer {
	return sandbox.Post(ctx, o.sandbox.URL+"/orders", o.key, o.body())
}

func (o *purchase) status() int {
	if o.declined {
		return 402
	}
	return 201
}

// done checks that each effect of an order happened once, and what the services were asked for: twice only for an effect whose
// answer nobody got, and then with the same key.
func (o *purchase) done(messages int) error {
	want := [4]int{1, 1, messages, 0}
	if o.declined {
		want = [4]int{1, 0, 0, 1}
	}
	if got := o.services.done(); got != want {
		return fmt.Errorf("there are %v effects, want %v", got, want)
	}
	for _, e := range o.services.Effects() {
		calls := 1
		if o.twice(e.Kind) {
			calls = 2
		}
		if e.Calls != calls {
			return fmt.Errorf("the service was asked for the %s %d times with its key, want %d", e.Kind, e.Calls, calls)
		}
	}
	return nil
}

func (o *purchase) close() (err error) {
	if o.sandbox != nil {
		err = o.sandbox.Stop()
	}
	for _, s := range o.servers {
		err = errors.Join(err, s.Close())
	}
	return err
}
