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
		step     = live
		resumed  = live
		kept     = live
		finished store.Record
	)
	stepped.StepWrites = 3
	stepped.Steps = map[string]store.Step{
		"reserve": stepValue("owner-1", `{"id":"r_1"}`),
		"charge":  {Kind: store.StepStarted, Seal: store.Seal("owner-1", nil)},
	}
	step.Steps = map[string]store.Step{"charge": stepValue("owner-1", `{"id":"ch_1"}`)}
	finished = small
	finished.Steps, finished.StepWrites = stepped.Steps, 3
	resumed.Owner, resumed.Lease, resumed.Attempt = "owner-2", live.Lease.Add(time.Minute), 2
	kept.Owner, kept.Lease, kept.Reason = "nobody-1", claimTime, store.ReasonReleased
	kept.Attention, kept.AttentionAt, kept.Steps = "charge#3", claimTime.Add(time.Hour),
		map[string]store.Step{"charge": {}}
	changes := func(seen store.Record, steps map[string]store.Step) func(s *dynamo.Store) (any, bool, error) {
		return func(s *dynamo.Store) (any, bool, error) {
			seen.StepWrites = store.AnyStepWrites
			next := seen
			next.Steps = steps
			return s.Swap(t.Context(), seen, next)
		}
	}
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

	for name, do := range map[string]func(s *dynamo.Store) (any, bool, error){
		"step-start": changes(live,
			map[string]store.Step{"charge": {Kind: store.StepStarted, Seal: store.Seal("owner-1", nil)}}),
		"step-result": changes(live, step.Steps),
		"step-failure": changes(unknown, map[string]store.Step{
			"charge": {
				Kind: store.StepFailure, Seal: store.Seal("owner-1", []byte(`{"errorMessage":"no"}`)),
				Result: []byte(`{"errorMessage":"no"}`),
			},
		}),
		"step-binary": changes(live, map[string]store.Step{"charge": stepValue("owner-1", "\"\xff\"")}),
		"step-large": changes(live,
			map[string]store.Step{"charge": stepValue("owner-1", `"`+strings.Repeat("x", 300)+`"`)}),
		"step-compressed": changes(live, map[string]store.Step{"charge": stepValue("owner-1", string(orders(2000)))}),
		"steps-changed": changes(live, map[string]store.Step{
			"charge": stepValue("owner-1", ""), "mail": {},
			"ship/1": {Kind: store.StepStarted, Seal: store.Seal("owner 1%", nil)},
		}),
		"steps-complete": func(s *dynamo.Store) (any, bool, error) { return s.Swap(t.Context(), stepped, finished) },
		"steps-complete-uncompared": func(s *dynamo.Store) (any, bool, error) {
			seen := blind
			seen.StepWrites = store.AnyStepWrites
			return s.Swap(t.Context(), seen, small)
		},
		"steps-takeover": func(s *dynamo.Store) (any, bool, error) {
			seen := stepped
			seen.StepWrites = store.AnyStepWrites
			return s.Swap(t.Context(), seen, resumed)
		},
		"steps-keep":           func(s *dynamo.Store) (any, bool, error) { return s.Swap(t.Context(), stepped, kept) },
		"steps-resume-release": func(s *dynamo.Store) (any, bool, error) { return s.Swap(t.Context(), kept, resumed) },
		"steps-delete": func(s *dynamo.Store) (any, bool, error) {
			deleted, err := s.Delete(t.Context(), stepped)
			return nil, deleted, err
		},
		"claim":           func(s *dynamo.Store) (any, bool, error) { return s.Claim(t.Context(), live, claimTime) },
		"claim-completed": func(s *dynamo.Store) (any, bool, error) { return s.Claim(t.Context(), small, claimTime) },
		"claim-large":     func(s *dynamo.Store) (any, bool, error) { return s.Claim(t.Context(), large, claimTime) },
		"complete":        func(s *dynamo.Store) (any, bool, error) { return s.Swap(t.Context(), live, small) },
		"complete-taken-over": func(s *dynamo.Store) (any, bool, error) {
			next := small
			next.Owner = "owner-2"
			return s.Swap(t.Context(), live, next)
		},
		"complete-renewed": func(s *dynamo.Store) (any, bool, error) { return s.Swap(t.Context(), blind, small) },
		"complete-large":   func(s *dynamo.Store) (any, bool, error) { return s.Swap(t.Context(), live, large) },
		"complete-binary":  func(s *dynamo.Store) (any, bool, error) { return s.Swap(t.Context(), live, binary) },
		"takeover":         func(s *dynamo.Store) (any, bool, error) { return s.Swap(t.Context(), live, taken) },
		"takeover-foreign": func(s *dynamo.Store) (any, bool, error) { return s.Swap(t.Context(), ownerless, adopted) },
		"renew":            func(s *dynamo.Store) (any, bool, error) { return s.Swap(t.Context(), live, renewed) },
		"mark-unknown":     func(s *dynamo.Store) (any, bool, error) { return s.Swap(t.Context(), live, unknown) },
		"settle":           func(s *dynamo.Store) (any, bool, error) { return s.Swap(t.Context(), unknown, released) },
		"claim-unknown": func(s *dynamo.Store) (any, bool,
			error,
		) {
			return s.Claim(t.Context(), unknown, claimTime)
		},
		"clear":          func(s *dynamo.Store) (any, bool, error) { return s.Swap(t.Context(), parted, ownerless) },
		"drop-parts":     func(s *dynamo.Store) (any, bool, error) { return s.Swap(t.Context(), parted, emptied) },
		"replace-result": func(s *dynamo.Store) (any, bool, error) { return s.Swap(t.Context(), foreign, replaced) },
		"complete-compressed": func(s *dynamo.Store) (any, bool, error) {
			return s.Swap(t.Context(), live, completion(live, orders(2000)))
		},
		"carry-compressed": func(s *dynamo.Store) (any, bool, error) { return s.Swap(t.Context(), parted, zipped) },
		"nothing-changed":  func(s *dynamo.Store) (any, bool, error) { return s.Swap(t.Context(), parted, parted) },
		"release": func(s *dynamo.Store) (any, bool, error) {
			deleted, err := s.Delete(t.Context(), live)
			return nil, deleted, err
		},
		"release-foreign": func(s *dynamo.Store) (any, bool, error) {
			deleted, err := s.Delete(t.Context(), leaseless)
			return nil, deleted, err
		},
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
			tr := &transport{answer: func(_ int, _ *http.Request, q request) (*http.Response,
				error,
			) {
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
