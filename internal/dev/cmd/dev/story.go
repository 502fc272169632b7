package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
	"github.com/go-idempotent/idempotent/internal/testkit/services"
)

// invocationTimeout is that of the functions of a story. A claim is protected for the rest of the
// invocation and a margin of two seconds, so a crash blocks its key that long.
const invocationTimeout = 3 * time.Second

// What comes back to a client, as a pattern.
const (
	created = "201 Created"
	blocked = "409 Conflict, Retry-After: [1-6]" // rounded up
	killed  = `500 Internal Server Error \(signal: killed\)`
)

// story sends requests as a client does, kills functions meanwhile, and checks what comes back.
// What goes wrong ends it.
type story struct {
	*world

	ctx      context.Context
	front    http.Handler
	path     string
	killable *lambdaruntime.Sandbox
	run      string // makes keys its own: the records of an earlier run may still be there
	chapter  string // says where the story is
}

func demo(ctx context.Context, w *world, x example) error {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the story tells of functions that were killed
	f := w.function(x.function, invocationTimeout)
	x.tell(&story{
		world: w, ctx: ctx, front: x.front(f), path: x.path, killable: f, run: rand.Text()[:8], chapter: "the start",
	})
	return nil
}

func (s *story) must(err error) {
	if err != nil {
		s.fail(fmt.Errorf("%s: %w", s.chapter, err))
	}
}

func (s *story) checkf(holds bool, format string, args ...any) {
	if !holds {
		s.must(fmt.Errorf(format, args...))
	}
}

func (s *story) key(order int) string { return fmt.Sprintf("order-%d-%s", order, s.run) }

// kill sends a request, and kills a function when a moment in it has come, or later. The zero
// moment never comes.
func (s *story) kill(at moment, key, body string) reply {
	if at == (moment{}) {
		return s.send(key, body)
	}
	victim, died := s.killable, make(chan struct{})
	if at.relayed() {
		victim = s.relay
	}
	s.next.Store(&plan{at, func() {
		victim.Kill()
		close(died)
	}})
	got := s.send(key, body)
	select {
	case <-died:
	case <-time.After(patience):
		s.must(errors.New("the function was not killed: the moment did not come"))
	}
	return got
}

const patience = 30 * time.Second

func (s *story) send(key, body string) reply {
	req := httptest.NewRequestWithContext(s.ctx, http.MethodPost, s.path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	return ask(s.front, req)
}

// ended tells how the function ended, if it did before it answered.
func (s *story) ended(a reply) string {
	if how := s.killable.Ended(); how != nil && a.Code == http.StatusInternalServerError {
		return fmt.Sprintf(" (%s)", how)
	}
	return ""
}

func (s *story) expect(came, want string) {
	s.checkf(regexp.MustCompile("^"+want+"$").MatchString(came), "what came back is %q, want %q", came, want)
}

type reply struct{ *httptest.ResponseRecorder }

func ask(handler http.Handler, r *http.Request) reply {
	got := reply{httptest.NewRecorder()}
	handler.ServeHTTP(got, r)
	return got
}

// passOn gives what was answered to another client.
func (a reply) passOn(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.Header())
	w.WriteHeader(a.Code)
	_, _ = io.Copy(w, bytes.NewReader(a.Body.Bytes())) // fails if that one is gone
}

func (a reply) String() string {
	text := fmt.Sprintf("%d %s", a.Code, http.StatusText(a.Code))
	if a.Header().Get("Idempotent-Replayed") == "true" {
		text += ", replayed"
	}
	if after := a.Header().Get("Retry-After"); after != "" {
		text += ", Retry-After: " + after
	}
	return text
}

func (a reply) wait() time.Duration {
	seconds, _ := strconv.Atoi(a.Header().Get("Retry-After")) // none is no time
	return time.Duration(seconds) * time.Second
}

// moment is one in a request: before the effect that it asks for, or after it, before the answer.
type moment struct {
	kind  string
	after bool
}

func before(kind string) moment { return moment{kind, false} }
func after(kind string) moment  { return moment{kind, true} }

// relayed reports whether it is one of the delivery of a message.
func (at moment) relayed() bool { return at.kind == services.Message || at.kind == mark }

// plan is what happens, once, when a moment has come. If that is before the effect, the effect does
// not happen: nobody is left who could read the answer.
type plan struct {
	at   moment
	then func()
}

// pass hands a request to whoever serves it.
func (w *world) pass(kind string, to http.Handler, rw http.ResponseWriter, r *http.Request) {
	p := w.next.Load()
	switch {
	case p == nil || kind != p.at.kind || !w.next.CompareAndSwap(p, nil):
		to.ServeHTTP(rw, r)
	case p.at.after:
		served := ask(to, r)
		p.then()
		served.passOn(rw)
	default:
		p.then()
	}
}
