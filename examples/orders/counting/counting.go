// Package counting is the stock, the payments, the mail and the shipping of an order in the memory of one process, for local runs and tests:
//
//	POST   /v1/reservations        200 {"id"}
//	DELETE /v1/reservations/{id}   200 {"id"}
//	POST   /v1/charges             200 {"id"}, or 402 if the source is declined
//	POST   /v1/messages            200 {"id"}
//	POST   /v1/shipments           200 {"id"}
//
// Nothing is reserved, charged, sent or shipped: it is counted. It honours keys as real services do, and forgets none.
package counting

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/examples/internal/body"
)

// Kind is what a service does.
type Kind string

// The kinds of effects.
const (
	Reservation  Kind = "reservation"
	Charge       Kind = "charge"
	Message      Kind = "message"
	Cancellation Kind = "cancellation"
	Shipment     Kind = "shipment"
)

// KindOf is the kind of effect that a request asks for, empty if there is none.
func (s *Services) KindOf(req *http.Request) Kind {
	_, pattern := s.mux.Handler(req)
	for _, r := range routes {
		if r.pattern == pattern {
			return r.kind
		}
	}
	return ""
}

// Kinds are those of an order until its message has left, in the order in which it has them.
func Kinds() []Kind { return []Kind{Reservation, Charge, Message, Cancellation} }

var routes = []struct {
	pattern, prefix string
	kind            Kind
}{
	{"POST /v1/reservations", "rs_", Reservation},
	{"POST /v1/charges", "ch_", Charge},
	{"POST /v1/messages", "ms_", Message},
	{"DELETE /v1/reservations/{id}", "cn_", Cancellation},
	{"POST /v1/shipments", "sh_", Shipment},
}

// Effect is something that a service has done, or has refused to do.
type Effect struct {
	Kind Kind
	// Key is the one that the requests for it carried, Calls counts them.
	Key   string
	Calls int
	// Done is false if the service refused: a source that is declined.
	Done bool

	request string
	status  int
	answer  string
}

// Services is an [http.Handler] that counts. Make one with [New].
type Services struct {
	mux *http.ServeMux

	mu      sync.Mutex
	effects []Effect
	byKey   map[string]int // index into effects
}

// New returns services that have done nothing yet.
func New() *Services {
	s := &Services{mux: http.NewServeMux(), byKey: map[string]int{}}
	for _, r := range routes {
		s.mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) {
			sent, err := io.ReadAll(http.MaxBytesReader(w, req.Body, body.Max))
			if err != nil {
				http.Error(w, "the request broke off", http.StatusBadRequest)
				return
			}
			status, answer := s.serve(r.kind, r.prefix, req.Header.Get("Idempotency-Key"), req.URL.Path+" "+string(sent), sent)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, answer) // a client that went away repeats its request
		})
	}
	return s
}

// ServeHTTP implements [http.Handler].
func (s *Services) ServeHTTP(w http.ResponseWriter, req *http.Request) { s.mux.ServeHTTP(w, req) }

// serve answers a request as it answered the first one with the key, and acts if there was none.
func (s *Services) serve(kind Kind, prefix, key, request string, sent []byte) (status int, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key == "" {
		return http.StatusBadRequest, `{"error":"there is no Idempotency-Key"}`
	}
	i, known := s.byKey[key]
	if !known {
		i = len(s.effects)
		s.byKey[key] = i
		s.effects = append(s.effects, act(kind, prefix, key, request, sent))
	}
	e := &s.effects[i]
	e.Calls++
	if e.request != request {
		return http.StatusBadRequest, `{"error":"the key was used for another request"}`
	}
	return e.status, e.answer
}

func act(kind Kind, prefix, key, request string, sent []byte) Effect {
	e := Effect{Kind: kind, Key: key, request: request}
	var charge payments.Request
	if kind == Charge && json.Unmarshal(sent, &charge) == nil && charge.Source == payments.DeclinedSource {
		e.status, e.answer = http.StatusPaymentRequired, `{"error":"the source was declined"}`
		return e
	}
	e.Done, e.status, e.answer = true, http.StatusOK, fmt.Sprintf(`{"id":%q}`, prefix+rand.Text())
	return e
}

// Effects are all so far, in the order in which their first requests came.
func (s *Services) Effects() []Effect {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.effects)
}

// Done counts the effects of a kind.
func (s *Services) Done(kind Kind) int {
	count := 0
	for _, e := range s.Effects() {
		if e.Kind == kind && e.Done {
			count++
		}
	}
	return count
}

// Counts are those of [Kinds], for a log.
func (s *Services) Counts() []slog.Attr {
	attrs := []slog.Attr{}
	for _, kind := range Kinds() {
		attrs = append(attrs, slog.Int(string(kind)+"sSoFar", s.Done(kind)))
	}
	return attrs
}
