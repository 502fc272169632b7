package main

import (
	"fmt"
	"strconv"
)

const lineFormat = "%5s  %-42s %-34s %9v %8v %9v %14v\n"

func (s *story) introduce() {
	fmt.Fprintf(s.out, `One order has three effects, at three services: a reservation, a charge, a message. If the payment is declined, the reservation
is cancelled instead. Each effect is a step. The function is killed between any two of them, and within each.
The records are %s. An invocation may take %v and its claim is protected
for %v more: that is how long a crash blocks its key. In production it is the timeout of the function and two seconds.

`, s.records, invocationTimeout, leaseMargin)
}

func (s *story) header(what string) {
	fmt.Fprintf(s.out, lineFormat, "order", what, "came back", "reserved", "charged", "messages", "cancelled")
}

func (s *story) row(o *purchase, what, cameBack string) {
	done := o.services.done()
	fmt.Fprintf(s.out, lineFormat, strconv.Itoa(o.number), what, cameBack, done[0], done[1], done[2], done[3])
}

// sumUp prints what the services were asked for.
func (s *story) sumUp() error {
	fmt.Fprintln(s.out, "\nAsked for twice, with the same key, because nobody got the first answer:")
	var total [4]int
	killed := 0
	for _, o := range s.orders {
		for i, n := range o.services.done() {
			total[i] += n
		}
		if o.services.at.kind != "" {
			killed++
		}
		for _, e := range o.services.Effects() {
			if e.Calls > 1 {
				fmt.Fprintf(s.out, "  the %s of order %d, key %s\n", e.Kind, o.number, e.Key)
			}
		}
	}
	fmt.Fprintf(s.out, "\nOK: %d orders, %d processes killed: %d reservations, %d charges, %d messages, %d cancellations, each once\n",
		len(s.orders), killed, total[0], total[1], total[2], total[3])
	return nil
}
