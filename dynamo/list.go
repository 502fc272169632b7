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

	"github.com/go-idempotent/idempotent/internal/table"
	"github.com/go-idempotent/idempotent/store"
)

// scanner is what a listing needs of a client beyond [Client].
type scanner interface {
	Scan(ctx context.Context, in *dynamodb.ScanInput, optFns ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	Query(ctx context.Context, in *dynamodb.QueryInput,
		optFns ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput,
		optFns ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
}

var _ store.Lister = (*Store)(nil)

const (
	opList = "list"
	opCost = "list cost"
)

// List implements [store.Lister]. Reads are eventually consistent, which costs half a read unit for
// every 4 KB.
//
// With the index, a listing of one operation is a Query for each of [store.AttentionsOf], and
// one of all operations a Scan of the index. Without it, it is a Scan of the whole table, or, if
// the record key is on the sort key, a Query of the one partition, where an operation narrows
// down what is read. It needs the IAM actions dynamodb:Scan and dynamodb:Query on the table or
// on the index, and a client that has the methods Scan, Query and DescribeTable of
// [*dynamodb.Client].
func (s *Store) List(ctx context.Context, q store.Query) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		client, err := s.scanner(opList, q)
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		l := lists{Store: s, query: q, pace: pace{rate: q.Rate}}
		for _, r := range s.reads(q) {
			if !l.all(ctx, client, r, yield) {
				return
			}
		}
	}
}

// scanner returns the client as one that can list, if the query can be answered at all.
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

// lists is a listing that is under way.
type lists struct {
	*Store

	query store.Query
	pace  pace
}

// all yields what one read finds, and reports whether the listing goes on.
func (l *lists) all(ctx context.Context, client scanner, r read, yield func(store.Record, error) bool) bool {
	for page, err := range pages(func(start item) (page, error) {
		if err := l.pace.wait(ctx); err != nil {
			return page{}, &store.Error{Op: opList, Kind: store.FailureTimeout, NotApplied: nothingWritten, Err: err}
		}
		p, err := r.page(ctx, client, start)
		if err != nil {
			return page{}, l.listError(err, l.query.Index)
		}
		return p, nil
	}) {
		if err != nil {
			yield(store.Record{}, err)
			return false
		}
		l.pace.spent(page.units)
		if l.query.Page != nil {
			l.query.Page(store.Page{Records: page.read, Units: page.units})
		}
		for _, it := range page.items {
			listed, err := l.decodeListed(it, l.query.Index)
			if err == nil && !l.query.Names(listed) {
				continue
			}
			if !yield(listed, err) {
				return false
			}
		}
	}
	return true
}

// reads returns the reads that find what a query names.
func (s *Store) reads(q store.Query) []read {
	l := listing{expression: newExpression(), attr: s.attr}
	l.statuses(q.Statuses)
	if q.Index {
		return l.ofIndex(s.table, q)
	}
	return []read{l.ofTable(s.table, q)}
}

// listing collects the conditions of a read.
type listing struct {
	*expression

	attr    *attributes
	keys    []string
	filters []string
}

// ofIndex reads the shards of one operation, or the whole index.
func (l *listing) ofIndex(from string, q store.Query) []read {
	a := l.attr
	before := l.attentionBefore(q.AttentionBefore)
	if q.Operation == "" {
		l.filters = append(l.filters, before...)
	} else {
		l.keys = append(append(l.keys, "#attention = :attention"), before...)
	}
	whole := l.read(from, q.PageSize, a.recordKey(), a.status, a.reason, a.attempt, a.attention, a.attentionAt)
	whole.index = AttentionIndex
	if q.Operation == "" {
		return []read{whole}
	}
	var shards []read
	for _, attention := range attentions(q) {
		shard := whole
		shard.values = maps.Clone(l.values)
		shard.values[":attention"] = textValue(attention)
		shards = append(shards, shard)
	}
	return shards
}

