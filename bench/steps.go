package main

import (
	"context"
	"fmt"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
)

// booked is what each effect returns, small as an answer of a downstream is when only its id
// matters.
type booked struct {
	ID     string `json:"id"`
	Amount int    `json:"amount"`
}

func book(context.Context) (booked, error) {
	return booked{ID: "re_1CeCw9kHqLqYlo2C", Amount: 1999}, nil
}

// stepwise are handlers with three effects.
var stepwise = plan{
	about: `The POST of 3 KB with an answer of 1 KB, by a handler that has three effects, each of which returns 44 bytes
at once. Without the SDK, a client answers at once before it encodes anything: own is what the library takes,
and the goal is 10 µs a step.`,
	groups: func() ([]group, error) {
		g := group{heading: "without the SDK"}
		three := withSteps([]string{"reserve", "charge", "mail"})
		for _, w := range []way{{"no step", withSteps(nil)}, {"three steps", three}} {
			f := newFake()
			run, err := w.of(orders("1 KB", 1<<10), f).rehearsedExecution(f)
			if err != nil {
				return nil, err
			}
			g.cases = append(g.cases, measured{name: w.name, run: run})
		}
		g.cases[1].goals = goals{own: 3 * stepGoal}
		return []group{g}, nil
	},
}

// withSteps has effects as steps, over a client that is willing.
func withSteps(names []string) func(s *shop, f *fake) lambda.Handler {
	return func(s *shop, _ *fake) lambda.Handler {
		return idempotent.Wrap(func(ctx context.Context, in request) (response, error) {
			for _, name := range names {
				b, err := idempotent.Step(ctx, name, book)
				if err != nil || b.ID == "" {
					return response{}, fmt.Errorf("%s: %q: %w", name, b.ID, err)
				}
			}
			return s.charge(ctx, in)
		}, dynamo.New(willing{}, records))
	}
}

// willing lets every write of an execution happen, without the SDK.
type willing struct{ dynamo.Client }

func (willing) PutItem(context.Context, *dynamodb.PutItemInput,
	...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	return &dynamodb.PutItemOutput{}, nil
}

func (willing) UpdateItem(context.Context, *dynamodb.UpdateItemInput,
	...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return &dynamodb.UpdateItemOutput{}, nil
}
