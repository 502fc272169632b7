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

// BenchmarkReplay is what a duplicate costs, from memory and from the fastest store there is behind it.
func BenchmarkReplay(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		b.Run(fmt.Sprintf("cache/%d bytes", size), func(b *testing.B) { replay(b, cache.New(memory.New(), 16<<20), size) })
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

// BenchmarkReplayParallel is the same from all processors at once, on one key.
func BenchmarkReplayParallel(b *testing.B) {
	s := cache.New(memory.New(), 16<<20)
	done := benchRecord(b, s, 100)
	again := running(done.Key, "B")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, claimed, err := s.Claim(context.Background(), again, start); err != nil || claimed {
				b.Error("the claim was not refused", err)
				return
			}
		}
	})
}

// BenchmarkExecution is what a cache that is full adds to the claim and the completion of a new key.
func BenchmarkExecution(b *testing.B) {
	for name, wrap := range map[string]func(store.Store) store.Store{
		"cache": func(s store.Store) store.Store { return cache.New(s, 1<<20) },
		"store": func(s store.Store) store.Store { return s },
	} {
		b.Run(name, func(b *testing.B) {
			s := wrap(memory.New())
			for n := range 10_000 {
				execute(b, s, fmt.Sprint("full#", n), `{}`)
			}
			keys := make([]string, 1<<12)
			for n := range keys {
				keys[n] = fmt.Sprint("charge#", n)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; b.Loop(); n++ {
				done := execute(b, s, keys[n%len(keys)], `{"id":"ch_1"}`)
				if _, err := s.Delete(context.Background(), done); err != nil {
					b.Fatal(err)
				}
			}
		})
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
