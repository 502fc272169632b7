package gateway_test

// The kit for tests of HTTP handlers: an ask is a request as a client sends it, a reply the
// response as the gateway gets it, a door one way into a handler, and an api a handler behind a
// door.

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/gateway"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/internal/testkit/rows"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// door is one way into an HTTP handler: the types of a family, by value or by pointer, through
// Invoke or Handle.
type door struct {
	name string
	v1   bool
	wire bool
	// keyed is the option of a function that finds the key in a body.
	keyed func(of func(body string) (string, error)) idempotent.Option
	// wrap returns what sends an ask, an event or the JSON of one to the handler.
	wrap func(do func(context.Context) (reply, error), records store.Store, opts ...idempotent.Option) send
}

type send func(ctx context.Context, event any) (reply, error)

// doors are those whose responses have headers in two maps.
func doors() []door {
	var all []door
	for _, wire := range []bool{false, true} {
		all = append(all,
			newDoor[requestV2, responseV2]("V2", wire, ask.v2),
			newDoor[*requestV2, *responseV2]("*V2", wire, pointer(ask.v2)),
			newDoor[requestV2, *responseV2]("V2 with *response", wire, ask.v2),
			newDoor[requestV1, responseV1]("V1", wire, ask.v1),
			newDoor[*requestV1, *responseV1]("*V1", wire, pointer(ask.v1)),
		)
	}
	return all
}

// narrowDoors are those whose responses have them in one.
func narrowDoors() []door {
	var all []door
	for _, wire := range []bool{false, true} {
		all = append(all,
			newDoor[requestURL, responseURL]("URL", wire, ask.url),
			newDoor[*requestURL, *responseURL]("*URL", wire, pointer(ask.url)),
			newDoor[requestALB, responseALB]("ALB", wire, ask.alb),
			newDoor[*requestALB, *responseALB]("*ALB", wire, pointer(ask.alb)),
			albMulti(wire),
		)
	}
	return all
}

func newDoor[In, Out any](name string, wire bool, event func(ask) In) door {
	return doorOf(name, wire, event, respond[Out], func(out Out) reply { return read(out) })
}

func albMulti(wire bool) door {
	return doorOf("ALB multi", wire, ask.albMulti, respondMulti, readMulti)
}

// families are a door for each gateway, by the names that golden events begin with.
func families() map[string]door {
	return map[string]door{
		"v2":        newDoor[requestV2, responseV2]("V2", true, ask.v2),
		"v1":        newDoor[requestV1, responseV1]("V1", true, ask.v1),
		"url":       newDoor[requestURL, responseURL]("URL", true, ask.url),
		"alb":       newDoor[requestALB, responseALB]("ALB", true, ask.alb),
		"alb-multi": albMulti(true),
	}
}

// familyOf is the door for a golden event.
func familyOf(golden string) door {
	kind, _, _ := strings.Cut(golden, "-")
	if strings.HasPrefix(golden, "alb-multi") {
		kind = "alb-multi"
	}
	return families()[kind]
}

func doorOf[In, Out any](name string, wire bool, eventOf func(ask) In, respond func(reply) Out,
	read func(Out) reply,
) door {
	d := door{name: name + " Handle", v1: strings.HasSuffix(name, "V1"), wire: wire}
	if wire {
		d.name = name + " Invoke"
	}
	d.keyed = func(of func(body string) (string, error)) idempotent.Option {
		return idempotent.WithKey(func(e In) (string, error) {
			return of(reflect.Indirect(reflect.ValueOf(e)).FieldByName("Body").String())
		})
	}
	d.wrap = func(do func(context.Context) (reply, error), records store.Store, opts ...idempotent.Option) send {
		h := idempotent.Wrap(func(ctx context.Context, _ In) (Out, error) {
			r, err := do(context.WithValue(ctx, responseKey{}, func(r reply) any { return respond(r) }))
			return respond(r), err
		}, records, opts...)
		return func(ctx context.Context, event any) (reply, error) {
			out, err := sent(ctx, h, event, eventOf, wire)
			return read(out), err
		}
	}
	return d
}

// sent sends an ask, an event or the JSON of one.
func sent[In, Out any](ctx context.Context, h *idempotent.Handler[In, Out], event any, eventOf func(ask) In,
	wire bool,
) (out Out, err error) {
	switch e := event.(type) {
	case ask:
		return deliver(ctx, h, eventOf(e), wire)
	case []byte:
		if wire {
			return invoked(ctx, h, e)
		}
		var in In
		if err := json.Unmarshal(e, &in); err != nil {
			return out, err
		}
		return h.Handle(ctx, in)
	default:
		return deliver(ctx, h, e.(In), wire)
	}
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
	payload, err := json.Marshal(in)
	if err != nil {
		var none Out
		return none, err
	}
	return invoked(ctx, h, payload)
}

func invoked[In, Out any](ctx context.Context, h *idempotent.Handler[In, Out], payload []byte) (out Out, err error) {
	result, err := h.Invoke(ctx, payload)
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(result, &out)
}

func pointer[A, B any](f func(A) B) func(A) *B {
	return func(a A) *B { b := f(a); return &b }
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
	store    *calls.Faulty
	inner    *rows.Table
	fault    calls.Fault // done to every call
	onCommit calls.Fault // done to every commit
	executed atomic.Int64
	do       func(ctx context.Context) (reply, error)
	through  send

	seen seenEvents
}

