package gateway_test

// The kit for tests of HTTP handlers. It offers
//
//   - ask, a request as a client sends it: its methods v2, v1, url, alb and albMulti make the event
//     of each gateway
//   - reply, a response as the gateway gets it: its methods of the same names make what a handler
//     returns, and ofV2, ofV1, ofURL, ofALB and ofALBMulti read it
//   - door, one way into a handler: the types of one gateway, by value or by pointer, through
//     Invoke or Handle. everyDoor runs a test through all of them, everyWideDoor through those
//     whose responses have headers in two maps
//   - api, a handler behind a door, made by door.open: it counts its executions, answers what
//     api.answers says, and its store fails as api.fault says. api.send and api.try deliver a
//     request, api.plant stores a record for one
//   - api.event, what the observer saw last; api.record, what the store holds
//   - identify and identifyV2, identifyV1, identifyURL and identifyALB: the record key and the
//     fingerprint of an event, found without a claim
//   - golden and load, the events of testdata/events; run, which delivers an event to a handler
//     that must not run
//   - responseOf, a reply as the handler returns it, for a commit
//   - deliver, which sends an event by value or in its wire form
//   - assertProblem, api.assertExecuted and api.assertNoIO

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// door is one way into an HTTP handler: the types of a family, by value or by pointer, through
// Invoke or Handle.
type door struct {
	name string
	v1   bool
	wire bool
	// wrap returns what sends a request to the handler.
	wrap func(do func(context.Context) (reply, error), records store.Store, opts ...idempotent.Option) send
}

type send func(context.Context, ask) (reply, error)

// doors are those whose responses have headers in two maps.
func doors() []door {
	var all []door
	for _, wire := range []bool{false, true} {
		all = append(all,
			newDoor("V2", wire, ask.v2, reply.v2, ofV2),
			newDoor("*V2", wire, pointer(ask.v2), pointer(reply.v2), pointed(ofV2)),
			newDoor("V2 with *response", wire, ask.v2, pointer(reply.v2), pointed(ofV2)),
			newDoor("V1", wire, ask.v1, reply.v1, ofV1),
			newDoor("*V1", wire, pointer(ask.v1), pointer(reply.v1), pointed(ofV1)),
		)
	}
	return all
}

// narrowDoors are those whose responses have them in one.
func narrowDoors() []door {
	var all []door
	for _, wire := range []bool{false, true} {
		all = append(all,
			newDoor("URL", wire, ask.url, reply.url, ofURL),
			newDoor("*URL", wire, pointer(ask.url), pointer(reply.url), pointed(ofURL)),
			newDoor("ALB", wire, ask.alb, reply.alb, ofALB),
			newDoor("*ALB", wire, pointer(ask.alb), pointer(reply.alb), pointed(ofALB)),
			newDoor("ALB multi", wire, ask.albMulti, reply.albMulti, ofALBMulti),
		)
	}
	return all
}

func newDoor[In, Out any](name string, wire bool, event func(ask) In, respond func(reply) Out,
	read func(Out) reply,
) door {
	d := door{name: name + " Handle", v1: strings.HasSuffix(name, "V1"), wire: wire}
	if wire {
		d.name = name + " Invoke"
	}
	d.wrap = func(do func(context.Context) (reply, error), records store.Store, opts ...idempotent.Option) send {
		h := idempotent.Wrap(func(ctx context.Context, _ In) (Out, error) {
			r, err := do(context.WithValue(ctx, responseKey{}, func(r reply) any { return respond(r) }))
			return respond(r), err
		}, records, opts...)
		return func(ctx context.Context, a ask) (reply, error) {
			out, err := deliver(ctx, h, event(a), wire)
			return read(out), err
		}
	}
	return d
}

type responseKey struct{}

// responseOf is a reply as the handler of the context returns it, as a commit needs it.
func responseOf(ctx context.Context, r reply) any {
	return ctx.Value(responseKey{}).(func(reply) any)(r)
}

// deliver sends an event by value, or in its wire form.
func deliver[In, Out any](ctx context.Context, h *idempotent.Handler[In, Out], in In, wire bool) (Out, error) {
	if !wire {
		return h.Handle(ctx, in)
	}
	var out Out
	payload, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	result, err := h.Invoke(ctx, payload)
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(result, &out)
}

