// Package remote lets processes of one machine share a store: one of them serves it over loopback, the others are its
// clients. It is for demonstrations: whoever reaches the port can read and write every record.
package remote

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// call is the body of a request, reply that of its answer. The path names the method of the store.
type call struct {
	Seen, Next store.Record
	Now        time.Time
	Key        string
}

type reply struct {
	Held store.Record
	Done bool
}

// Serve returns the server of a store.
func Serve(s store.Store) http.Handler {
	mux := http.NewServeMux()
	serve := func(method string, do func(ctx context.Context, c call) (reply, error)) {
		mux.HandleFunc("POST /"+method, func(w http.ResponseWriter, req *http.Request) {
			var c call
			if err := json.NewDecoder(req.Body).Decode(&c); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			r, err := do(req.Context(), c)
			if err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(r) // a client that went away has to ask again
		})
	}
	serve("claim", func(ctx context.Context, c call) (r reply, err error) {
		r.Held, r.Done, err = s.Claim(ctx, c.Next, c.Now)
		return r, err
	})
	serve("swap", func(ctx context.Context, c call) (r reply, err error) {
		r.Held, r.Done, err = s.Swap(ctx, c.Seen, c.Next)
		return r, err
	})
	serve("delete", func(ctx context.Context, c call) (r reply, err error) {
		r.Done, err = s.Delete(ctx, c.Seen)
		return r, err
	})
	serve("get", func(ctx context.Context, c call) (r reply, err error) {
		r.Held, r.Done, err = s.Get(ctx, c.Key)
		return r, err
	})
	return mux
}
