package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

type purchase struct {
	ID     string   `json:"id"`
	SKU    string   `json:"sku"`
	Amount int      `json:"amount"`
	Email  string   `json:"email"`
	Items  []string `json:"items,omitempty"`
}

type confirmation struct {
	Reservation string `json:"reservation"`
	Charge      string `json:"charge"`
}

var (
	errDeclined = errors.New("the card was declined")
	errNoAnswer = errors.New("the connection was lost")
	errMailDown = errors.New("the mail server is down")
)

// seller has the services that a handler calls. Each of them takes an idempotency key.
type seller struct {
	declines, silent, mailDown bool
	charges                    map[string]string // by key
}

func (s *seller) reserve(_ context.Context, _, sku string) (string, error) {
	fmt.Println("reserve", sku)
	return "r-1", nil
}

func (s *seller) charge(_ context.Context, key string, amount int) (string, error) {
	if s.declines {
		fmt.Println("decline", amount)
		return "", errDeclined
	}
	fmt.Println("charge", amount)
	if s.charges == nil {
		s.charges = make(map[string]string)
	}
	s.charges[key] = "ch-1"
	if s.silent {
		s.silent = false
		return "", errNoAnswer
	}
	return "ch-1", nil
}

func (s *seller) find(_ context.Context, key string) (charge string, found bool, err error) {
	charge, found = s.charges[key]
	fmt.Println("look for the charge:", found)
	return charge, found, nil
}

func (s *seller) mail(_ context.Context, _, to string) error {
	if s.mailDown {
		return errMailDown
	}
	fmt.Println("mail to", to)
	return nil
}

func (s *seller) cancel(_ context.Context, reservation string) error {
	fmt.Println("cancel", reservation)
	return nil
}

func (s *seller) label(_ context.Context, _, item string) (string, error) {
	fmt.Println("label for", item)
	return "l-" + item, nil
}

func (s *seller) order(ctx context.Context, p purchase) (confirmation, error) {
	reservation, err := idempotent.Step(ctx, "reserve", func(ctx context.Context) (string, error) {
		return s.reserve(ctx, idempotent.DerivedKey(ctx, ""), p.SKU)
	})
	if err != nil {
		return confirmation{}, err
	}
	charge, err := idempotent.Step(ctx, "charge", func(ctx context.Context) (string, error) {
		return s.charge(ctx, idempotent.DerivedKey(ctx, ""), p.Amount)
	})
	if err != nil {
		return confirmation{}, err
	}
	_, err = idempotent.Step(ctx, "mail", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.mail(ctx, idempotent.DerivedKey(ctx, ""), p.Email)
	})
	return confirmation{Reservation: reservation, Charge: charge}, err
}

func ordersOf[Out any](h func(context.Context, purchase) (Out, error)) *idempotent.Handler[purchase, Out] {
	return idempotent.Wrap(h, memory.New(),
		idempotent.WithOperation("order"),
		idempotent.WithKey(func(p purchase) (string, error) { return p.ID, nil }))
}

// An order has three effects, and the last one fails. The next delivery goes on where this one stopped: nothing is reserved and
// charged again. It would go on there as well if the process had died.
func ExampleStep() {
	s := &seller{mailDown: true}
	handler := ordersOf(s.order)

	p := purchase{ID: "o-1", SKU: "A-1", Amount: 1999, Email: "ada@example.com"}
	_, err := handler.Handle(context.Background(), p)
	fmt.Println(err)

	s.mailDown = false
	fmt.Println(handler.Handle(context.Background(), p))
	fmt.Println(handler.Handle(context.Background(), p)) // replayed
	// Output:
	// reserve A-1
	// charge 1999
	// the mail server is down
	// mail to ada@example.com
	// {r-1 ch-1} <nil>
	// {r-1 ch-1} <nil>
}

