package moto_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/operate/operatesqs"
	"github.com/go-idempotent/idempotent/proof/moto"
)

// A record that nobody can tell about becomes a message in a queue, of both kinds, and is given up
// then.
func TestWhatIsGivenUpIsAMessageInAQueue(t *testing.T) {
	t.Parallel()
	client := moto.SQS(t)
	for name, attributes := range map[string]map[string]string{
		"given-up":      nil,
		"given-up.fifo": {"FifoQueue": "true"},
	} {
		url := moto.NewQueue(t, client, name, attributes)
		h := idempotent.Wrap(func(context.Context, string) (string, error) {
			return "", idempotent.Uncertain(errors.New("no answer"))
		}, memory.New(),
			idempotent.WithOperation("charge"), idempotent.WithKey(func(s string) (string, error) { return s, nil }))
		keys := map[string]bool{}
		for _, order := range []string{"order-1", "order-2"} {
			_, err := h.Handle(t.Context(), order)
			require.Error(t, err)
			d, err := h.Describe(t.Context(), order)
			require.NoError(t, err)
			keys[d.RecordKey] = true
		}
		r := operate.Reconcile(h, func(context.Context, idempotent.Execution) (idempotent.Resolution[string], error) {
			return idempotent.StillUnknown[string](), nil
		}, operate.ReconcileConfig{How: idempotent.Reconciling{MaxTries: 1, GiveUp: operatesqs.GiveUp(client, url)}})
		for _, givenUp := range []int{0, 2, 0} {
			done, err := r.Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, givenUp, done.GivenUp, "%+v", done)
		}
		all := receive(t, client, url)
		require.Len(t, all, 2, name)
		for _, m := range all {
			var p operatesqs.GivenUp
			require.NoError(t, json.Unmarshal([]byte(*m.Body), &p))
			assert.True(t, keys[p.RecordKey])
			delete(keys, p.RecordKey)
			assert.Equal(t, []any{"charge", 1}, []any{p.Operation, p.Tries})
			assert.WithinDuration(t, time.Now(), p.CreatedAt, time.Minute)
		}
	}
}

func TestAFIFOQueueTakesTheMessageOfARecordOnce(t *testing.T) {
	t.Parallel()
	client := moto.SQS(t)
	url := moto.NewQueue(t, client, "given-up-once.fifo", map[string]string{"FifoQueue": "true"})
	giveUp := operatesqs.GiveUp(client, url)
	for range 2 {
		require.NoError(t, giveUp(t.Context(), idempotent.Execution{Operation: "charge", RecordKey: "charge#a"}, 30))
	}
	require.Len(t, receive(t, client, url), 1)
}