func (d door) open(t *testing.T, opts ...idempotent.Option) *api {
	t.Helper()
	a := &api{t: t, inner: rows.New(nil)}
	a.store = calls.NewFaulty(a.inner, func(c calls.Call) calls.Fault {
		return cmp.Or(a.fault, calls.OnOp(calls.Commit, a.onCommit)(c))
	})
	observed := idempotent.WithObserver(a.seen.see)
	a.through = d.wrap(func(ctx context.Context) (reply, error) {
		n := a.executed.Add(1)
		if a.do != nil {
			return a.do(ctx)
		}
		return reply{Status: 201, Body: "charge " + strconv.FormatInt(n, 10)}, nil
	}, a.store, append([]idempotent.Option{idempotent.WithOperation("charge"), observed}, opts...)...)
	return a
}

// answers makes the handler return r, and returns an error beside it.
func (a *api) answers(r reply) { a.returns(r, nil) }

func (a *api) returns(r reply, err error) {
	a.do = func(context.Context) (reply, error) { return r, err }
}

// committing opens a door to a handler that commits an answer, to which fault is done, and goes on
// with what came of it.
func (d door) committing(t *testing.T, fault calls.Fault, answer reply,
	then func(ctx context.Context, fault error) (reply, error), opts ...idempotent.Option,
) *api {
	t.Helper()
	a := d.open(t, opts...)
	a.onCommit = fault
	a.do = func(ctx context.Context) (reply, error) {
		return then(ctx, execution.CommitsOf(ctx).Commit(ctx, responseOf(ctx, answer), rows.Writes{{}}, nil))
	}
	return a
}

// takenOver lets another process take over the record while the handler runs, and makes of it what
// change says. This one answers r.
func (a *api) takenOver(r reply, change func(r *store.Record)) {
	a.do = func(context.Context) (reply, error) {
		mine, found := a.record()
		require.True(a.t, found)
		theirs := mine
		theirs.Owner, theirs.Lease = secretOwner, time.Now().Add(time.Minute)
		change(&theirs)
		_, swapped, err := a.inner.Swap(a.t.Context(), mine, theirs)
		require.NoError(a.t, err)
		require.True(a.t, swapped)
		return r, nil
	}
}

// failsToComplete lets the handler answer r, and the store fail from then on.
func (a *api) failsToComplete(r reply) {
	a.do = func(context.Context) (reply, error) {
		a.fault = calls.Deny
		return r, nil
	}
}

// try delivers a request as Lambda does: with a deadline.
func (a *api) try(event any) (reply, error) {
	ctx, cancel := context.WithTimeout(a.t.Context(), 10*time.Second)
	defer cancel()
	return a.through(ctx, event)
}

func (a *api) send(event any) reply {
	a.t.Helper()
	r, err := a.try(event)
	require.NoError(a.t, err)
	return r
}

// gets delivers a request once for each summary of an answer that it gets.
func (a *api) gets(event any, summaries ...string) {
	a.t.Helper()
	for n, want := range summaries {
		assert.Equal(a.t, want, a.send(event).summary(), "delivery %d of %+v", n+1, event)
	}
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
	a.fault = calls.Deny
	a.send(q)
	a.fault = calls.Pass
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

// identify finds the identity of an event of a gateway without letting it claim anything. It is
// empty if the event never got to the store; the reply tells why.
func identify(t require.TestingT, event any, opts ...idempotent.Option) (identity, reply) {
	return identifyIn(context.Background(), t, event, opts...)
}

func identifyIn(ctx context.Context, t require.TestingT, event any, opts ...idempotent.Option) (identity, reply) {
	kind := map[reflect.Type]string{
		reflect.TypeFor[requestV2](): "v2", reflect.TypeFor[requestV1](): "v1", reflect.TypeFor[requestURL](): "url",
		reflect.TypeFor[requestALB](): "alb",
	}[reflect.TypeOf(event)]
	return families()[kind].identify(ctx, t, event, opts...)
}

// identified is the identity of an event that is not refused.
func identified(t require.TestingT, event any, opts ...idempotent.Option) identity {
	id, r := identify(t, event, opts...)
	require.NotEmpty(t, id.key, "refused: %s", r.Body)
	return id
}

func (d door) identify(ctx context.Context, t require.TestingT, event any,
	opts ...idempotent.Option,
) (identity, reply) {
	records := calls.NewFaulty(memory.New(), calls.OnOp(calls.Claim, calls.Deny))
	through := d.wrap(func(context.Context) (reply, error) { return reply{}, nil }, records,
		append([]idempotent.Option{idempotent.WithOperation("charge")}, opts...)...)
	r, err := through(ctx, event)
	require.NoError(t, err)
	if calls := records.Calls(); len(calls) > 0 {
		return identity{calls[0].Next.Key, calls[0].Next.Fingerprint}, r
	}
	return identity{}, r
}

// golden reads testdata/events.
func golden(t testing.TB) map[string][]byte {
	t.Helper()
	return gateway.Events(t, "testdata/events/*.json")
}

func load[E any](t require.TestingT, name string) (e E) {
	payload, err := os.ReadFile(filepath.Join("testdata", "events", name+".json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(payload, &e))
	return e
}

// edited is a golden event after some edits: each is the path of a member, and behind an equals
// sign its JSON. A member without that goes.
func edited(t require.TestingT, name string, edits ...string) []byte {
	event := load[map[string]any](t, name)
	for _, edit := range edits {
		path, value, sets := strings.Cut(edit, "=")
		names := strings.Split(path, ".")
		last := len(names) - 1
		in := event
		for _, name := range names[:last] {
			inner, is := in[name].(map[string]any)
			if !is {
				inner = map[string]any{}
				in[name] = inner
			}
			in = inner
		}
		if sets {
			in[names[last]] = json.RawMessage(value)
		} else {
			delete(in, names[last])
		}
	}
	payload, err := json.Marshal(event)
	require.NoError(t, err)
	return payload
}
