package idempotent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
)

// A payment endpoint behind an HTTP API. The client sends the header Idempotency-Key and may retry
// as often as it likes.
func Example_httpCharge() {
	charges := 0
	charge := func(_ context.Context, _ events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		charges++
		return events.APIGatewayV2HTTPResponse{
			StatusCode: http.StatusCreated,
			Headers:    map[string]string{"Content-Type": "application/json"},
			Body:       fmt.Sprintf(`{"id":"ch_%d"}`, charges),
		}, nil
	}

	// In production: dynamo.New(dynamodb.NewFromConfig(cfg), os.Getenv("IDEMPOTENCY_TABLE")), and
	// lambda.Start(handler).
	handler := idempotent.Wrap(charge, memory.New())

	send := func(key, body string) {
		req := events.APIGatewayV2HTTPRequest{RouteKey: "POST /charges", RawPath: "/charges", Body: body}
		req.RequestContext.HTTP.Method = http.MethodPost
		if key != "" {
			req.Headers = map[string]string{"idempotency-key": key}
		}
		resp, err := handler.Handle(context.Background(), req)
		if err != nil {
			fmt.Println(err)
			return
		}
		var problem struct{ Title string }
		if json.Unmarshal([]byte(resp.Body), &problem) == nil && problem.Title != "" {
			fmt.Println(resp.StatusCode, problem.Title)
			return
		}
		fmt.Println(resp.StatusCode, resp.Body, "replayed:", resp.Headers["Idempotent-Replayed"] == "true")
	}
	send("order-1", `{"amount":1999}`)
	send("order-1", `{"amount":1999}`)
	send("order-1", `{"amount":9900}`)
	send("", `{"amount":1999}`)
	fmt.Println("charges:", charges)
	// Output:
	// 201 {"id":"ch_1"} replayed: false
	// 201 {"id":"ch_1"} replayed: true
	// 422 Idempotency key was used for another request
	// 400 Idempotency key is missing
	// charges: 1
}

type shipment struct {
	OrderID string `json:"order_id"`
	Address string `json:"address"`
}

type label struct {
	Number string `json:"number"`
}

// A function that others invoke directly. Its event holds the key; a changed address under the same
// order is refused.
func Example_directInvocation() {
	ship := func(_ context.Context, s shipment) (label, error) {
		fmt.Println("printing a label for", s.OrderID)
		return label{Number: "L-1"}, nil
	}
	handler := idempotent.Wrap(ship, memory.New(),
		idempotent.WithOperation("ship"),
		idempotent.WithKey(func(s shipment) (string, error) { return s.OrderID, nil }),
		idempotent.WithFingerprint(func(s shipment) (any, error) { return s, nil }))

	for _, event := range []string{
		`{"order_id":"o-1","address":"Elm Street 1"}`,
		`{"address":"Elm Street 1","order_id":"o-1"}`,
		`{"order_id":"o-1","address":"Oak Avenue 2"}`,
		`{"address":"Oak Avenue 2"}`,
	} {
		out, err := handler.Invoke(context.Background(), []byte(event)) // what lambda.Start does
		switch {
		case errors.Is(err, idempotent.ErrMismatch):
			fmt.Println("same order, other content")
		case errors.Is(err, idempotent.ErrMissingKey):
			fmt.Println("no order")
		default:
			fmt.Println(string(out), err)
		}
	}
	// Output:
	// printing a label for o-1
	// {"number":"L-1"} <nil>
	// {"number":"L-1"} <nil>
	// same order, other content
	// no order
}

// A queue delivers at least once. Each message is handled under its own id; those that failed are
// reported, so that only they come again. The event source mapping has to ask for that, with
// ReportBatchItemFailures.
func Example_sqsRecords() {
	mail := idempotent.Wrap(
		func(_ context.Context, m events.SQSMessage) (string, error) {
			if m.Body == "bounce" {
				return "", errors.New("mailbox is full")
			}
			fmt.Println("mailing", m.Body)
			return "sent", nil
		},
		memory.New(),
		idempotent.WithOperation("mail"))

	function := batch.SQS(mail) // for lambda.Start
	for range 2 {
		resp, err := function(context.Background(), events.SQSEvent{Records: []events.SQSMessage{
			{MessageId: "1", Body: "hello"}, {MessageId: "2", Body: "bounce"}, {MessageId: "1", Body: "hello"},
		}})
		fmt.Println("failed:", resp.BatchItemFailures, err)
	}
	// Output:
	// mailing hello
	// failed: [{2}] <nil>
	// failed: [{2}] <nil>
}

// In a test the wrapped handler runs on the embedded store. The observer tells what happened.
func Example_testOfAWrappedHandler() {
	var outcomes []report.Outcome
	handler := idempotent.Wrap(
		func(ctx context.Context, amount int64) (string, error) {
			x, _ := idempotent.FromContext(ctx)
			if amount < 0 {
				return "", idempotent.Terminal(errors.New("amount is negative"))
			}
			return fmt.Sprintf("charged %d at attempt %d", amount, x.Attempt), nil
		},
		memory.New(),
		idempotent.WithOperation("charge"),
		idempotent.WithKey(func(amount int64) (string, error) { return fmt.Sprint(amount), nil }),
		idempotent.WithObserver(func(_ context.Context, e report.Delivery) { outcomes = append(outcomes, e.Outcome) }))

	for _, amount := range []int64{1999, 1999, -1, -1} {
		fmt.Println(handler.Handle(context.Background(), amount))
	}
	fmt.Println(outcomes)
	// Output:
	// charged 1999 at attempt 1 <nil>
	// charged 1999 at attempt 1 <nil>
	//  amount is negative
	//  amount is negative
	// [executed replayed executed replayed]
}

