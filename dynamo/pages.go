package dynamo

import (
	"context"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// page is one answer to a Query or a Scan.
type page struct {
	items []item
	read  int
	units float64
	last  item
}

// pages yields the pages of all reads, one after the other, until the last one or an error. It keeps
// to a rate of read units per second, unless that is 0: what a slow reader leaves unused is not
// saved up.
func pages(ctx context.Context, client scanner, rate float64, reads ...read) iter.Seq2[page, error] {
	return func(yield func(page, error) bool) {
		var due time.Time
		for _, r := range reads {
			for p := (page{}); ; {
				err := pause(ctx, time.Until(due))
				if err == nil {
					p, err = r.page(ctx, client, p.last)
				}
				if rate > 0 {
					due = time.Now().Add(time.Duration(p.units / rate * float64(time.Second)))
				}
				if !yield(p, err) || err != nil {
					return
				}
				if len(p.last) == 0 {
					break
				}
			}
		}
	}
}

// read is one Query or Scan with all of its pages.
type read struct {
	// key is the condition on the key: with one it is a Query, without a Scan.
	key, filter, projection string
	names                   map[string]string
	values                  item
	table, index            string
	limit                   int
}

func (r read) page(ctx context.Context, client scanner, start item) (page, error) {
	if r.key == "" {
		out, err := client.Scan(ctx, &dynamodb.ScanInput{
			TableName: aws.String(r.table), IndexName: optional(r.index), Limit: r.most(), ExclusiveStartKey: start,
			FilterExpression: optional(r.filter), ProjectionExpression: optional(r.projection),
			ExpressionAttributeNames: r.names, ExpressionAttributeValues: r.values,
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		if err != nil {
			return page{}, err
		}
		return pageOf(out.Items, out.ScannedCount, out.ConsumedCapacity, out.LastEvaluatedKey), nil
	}
	out, err := client.Query(ctx, &dynamodb.QueryInput{
		TableName: aws.String(r.table), IndexName: optional(r.index), Limit: r.most(), ExclusiveStartKey: start,
		KeyConditionExpression: aws.String(r.key), FilterExpression: optional(r.filter),
		ProjectionExpression:     optional(r.projection),
		ExpressionAttributeNames: r.names, ExpressionAttributeValues: r.values,
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err != nil {
		return page{}, err
	}
	return pageOf(out.Items, out.ScannedCount, out.ConsumedCapacity, out.LastEvaluatedKey), nil
}

// pageOf is a page of so many items that were read. Where the server does not say what that
// consumed, every record counts as one of up to 4 KB.
func pageOf(items []item, scanned int32, c *types.ConsumedCapacity, last item) page {
	p := page{items: items, read: int(scanned), units: halfUnit * float64(scanned), last: last}
	if c != nil && c.CapacityUnits != nil {
		p.units = *c.CapacityUnits
	}
	return p
}

// most is how many items a page has at most.
func (r read) most() *int32 { return optional(int32(min(r.limit, 1<<20))) } //nolint:gosec // within its range

// optional is a parameter that is left out if it has no value.
func optional[V comparable](v V) *V {
	var none V
	if v == none {
		return nil
	}
	return &v
}

// halfUnit is what it takes to read up to readUnit bytes, eventually consistent.
const (
	halfUnit = 0.5
	readUnit = 4 << 10
)
