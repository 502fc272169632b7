package idempotent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
)

// A payment endpoint behind an HTTP API. The client sends the header Idempotency-Key and may retry as often as it likes.
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

	// In production: dynamo.New(dynamodb.NewFromConfig(cfg), os.Getenv("IDEMPOTENCY_TABLE")), and lambda.Start(handler).
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

// A function that others invoke directly. Its event holds the key; a changed address under the same order is refused.
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

// A queue delivers at least once. Each message is handled under its own id; those that failed are reported, so that
// only they come again. The event source mapping has to ask for that, with ReportBatchItemFailures.
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

// One function, several operations on one store. The operation is part of every record key.
func Example_router() {
	store := memory.New()
	type command struct{ Action, ID string }
	key := idempotent.WithKey(func(c command) (string, error) { return c.ID, nil })
	handles := func(name string) func(context.Context, command) (string, error) {
		return idempotent.Wrap(func(_ context.Context, c command) (string, error) {
			fmt.Println("executing", name, c.ID)
			return name + " done for " + c.ID, nil
		}, store, idempotent.WithOperation("account-"+name), key).Handle
	}
	actions := map[string]func(context.Context, command) (string, error){"open": handles("open"), "close": handles("close")}

	for _, c := range []command{{"open", "a-1"}, {"close", "a-1"}, {"open", "a-1"}} {
		out, err := actions[c.Action](context.Background(), c)
		fmt.Println(out, err)
	}
	// Output:
	// executing open a-1
	// open done for a-1 <nil>
	// executing close a-1
	// close done for a-1 <nil>
	// open done for a-1 <nil>
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

// An HTTP handler says beside its response what the failure means for the key. The client sees the response alone.
func ExampleTerminal() {
	asked := 0
	charge := func(_ context.Context, _ events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		asked++
		// The provider has closed the account: a retry cannot help, although a 503 is not stored otherwise.
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
		idempotent.WithResolver(func(_ context.Context, x idempotent.Execution, _ string) (idempotent.Resolution[string], error) {
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
