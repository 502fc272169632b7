package interop

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
)

// TestMatrix runs every scenario in every direction.
func TestMatrix(t *testing.T) {
	for _, there := range []side{python(t), typescript(t)} {
		here := ours(t, there.language)
		for _, sides := range [][2]side{{here, there}, {there, here}} {
			for _, s := range scenarios {
				t.Run(s.name+", "+sides[0].name+" → "+sides[1].name, func(t *testing.T) {
					s.run(newStage(t, sides[0].start(t), sides[1].start(t)))
				})
			}
		}
	}
}

// stage is where one scenario plays: the two sides, and an invocation on a table.
type stage struct {
	*testing.T
	ask

	first, second *peer
}

// newStage gives both sides a table of their own.
func newStage(t *testing.T, first, second *peer) *stage {
	t.Helper()
	remaining := int64(30_000)
	return &stage{
		T: t, first: first, second: second,
		ask: ask{
			Table: table(t, shape{}), KeyPath: "id", Event: event("1", 10), Prefix: "interop", RemainingMS: &remaining,
		},
	}
}

func event(id string, amount int) []byte {
	return fmt.Appendf(nil, `{"id":%q,"amount":%d}`, id, amount)
}

// table makes a table of this shape, for the time of the test.
func table(t *testing.T, s shape) string {
	t.Helper()
	client := dynamolocal.Client(dynamotest.Endpoint(t))
	name := newName(t, client)
	require.NoError(t, dynamo.CreateTable(t.Context(), client, name, s.config()))
	return name
}

// newName returns the name of a table that is deleted after the test.
func newName(t *testing.T, client *dynamodb.Client) string {
	t.Helper()
	name := "interop-" + rand.Text()
	dynamotest.DropAfter(t, client, name)
	return name
}

// scenario is one behaviour that both sides have to agree on.
type scenario struct {
	name string
	run  func(s *stage)
}

