package fingerprint_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// order is a body of about 200 bytes whose members are out of order.
const order = `{"orderId":"7f9c2ba4-e88f-4d1c-a1b0-6f2d4c0a9e51","amount":1299.50,"currency":"EUR",` +
	`"customer":{"id":48213,"email":"ada@example.com"},"items":[{"sku":"A-1","qty":2},{"sku":"B-7","qty":1}]}`

// orders is an array of as many orders as make up the given number of bytes.
func orders(order string, size int) string {
	return "[" + strings.Repeat(order+",", size/(len(order)+1)-1) + order + "]"
}

const megabyte = 1 << 20

func BenchmarkCanonical(b *testing.B) {
	sorted := canonical(b, order)
	for _, bc := range []struct{ name, doc string }{
		{"200B/unordered", order},
		{"200B/ordered", sorted},
		{"6MB/unordered", orders(order, 6*megabyte)},
		{"6MB/ordered", orders(sorted, 6*megabyte)},
		{"1MB/numbers", orders("-123.456,7.890,1e5,17,0.001", megabyte)},
		{"1MB/text", orders(`"The quick brown fox, \"na\u00efve\" — 速い茶色の狐"`, megabyte)},
	} {
		b.Run(bc.name, func(b *testing.B) {
			src := []byte(bc.doc)
			dst := make([]byte, 0, 2*len(src))
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				_, err := fingerprint.Canonical(dst, src)
				require.NoError(b, err)
			}
		})
	}
}

func BenchmarkHash(b *testing.B) {
	for _, bc := range []struct {
		name string
		make func() *fingerprint.Hash
	}{
		{"plain", func() *fingerprint.Hash { return fingerprint.New("bench") }},
		{"keyed", func() *fingerprint.Hash { return fingerprint.NewKeyed(secret, "bench") }},
	} {
		b.Run(bc.name, func(b *testing.B) {
			doc := []byte(order)
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				h := bc.make()
				require.NoError(b, h.JSON(doc))
				_ = h.Text()
			}
		})
	}
}
