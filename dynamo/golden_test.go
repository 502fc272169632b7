package dynamo_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
)

var update = flag.Bool("update", false, "write the golden requests")

// TestRequests compares everything that is sent with testdata: the wire is what other versions and
// AWS Powertools see.
func TestRequests(t *testing.T) {
	t.Parallel()
	var (
		live      = record("charge#key")
		small     = completion(live, []byte(`{"id":"ch_1"}`))
		large     = completion(live, []byte(`"`+strings.Repeat("x", 20)+`"`))
		binary    = completion(live, []byte("\"\xff\""))
		taken     = live
		renewed   = live
		blind     = live
		unknown   = live
		released  = live
		ownerless = store.Record{Key: live.Key, Status: live.Status, Lease: live.Lease, Expiry: live.Expiry}
		leaseless = store.Record{Key: live.Key, Status: live.Status, Expiry: live.Expiry}
		adopted   = ownerless
		parted    = small
		zipped    = small
		emptied   = small
		foreign   = leaseless
		replaced  = leaseless

		stepped  = live
		resumed  = live
		kept     = live
		finished store.Record
	)
	stepped.StepWrites = 3
	stepped.Steps = steps{"reserve": stepValue("owner-1", `{"id":"r_1"}`), "charge": startMark("owner-1")}
	finished = small
	finished.Steps, finished.StepWrites = stepped.Steps, 3
	resumed.Owner, resumed.Lease, resumed.Attempt = "owner-2", live.Lease.Add(time.Minute), 2
	kept.Owner, kept.Lease, kept.Reason = "nobody-1", claimTime, store.ReasonReleased
	kept.Attention, kept.AttentionAt, kept.Steps = "charge#3", claimTime.Add(time.Hour), steps{"charge": removal()}
	taken.Owner, taken.Lease, taken.Attempt = "owner-2", live.Lease.Add(time.Minute), 2
	renewed.Lease, renewed.Expiry = live.Lease.Add(time.Minute), live.Expiry.Add(time.Minute)
	blind.Lease = time.Time{}
	unknown.Status, unknown.Reason = store.StatusUnknown, "result-lost"
	unknown.Attention, unknown.AttentionAt = "charge#3", claimTime
	unknown.Derived = []string{"charge", "mail"}
	released.Owner, released.Lease, released.Expiry = "operator-1", claimTime, live.Expiry.Add(time.Hour)
	released.Reason, released.SettledBy, released.SettledReason, released.SettledAt = "released", "dana",
		"ticket 1", claimTime
	small.Lease, small.Expiry, small.CompletedAt = time.Time{}, small.Expiry.Add(time.Hour), claimTime
	adopted.Owner, adopted.Fingerprint, adopted.Attempt = "owner-2", "1:print", 1
	parted.Result, parted.Parts = nil, "2:1000"
	zipped.Result, zipped.Parts = nil, "1:999 gzip"
	emptied.Result = nil
	foreign.Status, foreign.Result = store.StatusCompleted, []byte(`"a"`)
	replaced.Status, replaced.Result = store.StatusCompleted, []byte(`"b"`)

	uncompared := func(r store.Record) store.Record { r.StepWrites = store.AnyStepWrites; return r }
	type call = func(s *dynamo.Store) (any, bool, error)
	claim := func(r store.Record) call {
		return func(s *dynamo.Store) (any, bool, error) { return s.Claim(t.Context(), r, claimTime) }
	}
	swap := func(seen, next store.Record) call {
		return func(s *dynamo.Store) (any, bool, error) { return s.Swap(t.Context(), seen, next) }
	}
	deletes := func(seen store.Record) call {
		return func(s *dynamo.Store) (any, bool, error) {
			deleted, err := s.Delete(t.Context(), seen)
			return nil, deleted, err
		}
	}
	changes := func(seen store.Record, name string, step store.Step) call {
		seen = uncompared(seen)
		next := seen
		next.Steps = steps{name: step}
		return swap(seen, next)
	}
	completedByAnother := small
	completedByAnother.Owner = "owner-2"
	several := uncompared(live)
	several.Steps = steps{
		"charge": stepValue("owner-1", ""), "mail": removal(),
		"ship/1": {Kind: store.StepStarted, Seal: store.Seal("owner 1%", nil)},
	}
	no := stepValue("owner-1", `{"errorMessage":"no"}`)
	no.Kind = store.StepFailure

	for name, do := range map[string]call{
		"step-start":      changes(live, "charge", startMark("owner-1")),
		"step-result":     changes(live, "charge", stepValue("owner-1", `{"id":"ch_1"}`)),
		"step-failure":    changes(unknown, "charge", no),
		"step-binary":     changes(live, "charge", stepValue("owner-1", "\"\xff\"")),
		"step-large":      changes(live, "charge", stepValue("owner-1", `"`+strings.Repeat("x", 300)+`"`)),
		"step-compressed": changes(live, "charge", stepValue("owner-1", string(orders(2000)))),
		"steps-changed":   swap(uncompared(live), several),

		"steps-complete":            swap(stepped, finished),
		"steps-complete-uncompared": swap(uncompared(blind), small),
		"steps-takeover":            swap(uncompared(stepped), resumed),
		"steps-keep":                swap(stepped, kept),
		"steps-resume-release":      swap(kept, resumed),
		"steps-delete":              deletes(stepped),

		"claim":           claim(live),
		"claim-completed": claim(small),
		"claim-large":     claim(large),
		"claim-unknown":   claim(unknown),

		"complete":            swap(live, small),
		"complete-taken-over": swap(live, completedByAnother),
		"complete-renewed":    swap(blind, small),
		"complete-large":      swap(live, large),
		"complete-binary":     swap(live, binary),
		"complete-compressed": swap(live, completion(live, orders(2000))),
		"takeover":            swap(live, taken),
		"takeover-foreign":    swap(ownerless, adopted),
		"renew":               swap(live, renewed),
		"mark-unknown":        swap(live, unknown),
		"settle":              swap(unknown, released),
		"clear":               swap(parted, ownerless),
		"drop-parts":          swap(parted, emptied),
		"replace-result":      swap(foreign, replaced),
		"carry-compressed":    swap(parted, zipped),
		"nothing-changed":     swap(parted, parted),

		"release":         deletes(live),
		"release-foreign": deletes(leaseless),
		"get": func(s *dynamo.Store) (any, bool, error) {
			_, found, err := s.Get(t.Context(), live.Key)
			return nil, !found, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			limit := 16
			if strings.HasPrefix(name, "step") {
				limit = 200
			}
			tr := &transport{answer: func(_ int, _ *http.Request, q request) (*http.Response, error) {
				return written(q).send()
			}}
			_, ok, err := do(dynamo.New(scriptedClient(tr), table, dynamo.Config{InlineLimit: limit}))
			require.NoError(t, err)
			require.True(t, ok)
			golden(t, name, tr.requests)
		})
	}
	t.Run("complete-compressed-inline", func(t *testing.T) {
		s, tr := scripted(done)
		mustSwap(t, s, live, completion(live, orders(2000)))
		golden(t, "complete-compressed-inline", tr.requests)
	})
	t.Run("read-result", func(t *testing.T) {
		s, tr := scripted(done)
		_, err := s.ReadResult(t.Context(), parted)
		requireUnreadable(t, err, "part 1 of 2 is missing")
		golden(t, "read-result", tr.requests)
	})
}