var scenarios = []scenario{
	life("a record", func(*ask) {}),
	life("a record without a deadline", func(a *ask) { a.RemainingMS = nil }),
	life("a record under the default prefix, from the environment", func(a *ask) { a.Prefix = "" }),
	life("a record under another hash function", func(a *ask) { a.Hash = "sha256" }),
	life("a record in renamed attributes", func(a *ask) {
		a.Shape = shape{Key: "pk", Expiration: "ttl", Lease: "lease", Status: "st", Data: "dt", Validation: "vd"}
	}),
	life("a record on a sort key", func(a *ask) { a.Shape = shape{Sort: "sk"} }),
	life("a record on a sort key, in renamed attributes and a partition", func(a *ask) {
		a.Shape = shape{Key: "pk", Sort: "sk", Partition: "tenant-1", Data: "dt"}
	}),
	{"results of every kind", everyResult},
	{"a result that does not fit executes once", tooLarge},
	{"no key path: the whole event", func(s *stage) {
		s.KeyPath = ""
		s.first.executes(s.ask, `1`)
		s.second.replays(s.ask, `1`)
		s.Event = event("1", 11)
		s.second.executes(s.ask, `2`)
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
	{"both at once: one executes", atOnce},
	{"a crash is recovered there", func(s *stage) {
		s.short()
		s.first.enters(s.ask)
		s.first.kill()
		s.takesOver()
		s.second.returns(`2`)
		s.first.side.start(s.T).replays(s.ask, `2`)
	}},
	{"a stale owner, who ends after the other", staleOwnerLast},
	{"a stale owner, who ends before the other", staleOwnerFirst},
	{"an expired record is executed again", func(s *stage) {
		s.ExpiresAfter = 1
		s.first.executes(s.ask, `1`)
		s.ExpiresAfter = 60
		s.second.entersOnce(s.ask, func(got answer) { // sides round to seconds
			require.JSONEq(s.T, `1`, string(got.Returned))
		})
		s.second.returns(`2`)
		s.first.replays(s.ask, `2`)
	}},
	{"the switch in the environment", func(s *stage) {
		for range 2 {
			s.first.disabled().start(s.T).executes(s.ask, `1`)
			s.second.disabled().start(s.T).executes(s.ask, `2`)
		}
		s.first.executes(s.ask, `3`)
	}},
	{"a response of an HTTP API", httpResponse},
	{"an unknown outcome of this library is refused there", func(s *stage) {
		ours, theirs := s.first, s.second
		if theirs.ours {
			ours, theirs = theirs, ours
		}
		s.Uncertain = true
		ours.enters(s.ask)
		ours.ends(told{Fail: "no answer"})
		theirs.refuses(s.ask, unknown)
		ours.refuses(s.ask, unknown)
	}},
}

// life goes through the life of a record, on a table and with settings of its own: it is in
// progress, completed, replayed on both sides, not for another payload, and freed by an error.
func life(of string, set func(*ask)) scenario {
	return scenario{"the life of " + of, func(s *stage) {
		set(&s.ask)
		s.Table, s.ValidationPath = table(s.T, s.Shape), "amount"
		other := s.ask
		other.Event = event("1", 11)
		s.first.enters(s.ask)
		s.second.refuses(s.ask, inProgress)
		s.second.refuses(other, mismatch)
		s.first.returns(`{"ok":true,"n":7}`)
		for _, p := range []*peer{s.second, s.first} {
			p.replays(s.ask, `{"ok":true,"n":7}`)
			p.refuses(other, mismatch)
		}
		s.Event = event("2", 10)
		s.second.enters(s.ask)
		require.NotEmpty(s.T, s.second.ends(told{Fail: "declined"}).Error)
		s.first.executes(s.ask, `2`)
		s.second.replays(s.ask, `2`)
	}}
}

// everyResult replays results of every kind. AWS Powertools for Python replays what Python takes
// for false as null.
func everyResult(s *stage) {
	for i, result := range []string{
		`{"statusCode":200,"headers":{"Content-Type":"application/json"},"body":"{\"ok\": true}","isBase64Encoded":false}`,
		`"hello"`, `""`, `"{\"a\": 1}"`, `"42"`, `"null"`, `"say \"hi\" \\ /"`, `"é日😀\u2028\u007f\u0000<>&'"`,
		`0`, `1`, `-1`, `1.5`, `100`, `0.1`, `1e-7`, `9007199254740991`,
		`true`, `false`, `null`, `{}`, `[]`, `{"b":1,"a":"x","B":2.5}`, `{"a":null,"b":[null]}`,
		`{"z":[{"y":1,"x":2},[],{}],"A":null,"a":{"b":[1,2,"3",true]}}`, `[1,"1",1.5,false,null,{"k":[]},""]`,
		`{"text":"` + strings.Repeat("x", 300<<10) + `"}`,
	} {
		s.Event = event(fmt.Sprint(i), 10)
		s.first.executes(s.ask, result)
		want := result
		if s.second.name == "python" && slices.Contains([]string{`""`, `0`, `false`, `{}`, `[]`}, result) {
			want = `null`
		}
		s.second.replays(s.ask, want)
	}
}

// short leaves the invocation less time than a test has.
func (s *stage) short() {
	remaining := int64(1000)
	s.RemainingMS = &remaining
}

// takesOver sends the invocation to the second side until its handler runs: not before the lease
// has ended that the first one took in the one record of the table.
func (s *stage) takesOver() {
	s.Helper()
	out, err := dynamolocal.Client(dynamotest.Endpoint(s.T)).Scan(s.Context(), &dynamodb.ScanInput{
		TableName: aws.String(s.Table), ConsistentRead: aws.Bool(true),
	})
	require.NoError(s, err)
	require.Len(s, out.Items, 1)
	lease := time.UnixMilli(number(s.T, out.Items[0]["in_progress_expiration"]))
	s.second.entersOnce(s.ask, func(got answer) { require.Equal(s, s.second.errors[inProgress], got.Error) })
	require.False(s, time.Now().Before(lease), "the lease of the other one protects it")
}

// staleOwnerLast freezes the first side until the second one has completed in its place: a handler
// of this library that runs on would keep its lease. The writes of AWS Powertools are
// unconditional; those of this library are not.
func staleOwnerLast(s *stage) {
	s.short()
	s.first.enters(s.ask)
	s.first.gets(syscall.SIGSTOP)
	s.takesOver()
	s.second.returns(`"second"`)
	s.first.gets(syscall.SIGCONT)
	stored := `"first"` // documented: their stale owner replaces the result
	if s.first.ours {
		stored = `"second"`
	}
	require.JSONEq(s.T, stored, string(s.first.returns(`"first"`).Returned), "the answer is the result that is stored")
	s.second.replays(s.ask, stored)
	s.first.replays(s.ask, stored)
}

// staleOwnerFirst lets the first side end while the second one, which took over, still runs.
func staleOwnerFirst(s *stage) {
	s.short()
	s.first.enters(s.ask)
	s.first.gets(syscall.SIGSTOP)
	s.RemainingMS = nil
	s.takesOver()
	s.first.gets(syscall.SIGCONT)
	got := s.first.returns(`"first"`)
	if s.first.ours {
		require.Equal(s.T, "SupersededError", got.Error)
		s.second.returns(`"second"`)
		s.first.replays(s.ask, `"second"`)
		return
	}
	// Their write has completed the record. This library finds it, and all callers agree.
	require.JSONEq(s.T, `"first"`, string(s.second.returns(`"second"`).Returned))
	s.second.replays(s.ask, `"first"`)
}

// httpResponse replays the response of one side as that of the other.
func httpResponse(s *stage) {
	s.HTTP, s.KeyPath = true, `headers."idempotency-key"`
	s.Event = json.RawMessage(
		`{"version":"2.0","routeKey":"POST /pay","rawPath":"/pay","headers":{"idempotency-key":"k-1"},` +
			`"requestContext":{"apiId":"abc","stage":"prod","http":{"method":"POST","path":"/pay"}},"body":"{\"amount\":42}"}`)
	s.first.enters(s.ask)
	s.first.returns(`{"statusCode":201,"headers":{"Content-Type":"application/json"},"body":"{\"id\":\"ch_1\"}"}`)
	for _, p := range []*peer{s.second, s.first} {
		got := p.begin(s.ask)
		require.False(s.T, got.Entered, p.name)
		var r struct {
			StatusCode int
			Headers    map[string]string
			Body       string
		}
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
		s.first.asks(s.ask)
		s.second.asks(s.ask)
		first, second := s.first.hear(), s.second.hear()
		winner, loser, lost := s.first, s.second, second
		if second.Entered {
			winner, loser, lost = s.second, s.first, first
		}
		require.NotEqual(s.T, first.Entered, second.Entered, "one of them executes")
		require.Equal(s.T, loser.errors[inProgress], lost.Error)
		winner.returns(`1`)
		loser.replays(s.ask, `1`)
	}
}

// tooLarge has a result that no item holds. This library keeps the outcome as unknown, AWS
// Powertools leaves the record in progress.
func tooLarge(s *stage) {
	s.first.enters(s.ask)
	result := `"` + strings.Repeat("x", 500<<10) + `"`
	got := s.first.returns(result)
	if s.first.ours {
		require.JSONEq(s.T, result, string(got.Returned), "the handler's result is not lost on its own caller")
		s.second.refuses(s.ask, unknown)
		return
	}
	require.Equal(s.T, "IdempotencyPersistenceLayerError", got.Error)
	s.second.refuses(s.ask, inProgress)
}
