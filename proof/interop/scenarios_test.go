package interop

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

// scenario is one behaviour that both sides have to agree on.
type scenario struct {
	name string
	run  func(s *stage)
}

func scenarios() []scenario {
	return []scenario{
		{"a result is replayed there, and back here", func(s *stage) {
			s.first.executes(s.ask, `{"ok":true,"n":7}`)
			s.second.replays(s.ask, `{"ok":true,"n":7}`)
			s.first.replays(s.ask, `{"ok":true,"n":7}`)
		}},
		{"results of every kind", everyResult},
		{"a result of 300 KB", func(s *stage) {
			result := `{"text":"` + strings.Repeat("x", 300<<10) + `"}`
			s.first.executes(s.ask, result)
			s.second.replays(s.ask, result)
		}},
		{"the same key for every event", everyKey},
		{"the default prefix, from the environment", func(s *stage) {
			s.Prefix, s.Table = "", table(s.T, shape{})
			s.first.executes(s.ask, `1`)
			s.second.replays(s.ask, `1`)
		}},
		{"another hash function", func(s *stage) {
			s.Hash = "sha256"
			s.first.executes(s.ask, `1`)
			s.second.replays(s.ask, `1`)
		}},
		{"no key path: the whole event", func(s *stage) {
			s.KeyPath = ""
			s.first.executes(s.ask, `1`)
			s.second.replays(s.ask, `1`)
			s.Event = event("1", 11)
			s.second.executes(s.ask, `2`)
		}},
		{"in progress here is refused there", func(s *stage) {
			s.first.enters(s.ask)
			s.second.refuses(s.ask, inProgress)
			s.first.ends(told{Return: json.RawMessage(`1`)})
			s.second.replays(s.ask, `1`)
		}},
		{"in progress without a deadline", func(s *stage) {
			s.RemainingMS = nil
			s.first.enters(s.ask)
			s.second.refuses(s.ask, inProgress)
			s.first.ends(told{Return: json.RawMessage(`1`)})
			s.second.replays(s.ask, `1`)
		}},
		{"both at once: one executes", atOnce},
		{"an error frees the key", func(s *stage) {
			s.first.enters(s.ask)
			require.NotEmpty(s.T, s.first.ends(told{Fail: "declined"}).Error)
			s.second.executes(s.ask, `2`)
			s.first.replays(s.ask, `2`)
		}},
		{"a crash is recovered there", func(s *stage) {
			s.short()
			s.first.enters(s.ask)
			s.first.kill()
			s.takesOver()
			s.second.ends(told{Return: json.RawMessage(`2`)})
			s.d.first.start(s.T).replays(s.ask, `2`)
		}},
		{"a stale owner, who ends after the other", staleOwnerLast},
		{"a stale owner, who ends before the other", staleOwnerFirst},
		{"payload validation", func(s *stage) {
			s.ValidationPath = "amount"
			s.first.executes(s.ask, `1`)
			s.second.replays(s.ask, `1`)
			s.Event = event("1", 11)
			s.second.refuses(s.ask, mismatch)
			s.first.refuses(s.ask, mismatch)
		}},
		{"payload validation of a nested object", func(s *stage) {
			s.ValidationPath = "details"
			details := func(text string) { s.Event = []byte(`{"id":"1","details":` + text + `}`) }
			details(`{"amount":10,"to":{"iban":"DE1","name":"a"}}`)
			s.first.executes(s.ask, `1`)
			details(`{"to":{"name":"a","iban":"DE1"},"amount":10}`)
			s.second.replays(s.ask, `1`)
			details(`{"amount":10,"to":{"iban":"DE2","name":"a"}}`)
			s.second.refuses(s.ask, mismatch)
		}},
		{"payload validation while in progress", func(s *stage) {
			s.ValidationPath = "amount"
			s.first.enters(s.ask)
			other := s.ask
			other.Event = event("1", 11)
			s.second.refuses(other, mismatch)
			s.second.refuses(s.ask, inProgress)
			s.first.ends(told{Return: json.RawMessage(`1`)})
			s.second.replays(s.ask, `1`)
		}},
		{"an expired record is executed again", func(s *stage) {
			s.ExpiresAfter = 1
			s.first.executes(s.ask, `1`)
			s.ExpiresAfter = 60
			s.second.entersOnceExpired(s.ask, `1`)
			s.second.ends(told{Return: json.RawMessage(`2`)})
			s.first.replays(s.ask, `2`)
		}},
		{"the switch in the environment", func(s *stage) {
			for range 2 {
				s.d.first.disabled().start(s.T).executes(s.ask, `1`)
				s.d.second.disabled().start(s.T).executes(s.ask, `2`)
			}
			s.first.executes(s.ask, `3`)
		}},
		{"renamed attributes", func(s *stage) {
			s.Shape = shape{Key: "pk", Expiration: "ttl", Lease: "lease", Status: "st", Data: "dt", Validation: "vd"}
			s.onShape()
		}},
		{"a sort key", func(s *stage) {
			s.Shape = shape{Sort: "sk"}
			s.onShape()
		}},
		{"a sort key, renamed attributes and a partition", func(s *stage) {
			s.Shape = shape{Key: "pk", Sort: "sk", Partition: "tenant-1", Data: "dt"}
			s.onShape()
		}},
		{"a response of an HTTP API", httpResponse},
		{"an unknown outcome of this library is refused there", func(s *stage) {
			ours, theirs := s.ours()
			s.Uncertain = true
			ours.enters(s.ask)
			ours.ends(told{Fail: "no answer"})
			theirs.refuses(s.ask, unknown)
			ours.refuses(s.ask, unknown)
		}},
		{"a result that does not fit executes once", tooLarge},
	}
}

