package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// Store is a [store.Store] that another process serves. Make one with [NewStore].
type Store struct {
	url  string
	http *http.Client
}

var _ store.Store = (*Store)(nil)

// NewStore returns the store that is served at a URL such as "http://127.0.0.1:41234".
func NewStore(url string) *Store {
	return &Store{url: url, http: &http.Client{}}
}

// Claim implements [store.Store].
func (s *Store) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	return s.call(ctx, "claim", call{Next: r, Now: now})
}

// Swap implements [store.Store].
func (s *Store) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	return s.call(ctx, "swap", call{Seen: seen, Next: next})
}

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, seen store.Record) (bool, error) {
	_, deleted, err := s.call(ctx, "delete", call{Seen: seen})
	return deleted, err
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key string) (store.Record, bool, error) {
	return s.call(ctx, "get", call{Key: key})
}

func (s *Store) call(ctx context.Context, method string, c call) (store.Record, bool, error) {
	r, err := s.send(ctx, method, c)
	if err == nil {
		return r.Held, r.Done, nil
	}
	kind := store.FailureUnavailable
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		kind = store.FailureTimeout
	}
	// NotApplied stays false: a lost answer does not say whether the write was applied.
	return store.Record{}, false, &store.Error{Op: method, Kind: kind, Err: err}
}

func (s *Store) send(ctx context.Context, method string, c call) (reply, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return reply{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/"+method, bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return reply{}, fmt.Errorf("the server of the store answered with status %d", resp.StatusCode)
	}
	var r reply
	err = json.NewDecoder(resp.Body).Decode(&r)
	return r, err
}
