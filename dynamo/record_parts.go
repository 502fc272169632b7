package dynamo

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

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
	// maxResult is the size of the largest result that is kept, in whatever form. It leaves a part
	// for what gzip adds to noise.
	maxResult = (maxParts - 1) * partSize
	// writeBatch and readBatch are the parts of one call, of 25 and 40 that DynamoDB's limits would
	// let through. What a call sends or receives is in memory several times: 25 make the peak of a
	// function that stores 5 MB grow by seven times that, 3 by less than three times, for 4 calls
	// more.
	writeBatch = 3
	readBatch  = 4
	// gzipParts follows the list of compressed parts in store.Record.Parts, which the core carries
	// to ReadResult.
	gzipParts = " " + encodingGzip
	// partsOutlive is how long parts stay after the expiry of their record.
	partsOutlive = 24 * time.Hour
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
// whole, so neither a stale owner nor a repeated write with another result ever touches the parts
// that a record names.
func partKey(key, seal string, n int) string {
	return key + "#" + seal + "#" + strconv.Itoa(n)
}

// partWriter writes the parts of one result to items of their own. Nothing refers to them yet:
// until the record is written they have no effect, which is why no failure leaves its outcome open.
type partWriter struct {
	*Store

	op, key, seal string
	expiration    int64
	written       partList
}

// partsOf writes parts of the result of r, which stay for outlive after its expiry.
func (s *Store) partsOf(op string, r *store.Record, outlive time.Duration) *partWriter {
	return &partWriter{Store: s, op: op, key: r.Key, seal: r.Seal, expiration: r.Expiry.Add(outlive).Unix()}
}

// write writes the next pieces of the result, and forgets them: a large result is not kept longer
// than it takes.
func (w *partWriter) write(ctx context.Context, pieces [][]byte) error {
	for batch := range slices.Chunk(pieces, writeBatch) {
		writes := make([]types.WriteRequest, len(batch))
		for i, piece := range batch {
			w.written.count++
			w.written.size += len(piece)
			it := w.attr.encodePart(partKey(w.key, w.seal, w.written.count), piece, w.expiration)
			writes[i] = types.WriteRequest{PutRequest: &types.PutRequest{Item: it}}
		}
		if err := w.writeBatch(ctx, w.op, writes); err != nil {
			return err
		}
		clear(batch)
	}
	return nil
}

func tooLargeResult(op string, size int) error {
	return &store.Error{
		Op: op, Kind: store.FailureTooLarge, NotApplied: nothingWritten,
		Err: fmt.Errorf("the result has %d bytes, more than %d", size, maxResult),
	}
}

// writeBatch writes items. See
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html.
func (s *Store) writeBatch(ctx context.Context, op string, writes []types.WriteRequest) error {
	return inRounds(ctx, op, writes, func(ctx context.Context, writes []types.WriteRequest) (left []types.WriteRequest,
		_ error,
	) {
		var a attempts
		out, err := s.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{s.table: writes},
		}, a.observe)
		if err != nil {
			return nil, s.storeError(op, a.explained(err), nothingWritten)
		}
		for _, of := range out.UnprocessedItems {
			left = append(left, of...)
		}
		return left, nil
	})
}

// inRounds has DynamoDB process parts until none is left. A request returns those for which
// DynamoDB lacked the capacity.
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
			return &store.Error{
				Op: op, Kind: store.FailureThrottled, NotApplied: nothingWritten,
				Err: fmt.Errorf("%d parts were left unprocessed: %w", len(left), err),
			}
		}
		parts = left
	}
}