// The payment service takes no key, so that a charge must not be begun twice. The first delivery got no answer from it. The second
// one does not charge: it asks.
func ExampleAtMostOnce() {
	s := &seller{silent: true}
	handler := ordersOf(func(ctx context.Context, p purchase) (string, error) {
		charge, err := idempotent.Step(ctx, "charge", func(ctx context.Context) (string, error) {
			return s.charge(ctx, idempotent.DerivedKey(ctx, ""), p.Amount)
		}, idempotent.AtMostOnce(func(ctx context.Context, x idempotent.Execution) (idempotent.Resolution[string], error) {
			charge, found, err := s.find(ctx, x.DerivedKey(""))
			switch {
			case err != nil:
				return idempotent.StillUnknown[string](), err
			case found:
				return idempotent.Executed(charge), nil // recorded, and what Step returns
			default:
				return idempotent.Untouched[string](), nil // the function runs
			}
		}))
		return charge, err
	})

	p := purchase{ID: "o-1", Amount: 1999}
	_, err := handler.Handle(context.Background(), p)
	fmt.Println(err)
	fmt.Println(handler.Handle(context.Background(), p))
	// Output:
	// charge 1999
	// the connection was lost
	// look for the charge: true
	// ch-1 <nil>
}

// The card is declined, so the reservation has to go. The refusal is recorded, and what it takes to undo is a step, too.
func ExampleStep_compensation() {
	s := &seller{declines: true}
	handler := ordersOf(func(ctx context.Context, p purchase) (confirmation, error) {
		reservation, err := idempotent.Step(ctx, "reserve", func(ctx context.Context) (string, error) {
			return s.reserve(ctx, idempotent.DerivedKey(ctx, ""), p.SKU)
		})
		if err != nil {
			return confirmation{}, err
		}
		charge, err := idempotent.Step(ctx, "charge", func(ctx context.Context) (string, error) {
			id, err := s.charge(ctx, idempotent.DerivedKey(ctx, ""), p.Amount)
			if errors.Is(err, errDeclined) {
				err = idempotent.Terminal(err) // recorded: no execution asks again
			}
			return id, err
		})
		if declined, final := errors.AsType[*idempotent.ReplayedError](err); final {
			_, err := idempotent.Step(ctx, "cancel", func(ctx context.Context) (struct{}, error) {
				return struct{}{}, s.cancel(ctx, reservation)
			})
			if err != nil {
				return confirmation{}, err // released: the next delivery goes on here
			}
			return confirmation{}, declined // final for the request, too: stored and replayed
		}
		return confirmation{Reservation: reservation, Charge: charge}, err
	})

	p := purchase{ID: "o-1", SKU: "A-1", Amount: 1999}
	for range 2 {
		_, err := handler.Handle(context.Background(), p)
		fmt.Println(err)
	}
	// Output:
	// reserve A-1
	// decline 1999
	// cancel r-1
	// the card was declined
	// the card was declined
}

// Each turn of a loop is a step with a name of its own.
func ExampleStep_loop() {
	s := &seller{}
	handler := ordersOf(func(ctx context.Context, p purchase) (labels []string, err error) {
		for i, item := range p.Items {
			name := fmt.Sprintf("label/%d", i)
			label, err := idempotent.Step(ctx, name, func(ctx context.Context) (string, error) {
				return s.label(ctx, idempotent.DerivedKey(ctx, ""), item)
			})
			if err != nil {
				return nil, err
			}
			labels = append(labels, label)
		}
		return labels, nil
	})
	fmt.Println(handler.Handle(context.Background(), purchase{ID: "o-1", Items: []string{"pen", "ink"}}))
	// Output:
	// label for pen
	// label for ink
	// [l-pen l-ink] <nil>
}

// Steps may run at the same time. The handler waits for all of them.
func ExampleStep_parallel() {
	reserve := func(context.Context) (string, error) { return "r-1", nil }
	ask := func(context.Context) (string, error) { return "9.99", nil }
	handler := ordersOf(func(ctx context.Context, _ purchase) (confirmation, error) {
		var reservation, quote string
		var reserveErr, quoteErr error

		var wait sync.WaitGroup
		wait.Go(func() { reservation, reserveErr = idempotent.Step(ctx, "reserve", reserve) })
		wait.Go(func() { quote, quoteErr = idempotent.Step(ctx, "quote", ask) })
		wait.Wait()
		if err := errors.Join(reserveErr, quoteErr); err != nil {
			return confirmation{}, err
		}

		return confirmation{Reservation: reservation, Charge: quote}, nil
	})
	fmt.Println(handler.Handle(context.Background(), purchase{ID: "o-1"}))
	// Output:
	// {r-1 9.99} <nil>
}
