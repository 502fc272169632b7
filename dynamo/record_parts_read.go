package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/store"
)

// ReadResult reads the parts of a record, or of one of its steps, consistently and verifies that
// together they are the result that its commit names.
func (s *Store) ReadResult(ctx context.Context, r store.Record) ([]byte, error) {
	const op = "read result"
	if err := s.ready(op); err != nil {
		return nil, err
	}
	list, encoding := splitParts(r.Parts)
	l, ok := parsePartList(list)
	if !ok {
		return nil, unreadable("attribute %q of type S is malformed", s.attr.parts.name)
	}
	stored, err := s.readParts(ctx, op, r, l)
	if err != nil {
		return nil, err
	}
	result := stored
	if encoding == encodingGzip {
		if result, err = s.gzip.expand(stored); err != nil {
			return nil, unreadable("the %d parts are no gzip of a result", l.count)
		}
	}
	if !r.Sealed(result) {
		return nil, unreadable("the %d parts do not match the commit", l.count)
	}
	return result, nil
}

// readParts reads what the parts hold, batch by batch, so that no more than one of them is in
// memory beside it.
func (s *Store) readParts(ctx context.Context, op string, r store.Record, l partList) ([]byte, error) {
	stored := make([]byte, 0, withRoom(l.size))
	for first := 1; first <= l.count; first += readBatch {
		keys := make([]item, min(readBatch, l.count-first+1))
		for i := range keys {
			keys[i] = s.attr.key(partKey(r.Key, r.Seal, first+i))
		}
		found := make(map[string][]byte, len(keys))
		if err := s.readBatch(ctx, op, keys, found); err != nil {
			return nil, err
		}
		for n := first; n < first+len(keys); n++ {
			part, ok := found[partKey(r.Key, r.Seal, n)]
			if !ok {
				return nil, unreadable("part %d of %d is missing", n, l.count)
			}
			stored = append(stored, part...)
		}
	}
	return stored, nil
}

// readBatch reads items; those that do not exist are not found. See
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html.
func (s *Store) readBatch(ctx context.Context, op string, keys []item, found map[string][]byte) error {
	return inRounds(ctx, op, keys, func(ctx context.Context, keys []item) (left []item, err error) {
		var a attempts
		out, err := s.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{s.table: {Keys: keys, ConsistentRead: aws.Bool(true)}},
		}, a.observe)
		if err != nil {
			return nil, s.storeError(op, a.explained(err), nothingWritten)
		}
		for _, items := range out.Responses {
			if err := s.attr.decodeParts(items, found); err != nil {
				return nil, err
			}
		}
		for _, of := range out.UnprocessedKeys {
			left = append(left, of.Keys...)
		}
		return left, nil
	})
}

// decodeParts puts the bytes of parts under their keys.
func (a *attributes) decodeParts(items []item, found map[string][]byte) error {
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
