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

// routes tell what is asked for.
var routes = map[string]Kind{
	"POST /v1/charges": Charge, "POST /v1/reservations": Reservation, "DELETE /v1/reservations/{id}": Cancellation,
	"POST /v1/messages": Message,
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
	answer  string
}

// Services is an [http.Handler] that counts. Make one with [New].
type Services struct {
	http.ServeMux

	mu      sync.Mutex
	effects []*Effect
	owner   string
}

// New returns services that have done nothing yet. Each request passes through around.
func New(around func(kind Kind, serve http.Handler, w http.ResponseWriter, r *http.Request)) *Services {
	s := new(Services)
	for pattern, kind := range routes {
		serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(kind, w, r) })
		s.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { around(kind, serve, w, r) })
	}
	return s
}

// For says for whom the effects are from now on.
func (s *Services) For(owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owner = owner
}

// Effects are those for an owner, in the order in which their first requests came; all for "".
func (s *Services) Effects(owner string) (all []Effect) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.effects {
		if owner == "" || e.For == owner {
			all = append(all, *e)
		}
	}
	return all
}

// Done counts the effects of a kind for an owner, for all if it is "".
func (s *Services) Done(owner string, kind Kind) (count int) {
	for _, e := range s.Effects(owner) {
		if e.Kind == kind && e.Done {
			count++
		}
	}
	return count
}

func (s *Services) serve(kind Kind, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client repeats its request
	}
	status, text := s.act(kind, r.Header.Get("Idempotency-Key"), r.URL.Path+" "+string(body), body)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // likewise
}

// act answers a request as it answered the first one with the key, and acts if there was none.
func (s *Services) act(kind Kind, key, request string, body []byte) (status int, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key == "" {
		return http.StatusBadRequest, `{"error":"there is no Idempotency-Key"}`
	}
	i := slices.IndexFunc(s.effects, func(e *Effect) bool { return e.Key == key })
	if i < 0 {
		i = len(s.effects)
		s.effects = append(s.effects, newEffect(kind, key, request, body))
		s.effects[i].For = s.owner
	}
	e := s.effects[i]
	e.Calls++
	switch {
	case e.request != request:
		return http.StatusBadRequest, `{"error":"the key was used for another request"}`
	case !e.Done:
		return http.StatusPaymentRequired, e.answer
	default:
		return http.StatusOK, e.answer
	}
}

func newEffect(kind Kind, key, request string, body []byte) *Effect {
	var sent struct {
		Amount int64  `json:"amount"`
		Source string `json:"source"`
	}
	e := &Effect{Kind: kind, Key: key, request: request, ID: kind[:2] + "_" + rand.Text()}
	if kind == Charge && json.Unmarshal(body, &sent) == nil && sent.Source == DeclinedSource {
		e.answer = `{"error":"the source was declined"}`
		return e
	}
	e.Done, e.Amount, e.answer = true, sent.Amount, fmt.Sprintf(`{"id":%q,"status":"succeeded"}`, e.ID)
	return e
}