func pointer[A, B any](f func(A) B) func(A) *B {
	return func(a A) *B { b := f(a); return &b }
}

func pointed[A any](f func(A) reply) func(*A) reply {
	return func(a *A) reply {
		if a == nil {
			return reply{}
		}
		return f(*a)
	}
}

// everyDoor runs a test through every door.
func everyDoor(t *testing.T, test func(t *testing.T, d door)) {
	t.Helper()
	t.Parallel()
	for _, d := range append(doors(), narrowDoors()...) {
		t.Run(d.name, func(t *testing.T) { test(t, d) })
	}
}

// everyWideDoor runs a test that is about both maps of headers.
func everyWideDoor(t *testing.T, test func(t *testing.T, d door)) {
	t.Helper()
	t.Parallel()
	for _, d := range doors() {
		t.Run(d.name, func(t *testing.T) { test(t, d) })
	}
}

// api is an HTTP handler behind a door. It counts its executions, and answers with their number
// unless do is set.
type api struct {
	t        *testing.T
	store    *storetest.Faulty
	inner    *memory.Store
	fault    storetest.Fault // done to every call
	executed atomic.Int64
	do       func(ctx context.Context) (reply, error)
	through  send

	seen seenEvents
}

func (d door) open(t *testing.T, opts ...idempotent.Option) *api {
	t.Helper()
	return d.openOver(t, func(s store.Store) store.Store { return s }, opts...)
}

// openOver has something between the handler and the store.
func (d door) openOver(t *testing.T, over func(store.Store) store.Store, opts ...idempotent.Option) *api {
	t.Helper()
	a := &api{t: t, inner: memory.New()}
	a.store = storetest.NewFaulty(a.inner, func(storetest.Call) storetest.Fault { return a.fault })
	observed := idempotent.WithObserver(a.seen.see)
	a.through = d.wrap(func(ctx context.Context) (reply, error) {
		n := a.executed.Add(1)
		if a.do != nil {
			return a.do(ctx)
		}
		return reply{Status: 201, Body: "charge " + strconv.FormatInt(n, 10)}, nil
	}, over(a.store), append([]idempotent.Option{idempotent.WithOperation("charge"), observed}, opts...)...)
	return a
}

// answers makes the handler return r.
func (a *api) answers(r reply) { a.do = func(context.Context) (reply, error) { return r, nil } }

// try delivers a request as Lambda does: with a deadline.
func (a *api) try(q ask) (reply, error) {
	ctx, cancel := context.WithTimeout(a.t.Context(), 10*time.Second)
	defer cancel()
	return a.through(ctx, q)
}

func (a *api) send(q ask) reply {
	a.t.Helper()
	r, err := a.try(q)
	require.NoError(a.t, err)
	return r
}

// event is what the observer saw last.
func (a *api) event() report.Delivery {
	a.t.Helper()
	a.seen.mu.Lock()
	defer a.seen.mu.Unlock()
	require.NotEmpty(a.t, a.seen.seen, "the observer saw nothing")
	return a.seen.seen[len(a.seen.seen)-1]
}

// seenEvents is an observer that remembers.
type seenEvents struct {
	mu   sync.Mutex
	seen []report.Delivery
}

func (e *seenEvents) see(_ context.Context, event report.Delivery) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = append(e.seen, event)
}

// register is a store that commits, unless it is made to fail; row is what a handler writes with
// its answer.
type register struct {
	store.Store
	fails error
}

type row struct{}

var errRegister = &store.Error{Op: "commit", Kind: store.FailureRejected, NotApplied: true, Err: errDownstream}

func (row) Len() int { return 1 }

// Commit implements [store.Committer].
func (r register) Commit(ctx context.Context, seen, next store.Record, _ store.Writes,
	_ string,
) (store.Record, bool, error) {
	if r.fails != nil {
		return store.Record{}, false, r.fails
	}
	return r.Swap(ctx, seen, next)
}

// Apply implements [store.Committer].
func (r register) Apply(context.Context, store.Writes, string) error { return r.fails }

// order and receipt are the event and the result of a handler that is not HTTP.
type order struct {
	ID     string `json:"id"`
	Amount int64  `json:"amount"`
}

type receipt struct {
	Charge int64 `json:"charge"`
}

func completed(r *store.Record, result string) {
	r.Status, r.Result = store.StatusCompleted, []byte(result)
	r.Seal = store.Seal(r.Owner, r.Result)
}

