// Package services is what the examples call, in the memory of one process: the payment provider,
// the stock, and the mail. Nothing is charged, reserved or sent: it is counted.
//
//	POST   /v1/charges             200 {"id","status"}, or 402 if the source is declined
//	POST   /v1/reservations        200 {"id"}
//	DELETE /v1/reservations/{id}   200 {"id"}
//	POST   /v1/messages            200 {"id"}
//
// It honours keys as real services do, and forgets none: a key that comes back with the same
// request gets the first answer, with another one a 400.
package services

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Kind is what a service does.
type Kind = string

// The kinds of effects.
const (
	Charge       = "charge"
	Reservation  = "reservation"
	Cancellation = "cancellation"
	Message      = "message"
)

// Kinds are all, in the order in which an order has them.
func Kinds() []Kind { return []Kind{Reservation, Charge, Cancellation, Message} }

// DeclinedSource is the source that is always declined.
const DeclinedSource = "tok_chargeDeclined"

var routes = map[string]Kind{
	"POST charges": Charge, "POST reservations": Reservation, "DELETE reservations": Cancellation,
	"POST messages": Message,
}

// KindOf returns what a request asks for, "" if that is nothing of this package.
func KindOf(r *http.Request) Kind {
	resource, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	return routes[r.Method+" "+resource]
}

// Effect is something that a service has done, or has refused to do.
type Effect struct {
	Kind Kind
	// Key is the one that the requests for it carried, Calls counts them.
	Key   string
	Calls int
	// Done is false if the service refused.
	Done bool
	// ID is what the answer names, Amount what was charged.
	ID     string
	Amount int64
	// For is what [Services.For] said when the effect happened.
	For string

	request string
}

// Services is an [http.Handler] that counts. The zero value has done nothing yet.
type Services struct {
	mu      sync.Mutex
	effects []*Effect
	owner   string
}

// For says for whom the effects are from now on.
func (s *Services) For(owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owner = owner
}

// Effects are those of a kind for an owner, in the order in which their first requests came. An
// empty text stands for all.
func (s *Services) Effects(owner string, kind Kind) (all []Effect) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.effects {
		if (owner == "" || e.For == owner) && (kind == "" || e.Kind == kind) {
			all = append(all, *e)
		}
	}
	return all
}

// Done counts by kind what was not refused to an owner, to all if it is "".
func (s *Services) Done(owner string) map[Kind]int {
	counts := map[Kind]int{}
	for _, e := range s.Effects(owner, "") {
		if e.Done {
			counts[e.Kind]++
		}
	}
	return counts
}

// ServeHTTP implements [http.Handler].
func (s *Services) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, key := KindOf(r), r.Header.Get("Idempotency-Key")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client repeats its request
	}
	if kind == "" || key == "" {
		http.Error(w, `{"error":"there is no such service, or no key"}`, http.StatusBadRequest)
		return
	}
	var status int
	var text string
	switch e, same := s.act(kind, key, r.URL.Path+" "+string(body), body); {
	case !same:
		status, text = http.StatusBadRequest, `{"error":"the key was used for another request"}`
	case !e.Done:
		status, text = http.StatusPaymentRequired, `{"error":"the source was declined"}`
	default:
		status, text = http.StatusOK, fmt.Sprintf(`{"id":%q,"status":"succeeded"}`, e.ID)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // likewise
}

// act returns the effect of a key, which happens if there was none. same: it is of this request.
func (s *Services) act(kind Kind, key, request string, body []byte) (e *Effect, same bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.effects, func(e *Effect) bool { return e.Key == key })
	if i < 0 {
		var sent struct {
			Amount int64
			Source string
		}
		_ = json.Unmarshal(body, &sent) // not everything that is asked for has an amount
		i = len(s.effects)
		s.effects = append(s.effects, &Effect{
			Kind: kind, Key: key, Done: kind != Charge || sent.Source != DeclinedSource,
			ID: kind[:2] + "_" + rand.Text(), Amount: sent.Amount, For: s.owner, request: request,
		})
	}
	s.effects[i].Calls++
	return s.effects[i], s.effects[i].request == request
}
