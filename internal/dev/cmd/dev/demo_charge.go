package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"

	"github.com/go-idempotent/idempotent/internal/dev/services"
)

// chargeStory is one of charges.
type chargeStory struct {
	*story

	run   string
	steps int
	first map[int]string // the bodies of orders that were charged
}

const chargeLine = "%4s  %-38s %-19s %-44s %s\n"

func demoCharge(ctx context.Context, w *world) error {
	s := &chargeStory{story: w.story(charges), run: rand.Text()[:8], first: map[int]string{}}
	s.printf(`One function, a provider that charges, and a client that does not give up.
The records are %s. An invocation may take %v and its claim is protected
for two seconds more: that is how long a crash blocks its key.

`, w.where, invocationTimeout)
	s.printf(chargeLine, "step", "what happens", "sent", "came back", "charges so far")
	if s.tell(ctx); s.err != nil {
		return fmt.Errorf("step %d: %w", s.steps, s.err)
	}
	return s.sumUp()
}

// tell plays all scenes.
func (s *chargeStory) tell(ctx context.Context) {
	const again = created + ", replayed, same bytes"
	s.came("a first charge", 1, 1999, s.sends(ctx, 1, 1999), created, 1)
	s.came("the client sends it again", 1, 1999, s.sends(ctx, 1, 1999), again, 1)
	s.came("the same key with another amount", 1, 2000, s.sends(ctx, 1, 2000), "422 Unprocessable Entity", 1)

	// The second request comes while the first one waits for the provider's answer.
	charged, early := moment{services.Charge, true}, reply{httptest.NewRecorder()}
	s.watch.arm(charged, func() { early = s.sends(ctx, 2, 500) })
	late := s.sends(ctx, 2, 500)
	s.came("two at once: the one in the way", 2, 500, early, blocked, 2)
	s.came("             the one that runs", 2, 500, late, created, 2)

	// The provider has charged when the function is killed. The client goes on asking.
	key, body := s.order(3, 4200)
	s.came("killed after the charge", 3, 4200, s.kill(ctx, charges.function, charged, key, body), killed, 3)
	held := s.sends(ctx, 3, 4200)
	s.came("sent again at once, to a new process", 3, 4200, held, blocked, 3)
	s.sleep(ctx, held.wait())
	s.came(fmt.Sprintf("sent again after these %v", held.wait()), 3, 4200, s.sends(ctx, 3, 4200), created, 3)
	s.came("sent once more", 3, 4200, s.sends(ctx, 3, 4200), again, 3)
}

func (s *chargeStory) sends(ctx context.Context, order, amount int) reply {
	key, body := s.order(order, amount)
	return s.send(ctx, key, body)
}

func (s *chargeStory) order(number, amount int) (key, body string) {
	return fmt.Sprintf("order-%d-%s", number, s.run),
		fmt.Sprintf(`{"amount":%d,"currency":"usd","source":"tok_visa"}`, amount)
}

// came prints what came back, and checks it and how often the provider has charged.
func (s *chargeStory) came(what string, order, amount int, back reply, want string, charges int) {
	if s.err != nil {
		return
	}
	s.steps++
	text, body, made := back.String()+s.ended(back), back.Body.String(), s.services.Done("", services.Charge)
	switch first, is := s.first[order]; {
	case back.Code != http.StatusCreated:
	case !is:
		s.first[order] = body
	case body == first:
		text += ", same bytes"
	default:
		text += ", other bytes"
	}
	s.printf(chargeLine, strconv.Itoa(s.steps), what, fmt.Sprintf("order-%d: %d usd", order, amount), text,
		strconv.Itoa(made))
	s.expect(text, want)
	if made != charges {
		s.err = errors.Join(s.err, fmt.Errorf("the provider made %d charges, want %d", made, charges))
	}
}

// sumUp prints and checks the provider's book.
func (s *chargeStory) sumUp() error {
	fmt.Fprintln(s.out, "\nThe provider's book:")
	var total int64
	book := s.services.Effects("", "")
	for _, e := range book {
		total += e.Amount
		asked := "asked once"
		if e.Calls > 1 {
			asked = fmt.Sprintf("asked %d times with this key, charged once", e.Calls)
		}
		fmt.Fprintf(s.out, "  %5d usd  %s  key %s, %s\n", e.Amount, e.ID, e.Key, asked)
	}
	if len(book) != 3 || book[0].Calls != 1 || book[1].Calls != 1 || book[2].Calls != 2 {
		return errors.New("the provider was not asked 1, 1 and 2 times with 3 keys")
	}
	fmt.Fprintf(s.out, "\nOK: %d requests for 3 orders, one process killed: %d charges, %d cents\n", s.steps,
		len(book), total)
	return nil
}
