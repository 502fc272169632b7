package dynamo

import (
	"crypto/sha256"
	"encoding/binary"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// digestOf is the digest of writes in their order.
func digestOf(all []write) [sha256.Size]byte {
	return sha256.Sum256(appendWrites([]byte("idempotent writes 1\n"), all))
}

// appendWrites appends a text from which all writes can be read back, so different ones have different texts: every text, list and
// map has its length before it, every value its type, and maps are sorted.
func appendWrites(b []byte, all []write) []byte {
	b = appendLength(b, len(all))
	for _, w := range all {
		b = appendText(b, w.kind)
		b = appendOptional(b, w.table)
		b = appendItem(b, w.row)
		b = appendItem(b, w.key)
		b = appendOptional(b, w.condition)
		b = appendOptional(b, w.update)
		b = appendNames(b, w.names)
		b = appendItem(b, w.values)
		b = appendText(b, string(w.returns))
	}
	return b
}

func appendLength(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) } //nolint:gosec // no length is negative

func appendText(b []byte, s string) []byte { return append(appendLength(b, len(s)), s...) }

func appendOptional(b []byte, s *string) []byte {
	if s == nil {
		return append(b, 0)
	}
	return appendText(append(b, 1), *s)
}

func appendNames(b []byte, names map[string]string) []byte {
	b = appendLength(appendPresence(b, names != nil), len(names))
	for _, name := range sortedNames(names) {
		b = appendText(appendText(b, name), names[name])
	}
	return b
}

// appendItem appends an item or a part of one. What is absent is not what is empty: the SDK sends them differently.
func appendItem(b []byte, it item) []byte {
	b = appendLength(appendPresence(b, it != nil), len(it))
	for _, name := range sortedNames(it) {
		b = appendValue(appendText(b, name), it[name])
	}
	return b
}

// sortedNames returns the keys of a map in ascending order. It is slices.Sorted(maps.Keys(m)) in one allocation.
func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func appendPresence(b []byte, is bool) []byte {
	if is {
		return append(b, 1)
	}
	return append(b, 0)
}

// appendValue appends a value that is [complete].
func appendValue(b []byte, v types.AttributeValue) []byte {
	b = appendText(b, typeName(v))
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return appendText(b, v.Value)
	case *types.AttributeValueMemberN:
		return appendText(b, v.Value)
	case *types.AttributeValueMemberB:
		return append(appendLength(b, len(v.Value)), v.Value...)
	case *types.AttributeValueMemberBOOL:
		return appendPresence(b, v.Value)
	case *types.AttributeValueMemberNULL:
		return appendPresence(b, v.Value)
	case *types.AttributeValueMemberM:
		return appendItem(b, v.Value)
	case *types.AttributeValueMemberL:
		b = appendLength(b, len(v.Value))
		for _, element := range v.Value {
			b = appendValue(b, element)
		}
	case *types.AttributeValueMemberSS:
		b = appendTexts(b, v.Value)
	case *types.AttributeValueMemberNS:
		b = appendTexts(b, v.Value)
	case *types.AttributeValueMemberBS:
		b = appendLength(b, len(v.Value))
		for _, element := range v.Value {
			b = append(appendLength(b, len(element)), element...)
		}
	}
	return b
}

func appendTexts(b []byte, texts []string) []byte {
	b = appendLength(b, len(texts))
	for _, text := range texts {
		b = appendText(b, text)
	}
	return b
}

// complete reports whether a value is one, down to its last element. The SDK sends nothing for what is none.
func complete(v types.AttributeValue) bool {
	if p := reflect.ValueOf(v); p.Kind() != reflect.Pointer || p.IsNil() {
		return false
	}
	switch v := v.(type) {
	case *types.AttributeValueMemberM:
		for _, member := range v.Value {
			if !complete(member) {
				return false
			}
		}
	case *types.AttributeValueMemberL:
		return !slices.ContainsFunc(v.Value, func(element types.AttributeValue) bool { return !complete(element) })
	}
	return typeName(v) != "unknown"
}
