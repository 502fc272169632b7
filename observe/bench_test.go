package observe_test

import (
	"context"
	"io"
	"testing"

	"github.com/go-idempotent/idempotent/observe"
)

func BenchmarkLine(b *testing.B) {
	observer := observe.EMF(io.Discard)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		observer(ctx, someEvent)
	}
}
