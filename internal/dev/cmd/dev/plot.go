package main

import (
	"fmt"

	"github.com/go-idempotent/idempotent/internal/dev/services"
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

const (
	ordering = "orders"
	relay    = "relay"
)

// plots are the orders.
var plots = []plot{
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
	{what: "nobody, but the stream loses the message", lost: true},
}

// answered reports whether the order was decided before anything was sent again.
func (p plot) answered() bool { return p.kills != ordering || p.at == moment{commit, true} }

func (p plot) status() int {
	if p.declined {
		return 402
	}
	return 201
}

// counts are how often each thing has happened to an order.
type counts struct{ reserved, charged, cancelled, rows, messages int }

// end is what there has to be of an order in the end: each effect once.
func (p plot) end(drained bool) counts {
	switch {
	case p.declined:
		return counts{reserved: 1, cancelled: 1}
	case p.lost && !drained:
		return counts{reserved: 1, charged: 1, rows: 1}
	default:
		return counts{reserved: 1, charged: 1, rows: 1, messages: 1}
	}
}

// check checks that a service was asked for an effect as often as it had to be: twice if nobody got
// the first answer, or nobody noted it.
func (p plot) check(e services.Effect) error {
	want := 1
	if p.at == (moment{e.Kind, true}) || e.Kind == services.Message && p.at.kind == mark {
		want = 2
	}
	if e.Calls != want {
		return fmt.Errorf("the service was asked for the %s %d times with its key, want %d", e.Kind, e.Calls, want)
	}
	return nil
}
