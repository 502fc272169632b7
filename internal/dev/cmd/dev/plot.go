package main

import (
	"fmt"
	"maps"

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

// calls is how often a service is asked for an effect: twice if nobody got the first answer, or
// nobody noted it.
func (p plot) calls(kind services.Kind) int {
	if p.at == (moment{kind, true}) || kind == services.Message && p.at.kind == mark {
		return 2
	}
	return 1
}

func (p plot) status() int {
	if p.declined {
		return 402
	}
	return 201
}

// check checks that each effect happened once, and was asked for as often as it had to be.
func (p plot) check(all []services.Effect, drained bool) error {
	want, got := map[services.Kind]int{services.Reservation: 1, services.Charge: 1}, map[services.Kind]int{}
	switch {
	case p.declined:
		want = map[services.Kind]int{services.Reservation: 1, services.Cancellation: 1}
	case !p.lost || drained:
		want[services.Message] = 1
	}
	for _, e := range all {
		if e.Done {
			got[e.Kind]++
		}
		if e.Calls != p.calls(e.Kind) {
			return fmt.Errorf("the service was asked for the %s %d times with its key, want %d", e.Kind, e.Calls,
				p.calls(e.Kind))
		}
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("the effects are %v, want %v", got, want)
	}
	return nil
}
