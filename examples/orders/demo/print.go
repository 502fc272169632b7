package main

import (
	"context"
	"fmt"
	"strconv"
)

const lineFormat = "%5s  %-42s %-34s %9v %8v %9v %5v %8v\n"

func (s *story) introduce() {
	fmt.Fprint(s.out, `One order has two effects, at two services: a reservation and a charge. If the payment is declined, the reservation is cancelled
instead. Each effect is a step. The function is killed between any two of them, and within each.
`)
	fmt.Fprintln(s.out, s.tables)
	if s.tables.Kept() {
		fmt.Fprint(s.out, `The function is killed before and after this commit. The stream of the outbox invokes the function relay with each message, which
delivers it to the mail and marks it as done. It is killed before and after the delivery, and before and after the mark.
`)
	}
	fmt.Fprintf(s.out, `The records are %s. An invocation may take %v and its claim is protected
for %v more: that is how long a crash blocks its key. In production it is the timeout of the function and two seconds.

`, s.records, invocationTimeout, leaseMargin)
}

func (s *story) header(what string) {
	fmt.Fprintf(s.out, lineFormat, "order", what, "came back", "reserved", "charged", "cancelled", "rows", "messages")
}

// row prints what has become of an order so far. The messages are those that the mail has sent.
func (s *story) row(ctx context.Context, o *purchase, what, cameBack string) error {
	count, err := s.tables.Count(ctx, o.email())
	if err != nil {
		return err
	}
	done := o.services.done()
	kept, sent := strconv.Itoa(count), strconv.Itoa(done[2])
	if !s.tables.Kept() {
		kept, sent = "-", "-"
	}
	fmt.Fprintf(s.out, lineFormat, strconv.Itoa(o.number), what, cameBack, done[0], done[1], done[3], kept, sent)
	return nil
}

// committed says which orders had their answer although their function was killed.
func (s *story) committed() string {
	for _, o := range s.orders {
		if o.kills == orders && o.answered() {
			return fmt.Sprintf(" Order %d has its answer: it was committed.", o.number)
		}
	}
	return ""
}

// sumUp checks once more that every order has come to its end, and prints what the services were asked for, and what there is.
func (s *story) sumUp(ctx context.Context) error {
	if err := s.each(ctx, s.settled); err != nil {
		return err
	}
	fmt.Fprintln(s.out, "\nAsked for twice, with the same key, because nobody got the first answer or nobody had noted it:")
	var total [4]int
	killed, kept := 0, 0
	for _, o := range s.orders {
		for i, n := range o.services.done() {
			total[i] += n
		}
		if o.kills != "" {
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
	if kept != total[2] {
		return fmt.Errorf("there are %d rows and %d messages", kept, total[2])
	}
	written := ""
	if s.tables.Kept() {
		written = fmt.Sprintf(", %d rows, %d messages", kept, total[2])
	}
	fmt.Fprintf(s.out, "\nOK: %d orders, %d processes killed: %d reservations, %d charges, %d cancellations%s, each once\n",
		len(s.orders), killed, total[0], total[1], total[3], written)
	return nil
}
