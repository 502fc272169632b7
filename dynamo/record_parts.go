package dynamo

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/store"
)

const (
	// partSize leaves 16 KB of DynamoDB's 400 KB for the key of a part.
	partSize = 384 << 10
	// maxParts bounds what a record can make a reader fetch: 37.5 MB, six times the largest
	// response of a function.
	maxParts = 100
	// maxResult is the largest result, in whatever form. It leaves a part for what gzip adds to
	// noise.
	maxResult = (maxParts - 1) * partSize
	// writeBatch and readBatch are the parts of one call, of 25 and 40 that DynamoDB would take.
	// What a call sends or receives is in memory several times: 25 make the peak of a function that
	// stores 5 MB grow by seven times that, 3 by less than three times, for 4 calls more.
	writeBatch   = 3
	readBatch    = 4
	gzipParts    = " " + encodingGzip // follows the list of compressed parts in store.Record.Parts
	partsOutlive = 24 * time.Hour     // after the expiry of their record
)

// partList is what the attribute parts says: how many there are and the bytes of all.
type partList struct{ count, size int }

func (l partList) String() string { return strconv.Itoa(l.count) + ":" + strconv.Itoa(l.size) }

func parsePartList(s string) (l partList, ok bool) {
	count, size, _ := strings.Cut(s, ":")
	var err1, err2 error
	l.count, err1 = strconv.Atoi(count)
	l.size, err2 = strconv.Atoi(size)
	ok = err1 == nil && err2 == nil && l.String() == s &&
		l.count >= 1 && l.count <= maxParts && l.size >= l.count && l.size <= l.count*partSize
	return l, ok
}

// splitParts takes the Parts of a record apart into the attributes parts and encoding.
func splitParts(s string) (list, encoding string) {
	if list, compressed := strings.CutSuffix(s, gzipParts); compressed {
		return list, encodingGzip
	}
	return s, ""
}

// partKey is the key of part n, counted from 1. The commit names the owner and the digest of the
// whole, so no stale owner and no write of another result touches the parts that a record names.
func partKey(key, seal string, n int) string {
	return key + "#" + seal + "#" + strconv.Itoa(n)
}

// partWriter writes the parts of one result to items of their own. Until the record names them they
// have no effect, so no failure leaves its outcome open.
type partWriter struct {
	*Store

	op, key, seal string
	expiration    int64
	written       partList
}

// write writes the next pieces of the result, and forgets them: a large result is not kept longer
// than it takes. See
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html.
func (w *partWriter) write(ctx context.Context, pieces [][]byte) error {
	type requests = []types.WriteRequest
	for batch := range slices.Chunk(pieces, writeBatch) {
		writes := make(requests, len(batch))
		for i, piece := range batch {
			w.written.count++
			w.written.size += len(piece)
			it := w.attr.key(partKey(w.key, w.seal, w.written.count))
			it[w.attr.data.name] = binaryValue(piece)
			it[w.attr.expiration.name] = numberValue(w.expiration)
			writes[i] = types.WriteRequest{PutRequest: &types.PutRequest{Item: it}}
		}
		err := inRounds(ctx, w.op, writes, func(ctx context.Context, writes requests) (left requests, _ error) {
			var a attempts
			out, err := w.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
				RequestItems: map[string]requests{w.table: writes},
			}, a.observe)
			if err != nil {
				return nil, w.storeError(w.op, a.explained(err), nothingWritten)
			}
			for _, of := range out.UnprocessedItems {
				left = append(left, of...)
			}
			return left, nil
		})
		if err != nil {
			return err
		}
		clear(batch)
	}
	return nil
}

func tooLargeResult(op string, size int) error {
	return unwritten(op, store.FailureTooLarge, fmt.Errorf("the result has %d bytes, more than %d", size, maxResult))
}

// inRounds repeats a request with the parts for which DynamoDB lacked the capacity.
func inRounds[P any](ctx context.Context, op string, parts []P,
	request func(ctx context.Context, parts []P) (left []P, err error),
) error {
	var b backoff
	for {
		var left []P
		err := patiently(ctx, len(parts)*partSize, func(ctx context.Context) (err error) {
			left, err = request(ctx, parts)
			return err
		})
		if err != nil {
			return err
		}
		if len(left) == 0 {
			return nil
		}
		if err := b.wait(ctx, len(left) < len(parts)); err != nil {
			return unwritten(op, store.FailureThrottled,
				fmt.Errorf("%d parts were left unprocessed: %w", len(left), err))
		}
		parts = left
	}
}

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
	result, err := s.readParts(ctx, op, r, l, encoding)
	if err != nil {
		return nil, err
	}
	if encoding == encodingGzip {
		if result, err = s.gzip.expand(result); err != nil {
			return nil, unreadable("the %d parts are no gzip of a result", l.count)
		}
	}
	if !r.Sealed(result) {
		return nil, unreadable("the %d parts do not match the commit", l.count)
	}
	return result, nil
}

// readParts has no more than one batch in memory beside what it returns.
func (s *Store) readParts(ctx context.Context, op string, r store.Record, l partList, encoding string) ([]byte, error) {
	var stored []byte
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
			if l.count == 1 && encoding != "" {
				return part, nil // what it expands to is a copy
			}
			stored = append(slices.Grow(stored, max(l.size+headroom-len(stored), 0)), part...)
		}
	}
	return stored, nil
}

// readBatch puts the bytes of parts under their keys; those that do not exist are not found. See
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
			for _, it := range items {
				d := decoder{it: it}
				key, data := d.required(s.attr.recordKey()), it[s.attr.data.name]
				part, ok := data.(*types.AttributeValueMemberB)
				if !ok {
					d.fail(s.attr.data, "of a part has type "+typeName(data)+", not B")
				}
				if d.err != nil {
					return nil, d.err
				}
				found[key] = part.Value
			}
		}
		for _, of := range out.UnprocessedKeys {
			left = append(left, of.Keys...)
		}
		return left, nil
	})
}
