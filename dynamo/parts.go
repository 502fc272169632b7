package dynamo

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent"
)

const (
	// partSize leaves 16 KB of DynamoDB's 400 KB for the key of a part.
	partSize = 384 << 10
	// maxParts bounds what a record can make a reader fetch: 37.5 MB, six times the largest response of a function.
	maxParts = 100
	// writeBatch is the most that BatchWriteItem takes. With the overhead of base64 it stays below its 16 MB.
	writeBatch = 25
	// readBatch keeps an answer of BatchGetItem below its 16 MB.
	readBatch = 40
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

// partKey is the key of part n, counted from 1. The commit names the owner and the digest of the whole, so neither a stale
// owner nor a repeated write with another result ever touches the parts that a record names.
func partKey(r idempotent.Record, n int) string {
	return r.Key + "#" + r.Commit + "#" + strconv.Itoa(n)
}

// writeParts writes the result of a record to items of its own and returns their list. Nothing refers to them yet: until
// the record is written they have no effect, which is why no failure leaves its outcome open.
func (s *Store) writeParts(ctx context.Context, op string, r idempotent.Record) (list string, err error) {
	l := partList{count: (len(r.Result) + partSize - 1) / partSize, size: len(r.Result)}
	if l.count > maxParts {
		return "", &idempotent.StoreError{
			Op: op, Kind: idempotent.FailureTooLarge, NotApplied: nothingWritten,
			Err: fmt.Errorf("the result has %d bytes, more than %d", l.size, maxParts*partSize),
		}
	}
	expiration := r.Expiry.Add(partsOutlive).Unix()
	writes := make([]types.WriteRequest, l.count)
	for i := range writes {
		part := r.Result[i*partSize : min((i+1)*partSize, l.size)]
		it := s.attr.encodePart(partKey(r, i+1), part, expiration)
		writes[i] = types.WriteRequest{PutRequest: &types.PutRequest{Item: it}}
	}
	for len(writes) > 0 {
		n := min(len(writes), writeBatch)
		if err := s.writeBatch(ctx, op, writes[:n]); err != nil {
			return "", err
		}
		writes = writes[n:]
	}
	return l.String(), nil
}

// writeBatch writes items until DynamoDB has processed all of them. See
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html.
func (s *Store) writeBatch(ctx context.Context, op string, writes []types.WriteRequest) error {
	var b backoff
	for {
		out, err := s.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{s.table: writes},
		})
		if err != nil {
			return s.storeError(op, err, nothingWritten)
		}
		var left []types.WriteRequest
		for _, of := range out.UnprocessedItems {
			left = append(left, of...)
		}
		if len(left) == 0 {
			return nil
		}
		if err := b.wait(ctx, len(left) < len(writes)); err != nil {
			return unprocessed(op, len(left), err)
		}
		writes = left
	}
}

// unprocessed reports parts that DynamoDB lacked the capacity for.
func unprocessed(op string, left int, err error) error {
	return &idempotent.StoreError{
		Op: op, Kind: idempotent.FailureThrottled, NotApplied: nothingWritten,
		Err: fmt.Errorf("%d parts were left unprocessed: %w", left, err),
	}
}