// short leaves the invocation less time than a test has.
func (s *stage) short() {
	remaining := int64(1000)
	s.RemainingMS = &remaining
}

// takesOver sends the invocation to the second side until its handler runs: not before the lease
// has ended that the first one took.
func (s *stage) takesOver() {
	s.Helper()
	lease := s.lease()
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		got := s.second.begin(s.ask)
		if got.Entered {
			require.False(s, time.Now().Before(lease), "the lease of the other one protects it")
			return
		}
		require.Equal(s, s.second.errors[inProgress], got.Error)
	}
	s.Fatalf("%s never takes over", s.second.name)
}

// lease is the end of the lease of the one record that the table has.
func (s *stage) lease() time.Time {
	s.Helper()
	out, err := dynamolocal.Client(dynamolocal.Endpoint(s.T)).Scan(s.Context(), &dynamodb.ScanInput{
		TableName: aws.String(s.Table), ConsistentRead: aws.Bool(true),
	})
	require.NoError(s, err)
	require.Len(s, out.Items, 1)
	lease, ok := out.Items[0]["in_progress_expiration"].(*types.AttributeValueMemberN)
	require.True(s, ok)
	ms, err := strconv.ParseInt(lease.Value, 10, 64)
	require.NoError(s, err)
	return time.UnixMilli(ms)
}

// entersOnceExpired sends an invocation until its handler runs: until then the result is replayed.
// Sides round to seconds.
func (p *peer) entersOnceExpired(a ask, result string) {
	p.t.Helper()
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
		got := p.begin(a)
		if got.Entered {
			return
		}
		require.JSONEq(p.t, result, string(got.Returned))
	}
	p.t.Fatalf("%s replays for ever", p.name)
}

// onShape goes through the life of a record on a table of another shape.
func (s *stage) onShape() {
	s.Table, s.ValidationPath = table(s.T, s.Shape), "amount"
	s.first.enters(s.ask)
	s.second.refuses(s.ask, inProgress)
	s.first.ends(told{Return: json.RawMessage(`{"a":1}`)})
	s.second.replays(s.ask, `{"a":1}`)
	s.Event = event("1", 11)
	s.second.refuses(s.ask, mismatch)
	s.Event = event("2", 10)
	s.second.enters(s.ask)
	s.second.ends(told{Fail: "declined"})
	s.first.executes(s.ask, `2`)
}

