package dynamo

import (
	"context"
	"iter"

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

// pages yields one answer after the other, until the last one or an error.
func pages(ask func(start item) (page, error)) iter.Seq2[page, error] {
	return func(yield func(page, error) bool) {
		for start := item(nil); ; {
			p, err := ask(start)
			if !yield(p, err) || err != nil || len(p.last) == 0 {
				return
			}
			start = p.last
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
