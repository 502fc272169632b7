package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent"
)

// ReadResult reads the parts of a record consistently and verifies that together they are the result that its commit
// names.
func (s *Store) ReadResult(ctx context.Context, r idempotent.Record) ([]byte, error) {
	l, ok := parsePartList(r.Parts)
	if !ok {
		return nil, unreadable("attribute %q of type S is malformed", s.attr.parts.name)
	}
	keys := make([]item, l.count)
	for i := range keys {
		keys[i] = s.attr.key(partKey(r, i+1))
	}
	found := make(map[string][]byte, l.count)
	for len(keys) > 0 {
		n := min(len(keys), readBatch)
		if err := s.readBatch(ctx, keys[:n], found); err != nil {
			return nil, err
		}
		keys = keys[n:]
	}
	result := make([]byte, 0, l.size)
	for n := 1; n <= l.count; n++ {
		part, ok := found[partKey(r, n)]
		if !ok {
			return nil, unreadable("part %d of %d is missing", n, l.count)
		}
		result = append(result, part...)
	}
	if len(result) != l.size || !r.Committed(result) {
		return nil, unreadable("the %d parts do not match the commit", l.count)
	}
	return result, nil
}

// readBatch reads items until DynamoDB has processed all keys; those that do not exist are not found. See
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html.
func (s *Store) readBatch(ctx context.Context, keys []item, found map[string][]byte) error {
	const op = "read result"
	var b backoff
	for {
		out, err := s.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{s.table: {Keys: keys, ConsistentRead: aws.Bool(true)}},
		})
		if err != nil {
			return s.storeError(op, err, nothingWritten)
		}
		for _, items := range out.Responses {
			if err := s.attr.decodeParts(items, found); err != nil {
				return err
			}
		}
		var left []item
		for _, of := range out.UnprocessedKeys {
			left = append(left, of.Keys...)
		}
		if len(left) == 0 {
			return nil
		}
		if err := b.wait(ctx, len(left) < len(keys)); err != nil {
			return unprocessed(op, len(left), err)
		}
		keys = left
	}
}

// decodeParts puts the bytes of parts under their keys.
func (a attributes) decodeParts(items []item, found map[string][]byte) error {
	for _, it := range items {
		d := decoder{it: it}
		key := d.required(a.recordKey())
		if d.err != nil {
			return d.err
		}
		p, ok := it[a.data.name].(*types.AttributeValueMemberB)
		if !ok {
			return unreadable("attribute %q of a part has type %s, not B", a.data.name, typeName(it[a.data.name]))
		}
		found[key] = p.Value
	}
	return nil
}
