package memory_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// BenchmarkExecution is what one protected execution costs: a claim of a new key and its
// completion.
func BenchmarkExecution(b *testing.B) {
	ctx, s, now := context.Background(), memory.New(), time.Now().Truncate(time.Second)
	keys := make([]string, 1<<16)
	for i := range keys {
		keys[i] = "charge#" + strconv.Itoa(i)
	}
	result := []byte(`{"statusCode":201,"body":"{\"id\":\"ch_1\"}"}`)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		// Every key comes back long after its record has expired.
		at := now.Add(time.Duration(i) * time.Second)
		r := store.Record{
			Key: keys[i%len(keys)], Status: store.StatusInProgress, Owner: "A",
			Lease: at.Add(time.Minute), Expiry: at.Add(time.Hour), Attempt: 1, CreatedAt: at,
		}
		if _, claimed, err := s.Claim(ctx, r, at); err != nil || !claimed {
			b.Fatal("the claim was refused", err)
		}
		done := r
		done.Status, done.Result = store.StatusCompleted, result
		if _, swapped, err := s.Swap(ctx, r, done); err != nil || !swapped {
			b.Fatal("the completion was refused", err)
		}
	}
}

// BenchmarkReplay is what a duplicate costs: a claim that is refused by a completed record.
func BenchmarkReplay(b *testing.B) {
	s, completed := benchStore(b)
	next := completed
	next.Status, next.Owner, next.Result = store.StatusInProgress, "B", nil
	b.ReportAllocs()
	for b.Loop() {
		if _, claimed, err := s.Claim(context.Background(), next, completed.CreatedAt); err != nil || claimed {
			b.Fatal("the claim was not refused", err)
		}
	}
}

// BenchmarkReplayParallel is the same from all processors at once, on one key.
func BenchmarkReplayParallel(b *testing.B) {
	s, completed := benchStore(b)
	next := completed
	next.Status, next.Owner, next.Result = store.StatusInProgress, "B", nil
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, claimed, err := s.Claim(context.Background(), next, completed.CreatedAt); err != nil || claimed {
				b.Error("the claim was not refused", err)
				return
			}
		}
	})
}

func BenchmarkGet(b *testing.B) {
	s, completed := benchStore(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, found, err := s.Get(context.Background(), completed.Key); err != nil || !found {
			b.Fatal("the record is gone", err)
		}
	}
}

// benchStore returns a store that holds a hundred thousand records, and one of them.
func benchStore(b *testing.B) (*memory.Store, store.Record) {
	b.Helper()
	s, now := memory.New(), time.Now().Truncate(time.Second)
	var r store.Record
	for i := range 100_000 {
		r = store.Record{
			Key: "charge#" + strconv.Itoa(i), Status: store.StatusCompleted, Owner: "A",
			Expiry: now.Add(time.Hour + time.Duration(i%7)*time.Second), CreatedAt: now,
			Result: []byte(`{"statusCode":201,"body":"{\"id\":\"ch_1\"}"}`),
		}
		if _, claimed, err := s.Claim(context.Background(), r, now); err != nil || !claimed {
			b.Fatal("the claim was refused", err)
		}
	}
	return s, r
}