// written answers a write, with a record where it asks for what is held afterwards.
func written(q request) reply {
	if !bytes.Contains(q.Body, []byte(`"ReturnValues":"ALL_NEW"`)) {
		return done
	}
	return reply{status: http.StatusOK, body: `{"Attributes":{"id":{"S":"charge#key"},"status":{"S":"INPROGRESS"},` +
		`"owner":{"S":"owner-2"},"expiration":{"N":"1800086400"}}}`}
}

// expanded replaces what is compressed by what it stands for: its bytes and their number are the
// business of Go's version.
func expanded(t *testing.T, requests []byte) []byte {
	t.Helper()
	const begin = "H4sI" // of gzip as base64
	requests = regexp.MustCompile(`"`+begin+`[^"]*"`).ReplaceAllFunc(requests, func(quoted []byte) []byte {
		b, err := base64.StdEncoding.DecodeString(string(quoted[1 : len(quoted)-1]))
		require.NoError(t, err)
		r, err := gzip.NewReader(bytes.NewReader(b))
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Less(t, len(b), len(text))
		return fmt.Appendf(nil, "%q", fmt.Sprintf("gzip of %d bytes, digest %x", len(text), sha256.Sum256(text)))
	})
	if bytes.Contains(requests, []byte("gzip of")) {
		requests = regexp.MustCompile(`"1:\d+"`).ReplaceAll(requests, []byte(`"1:size"`))
		requests = regexp.MustCompile(` parts 1:\d+ gzip`).ReplaceAll(requests, []byte(` parts 1:size gzip`))
	}
	return requests
}

func golden(t *testing.T, name string, requests []request) {
	t.Helper()
	got, err := json.MarshalIndent(requests, "", "  ")
	require.NoError(t, err)
	got = expanded(t, got)
	file := filepath.Join("testdata", "requests", name+".json")
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, normalized(t, got), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(got))
}

// normalized orders the members of objects.
func normalized(t *testing.T, text []byte) []byte {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(text, &v))
	out, err := json.MarshalIndent(v, "", "  ")
	require.NoError(t, err)
	return append(out, '\n')
}

// stepValue is the result of a step.
func stepValue(owner, result string) store.Step {
	return store.Step{Kind: store.StepValue, Seal: store.Seal(owner, []byte(result)), Result: []byte(result)}
}
