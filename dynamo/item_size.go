package dynamo

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxItem is the size in bytes of the largest item of DynamoDB.
const maxItem = 400 << 10

// size is that of the item as far as it is known: of a Put all of it, else the key, and the values that an update has.
func (w write) size() int {
	size := sizeOf(w.row) + sizeOf(w.key)
	if w.update != nil {
		for _, v := range w.values {
			size += sizeOfValue(v)
		}
	}
	return size
}

// sizeOf is the size of an item in bytes, see
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html. That of numbers is an
// approximation there; here it is never more than that.
func sizeOf(it item) (size int) {
	for name, v := range it {
		size += len(name) + sizeOfValue(v)
	}
	return size
}

func sizeOfValue(v types.AttributeValue) int {
	const collection, element = 3, 1 // what each adds to its content
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return sizeOfNumber(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberM:
		return collection + element*len(v.Value) + sizeOf(v.Value)
	case *types.AttributeValueMemberL:
		size := collection + element*len(v.Value)
		for _, v := range v.Value {
			size += sizeOfValue(v)
		}
		return size
	case *types.AttributeValueMemberSS:
		return sum(v.Value, func(s string) int { return len(s) })
	case *types.AttributeValueMemberNS:
		return sum(v.Value, sizeOfNumber)
	case *types.AttributeValueMemberBS:
		return sum(v.Value, func(b []byte) int { return len(b) })
	default: // true, false and null
		return 1
	}
}

// sizeOfNumber is a byte for each two significant digits, and one more.
func sizeOfNumber(n string) int {
	mantissa, _, _ := strings.Cut(strings.ToLower(n), "e")
	digits, zeros := 0, 0
	for _, c := range mantissa {
		switch {
		case c >= '1' && c <= '9':
			digits, zeros = digits+zeros+1, 0
		case c == '0' && digits > 0:
			zeros++
		}
	}
	return 1 + (digits+1)/2
}

func sum[T any](all []T, size func(T) int) (total int) {
	for _, v := range all {
		total += size(v)
	}
	return total
}
