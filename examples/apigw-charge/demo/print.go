package main

import (
	"errors"
	"fmt"
	"strconv"
)

const lineFormat = "%4s  %-38s %-19s %-44s %s\n"

func (s *story) introduce() {
	fmt.Fprintf(s.out, `One function, a provider that charges, and a client that does not give up.
The records are %s. An invocation may take %v and its claim is protected
for %v more: that is how long a crash blocks its key. In production it is the timeout of the function and two seconds.

`, s.where, invocationTimeout, leaseMargin)
	fmt.Fprintf(s.out, lineFormat, "step", "what happens", "sent", "came back", "charges so far")
}

func (s *story) print(what string, o order, cameBack string) {
	s.steps++
	fmt.Fprintf(s.out, lineFormat, strconv.Itoa(s.steps), what, o, cameBack, strconv.Itoa(s.provider.Count()))
}

// sumUp prints and checks the provider's book.
func (s *story) sumUp() error {
	fmt.Fprintln(s.out, "\nThe provider's book:")
	var total int64
	book := s.provider.Book()
	for _, e := range book {
		total += e.Amount
		asked := "asked once"
		if e.Calls > 1 {
			asked = fmt.Sprintf("asked %d times with this key, charged once", e.Calls)
		}
		fmt.Fprintf(s.out, "  %5d %s  %s  key %s, %s\n", e.Amount, e.Currency, e.ID, e.Key, asked)
	}
	fmt.Fprintln(s.out)
	if len(book) != 3 || book[0].Calls != 1 || book[1].Calls != 1 || book[2].Calls != 2 {
		return errors.New("the provider was not asked 1, 1 and 2 times with 3 keys")
	}
	fmt.Fprintf(s.out, "OK: %d requests for 3 orders, one process killed: %d charges, %d cents\n", s.requests, len(book), total)
	return nil
}
