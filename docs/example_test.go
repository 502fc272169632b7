package docs_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// What pages of docs/ show and no example runs. It compiles, and options are checked by Wrap where
// they are used.

type Order struct{ ID string }

func fulfil(context.Context, Order) (string, error) { return "", nil }

func _(store store.Store, payload []byte) error {
	ctx := context.Background()
	handler := idempotent.Wrap(fulfil, store,
		idempotent.WithOperation("fulfil-order"),
		idempotent.WithKey(func(o Order) (string, error) { return o.ID, nil }))
	d, err := handler.DescribeEvent(ctx, payload)
	_ = d.DerivedKey("charge")
	return err
}

func _(ctx context.Context, handler *idempotent.Handler[Order, string], order Order) error {
	charge, err := handler.Handle(ctx, order)
	if e, ok := errors.AsType[*idempotent.Error](err); ok && e.Kind == idempotent.ErrInProgress {
		time.Sleep(e.RetryAfter) // the lease has ended: call again, with the same order
	}
	_ = charge
	return err
}

func _(store store.Store, ship func(context.Context, Order) (string, error)) {
	handler := idempotent.Wrap(ship, store,
		idempotent.WithOperation("ship"),
		idempotent.WithKeyPath("powertools_json(body).[tenant, order_id]"))
	_ = handler
}

func _(store store.Store, ship func(context.Context, Order, events.SQSMessage) (string, error)) {
	handler := idempotent.Wrap(batch.JSON(ship), store, idempotent.WithOperation("ship"),
		idempotent.WithKeyPath(`messageAttributes."Idempotency-Key".stringValue`))
	_ = handler
}

func _(store store.Store,
	onMessage func(context.Context, events.APIGatewayWebsocketProxyRequest) (events.APIGatewayProxyResponse, error),
) {
	handler := idempotent.Wrap(onMessage, store,
		idempotent.WithOperation("send-message"),
		idempotent.WithKeyPath("[requestContext.authorizer.principalId, powertools_json(body).id]"),
		idempotent.WithFingerprintPath("powertools_json(body)"),
		idempotent.WithStoreIf(func(r events.APIGatewayProxyResponse) bool { return r.StatusCode < 500 }))
	_ = handler
}

var _ = []idempotent.Option{
	idempotent.WithHTTP(idempotent.HTTP{TimestampHeader: "X-Request-Timestamp", MaxRequestAge: 12 * time.Hour}),

	idempotent.WithObserver(observe.EMF(os.Stdout)), // metrics
	idempotent.WithObserver(observe.Slog(nil)),      // a log
	idempotent.WithObserver(observe.All(observe.EMF(os.Stdout), observe.Slog(nil))),
	idempotent.WithObserver(func(context.Context, report.Delivery) {}), // your own
	idempotent.WithObserver(observe.EMF(os.Stdout, observe.Config{Route: true})),
}

func _(mux *http.ServeMux, unprotected map[string]bool) idempotent.Option {
	route := func(method, path string) string {
		_, pattern := mux.Handler(&http.Request{Method: method, URL: &url.URL{Path: path}})
		return pattern
	}
	return idempotent.WithHTTP(idempotent.HTTP{
		// A path that no route takes is protected: what nobody has thought of is not exempt.
		Protect: func(method, path string) bool { return !unprotected[route(method, path)] },
		Route:   route,
	})
}

func _(client dynamo.Client, charge func(context.Context, Order) (string, error)) {
	store := dynamo.New(client, "idempotency") // their table
	handler := idempotent.Wrap(charge, store,
		idempotent.WithPowertools(idempotent.Powertools{
			Language: idempotent.PowertoolsPython,
			Prefix:   "orders-fn.app.handler", // key_prefix there, or what it defaults to
		}),
		idempotent.WithKeyPath("powertools_json(body).order_id"),       // event_key_jmespath
		idempotent.WithFingerprintPath("powertools_json(body).amount")) // payload_validation_jmespath
	_ = handler
}

func _(store store.Store, charge func(context.Context, Order) (string, error), powertools, path idempotent.Option) {
	theirs := idempotent.Wrap(charge, store, powertools, path)
	own := idempotent.Wrap(func(ctx context.Context, o Order) (string, error) {
		out, err := theirs.Handle(ctx, o)
		if errors.Is(err, idempotent.ErrInProgress) || errors.Is(err, idempotent.ErrStoreUnavailable) {
			err = idempotent.NotExecuted(err) // it did not run, whatever the policy says
		}
		return out, err
	}, store, idempotent.WithOperation("charge"), path)
	_ = own
}

func _(t *testing.T, cfg aws.Config, charge func(context.Context, Order) (string, error)) {
	client := dynamodb.NewFromConfig(cfg)
	table := "idempotency-" + rand.Text()
	if err := dynamo.CreateTable(t.Context(), client, table); err != nil {
		t.Fatal(err)
	}
	handler := idempotent.Wrap(charge, dynamo.New(client, table), idempotent.WithOperation("charge"))
	_ = handler
}

type services struct {
	reserve func() string
	charge  func(key string) string
}

func (s services) place(ctx context.Context, _ Order) (string, error) {
	reserve := func(context.Context) (string, error) { return s.reserve(), nil }
	if _, err := idempotent.Step(ctx, "reserve", reserve); err != nil {
		return "", err
	}
	return idempotent.Step(ctx, "charge", func(ctx context.Context) (string, error) {
		return s.charge(idempotent.DerivedKey(ctx, "")), nil
	})
}

// A process that dies between a charge and its record, as a test plays it.
func Example_aCrashBetweenSteps() {
	ctx, reservations := context.Background(), 0

	var keys []string
	s := services{
		reserve: func() string { reservations++; return "r-1" },
		charge: func(key string) string {
			if keys = append(keys, key); len(keys) == 1 {
				panic("killed") // the provider has charged, and the record does not know it
			}
			return "ch-1"
		},
	}
	handler := idempotent.Wrap(s.place, memory.New(), idempotent.WithOperation("place"),
		idempotent.WithEffects(idempotent.Repeatable),
		idempotent.WithKey(func(o Order) (string, error) { return o.ID, nil }))
	func() {
		defer func() { fmt.Println(recover()) }()
		_, _ = handler.Handle(ctx, Order{ID: "o-1"})
	}()
	charge, err := handler.Handle(ctx, Order{ID: "o-1"})
	fmt.Println(charge, err, "after", reservations, "reservation;", "one key:", keys[0] == keys[1])

	// Output:
	// killed
	// ch-1 <nil> after 1 reservation; one key: true
}
