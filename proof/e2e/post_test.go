package e2e_test

import (
	"context"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
	"github.com/go-idempotent/idempotent/internal/dev/streams"
	"github.com/go-idempotent/idempotent/outbox"
)

// post brings the messages of a warehouse to a receiver: relays on its stream, each with a pump,
// and a drain.
type post struct {
	*warehouse

	receiver *receiver
	pumps    []*streams.Pump
	drain    *deployment
}

// newPost returns a post that has no relay yet.
func newPost(w *warehouse) *post {
	w.t.Helper()
	p := &post{warehouse: w, receiver: newReceiver(w.t)}
	p.drain = p.deploy("drain", draining)
	return p
}

// deploy deploys a function that delivers to the receiver.
func (p *post) deploy(name, example string) *deployment {
	p.t.Helper()
	return launch(p.t, 1, example, lambdaruntime.Function{
		Name: name, Environment: []string{
			"IDEMPOTENCY_TABLE=" + p.table, "ORDERS_TABLE=" + p.orders, "OUTBOX_TABLE=" + p.outbox, "OPERATION=orders",
			"MAIL_URL=" + p.receiver.URL,
		},
	})
}

// relay deploys a relay and a pump that invokes it, as template.yaml does. The pump begins when it
// is started.
func (p *post) relay() (*deployment, *streams.Pump) {
	p.t.Helper()
	relay := p.deploy("relay", relaying)
	pump := &streams.Pump{
		Endpoint: platform.endpoint(p.t), Table: p.outbox,
		Invoke: relay.invoke, Filter: outbox.StreamFilter,
		Poll: 20 * time.Millisecond, Pause: 20 * time.Millisecond,
	}
	p.pumps = append(p.pumps, pump)
	return relay, pump
}

// start runs the pumps until the test ends, or until they are stopped.
func (p *post) start() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, pump := range p.pumps {
		running.Go(func() { assert.NoError(p.t, pump.Run(ctx)) })
	}
	stop = func() {
		cancel()
		running.Wait()
	}
	p.t.Cleanup(stop)
	return stop
}

// invoke hands an event to a free sandbox.
func (s *deployment) invoke(ctx context.Context, payload []byte) ([]byte, error) {
	select {
	case sandbox := <-s.free:
		defer func() { s.free <- sandbox }()
		return sandbox.Invoke(ctx, payload, s.timeout)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// postLimit is how long everything may take until it is handled: it is there for what hangs.
const postLimit = 4 * time.Minute

// idle waits until the relays have handled everything that is in the stream.
func (p *post) idle() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), postLimit)
	defer cancel()
	for _, pump := range p.pumps {
		require.NoError(p.t, pump.Idle(ctx))
	}
}

// drainAll makes what is pending due and drains it, until nothing is.
func (p *post) drainAll() {
	p.t.Helper()
	for began := time.Now(); p.age() > 0; {
		require.Less(p.t, time.Since(began), postLimit, "something is never delivered")
		p.drainOnce()
	}
}

// drainOnce invokes the drain, and again while it dies.
func (p *post) drainOnce() {
	p.t.Helper()
	for began := time.Now(); ; {
		_, err := p.drain.invoke(context.Background(), []byte(`{}`))
		if err == nil {
			return
		}
		require.Less(p.t, time.Since(began), postLimit, "the drain never ends well: %v", err)
	}
}

// assertDelivered checks that every message was delivered and is done, one by one: the messages of
// the table are the ids at the receiver, no more and no less, and each came with its own body.
func (p *post) assertDelivered() {
	p.t.Helper()
	all := p.messages()
	bodies := map[string]string{}
	for _, m := range all {
		assert.True(p.t, m.done(), "%+v is not done", m)
		bodies[m.ID] = m.Body
	}
	require.Len(p.t, bodies, len(all))
	assert.Equal(p.t, bodies, p.receiver.kept(), "messages, and what a receiver that deduplicates has")
}

// assertNoneIsDoneTooEarly checks that what is done has arrived. It holds at any moment.
func (p *post) assertNoneIsDoneTooEarly() {
	p.t.Helper()
	done := p.messages() // before the look at the receiver
	kept := p.receiver.kept()
	for _, m := range done {
		if m.DoneAt > 0 {
			assert.Contains(p.t, kept, m.ID, "done, and never delivered")
		}
	}
}
