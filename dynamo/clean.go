package dynamo

import (
	"context"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/internal/clean"
	"github.com/go-idempotent/idempotent/store"
)

var _ store.Cleaner = (*Store)(nil)

const opClean = "clean"

// Table implements [store.Cleaner]: the table as it was given to [New], and its partition where there is [WithCompositeKey].
func (s *Store) Table() string {
	if s.unmade() {
		return ""
	}
	if s.attr.composite() {
		return s.table + "/" + s.attr.partition
	}
	return s.table
}

// DeleteExpired implements [store.Cleaner]: it deletes records that have expired, and the parts of results. What is neither stays, whatever
// its expiration. A table that has time to live needs none of it.
//
// It reads like a [Store.List] of everything: a Scan of the table, or a Query of the one partition where there is [WithCompositeKey],
// eventually consistent, half a read unit for every 4 KB of all that is there. Each deletion is one conditional DeleteItem, a write unit
// for every KB of the item, in every Region that has a replica; time to live would be free. Before a part is deleted, a consistent GetItem looks at its
// record: parts expire at a time that was computed when they were written, and a record that was prolonged since may still name them.
//
// A page that is not answered, and a deletion that is not, or that is throttled, are repeated for some seconds. It needs the IAM actions
// dynamodb:Scan (or dynamodb:Query), dynamodb:GetItem and dynamodb:DeleteItem on the table.
func (s *Store) DeleteExpired(ctx context.Context, c store.Cleaning) iter.Seq2[store.Cleaned, error] {
	if err := s.ready(opClean); err != nil {
		return func(yield func(store.Cleaned, error) bool) { yield(store.Cleaned{}, err) }
	}
	client, err := s.scanner(opClean, store.Query{})
	if err != nil {
		return func(yield func(store.Cleaned, error) bool) { yield(store.Cleaned{}, err) }
	}
	return clean.Expired(ctx, &expiring{Store: s, scans: client, before: c.Before, now: c.Now}, c)
}

// expiring is a table of which is deleted what expired at before or earlier, and has no lease at now.
type expiring struct {
	*Store

	scans       Scanner
	before, now time.Time
}

var _ clean.Table[expired] = (*expiring)(nil)

// expired is a record, or a part of one, as it was read.
type expired struct {
	key        string
	expiration types.AttributeValue
	part       bool
}

// Page implements [clean.Table]. A cursor is a record key, or the key of a part.
func (x *expiring) Page(ctx context.Context, after string, limit int) (clean.Page[expired], error) {
	r := x.read(limit)
	if after != "" {
		r.start = x.attr.key(after)
	}
	var read page
	err := patiently(ctx, pageBytes, func(ctx context.Context) (err error) {
		if read, err = r.page(ctx, x.scans); err != nil {
			return x.storeError(opClean, err, nothingWritten)
		}
		return nil
	})
	if err != nil {
		return clean.Page[expired]{}, err
	}
	p := clean.Page[expired]{Read: read.scanned, Units: read.units}
	for _, it := range read.items {
		if e, stays := x.found(it); stays {
			p.Kept++
		} else {
			p.Expired = append(p.Expired, e)
		}
	}
	if len(read.last) > 0 {
		d := decoder{it: read.last}
		p.Next = d.required(x.attr.recordKey())
		err = d.err
	}
	return p, err
}

// read reads the records and the parts that have expired.
func (x *expiring) read(limit int) read {
	l := listing{expression: newExpression(), attr: x.attr}
	a := x.attr
	if a.composite() {
		l.use(a.id)
		l.values[":partition"] = textValue(a.partition)
		l.keys = append(l.keys, "#id = :partition")
	}
	l.statuses([]store.Status{store.StatusInProgress, store.StatusCompleted, store.StatusUnknown})
	l.use(a.data, a.expiration)
	l.values[":binary"] = textValue("B")
	l.values[":before"] = numberValue(x.before.Unix())
	l.filters = []string{
		"#expiration <= :before",
		"(" + l.filters[0] + " OR attribute_not_exists(#status) AND attribute_type(#data, :binary))",
	}
	return l.read(x.table, limit, l.projection(a.recordKey(), a.status, a.expiration, a.lease))
}

// found reads what has expired, and reports whether it stays: its lease lives, or it is not understood.
func (x *expiring) found(it item) (e expired, stays bool) {
	a := x.attr
	d := decoder{it: it}
	e = expired{key: d.required(a.recordKey()), expiration: it[a.expiration.name]}
	status, lease := store.Status(d.text(a.status)), d.millis(a.lease)
	if status == "" {
		_, _, e.part = partOf(e.key)
		return e, !e.part
	}
	return e, d.err != nil || status == store.StatusInProgress && lease.After(x.now)
}