// The downstream gets a key that is the same for every attempt of one request.
func ExampleDerivedKey() {
	attempts := 0
	handler := idempotent.Wrap(
		func(ctx context.Context, _ string) (string, error) {
			fmt.Println("Idempotency-Key:", idempotent.DerivedKey(ctx, "charge"))
			if attempts++; attempts == 1 {
				return "", errors.New("timeout")
			}
			return "charged", nil
		},
		memory.New(),
		idempotent.WithOperation("charge"),
		idempotent.WithKey(func(id string) (string, error) { return id, nil }))

	fmt.Println(handler.Handle(context.Background(), "order-1"))
	fmt.Println(handler.Handle(context.Background(), "order-1"))
	// Output:
	// Idempotency-Key: e024240c-593d-8eed-b434-86471d98f031
	//  timeout
	// Idempotency-Key: e024240c-593d-8eed-b434-86471d98f031
	// charged <nil>
}

// An HTTP handler says beside its response what the failure means for the key. The client sees the
// response alone.
func ExampleTerminal() {
	asked := 0
	charge := func(_ context.Context, _ events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		asked++
		// The provider has closed the account: a retry cannot help, although a 503 is not stored
		// otherwise.
		resp := events.APIGatewayV2HTTPResponse{StatusCode: http.StatusServiceUnavailable, Body: "account closed"}
		return resp, idempotent.Terminal(errors.New("account closed"))
	}
	handler := idempotent.Wrap(charge, memory.New())

	req := events.APIGatewayV2HTTPRequest{
		RouteKey: "POST /charges", RawPath: "/charges", Headers: map[string]string{"idempotency-key": "order-1"},
	}
	req.RequestContext.HTTP.Method = http.MethodPost
	for range 2 {
		resp, err := handler.Handle(context.Background(), req)
		fmt.Println(resp.StatusCode, resp.Body, "replayed:", resp.Headers["Idempotent-Replayed"] == "true", err)
	}
	fmt.Println("asked", asked, "time")
	// Output:
	// 503 account closed replayed: false <nil>
	// 503 account closed replayed: true <nil>
	// asked 1 time
}

// After a failure whose outcome nobody knows, the downstream is asked instead of charged again.
func ExampleWithResolver() {
	charges := map[string]string{} // the provider's book, by key
	handler := idempotent.Wrap(
		func(ctx context.Context, _ string) (string, error) {
			charges[idempotent.DerivedKey(ctx, "charge")] = "ch_1"
			return "", idempotent.Uncertain(errors.New("timeout")) // it has charged, but we cannot know
		},
		memory.New(),
		idempotent.WithOperation("charge"),
		idempotent.WithKey(func(order string) (string, error) { return order, nil }),
		idempotent.WithResolver(func(_ context.Context, x idempotent.Execution,
			_ string,
		) (idempotent.Resolution[string], error) {
			if id, found := charges[x.DerivedKey("charge")]; found {
				return idempotent.Executed(id), nil
			}
			return idempotent.Untouched[string](), nil
		}))

	for range 3 {
		fmt.Println(handler.Handle(context.Background(), "order-1"))
	}
	// Output:
	//  timeout
	// ch_1 <nil>
	// ch_1 <nil>
}

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

// An order has three effects, and the last one fails. The next delivery goes on where this one
// stopped: nothing is reserved and charged again. It would go on there as well if the process had
// died.
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

// The payment service takes no key, so that a charge must not be begun twice. The first delivery
// got no answer from it. The second one does not charge: it asks.
func ExampleAtMostOnce() {
	s := &seller{silent: true}
	handler := ordersOf(func(ctx context.Context, p purchase) (string, error) {
		charge, err := idempotent.Step(ctx, "charge", func(ctx context.Context) (string, error) {
			return s.charge(ctx, idempotent.DerivedKey(ctx, ""), p.Amount)
		}, idempotent.AtMostOnce(func(
			ctx context.Context, x idempotent.Execution,
		) (idempotent.Resolution[string], error) {
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

// The card is declined, so the reservation has to go. The refusal is recorded, and what it takes to
// undo is a step, too.
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

// A function that takes over from one in Python, on the same table: the record is the one that the
// Python function reads and writes for this order, whichever of the two executes it.
func ExampleWithPowertools() {
	store := memory.New() // dynamo.New(client, "the table of the Python function")
	handler := idempotent.Wrap(func(context.Context, json.RawMessage) (map[string]string, error) {
		return map[string]string{"charge": "ch_1"}, nil
	}, store,
		idempotent.WithPowertools(idempotent.Powertools{
			Language: idempotent.PowertoolsPython,
			Prefix:   "orders-fn.app.handler", // the function's name, module and qualified name, or its key_prefix
		}),
		idempotent.WithKeyPath("order_id"),
		idempotent.WithFingerprintPath("amount"))

	ctx := context.Background()
	if _, err := handler.Invoke(ctx, []byte(`{"order_id":"o-1","amount":1999}`)); err != nil {
		fmt.Println(err)
	}
	record, _, err := store.Get(ctx, "orders-fn.app.handler#cbcbdb948de16bfe7e49a81f91500ab1")
	fmt.Println(record.Status, string(record.Result), record.Fingerprint, err)
	// Output:
	// COMPLETED {"charge":"ch_1"} 5ec829debe54b19a5f78d9a65b900a39 <nil>
}
