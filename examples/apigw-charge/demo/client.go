package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-idempotent/idempotent/examples/internal/sandbox"
)

// order is what the client wants: one request, however often it is sent.
type order struct {
	name   string
	key    string
	amount int
}

// metadata has numbers that do not survive a float64.
const metadata = `{"order":9007199254740993,"weight":1.10}`

func (o order) body() string {
	return fmt.Sprintf(`{"amount":%d,"currency":"usd","source":"tok_visa","metadata":%s}`, o.amount, metadata)
}

func (o order) String() string { return fmt.Sprintf("%s: %d usd", o.name, o.amount) }

// answer is what the client got.
type answer struct{ sandbox.Answer }

// send sends an order to a sandbox, once.
func send(ctx context.Context, url string, o order) answer {
	return answer{sandbox.Post(ctx, url+"/charges", o.key, o.body())}
}

// beside is String, and says whether the body is that of an earlier answer.
func (a answer) beside(first answer) string {
	if a.Err != nil || a.Body != first.Body {
		return a.String() + ", other bytes"
	}
	return a.String() + ", same bytes"
}

// charges checks that the answer is a new one, about this order.
func (a answer) charges(o order) error {
	if err := a.Is(http.StatusCreated); err != nil {
		return err
	}
	about := fmt.Sprintf(`"amount":%d,"currency":"usd","status":"succeeded","metadata":%s}`, o.amount, metadata)
	switch {
	case a.Replayed:
		return errors.New("the answer is a replay, want a new one")
	case !strings.HasSuffix(a.Body, about):
		return fmt.Errorf("the body is %s, want one that ends with %s", a.Body, about)
	default:
		return nil
	}
}
