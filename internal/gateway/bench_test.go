package gateway_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

// answerSizes are those of the body of a response, in bytes.
var answerSizes = []struct {
	name string
	size int
}{{"200B", 200}, {"1KB", 1 << 10}, {"20KB", 20 << 10}, {"100KB", 100 << 10}, {"5MB", 5 << 20}}

// BenchmarkAnswer is what a delivery costs on the wire, by the size of the response: to the handler
// alone, to the handler when it is executed under a key, and as a replay. The store is in memory
// and copies every result.
func BenchmarkAnswer(b *testing.B) {
	for _, s := range answerSizes {
		handler := responding(s.size)
		b.Run("unwrapped/"+s.name, func(b *testing.B) {
			benchmarkDelivery(b, lambda.NewHandler(handler), func() {})
		})
		b.Run("executed/"+s.name, func(b *testing.B) {
			now := time.Now()
			wrapped := idempotent.Wrap(handler, memory.New(), idempotent.WithClock(func() time.Time { return now }))
			// The last record has always expired: the next delivery executes again.
			benchmarkDelivery(b, wrapped, func() { now = now.Add(48 * time.Hour) })
		})
		b.Run("replayed/"+s.name, func(b *testing.B) {
			benchmarkDelivery(b, idempotent.Wrap(handler, memory.New()), func() {})
		})
	}
}

func benchmarkDelivery(b *testing.B, h invoker, before func()) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	payload, err := json.Marshal(ask{
		key:  "8e03978e-40d5-43e8-bc93-6894a57f9324",
		body: `{"amount":1200,"currency":"eur"}`,
	}.v2())
	require.NoError(b, err)
	answer, err := h.Invoke(ctx, payload)
	require.NoError(b, err)
	b.SetBytes(int64(len(answer)))
	b.ReportAllocs()
	for b.Loop() {
		before()
		if _, err := h.Invoke(ctx, payload); err != nil {
			b.Fatal(err)
		}
	}
}

// responding returns a handler with a JSON body of about size bytes, whose quotes are escaped once
// more.
func responding(size int) func(context.Context, requestV2) (responseV2, error) {
	const line = `{"id":"ch_1","amount":1200,"text":"thank you for your order"},`
	response := responseV2{
		StatusCode: 201,
		Headers: map[string]string{
			"Content-Type": "application/json", "Location": "/charges/ch_1", "Cache-Control": "no-store",
		},
		Body: strings.Repeat(line, size/len(line)),
	}
	return func(context.Context, requestV2) (responseV2, error) { return response, nil }
}
