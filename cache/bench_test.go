package cache_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// BenchmarkReplay is what a duplicate costs, from memory and from the fastest store there is behind
// it.
func BenchmarkReplay(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		b.Run(fmt.Sprintf("cache/%d bytes", size),
			func(b *testing.B) { replay(b, cache.New(memory.New(), 16<<20), size) })
		b.Run(fmt.Sprintf("store/%d bytes", size), func(b *testing.B) { replay(b, memory.New(), size) })
	}
}

func replay(b *testing.B, s store.Store, size int) {
	done := benchRecord(b, s, size)
	again := running(done.Key, "B")
	b.ReportAllocs()
	for b.Loop() {
		if _, claimed, err := s.Claim(context.Background(), again, start); err != nil || claimed {
			b.Fatal("the claim was not refused", err)
		}
	}
}

func benchRecord(b *testing.B, s store.Store, size int) store.Record {
	b.Helper()
	return execute(b, s, fmt.Sprint("charge#", size), `"`+strings.Repeat("x", size-2)+`"`)
}

func execute(b *testing.B, s store.Store, key, result string) store.Record {
	b.Helper()
	first := running(key, "A")
	done := completed(first, result)
	if _, claimed, err := s.Claim(context.Background(), first, start); err != nil || !claimed {
		b.Fatal("the claim was refused", err)
	}
	if _, swapped, err := s.Swap(context.Background(), first, done); err != nil || !swapped {
		b.Fatal("the completion was refused", err)
	}
	return done
}
