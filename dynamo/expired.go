package dynamo

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/store"
)

// DeleteExpired deletes what expired at before or earlier, for a table that has no time to live,
// and counts what it deleted and all else that it read. It goes through the whole table once, and
// deletes what certainly is of this library:
//
//   - a record with an owner, unless it has a lease that lives;
//   - a part of a result, if its record is gone or does not name it;
//   - a message of an outbox that was delivered.
//
// Everything else stays, also a record that AWS Powertools may have written alone, and what is
// written meanwhile, also in another Region: each deletion is conditional on what was read. Parts
// stay as long as their record: a second pass deletes them. An hour before now leaves time to those
// who found a record before it expired.
//
// The table is read with eventually consistent Scans, half a read unit for every 4 KB, the record
// of each part with a consistent GetItem. It needs the IAM actions dynamodb:Scan, dynamodb:GetItem
// and dynamodb:DeleteItem on the table, and a client that can list. Only the client repeats what
// fails: an error, a [*store.Error], ends the pass, and the counts say what was done before it.
func (s *Store) DeleteExpired(ctx context.Context, before time.Time) (deleted, kept int, err error) {
	client, err := s.scanner(opExpired, store.Query{})
	x := expiring{Store: s, before: before, now: time.Now()}
	if err == nil && before.After(x.now) {
		err = rejected(opExpired, errors.New("the latest expiry to delete is after now"))
	}
	if err != nil {
		return 0, 0, err
	}
	for page, err := range pages(ctx, client, 0, dynamodb.QueryInput{TableName: aws.String(s.table)}) {
		if err != nil {
			return deleted, kept, s.storeError(opExpired, err, nothingWritten)
		}
		for _, it := range page.items {
			switch gone, err := x.delete(ctx, it); {
			case err != nil:
				return deleted, kept, s.storeError(opExpired, err, false)
			case gone:
				deleted++
			default:
				kept++
			}
		}
	}
	return deleted, kept, nil
}

const opExpired = "delete expired"

// expiring deletes what expired at before or earlier, and has no lease at now.
type expiring struct {
	*Store

	before, now time.Time
}

const ( // of messages, see package outbox
	messageDone = "done_at"
	messageDue  = "outbox_due"
)

func (x *expiring) delete(ctx context.Context, it item) (deleted bool, err error) {
	a := x.attr
	d := decoder{it: it}
	key, expires := d.required(a.recordKey()), d.seconds(a.expiration)
	if d.err != nil || expires.After(x.before) || a.composite() && d.text(a.id) != a.partition {
		return false, nil //nolint:nilerr // what is not understood stays
	}
	if !x.isRecord(it) && !x.isMessage(it) {
		if loose, err := x.isLoosePart(ctx, key, it); err != nil || !loose {
			return false, err
		}
	}
	// Whoever claims, renews, completes or settles a record changes one of these, and whoever
	// writes a message again has another owner.
	e, due := newExpression(), attribute{messageDue, "#due", ":due"}
	for _, at := range []attribute{a.expiration, a.status, a.owner, a.lease, due} {
		e.same(at, at.value, it[at.name])
	}
	_, err = x.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: aws.String(x.table), Key: a.key(key),
		ConditionExpression:      aws.String(string(e.condition)),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
	})
	_, changes := errors.AsType[*types.ReplicatedWriteConflictException](err)
	if _, changed := refusal(err); changed || changes {
		return false, nil
	}
	return err == nil, err
}

// isRecord reports whether an item is a record with an owner, which AWS Powertools does not write,
// and without a lease that lives.
func (x *expiring) isRecord(it item) bool {
	d := decoder{it: it}
	owner, lease := d.text(x.attr.owner), d.millis(x.attr.lease)
	switch status := store.Status(d.text(x.attr.status)); status {
	case store.StatusInProgress, store.StatusCompleted, store.StatusUnknown:
		return d.err == nil && owner != "" && (status != store.StatusInProgress || !lease.After(x.now))
	default:
		return false
	}
}

// isMessage reports whether an item is a message that was delivered. One that was given up is due.
func (x *expiring) isMessage(it item) bool {
	d := decoder{it: it}
	for _, name := range []string{"topic", "body", "owner"} {
		d.required(attribute{name: name})
	}
	_, done := it[messageDone].(*types.AttributeValueMemberN)
	_, due := it[messageDue]
	_, record := it[x.attr.status.name]
	return d.err == nil && done && !due && !record
}

// isLoosePart reports whether an item is a part of a result that its record does not name. A record
// begins to name parts only after they were written, and then they have not expired.
func (x *expiring) isLoosePart(ctx context.Context, part string, it item) (bool, error) {
	key, seal, is := partOf(part)
	_, bytes := it[x.attr.data.name].(*types.AttributeValueMemberB)
	if !is || !bytes || len(it) != len(x.attr.key(part))+2 {
		return false, nil
	}
	out, err := x.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(x.table), Key: x.attr.key(key), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return false, err
	}
	for name, v := range out.Item {
		text, is := v.(*types.AttributeValueMemberS)
		switch {
		case name == x.attr.commit.name && (!is || text.Value == seal),
			strings.HasPrefix(name, stepPrefix) && (!is || strings.Contains(text.Value, escapeSeal.Replace(seal))):
			return false, nil
		}
	}
	return true, nil
}

// partOf takes the key of a part apart, see partKey. Only the key of the record may have a # in it.
func partOf(part string) (key, seal string, ok bool) {
	fields := strings.Split(part, "#")
	last := len(fields) - 1
	if last < 2 {
		return "", "", false
	}
	key, seal = strings.Join(fields[:last-1], "#"), fields[last-1]
	n, err := strconv.Atoi(fields[last])
	return key, seal, key != "" && strings.Contains(seal, ".") && err == nil && n >= 1 && n <= maxParts &&
		partKey(key, seal, n) == part
}
