package dynamo

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	smithytime "github.com/aws/smithy-go/time"

	"github.com/go-idempotent/idempotent/internal/table"
	"github.com/go-idempotent/idempotent/store"
)

// scanner is what a listing needs of a client beyond [Client].
type scanner interface {
	dynamodb.ScanAPIClient
	dynamodb.QueryAPIClient
	dynamodb.DescribeTableAPIClient
}

const (
	opList = "list"
	opCost = "list cost"
)

// List implements [store.Lister]. Reads are eventually consistent: half a read unit for every 4 KB.
//
// With the index, a listing of one operation is a Query for each of [store.AttentionsOf], one of
// all operations a Scan of the index. Without it, it is a Scan of the table, or, if the record key
// is on the sort key, a Query of the one partition, where an operation narrows down what is read.
// It needs the IAM actions dynamodb:Scan and dynamodb:Query on the table or the index, and a client
// that has the methods Scan, Query and DescribeTable of [*dynamodb.Client].
func (s *Store) List(ctx context.Context, q store.Query) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		client, err := s.scanner(opList, q)
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		for page, err := range pages(ctx, client, q.Rate, s.reads(q)...) {
			if err != nil {
				yield(store.Record{}, s.listError(err, q.Index))
				return
			}
			if q.Page != nil {
				q.Page(store.Page{Records: page.read, Units: page.units})
			}
			for _, it := range page.items {
				listed, err := s.decodeListed(it, q.Index)
				if (err != nil || q.Names(listed)) && !yield(listed, err) {
					return
				}
			}
		}
	}
}

func (s *Store) scanner(op string, q store.Query) (scanner, error) {
	client, ok := s.client.(scanner)
	switch {
	case !ok:
		return nil, rejected(op,
			fmt.Errorf("%w: client %T has no Scan, Query and DescribeTable", store.ErrNoListing, s.client))
	case q.Index && !q.Indexable():
		return nil, rejected(op, fmt.Errorf("%w that answers this query", store.ErrNoIndex))
	default:
		return client, nil
	}
}

// reads returns the reads that find what a query names: of the shards of one operation, of the
// whole index, of the table, or of the one partition of all records.
func (s *Store) reads(q store.Query) []dynamodb.QueryInput {
	a, l := s.attr, listing{expression: newExpression()}
	if len(q.Statuses) > 0 {
		refs := make([]string, len(q.Statuses))
		for i, status := range q.Statuses {
			refs[i] = fmt.Sprintf(":status%d", i)
			l.values[refs[i]] = textValue(string(status))
		}
		l.filters = append(l.filters, "#status IN ("+strings.Join(refs, ", ")+")")
	}
	sharded, due := q.Index && q.Operation != "", &l.filters
	if sharded {
		l.keys, due = []string{"#attention = :attention"}, &l.keys
	}
	if !q.AttentionBefore.IsZero() {
		l.values[":attention_before"] = numberValue(q.AttentionBefore.UnixMilli())
		*due = append(*due, "#attention_at <= :attention_before")
	}
	if !q.Index {
		return []dynamodb.QueryInput{l.ofTable(s, q)}
	}
	whole := l.read(s, q, a.recordKey(), a.status, a.reason, a.attempt, a.attention, a.attentionAt)
	whole.IndexName = aws.String(AttentionIndex)
	if !sharded {
		return []dynamodb.QueryInput{whole}
	}
	var shards []dynamodb.QueryInput
	for _, attention := range attentions(q) {
		shard := whole
		shard.ExpressionAttributeValues = maps.Clone(l.values)
		shard.ExpressionAttributeValues[":attention"] = textValue(attention)
		shards = append(shards, shard)
	}
	return shards
}

type listing struct {
	*expression

	keys, filters []string
}

func (l *listing) ofTable(s *Store, q store.Query) dynamodb.QueryInput {
	a, at := s.attr, &l.filters
	if a.composite() {
		at = &l.keys
		l.use(a.id)
		l.values[":partition"] = textValue(a.partition)
		l.keys = append(l.keys, "#id = :partition")
	}
	if q.Operation != "" {
		l.values[":operation"] = textValue(q.Operation + "#")
		*at = append(*at, "begins_with("+a.recordKey().ref+", :operation)")
	}
	l.filters = append(l.filters, "attribute_exists(#status)") // parts have none
	if q.Attention {
		l.filters = append(l.filters, "attribute_exists(#attention)")
	}
	if !q.CreatedBefore.IsZero() {
		l.values[":created_before"] = numberValue(q.CreatedBefore.UnixMilli())
		l.filters = append(l.filters, "(attribute_not_exists(#created_at) OR #created_at <= :created_before)")
	}
	return l.read(s, q, a.recordKey(), a.status, a.expiration, a.reason, a.attempt, a.attention,
		a.attentionAt, a.owner, a.lease, a.createdAt, a.completedAt, a.settledBy, a.settledAt)
}

// read is a read with these conditions: a Query, or, without a condition on the key, what a Scan
// shares with it. It returns these attributes, all that the conditions name beside a partition key.
func (l *listing) read(s *Store, q store.Query, returns ...attribute) dynamodb.QueryInput {
	l.use(returns...)
	refs := make([]string, len(returns))
	for i, at := range returns {
		refs[i] = at.ref
	}
	in := dynamodb.QueryInput{
		TableName:                aws.String(s.table),
		Limit:                    optional(int32(min(q.PageSize, 1<<20))), //nolint:gosec // within its range
		KeyConditionExpression:   optional(strings.Join(l.keys, " AND ")),
		FilterExpression:         optional(strings.Join(l.filters, " AND ")),
		ProjectionExpression:     aws.String(strings.Join(refs, ", ")),
		ExpressionAttributeNames: l.names,
	}
	if len(l.values) > 0 { // DynamoDB refuses none
		in.ExpressionAttributeValues = l.values
	}
	return in
}

