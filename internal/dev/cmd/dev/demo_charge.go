package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
	"github.com/go-idempotent/idempotent/internal/dev/services"
)

// chargeStory sends charges as a client does, prints what comes back and checks it. What went wrong
// first is its error: from then on nothing is sent and nothing is printed.
type chargeStory struct {
	*world

	function *lambdaruntime.Pool
	front    *lambdaruntime.Front
	run      string
	steps    int
	requests atomic.Int64
	err      error
}

const chargeLine = "%4s  %-38s %-19s %-44s %s\n"

// metadata has numbers that do not survive a float64.
const metadata = `{"order":9007199254740993,"weight":1.10}`

func demoCharge(ctx context.Context, w *world) error {
	s := &chargeStory{world: w, function: w.function(charges.function, invocationTimeout), run: rand.Text()[:8]}
	s.front = charges.front(s.function)
	fmt.Fprintf(w.out, `One function, a provider that charges, and a client that does not give up.
The records are %s. An invocation may take %v and its claim is protected
for two seconds more: that is how long a crash blocks its key.

`, w.where, invocationTimeout)
	fmt.Fprintf(w.out, chargeLine, "step", "what happens", "sent", "came back", "charges so far")
	if s.tell(ctx); s.err != nil {
		return fmt.Errorf("step %d: %w", s.steps, s.err)
	}
	return s.sumUp()
}

// tell plays all scenes.
func (s *chargeStory) tell(ctx context.Context) {
	first := s.send(ctx, 1, 1999)
	s.print("a first charge", 1, 1999, first.String())
	s.check(first.charges(1999), 1)
	again := s.send(ctx, 1, 1999)
	s.print("the client sends it again", 1, 1999, again.beside(first))
	s.check(again.replays(201, first.body()), 1)
	other := s.send(ctx, 1, 2000)
	s.print("the same key with another amount", 1, 2000, other.String())
	s.check(other.is(422), 1)
	s.twoAtOnce(ctx)
	s.killed(ctx)
}

// twoAtOnce holds back the provider's answer until one of two concurrent requests has its own.
func (s *chargeStory) twoAtOnce(ctx context.Context) {
	answered := make(chan struct{})
	s.watch.arm(moment{services.Charge, true}, func() bool {
		<-answered
		return true
	})
	answers := make(chan reply, 2)
	for range 2 {
		go func() { answers <- s.send(ctx, 2, 500) }()
	}
	early := <-answers
	close(answered)
	late := <-answers
	s.print("two at once: the one in the way", 2, 500, early.String())
	s.print("             the one that runs", 2, 500, late.String())
	_, err := early.wait()
	s.check(errors.Join(err, late.charges(500)), 2)
}

// killed kills the function when the provider has charged and before it answers. The client goes on
// asking.
func (s *chargeStory) killed(ctx context.Context) {
	var killed error
	s.watch.arm(moment{services.Charge, true}, func() bool {
		killed = s.function.Kill()
		return false
	})
	a := s.send(ctx, 3, 4200)
	s.print("killed after the charge", 3, 4200, a.String()+" ("+s.function.Ended()+")")
	s.check(errors.Join(a.is(500), killed), 3)
	a = s.send(ctx, 3, 4200)
	s.print("sent again at once, to a new process", 3, 4200, a.String())
	wait, err := a.wait()
	s.check(errors.Join(err, sleep(ctx, wait)), 3)
	recovered := s.send(ctx, 3, 4200)
	s.print(fmt.Sprintf("sent again after these %v", wait), 3, 4200, recovered.String())
	s.check(recovered.charges(4200), 3)
	a = s.send(ctx, 3, 4200)
	s.print("sent once more", 3, 4200, a.beside(recovered))
	s.check(a.replays(201, recovered.body()), 3)
}

func (s *chargeStory) send(ctx context.Context, order, amount int) reply {
	if s.err != nil {
		return reply{httptest.NewRecorder()}
	}
	s.requests.Add(1)
	body := fmt.Sprintf(`{"amount":%d,"currency":"usd","source":"tok_visa","metadata":%s}`, amount, metadata)
	return post(ctx, s.front, charges.path, fmt.Sprintf("order-%d-%s", order, s.run), body)
}

func (s *chargeStory) print(what string, order, amount int, cameBack string) {
	if s.err != nil {
		return
	}
	s.steps++
	fmt.Fprintf(s.out, chargeLine, strconv.Itoa(s.steps), what,
		fmt.Sprintf("order-%d: %d usd", order, amount), cameBack,
		strconv.Itoa(s.services.Done("", services.Charge)))
}

// check takes note of an error, and of one if there are not so many charges.
func (s *chargeStory) check(err error, want int) {
	if got := s.services.Done("", services.Charge); got != want {
		err = errors.Join(err, fmt.Errorf("the provider made %d charges, want %d", got, want))
	}
	s.err = cmp.Or(s.err, err)
}

// charges checks that the answer is a new one, about this amount.
func (a reply) charges(amount int) error {
	about := fmt.Sprintf(`"amount":%d,"currency":"usd","status":"succeeded","metadata":%s}`, amount, metadata)
	switch {
	case a.Code != 201:
		return a.is(201)
	case a.replayed():
		return errors.New("the answer is a replay, want a new one")
	case !strings.HasSuffix(a.body(), about):
		return fmt.Errorf("the body is %s, want one that ends with %s", a.body(), about)
	default:
		return nil
	}
}

// beside is String, and says whether the body is that of an earlier answer.
func (a reply) beside(first reply) string {
	if a.body() != first.body() {
		return a.String() + ", other bytes"
	}
	return a.String() + ", same bytes"
}

// sumUp prints and checks the provider's book.
func (s *chargeStory) sumUp() error {
	fmt.Fprintln(s.out, "\nThe provider's book:")
	var total int64
	book := s.services.Effects("")
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
	fmt.Fprintf(s.out, "\nOK: %d requests for 3 orders, one process killed: %d charges, %d cents\n", s.requests.Load(),
		len(book), total)
	return nil
}
