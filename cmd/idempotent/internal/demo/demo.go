// Package demo has a store in memory with a record in every state, to try the commands on. Nothing
// of it outlives the process.
package demo

import (
	"context"
	"strconv"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// Now is the instant at which every demo takes place: three o'clock at night.
func Now() time.Time { return time.Date(2026, time.July, 1, 3, 0, 0, 0, time.UTC) }

// Store returns a store with the records of the demo.
func Store() *memory.Store {
	s := memory.New()
	for _, r := range Records(Now()) {
		if _, claimed, err := s.Claim(context.Background(), r, r.CreatedAt); err != nil || !claimed {
			panic("demo: two records have the key " + r.Key) // they are written here
		}
	}
	return s
}

// Records returns the records of the demo: one for each state and each reason, and some with steps.
func Records(now time.Time) []store.Record {
	records := make([]store.Record, 0, 20)
	for i, reason := range []string{
		store.ReasonResultLost, store.ReasonUncertain, store.ReasonCrashed, store.ReasonInterrupted, store.ReasonPanic,
		store.ReasonError, store.ReasonNotStored, store.ReasonTerminal,
	} {
		records = append(records, unknown("charge#"+reason, reason, now.Add(-time.Duration(i+1)*time.Hour)))
	}
	crashed := claimed("charge#died", now.Add(-20*time.Minute))
	crashed.Lease = now.Add(-19 * time.Minute)
	running := claimed("charge#in-progress", now.Add(-4*time.Second))
	running.Lease = now.Add(18 * time.Second)
	released := claimed("charge#released", now.Add(-15*time.Minute))
	released.Reason, released.Lease = store.ReasonReleased, now.Add(-14*time.Minute)
	notExecuted := claimed("charge#settled-not-executed", now.Add(-26*time.Hour))
	notExecuted.Reason, notExecuted.Lease = store.ReasonReleased, now.Add(-2*time.Hour)
	notExecuted.Expiry = now.Add(22 * time.Hour)
	settledBy(&notExecuted, "not executed", now.Add(-2*time.Hour), "ticket 4711: the provider has no charge")
	settled := completed("charge#settled", now.Add(-25*time.Hour), response)
	settled.Expiry = now.Add(23 * time.Hour)
	settledBy(&settled, "executed", now.Add(-time.Hour), "ticket 4712: the provider has ch_2")
	declined := completed("charge#declined", now.Add(-10*time.Minute),
		`{"errorType":"Declined","errorMessage":"the card was declined"}`)
	declined.Reason = store.ReasonTerminal
	expired := completed("charge#expired", now.Add(-25*time.Hour), response)
	foreign := completed("billing.handler#5d41402abc4b2a76b9719d911017c592", now.Add(-5*time.Minute), `{"paid": true}`)
	foreign.Owner, foreign.Seal, foreign.Attempt, foreign.Fingerprint, foreign.CompletedAt = "", "", 0, "", time.Time{}
	stopped, waits, begun := steps(now)
	return append(records, unknown(sentKey, store.ReasonCrashed, now.Add(-150*time.Minute)),
		givenUp(now.Add(-26*time.Hour-30*time.Minute)), stopped, waits, begun, crashed, running, released,
		notExecuted, settled, declined, foreign,
		completed("charge#completed", now.Add(-30*time.Minute), response),
		completed("ship#completed", now.Add(-40*time.Minute), `{"parcel":"p-17"}`),
		expired, // the last one: a claim after it would drop it
	)
}

// sentKey is the record key of a request of a client with the key order-1, POST /charges to the
// stage $default of the API a1b2c3, whose execution died: what the command key finds.
const sentKey = "charge#hHdUdWr_qyAKdzUYE6uEAATaDK1BoJRiINHkEgzgyfg"

// steps are the records of orders whose handlers have stopped between two steps, long ago and just
// now, and in the middle of one.
func steps(now time.Time) (stopped, waits, begun store.Record) {
	order := func(key string, ended time.Time, names ...string) store.Record {
		r := claimed(key, ended.Add(-2*time.Second))
		r.Lease = ended
		r.Attention, r.AttentionAt, r.Derived = store.AttentionOf(key), ended.Add(store.ReleasedWait), names
		r.Steps, r.StepWrites = make(map[string]store.Step), 1
		for _, name := range names {
			result := []byte(`{"id":"` + name + `-1"}`)
			r.Steps[name] = store.Step{Kind: store.StepValue, Seal: store.Seal(r.Owner, result), Result: result}
		}
		return r
	}
	stopped = order("order#stopped", now.Add(-5*time.Hour-30*time.Minute), "charge", "reserve")
	stopped.Reason, stopped.Story = store.ReasonReleased, moment(stopped.Lease, "failed net.OpError")
	waits = order("order#not-due", now.Add(-20*time.Minute), "reserve")
	waits.Reason, waits.Story = store.ReasonReleased, moment(waits.Lease, "failed net.OpError")
	begun = order("order#begun", now.Add(-90*time.Minute), "charge", "reserve")
	begun.Status, begun.Reason, begun.AttentionAt = store.StatusUnknown, store.ReasonCrashed, now.Add(-90*time.Minute)
	begun.Expiry, begun.Story = begun.AttentionAt.Add(unknownRetention), moment(begun.AttentionAt, "unknown crashed")
	begun.Steps["charge"] = store.Step{Kind: store.StepStarted, Seal: store.Seal(begun.Owner, nil)}
	return stopped, waits, begun
}

// response is what the handler of the demo answers.
const response = `{"statusCode":201,"headers":{"content-type":"application/json"},"body":"{\"id\":\"ch_2\"}"}`

// unknownRetention is how long a record is kept that somebody has to settle.
const unknownRetention = 30 * 24 * time.Hour

// claimed is a record that was claimed at an instant, in progress for 22 seconds.
func claimed(key string, at time.Time) store.Record {
	digest := fingerprint.New("fingerprint")
	digest.String(key)
	return store.Record{
		Key: key, Status: store.StatusInProgress, Owner: ownerOf(key), Attempt: 1, CreatedAt: at,
		Lease: at.Add(22 * time.Second), Expiry: at.Add(24 * time.Hour), Fingerprint: digest.Text(),
	}
}

func completed(key string, at time.Time, result string) store.Record {
	r := claimed(key, at)
	r.Status, r.Lease, r.CompletedAt = store.StatusCompleted, time.Time{}, at.Add(time.Second)
	r.Result, r.Seal = []byte(result), store.Seal(r.Owner, []byte(result))
	return r
}

// unknown is a record that has waited for somebody to settle it since an instant.
func unknown(key, reason string, since time.Time) store.Record {
	r := claimed(key, since.Add(-2*time.Second))
	r.Status, r.Reason, r.Expiry = store.StatusUnknown, reason, since.Add(unknownRetention)
	r.Attention, r.AttentionAt, r.Derived = store.AttentionOf(r.Key), since, []string{"charge"}
	r.Story = moment(since, "unknown "+reason+failures[reason])
	return r
}

// failures are the types of the errors that a demo's executions have failed with.
var failures = map[string]string{
	store.ReasonUncertain: " net.OpError", store.ReasonInterrupted: " context.deadlineExceededError",
	store.ReasonPanic: " runtime.boundsError", store.ReasonError: " errors.errorString",
}

// moment is a line of the story of a record.
func moment(at time.Time, what string) string {
	return strconv.FormatInt(at.UnixMilli(), 10) + " " + what
}

// givenUp is a record that crashed, and that a reconciliation asked about for a day without answer.
func givenUp(crashed time.Time) store.Record {
	r := unknown("charge#given-up", store.ReasonCrashed, crashed)
	r.Tries = idempotent.Reconciling{}.WithDefaults().MaxTries
	r.Questions = r.Tries
	r.Attempt += r.Questions
	r.Attention, r.AttentionAt = store.GivenUpOf(r.Key), crashed.Add(24*time.Hour)
	r.Story += "\n" + moment(r.AttentionAt, "asked net.OpError") + "\n" + moment(r.AttentionAt, "given-up")
	r.Expiry = r.AttentionAt.Add(unknownRetention)
	return r
}

// settledBy is a verdict of Dana, some minutes after nobody knew what had become of the record.
func settledBy(r *store.Record, as string, at time.Time, why string) {
	r.SettledBy, r.SettledAt, r.SettledReason = "dana", at, why
	r.Story = moment(r.CreatedAt.Add(2*time.Second), "unknown crashed") + "\n" + moment(at, "settled "+as+" by dana")
	if r.Status == store.StatusCompleted {
		r.CompletedAt = at
	}
}

// ownerOf is a token that looks like those of claims, and is the same in every demo.
func ownerOf(key string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	h := fingerprint.New("owner")
	h.String(key)
	sum := h.Sum()
	token := make([]byte, 26)
	for i := range token {
		token[i] = letters[int(sum[i])%len(letters)]
	}
	return string(token)
}
