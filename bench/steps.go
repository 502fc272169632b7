package main

import (
	"context"
	"fmt"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
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

// effects are the names of the effects that a handler of these sections has.
var effects = [...]string{"reserve", "charge", "mail"}

func book(context.Context) (booked, error) {
	return booked{ID: "re_1CeCw9kHqLqYlo2C", Amount: 1999}, nil
}

// stepwise are handlers with three effects.
var stepwise = plan{
	about: `The POST of 3 KB with an answer of 1 KB, by a handler that has three effects, each of which returns 44 bytes
at once. Without the SDK, a client answers at once before it encodes anything: own is what the library takes,
and the goal is 10 µs a step. Beside three bare calls, own is that and what the SDK takes longer for conditions
and seals.`,
	groups: func() ([]group, error) {
		without, err := executing("without the SDK",
			way{"no step", withSteps(nil, true)}, way{"three steps", withSteps(effects[:], true)})
		if err != nil {
			return nil, err
		}
		without.cases[1].goals = goals{own: 3 * stepGoal}
		with, err := executing("three steps beside three UpdateItems",
			way{"wrapped, three bare UpdateItems", wrappedWithUpdates},
			way{"wrapped, three steps", withSteps(effects[:], false)})
		return []group{without, with}, err
	},
}

// executing is a group of first executions.
func executing(heading string, ways ...way) (g group, err error) {
	g.heading = heading
	for _, w := range ways {
		f := newFake()
		run, err := w.of(orders("1 KB", 1<<10), f).rehearsedExecution(f)
		if err != nil {
			return g, err
		}
		g.cases = append(g.cases, measured{name: w.name, run: run})
	}
	return g, nil
}

// withSteps has effects as steps: over the SDK, or over a client that is willing.
func withSteps(names []string, willingly bool) func(s *shop, f *fake) lambda.Handler {
	return func(s *shop, f *fake) lambda.Handler {
		client := dynamo.Client(f.client)
		if willingly {
			client = willing{}
		}
		return idempotent.Wrap(func(ctx context.Context, in request) (response, error) {
			for _, name := range names {
				b, err := idempotent.Step(ctx, name, book)
				if err != nil || b.ID == "" {
					return response{}, fmt.Errorf("%s: %q: %w", name, b.ID, err)
				}
			}
			return s.charge(ctx, in)
		}, dynamo.New(client, records))
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

// wrappedWithUpdates has a bare UpdateItem beside each effect.
func wrappedWithUpdates(s *shop, f *fake) lambda.Handler {
	m := &manual{client: f.client, table: records}
	return idempotent.Wrap(func(ctx context.Context, in request) (response, error) {
		x, _ := idempotent.FromContext(ctx)
		for _, name := range effects {
			b, err := book(ctx)
			if err != nil {
				return response{}, err
			}
			update := m.effect(x.RecordKey, "", name, b)
			// it does not know its owner
			update.ConditionExpression = aws.String("#owner > :owner AND #status = :in_progress")
			if _, err := f.client.UpdateItem(ctx, update); err != nil {
				return response{}, err
			}
		}
		return s.charge(ctx, in)
	}, dynamo.New(f.client, records))
}

// effect records what an effect returned.
func (m *manual) effect(id, owner, name string, b booked) *dynamodb.UpdateItemInput {
	in := m.completion(id, owner, fmt.Sprintf(`{"id":%q,"amount":%d}`, b.ID, b.Amount))
	in.ExpressionAttributeValues[":completed"] = text(inProgress) // it does not end
	in.ExpressionAttributeNames["#data"] = "effect:" + name
	return in
}
