package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

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
	about: "The POST of 3 KB with an answer of 1 KB, by a handler that has three effects, each of which returns 44 " +
		"bytes at once. " +
		"Without the SDK, a client answers at once before it encodes anything: own is what the library takes, and " +
		"the goal is 10 µs a step. " +
		"Beside three bare calls, own is that and what the SDK takes longer for conditions and seals. By hand are the " +
		"same calls: each effect is one UpdateItem under the owner, and the completion removes all. Resumed are " +
		"three steps of a " +
		"record that was released with them; own is what they take over a record without steps.",
	groups: func() ([]group, error) {
		bare, err := executing("wrapped, three bare UpdateItems", wrappedWithUpdates)
		if err != nil {
			return nil, err
		}
		three, err := executing("wrapped, three steps", wrappedWithSteps)
		if err != nil {
			return nil, err
		}
		byHand, err := executing("by hand", byHandWithUpdates)
		if err != nil {
			return nil, err
		}
		wrapped := three
		wrapped.name = "with steps"
		groups := []group{
			{"three steps beside three UpdateItems", []measured{bare, three}},
			{"a handler with three steps beside the same by hand", []measured{byHand, wrapped}},
		}
		without, err := resuming("released without steps", nil)
		if err != nil {
			return nil, err
		}
		resumed, err := resuming("three steps resumed", effects[:])
		if err != nil {
			return nil, err
		}
		resumed.goals = goals{own: 3 * stepGoal}
		groups = append(groups, group{"resuming", []measured{without, resumed}})
		none, err := executing("no step", willingly(nil))
		if err != nil {
			return nil, err
		}
		alone, err := executing("three steps", willingly(effects[:]))
		if err != nil {
			return nil, err
		}
		alone.goals = goals{own: 3 * stepGoal}
		return append([]group{{"without the SDK", []measured{none, alone}}}, groups...), nil
	},
}

// executing is a case of first executions.
func executing(name string, of func(s *shop, c connection) lambda.Handler) (measured, error) {
	c := connect()
	s := &shop{response: orders("1 KB", 1<<10).response}
	subject := newSubject(name, s, of(s, c))
	return measured{name: name, run: subject.executions}, subject.rehearsedExecution(c)
}

// wrappedWithSteps has each effect as a step.
func wrappedWithSteps(s *shop, c connection) lambda.Handler {
	return withSteps(s, c.client, c.table, effects[:])
}

func withSteps(s *shop, client dynamo.Client, table string, names []string) lambda.Handler {
	return idempotent.Wrap(func(ctx context.Context, in request) (response, error) {
		if err := takeSteps(ctx, names); err != nil {
			return response{}, err
		}
		return s.charge(ctx, in)
	}, dynamo.New(client, table))
}

// willingly is a handler over a client that lets every write of an execution happen, without the
// SDK.
func willingly(names []string) func(s *shop, c connection) lambda.Handler {
	return func(s *shop, c connection) lambda.Handler { return withSteps(s, willing{}, c.table, names) }
}

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

func takeSteps(ctx context.Context, names []string) error {
	for _, name := range names {
		b, err := idempotent.Step(ctx, name, book)
		if err != nil || b.ID == "" {
			return fmt.Errorf("%s: %q: %w", name, b.ID, err)
		}
	}
	return nil
}

// wrappedWithUpdates has a bare UpdateItem beside each effect.
func wrappedWithUpdates(s *shop, c connection) lambda.Handler {
	m := &manual{client: c.client, table: c.table}
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
			if _, err := c.client.UpdateItem(ctx, update); err != nil {
				return response{}, err
			}
		}
		return s.charge(ctx, in)
	}, dynamo.New(c.client, c.table))
}

// effect records what an effect returned.
func (m *manual) effect(id, owner, name string, b booked) *dynamodb.UpdateItemInput {
	in := m.completion(id, owner, fmt.Sprintf(`{"id":%q,"amount":%d}`, b.ID, b.Amount))
	in.ExpressionAttributeValues[":completed"] = text(inProgress) // it does not end
	in.ExpressionAttributeNames["#data"] = "effect:" + name
	return in
}

// byHandWithUpdates is what somebody writes for one function: it could resume from the item that
// refuses a claim.
func byHandWithUpdates(s *shop, c connection) lambda.Handler {
	m := &manual{client: c.client, table: c.table, charge: s.charge}
	return lambda.NewHandler(func(ctx context.Context, in request) (response, error) {
		id, owner := "charge#"+in.Headers[keyHeader], rand.Text()
		if _, err := m.client.PutItem(ctx, m.claim(ctx, id, owner)); err != nil {
			return response{StatusCode: 503}, err
		}
		for _, name := range effects {
			b, err := book(ctx)
			if err != nil {
				return response{}, err
			}
			if _, err := m.client.UpdateItem(ctx, m.effect(id, owner, name, b)); err != nil {
				return response{StatusCode: 503}, err
			}
		}
		out, err := m.charge(ctx, in)
		if err != nil {
			return out, err
		}
		completion := m.completion(id, owner, string(asJSON(out)))
		*completion.UpdateExpression += " REMOVE #reserve, #effect, #mail"
		for placeholder, name := range map[string]string{"#reserve": "reserve", "#effect": "charge", "#mail": "mail"} {
			completion.ExpressionAttributeNames[placeholder] = "effect:" + name
		}
		_, err = m.client.UpdateItem(ctx, completion)
		return out, err
	})
}

var errFirst = errors.New("the first execution fails")

// resuming is a case of executions that take over what was released with the steps of these names.
func resuming(name string, names []string) (measured, error) {
	c := connect()
	s := &shop{response: orders("1 KB", 1<<10).response}
	failing := true
	now := time.Now() // stands still: what is played has the lease of the rehearsal
	subject := newSubject(name, s, idempotent.Wrap(func(ctx context.Context, in request) (response, error) {
		if err := takeSteps(ctx, effects[:len(names)]); err != nil {
			return response{}, err
		}
		if failing {
			return response{}, idempotent.Uncertain(errFirst) // which keeps the record, also one without steps
		}
		return s.charge(ctx, in)
	}, dynamo.New(c.client, c.table), idempotent.WithClock(func() time.Time { return now }), idempotent.WithResolver(
		func(context.Context, idempotent.Execution, request) (idempotent.Resolution[response], error) {
			return idempotent.Untouched[response](), nil
		})))
	key := freshKey()
	if _, err := subject.deliver(key); !errors.Is(err, errFirst) {
		return measured{}, fmt.Errorf("%s: the first execution did not fail: %w", name, err)
	}
	failing = false
	err := c.rehearse(func() error {
		answer, err := subject.deliver(key)
		return errors.Join(err, s.check(answer))
	})
	return measured{name: name, run: func(n int) error {
		return subject.repeat(n, n, func() uint64 { return key })
	}}, err
}