// Delete implements [clean.Table].
func (x *expiring) Delete(ctx context.Context, e expired, dryRun bool) (d clean.Deletion, err error) {
	if e.part {
		d.Kept, d.ReadUnits, err = x.named(ctx, e.key)
	}
	switch {
	case err != nil, d.Kept:
		return d, err
	case dryRun:
		d.Deleted = true
		return d, nil
	}
	open := false // a try may have deleted it
	err = patiently(ctx, 0, func(ctx context.Context) error {
		var a attempts
		out, err := x.client.DeleteItem(ctx, x.deletion(e), a.observe, readQuickly)
		switch old, refused := refusal(err); {
		case err == nil:
			d.Deleted, d.WriteUnits = true, unitsOf(out.ConsumedCapacity, 2) // at least one
		case refused && len(old) == 0:
			d.Deleted, d.WriteUnits = open || !a.notApplied(), 1
		case refused:
			d.Kept, d.WriteUnits = true, float64(sizeOf(old)/writeUnit+1)
		default:
			open = open || !a.notApplied()
			return x.storeError(opClean, a.explained(err), a.notApplied())
		}
		return nil
	})
	return d, err
}

// deletion is the call that deletes an item which still is as it was read.
func (x *expiring) deletion(e expired) *dynamodb.DeleteItemInput {
	c := newExpression()
	c.stillExpired(x.attr, e, x.now)
	return &dynamodb.DeleteItemInput{
		TableName:                           aws.String(x.table),
		Key:                                 x.attr.key(e.key),
		ConditionExpression:                 aws.String(c.condition),
		ExpressionAttributeNames:            c.names,
		ExpressionAttributeValues:           c.values,
		ReturnConsumedCapacity:              types.ReturnConsumedCapacityTotal,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// stillExpired is the condition that an item has the expiration that was read, and no live lease. Whoever claims, renews, completes or
// settles a record that has expired moves its expiration, and so does who writes a part again. An item with this expiration has expired,
// whoever wrote it.
func (e *expression) stillExpired(a attributes, seen expired, now time.Time) {
	e.use(a.expiration, a.status)
	e.values[":seen"] = seen.expiration
	e.condition = "#expiration = :seen AND "
	if seen.part {
		e.condition += "attribute_not_exists(#status)"
		return
	}
	e.use(a.lease)
	e.values[":in_progress"] = textValue(string(store.StatusInProgress))
	e.values[":now_ms"] = numberValue(now.UnixMilli())
	e.condition += "(#status <> :in_progress OR attribute_not_exists(#lease) OR #lease <= :now_ms)"
}

// named reports whether a record that lives names a part, or may: its commit is that of the part, or it has steps, which are not looked at.
// A record begins to name parts only after they were written, and then they have not expired.
func (x *expiring) named(ctx context.Context, part string) (named bool, units float64, err error) {
	a := x.attr
	key, seal, _ := partOf(part)
	e := newExpression()
	in := &dynamodb.GetItemInput{
		TableName: aws.String(x.table), Key: a.key(key), ConsistentRead: aws.Bool(true),
		ProjectionExpression:     aws.String(e.projection(a.status, a.expiration, a.lease, a.commit, a.steps)),
		ExpressionAttributeNames: e.names, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	var it item
	err = patiently(ctx, 0, func(ctx context.Context) error {
		out, err := x.client.GetItem(ctx, in)
		if err != nil {
			return x.storeError(opClean, err, nothingWritten)
		}
		it, units = out.Item, unitsOf(out.ConsumedCapacity, 2) // one, it is consistent
		return nil
	})
	if err != nil || len(it) == 0 {
		return false, units, err
	}
	d := decoder{it: it}
	r := store.Record{Status: store.Status(d.text(a.status)), Expiry: d.seconds(a.expiration), Lease: d.millis(a.lease)}
	_, steps := it[a.steps.name]
	names := steps || d.text(a.commit) == seal
	return d.err != nil || names && !r.Claimable(x.now), units, nil //nolint:nilerr // a part whose record is not understood stays
}

// partOf takes the key of a part apart, see partKey. Keys of records may have a #, neither a commit nor a number has one.
func partOf(part string) (key, seal string, ok bool) {
	rest, number := cutLast(part, "#")
	key, seal = cutLast(rest, "#")
	n, err := strconv.Atoi(number)
	return key, seal, key != "" && strings.Contains(seal, ".") && err == nil && n >= 1 && n <= maxParts && strconv.Itoa(n) == number
}

// cutLast is strings.Cut at the last separator, which is the end of the text where there is none.
func cutLast(s, sep string) (before, after string) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):]
	}
	return s, ""
}