// record is the record that the first claim wrote, as it is now.
func (a *api) record() (store.Record, bool) {
	a.t.Helper()
	calls := a.store.Calls()
	require.NotEmpty(a.t, calls, "nothing was claimed")
	r, found, err := a.inner.Get(a.t.Context(), calls[0].Next.Key)
	require.NoError(a.t, err)
	return r, found
}

// plant makes the record of a request be what change makes of a live claim.
func (a *api) plant(q ask, change func(r *store.Record)) store.Record {
	a.t.Helper()
	a.fault = storetest.Deny
	a.send(q)
	a.fault = storetest.Pass
	calls := a.store.Calls()
	r := calls[len(calls)-1].Next
	r.Owner = "the-owner-token-of-someone-else"
	change(&r)
	_, claimed, err := a.inner.Claim(a.t.Context(), r, time.Now())
	require.NoError(a.t, err)
	require.True(a.t, claimed)
	return r
}

func (a *api) assertExecuted(times int64) {
	a.t.Helper()
	assert.Equal(a.t, times, a.executed.Load(), "executions")
}

func (a *api) assertNoIO() {
	a.t.Helper()
	assert.Empty(a.t, a.store.Ops(), "calls of the store")
}

// identity is what the store sees of a request: where it is recorded and what for.
type identity struct{ key, fingerprint string }

// identify finds the identity of an event without letting it claim anything. It is empty if the
// event never got to the store; the response tells why.
func identify[In, Out any](ctx context.Context, in In, wire bool, opts ...idempotent.Option) (identity, Out, error) {
	records := storetest.NewFaulty(memory.New(), storetest.OnOp(storetest.OpClaim, storetest.Deny))
	h := idempotent.Wrap(func(context.Context, In) (Out, error) {
		var none Out
		return none, nil
	}, records, append([]idempotent.Option{idempotent.WithOperation("charge")}, opts...)...)
	out, err := deliver(ctx, h, in, wire)
	if calls := records.Calls(); len(calls) > 0 {
		return identity{calls[0].Next.Key, calls[0].Next.Fingerprint}, out, err
	}
	return identity{}, out, err
}

func identifyV2(t require.TestingT, e requestV2, opts ...idempotent.Option) identity {
	id, out, err := identify[requestV2, responseV2](context.Background(), e, false, opts...)
	require.NoError(t, err)
	require.NotEmpty(t, id.key, "refused: %s", out.Body)
	return id
}

func identifyURL(t require.TestingT, e requestURL, opts ...idempotent.Option) identity {
	id, out, err := identify[requestURL, responseURL](context.Background(), e, false, opts...)
	require.NoError(t, err)
	require.NotEmpty(t, id.key, "refused: %s", out.Body)
	return id
}

func identifyALB(t require.TestingT, e requestALB, opts ...idempotent.Option) identity {
	id, out, err := identify[requestALB, responseALB](context.Background(), e, false, opts...)
	require.NoError(t, err)
	require.NotEmpty(t, id.key, "refused: %s", out.Body)
	return id
}

func identifyV1(t require.TestingT, e requestV1, opts ...idempotent.Option) identity {
	id, out, err := identify[requestV1, responseV1](context.Background(), e, false, opts...)
	require.NoError(t, err)
	require.NotEmpty(t, id.key, "refused: %s", out.Body)
	return id
}

// golden reads testdata/events.
func golden(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/events/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := map[string][]byte{}
	for _, file := range files {
		payload, err := os.ReadFile(file)
		require.NoError(t, err)
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = payload
	}
	return all
}

func load[E any](t *testing.T, name string) E {
	t.Helper()
	var e E
	payload, err := os.ReadFile(filepath.Join("testdata", "events", name+".json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(payload, &e))
	return e
}

// run delivers a payload to a handler that must not be executed.
func run[In, Out any](t *testing.T, payload []byte) (Out, error) {
	t.Helper()
	store := storetest.NewFaulty(memory.New(), nil)
	h := idempotent.Wrap(mustNotRun[In, Out](t), store)
	result, err := h.Invoke(t.Context(), payload)
	assert.Empty(t, store.Calls())
	var out Out
	if err == nil {
		err = json.Unmarshal(result, &out)
	}
	return out, err
}