// attentions are those of the shards of one operation, and of what is given up. Without the latter,
// which is how a reconciliation reads, each listing begins with another shard: what a run without
// time to end leaves out is not always the same.
func attentions(q store.Query) []string {
	open, givenUp := store.AttentionsOf(q.Operation)
	if !q.NotGivenUp {
		return append(open, givenUp)
	}
	first := rand.IntN(len(open)) //nolint:gosec // no secret
	return slices.Concat(open[first:], open[:first])
}

// ofTable reads the table, or the one partition of all records.
func (l *listing) ofTable(from string, q store.Query) read {
	a := l.attr
	if a.composite() {
		l.use(a.id)
		l.values[":partition"] = textValue(a.partition)
		l.keys = append(l.keys, "#id = :partition")
	}
	if q.Operation != "" {
		l.values[":operation"] = textValue(q.Operation + "#")
		begins := "begins_with(" + a.recordKey().ref + ", :operation)"
		if a.composite() {
			l.keys = append(l.keys, begins)
		} else {
			l.filters = append(l.filters, begins)
		}
	}
	l.filters = append(l.filters, "attribute_exists(#status)") // parts have none
	if q.Attention {
		l.filters = append(l.filters, "attribute_exists(#attention)")
	}
	l.filters = append(l.filters, l.attentionBefore(q.AttentionBefore)...)
	if !q.CreatedBefore.IsZero() {
		l.values[":created_before"] = numberValue(q.CreatedBefore.UnixMilli())
		l.filters = append(l.filters, "(attribute_not_exists(#created_at) OR #created_at <= :created_before)")
	}
	return l.read(from, q.PageSize, a.recordKey(), a.status, a.expiration, a.reason, a.attempt, a.attention,
		a.attentionAt, a.owner, a.lease, a.createdAt, a.completedAt, a.settledBy, a.settledAt)
}

// read is a read with these conditions. It returns these attributes of each record, which are all
// that the conditions name beside a partition key.
func (l *listing) read(from string, limit int, returns ...attribute) read {
	l.use(returns...)
	refs := make([]string, len(returns))
	for i, at := range returns {
		refs[i] = at.ref
	}
	r := read{
		key: strings.Join(l.keys, " AND "), filter: strings.Join(l.filters, " AND "),
		projection: strings.Join(refs, ", "), names: l.names, values: l.values, table: from, limit: limit,
	}
	if len(r.values) == 0 {
		r.values = nil // DynamoDB refuses none
	}
	return r
}

func (l *listing) statuses(statuses []store.Status) {
	if len(statuses) == 0 {
		return
	}
	refs := make([]string, len(statuses))
	for i, status := range statuses {
		refs[i] = fmt.Sprintf(":status%d", i)
		l.values[refs[i]] = textValue(string(status))
	}
	l.filters = append(l.filters, "#status IN ("+strings.Join(refs, ", ")+")")
}

// attentionBefore is the condition on the age of an attention, if there is one.
func (l *listing) attentionBefore(t time.Time) []string {
	if t.IsZero() {
		return nil
	}
	l.values[":attention_before"] = numberValue(t.UnixMilli())
	return []string{"#attention_at <= :attention_before"}
}

// decodeListed reads what a listing has of a record. If that cannot be understood, the record has
// its key.
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

// listError tells an index that is missing, or not ready, from other failures: DynamoDB has one
// code for all.
func (s *Store) listError(err error, index bool) error {
	text := errorMessage(err)
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

// pace keeps a listing to a rate of read units per second. What a slow reader leaves unused is not
// saved up. The zero value does not wait.
type pace struct {
	rate float64
	due  time.Time
}

// spent notes what a page that was just read has consumed.
func (p *pace) spent(units float64) {
	if p.rate > 0 {
		p.due = time.Now().Add(time.Duration(units / p.rate * float64(time.Second)))
	}
}

// wait waits until the next page may be read.
func (p *pace) wait(ctx context.Context) error {
	return pause(ctx, time.Until(p.due))
}
