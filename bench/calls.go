package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// calls are those of the SDK alone, with the inputs that are sent by hand.
var calls = plan{
	about: "The SDK alone: the calls of a first execution, and four ways to read a result that is kept as text (S) or bytes (B): " +
		"by the refusal of a PutItem, or with GetItem.",
	groups: func(b backend) ([]group, error) {
		first, err := firstCalls(b)
		if err != nil {
			return nil, err
		}
		groups := []group{{"first execution, 1 KB", first}}
		for _, r := range []result{orders("1 KB", 1<<10), orders("20 KB", 20<<10), orders("100 KB", 100<<10)} {
			reads, err := readCalls(b, asJSON(r.response))
			if err != nil {
				return nil, err
			}
			groups = append(groups, group{"read " + r.name, reads})
		}
		return groups, nil
	},
}

// caller makes the calls of one case.
type caller struct {
	connection
	hand *manual
}

func newCaller(b backend) caller {
	c := b.connect()
	return caller{connection: c, hand: &manual{client: c.client, table: c.table}}
}

func firstCalls(b backend) ([]measured, error) {
	data := string(asJSON(orders("1 KB", 1<<10).response))
	const owner = "5QVLTNWMNVMGBN3RQ5S4UJ2AWE"
	both, put, update := newCaller(b), newCaller(b), newCaller(b)
	fresh := func() string { return "charge#calls-" + strconv.FormatUint(freshKey(), 10) }
	claim := func(ctx context.Context, c caller, id string) error {
		_, err := c.client.PutItem(ctx, c.hand.claim(ctx, id, owner))
		return err
	}
	complete := func(ctx context.Context, c caller, id string) error {
		_, err := c.client.UpdateItem(ctx, c.hand.completion(id, owner, data))
		return err
	}
	held := fresh()
	if err := claim(context.Background(), update, held); err != nil {
		return nil, err
	}
	return rehearsed([]call{
		{"PutItem, UpdateItem", both, func(ctx context.Context) error {
			id := fresh()
			return errors.Join(claim(ctx, both, id), complete(ctx, both, id))
		}},
		{"PutItem", put, func(ctx context.Context) error { return claim(ctx, put, fresh()) }},
		{"UpdateItem, again and again", update, func(ctx context.Context) error {
			_, err := update.client.UpdateItem(ctx, withoutStatus(update.hand.completion(held, owner, data)))
			return err
		}},
	})
}

// withoutStatus makes a completion repeatable: it leaves the record in progress.
func withoutStatus(in *dynamodb.UpdateItemInput) *dynamodb.UpdateItemInput {
	in.ExpressionAttributeValues[":completed"] = text(inProgress)
	return in
}

// call is one case.
type call struct {
	name string
	caller
	once func(ctx context.Context) error
}

func rehearsed(all []call) ([]measured, error) {
	var cases []measured
	for _, c := range all {
		once := func() error {
			ctx, cancel := invocation()
			defer cancel()
			return c.once(ctx)
		}
		for _, rehearse := range []func(func() error) error{c.rehearse, direct} {
			if err := rehearse(once); err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
		}
		cases = append(cases, measured{name: c.name, run: func(n int) error {
			for range n {
				if err := once(); err != nil {
					return err
				}
			}
			return nil
		}})
	}
	return cases, nil
}

func readCalls(b backend, data []byte) ([]measured, error) {
	var all []call
	for _, kept := range []struct {
		as   string
		data types.AttributeValue
	}{
		{"S", text(string(data))},
		{"B", &types.AttributeValueMemberB{Value: data}},
	} {
		refused, got := newCaller(b), newCaller(b)
		id := "charge#read-" + strconv.FormatUint(freshKey(), 10)
		for i, c := range []caller{refused, got} {
			in := c.hand.claim(context.Background(), id+strconv.Itoa(i), "owner")
			in.Item[attributeData], in.Item[attributeStatus] = kept.data, text(completed)
			if _, err := c.client.PutItem(context.Background(), in); err != nil {
				return nil, err
			}
		}
		whole := func(it item) error {
			if sizeOf(it[attributeData]) != len(data) {
				return fmt.Errorf("%d bytes came back, not %d", sizeOf(it[attributeData]), len(data))
			}
			return nil
		}
		all = append(all,
			call{"GetItem, " + kept.as, got, func(ctx context.Context) error {
				out, err := got.client.GetItem(ctx, &dynamodb.GetItemInput{
					TableName: aws.String(got.table), Key: item{"id": text(id + "1")}, ConsistentRead: aws.Bool(true),
				})
				if err != nil {
					return err
				}
				return whole(out.Item)
			}},
			call{"refused PutItem, " + kept.as, refused, func(ctx context.Context) error {
				_, err := refused.client.PutItem(ctx, refused.hand.claim(ctx, id+"0", "another"))
				refusal, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
				if !ok {
					return fmt.Errorf("not refused: %w", err)
				}
				return whole(refusal.Item)
			}})
	}
	return rehearsed(all)
}

func sizeOf(v types.AttributeValue) int {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	default:
		return -1
	}
}
