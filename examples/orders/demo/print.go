package main

import (
	"context"
	"fmt"
	"strconv"
)

const lineFormat = "%5s  %-42s %-34s %9v %8v %9v %14v %5v\n"

func (s *story) introduce() {
	fmt.Fprintf(s.out, `One order has three effects, at three services: a reservation, a charge, a message. If the payment is declined, the reservation
is cancelled instead. Each effect is a step. The function is killed between any two of them, and within each.
%s
The records are %s. An invocation may take %v and its claim is protected
for %v more: that is how long a crash blocks its key. In production it is the timeout of the function and two seconds.

`, s.tables, s.records, invocationTimeout, leaseMargin)
}

func (s *story) header(what string) {
	fmt.Fprintf(s.out, lineFormat, "order", what, "came back", "reserved", "charged", "messages", "cancelled", "rows")
}

// row prints what has become of an order so far.
func (s *story) row(ctx context.Context, o *purchase, what, cameBack string) error {
	count, err := s.tables.Count(ctx, o.email())
	if err != nil {
		return err
	}
	done, kept := o.services.done(), strconv.Itoa(count)
	if !s.tables.Kept() {
		kept = "-"
	}
	fmt.Fprintf(s.out, lineFormat, strconv.Itoa(o.number), what, cameBack, done[0], done[1], done[2], done[3], kept)
	return nil
}

// sumUp prints what the services were asked for, and what there is in the end.
func (s *story) sumUp(ctx context.Context) error {
	fmt.Fprintln(s.out, "\nAsked for twice, with the same key, because nobody got the first answer:")
	var total [4]int
	killed, kept := 0, 0
	for _, o := range s.orders {
		for i, n := range o.services.done() {
			total[i] += n
		}
		if o.services.at.kind != "" {
			killed++
		}
		count, err := s.tables.Count(ctx, o.email())
		if err != nil {
			return err
		}
		kept += count
		for _, e := range o.services.Effects() {
			if e.Calls > 1 {
				fmt.Fprintf(s.out, "  the %s of order %d, key %s\n", e.Kind, o.number, e.Key)
			}
		}
	}
	rows := ""
	if s.tables.Kept() {
		rows = fmt.Sprintf(", %d rows", kept)
	}
	fmt.Fprintf(s.out, "\nOK: %d orders, %d processes killed: %d reservations, %d charges, %d messages, %d cancellations%s, each once\n",
		len(s.orders), killed, total[0], total[1], total[2], total[3], rows)
	return nil
}
