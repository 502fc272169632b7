package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"github.com/go-idempotent/idempotent/internal/testkit/services"
)

type chargeStory struct {
	*story

	steps int
	first map[int]string // the bodies of orders that were charged
}

const chargeLine = "%4s  %-38s %-19s %-44s %s\n"

func tellOfCharges(of *story) {
	s := &chargeStory{story: of, first: map[int]string{}}
	fmt.Printf(`One function, a provider that charges, and a client that does not give up.
The records are %s. An invocation may take %v and its claim is protected
for two seconds more: that is how long a crash blocks its key.

`, s.where, invocationTimeout)
	fmt.Printf(chargeLine, "step", "what happens", "sent", "came back", "charges so far")
	const again = created + ", replayed, same bytes"
	s.came("a first charge", 1, 1999, s.sends(1, 1999), created, 1)
	s.came("the client sends it again", 1, 1999, s.sends(1, 1999), again, 1)
	s.came("the same key with another amount", 1, 2000, s.sends(1, 2000), "422 Unprocessable Entity", 1)

	// The second request comes while the first one waits for the provider's answer.
	charged, early := after(services.Charge), reply{httptest.NewRecorder()}
	s.next.Store(&plan{charged, func() { early = s.sends(2, 500) }})
	late := s.sends(2, 500)
	s.came("two at once: the one in the way", 2, 500, early, blocked, 2)
	s.came("             the one that runs", 2, 500, late, created, 2)

	// The provider has charged when the function is killed. The client goes on asking.
	s.came("killed after the charge", 3, 4200, s.kill(charged, s.key(3), body(4200)), killed, 3)
	held := s.sends(3, 4200)
	s.came("sent again at once, to a new process", 3, 4200, held, blocked, 3)
	time.Sleep(held.wait())
	s.came(fmt.Sprintf("sent again after these %v", held.wait()), 3, 4200, s.sends(3, 4200), created, 3)
	s.came("sent once more", 3, 4200, s.sends(3, 4200), again, 3)
	s.sumUp()
}

func (s *chargeStory) sends(order, amount int) reply { return s.send(s.key(order), body(amount)) }

func body(amount int) string {
	return fmt.Sprintf(`{"amount":%d,"currency":"usd","source":"tok_visa"}`, amount)
}

// came prints what came back, and checks it and how often the provider has charged.
func (s *chargeStory) came(what string, order, amount int, back reply, want string, charges int) {
	s.steps++
	s.chapter = fmt.Sprint("step ", s.steps)
	text, body, made := back.String()+s.ended(back), back.Body.String(), s.services.Done("")[services.Charge]
	switch first, is := s.first[order]; {
	case back.Code != http.StatusCreated:
	case !is:
		s.first[order] = body
	case body == first:
		text += ", same bytes"
	default:
		text += ", other bytes"
	}
	fmt.Printf(chargeLine, strconv.Itoa(s.steps), what, fmt.Sprintf("order-%d: %d usd", order, amount), text,
		strconv.Itoa(made))
	s.expect(text, want)
	s.checkf(made == charges, "the provider made %d charges, want %d", made, charges)
}

func (s *chargeStory) sumUp() {
	s.chapter = "the book"
	fmt.Printf("\nThe provider's book:\n")
	var total int64
	book := s.services.Effects("", "")
	for _, e := range book {
		total += e.Amount
		asked := "asked once"
		if e.Calls > 1 {
			asked = fmt.Sprintf("asked %d times with this key, charged once", e.Calls)
		}
		fmt.Printf("  %5d usd  %s  key %s, %s\n", e.Amount, e.ID, e.Key, asked)
	}
	s.checkf(len(book) == 3 && book[0].Calls == 1 && book[1].Calls == 1 && book[2].Calls == 2,
		"the provider was not asked 1, 1 and 2 times with 3 keys")
	fmt.Printf("\nOK: %d requests for 3 orders, one process killed: %d charges, %d cents\n", s.steps, len(book), total)
}