// attentions are those of the shards of one operation, and of what is given up. A reconciliation
// reads without the latter, and begins with another shard each time: a run without time to end does
// not always leave out the same.
func attentions(q store.Query) []string {
	open, givenUp := store.AttentionsOf(q.Operation)
	if !q.NotGivenUp {
		return append(open, givenUp)
	}
	first := rand.IntN(len(open)) //nolint:gosec // no secret
	return slices.Concat(open[first:], open[:first])
}

// decodeListed reads what a listing has of a record: its key in any case.
func (s *Store) decodeListed(it item, indexed bool) (store.Record, error) {
	d := decoder{it: it}
	key := d.required(s.attr.recordKey())
	r := d.record(s.attr, key)
	if !indexed { // a step and a renewal raise the expiry, so the index does not have it
		r.Expiry = d.seconds(s.attr.expiration)
	}
	if d.err != nil {
		return store.Record{Key: key}, d.err
	}
	return r, nil
}

// listError tells an index that is missing or not ready from other failures of the same code.
func (s *Store) listError(err error, index bool) error {
	_, text := answer(err)
	if index && (strings.Contains(text, "specified index") || strings.Contains(text, "backfilling")) {
		return s.noIndex(opList)
	}
	return s.storeError(opList, err, nothingWritten)
}

func (s *Store) noIndex(op string) error {
	return rejected(op, fmt.Errorf("%w: table %q has no index %q that is ready", store.ErrNoIndex, s.table,
		AttentionIndex))
}

// ListCost implements [store.Lister] with one DescribeTable. DynamoDB counts records and bytes of a
// table and of an index every six hours or so, so a new table has none. Parts of results are
// counted with the table, and read by a Scan of it.
func (s *Store) ListCost(ctx context.Context, q store.Query) (store.Cost, error) {
	client, err := s.scanner(opCost, q)
	if err != nil {
		return store.Cost{}, err
	}
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(s.table)})
	if err != nil {
		return store.Cost{}, s.storeError(opCost, err, nothingWritten)
	}
	c := store.Cost{
		Indexed: q.Index, Records: aws.ToInt64(out.Table.ItemCount),
		Bytes: aws.ToInt64(out.Table.TableSizeBytes),
	}
	requests := int64(1)
	if q.Index {
		index := table.Index(out.Table, AttentionIndex)
		if index == nil || !table.Ready(index) {
			return store.Cost{}, s.noIndex(opCost)
		}
		c.Records, c.Bytes = aws.ToInt64(index.ItemCount), aws.ToInt64(index.IndexSizeBytes)
		if q.Operation != "" {
			requests = int64(len(attentions(q)))
		}
	}
	c.Units = max(float64((c.Bytes+readUnit-1)/readUnit), float64(requests)) * halfUnit
	c.Pages = requests + c.Bytes/pageBytes
	if q.PageSize > 0 {
		c.Pages = max(c.Pages, requests+c.Records/int64(q.PageSize))
	}
	return c, nil
}

// pageBytes is what one page reads at most. See
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Scan.html#Scan.Pagination.
const pageBytes = 1 << 20

type page struct {
	items []item
	read  int
	units float64
	last  item
}

// pages yields the pages of all reads until an error. It keeps to a rate of read units per second,
// unless that is 0: what a slow reader leaves unused is not saved up.
func pages(ctx context.Context, client scanner, rate float64, reads ...dynamodb.QueryInput) iter.Seq2[page, error] {
	return func(yield func(page, error) bool) {
		var due time.Time
		for _, in := range reads {
			for p := (page{}); ; {
				err := smithytime.SleepWithContext(ctx, time.Until(due))
				if err == nil {
					in.ExclusiveStartKey = p.last
					p, err = readPage(ctx, client, in)
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

func readPage(ctx context.Context, client scanner, in dynamodb.QueryInput) (page, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	if in.KeyConditionExpression != nil {
		out, err := client.Query(ctx, &in)
		if err != nil {
			return page{}, err
		}
		return pageOf(out.Items, out.ScannedCount, out.ConsumedCapacity, out.LastEvaluatedKey), nil
	}
	out, err := client.Scan(ctx, &dynamodb.ScanInput{
		TableName: in.TableName, IndexName: in.IndexName, Limit: in.Limit, ExclusiveStartKey: in.ExclusiveStartKey,
		FilterExpression: in.FilterExpression, ProjectionExpression: in.ProjectionExpression,
		ExpressionAttributeNames: in.ExpressionAttributeNames, ExpressionAttributeValues: in.ExpressionAttributeValues,
		ReturnConsumedCapacity: in.ReturnConsumedCapacity,
	})
	if err != nil {
		return page{}, err
	}
	return pageOf(out.Items, out.ScannedCount, out.ConsumedCapacity, out.LastEvaluatedKey), nil
}

// pageOf counts every record as one of up to 4 KB where the server does not say what a page
// consumed.
func pageOf(items []item, scanned int32, c *types.ConsumedCapacity, last item) page {
	p := page{items: items, read: int(scanned), units: halfUnit * float64(scanned), last: last}
	if c != nil && c.CapacityUnits != nil {
		p.units = *c.CapacityUnits
	}
	return p
}

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