// staleOwnerLast freezes the first side until the second one has completed in its place: a handler
// of this library that runs on would keep its lease. The writes of AWS Powertools are
// unconditional; those of this library are not.
func staleOwnerLast(s *stage) {
	s.short()
	s.first.enters(s.ask)
	s.first.freeze()
	s.takesOver()
	s.second.ends(told{Return: json.RawMessage(`"second"`)})
	s.first.thaw()
	got := s.first.ends(told{Return: json.RawMessage(`"first"`)})
	stored := `"first"` // documented: their stale owner replaces the result
	if s.first.ours {
		stored = `"second"`
	}
	require.JSONEq(s.T, stored, string(got.Returned), "the answer is the result that is stored")
	s.second.replays(s.ask, stored)
	s.first.replays(s.ask, stored)
}

// staleOwnerFirst lets the first side end while the second one, which took over, still runs.
func staleOwnerFirst(s *stage) {
	s.short()
	s.first.enters(s.ask)
	s.first.freeze()
	s.RemainingMS = nil
	s.takesOver()
	s.first.thaw()
	got := s.first.ends(told{Return: json.RawMessage(`"first"`)})
	if s.first.ours {
		require.Equal(s.T, "SupersededError", got.Error)
		s.second.ends(told{Return: json.RawMessage(`"second"`)})
		s.first.replays(s.ask, `"second"`)
		return
	}
	// Their write has completed the record. This library finds it, and all callers agree.
	got = s.second.ends(told{Return: json.RawMessage(`"second"`)})
	require.JSONEq(s.T, `"first"`, string(got.Returned))
	s.second.replays(s.ask, `"first"`)
}

// httpResponse replays the response of one side as that of the other.
func httpResponse(s *stage) {
	s.HTTP, s.KeyPath = true, `headers."idempotency-key"`
	s.Event = json.RawMessage(
		`{"version":"2.0","routeKey":"POST /pay","rawPath":"/pay","headers":{"idempotency-key":"k-1"},` +
			`"requestContext":{"apiId":"abc","stage":"prod","http":{"method":"POST","path":"/pay"}},"body":"{\"amount\":42}"}`)
	type response struct {
		StatusCode int               `json:"statusCode"`
		Headers    map[string]string `json:"headers"`
		Body       string            `json:"body"`
	}
	s.first.enters(s.ask)
	s.first.ends(told{Return: json.RawMessage(
		`{"statusCode":201,"headers":{"Content-Type":"application/json"},"body":"{\"id\":\"ch_1\"}"}`)})
	for _, p := range []*peer{s.second, s.first} {
		got := p.begin(s.ask)
		require.False(s.T, got.Entered, p.name)
		var r response
		require.NoError(s.T, json.Unmarshal(got.Returned, &r))
		require.Equal(s.T, 201, r.StatusCode)
		require.Equal(s.T, "application/json", r.Headers["Content-Type"])
		require.Equal(s.T, `{"id":"ch_1"}`, r.Body)
		if p.ours {
			require.Equal(s.T, "true", r.Headers["Idempotent-Replayed"])
		}
	}
}

func atOnce(s *stage) {
	for i := range 20 {
		s.Event = event(fmt.Sprint(i), 10)
		s.first.say(s.withLanguageOf(s.first))
		s.second.say(s.withLanguageOf(s.second))
		first, second := s.first.hear(), s.second.hear()
		winner, loser, lost := s.first, s.second, second
		if second.Entered {
			winner, loser, lost = s.second, s.first, first
		}
		require.NotEqual(s.T, first.Entered, second.Entered, "one of them executes")
		require.Equal(s.T, loser.errors[inProgress], lost.Error)
		winner.ends(told{Return: json.RawMessage(`1`)})
		loser.replays(s.ask, `1`)
	}
}

func (s *stage) withLanguageOf(p *peer) ask {
	a := s.ask
	a.Language = p.language
	return a
}

// tooLarge has a result that no item holds. This library keeps the outcome as unknown, AWS
// Powertools leaves the record in progress.
func tooLarge(s *stage) {
	s.first.enters(s.ask)
	result := `"` + strings.Repeat("x", 500<<10) + `"`
	got := s.first.ends(told{Return: json.RawMessage(result)})
	if s.first.ours {
		require.JSONEq(s.T, result, string(got.Returned), "the handler's result is not lost on its own caller")
		s.second.refuses(s.ask, unknown)
		return
	}
	require.Equal(s.T, "IdempotencyPersistenceLayerError", got.Error)
	s.second.refuses(s.ask, inProgress)
}
