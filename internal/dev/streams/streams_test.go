package streams_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/streams"
)

// function answers the batches of a stream one by one, and keeps them.
type function struct {
	mu      sync.Mutex
	batches []string
	// answers are what the next batches are answered with: an error, or a response.
	answers []string
}

// failed is the answer that stands for an error of the function.
const failed = "failed"

func (f *function) invoke(_ context.Context, payload []byte) ([]byte, error) {
	var event events.DynamoDBEvent
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, err
	}
	var texts []string
	for _, r := range event.Records {
		texts = append(texts, r.Change.NewImage["text"].String())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches = append(f.batches, strings.Join(texts, " "))
	if len(f.answers) == 0 {
		return nil, nil
	}
	answer := f.answers[0]
	if f.answers = f.answers[1:]; answer == failed {
		return nil, errors.New("the function has failed")
	}
	return []byte(answer), nil
}

func (f *function) seen() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.batches...)
}

func pump(t *testing.T, s http.Handler, f *function) *streams.Pump {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return &streams.Pump{
		Endpoint: server.URL, Table: "table", Invoke: f.invoke,
	}
}

// pumped runs a pump until everything is handled, and returns the batches that its function has
// seen.
func pumped(t *testing.T, p *streams.Pump, f *function) []string {
	t.Helper()
	start(t, p)
	idle(t, p)
	return f.seen()
}

func failures(identifiers ...string) string {
	var r events.DynamoDBEventResponse
	for _, id := range identifiers {
		r.BatchItemFailures = append(r.BatchItemFailures, events.DynamoDBBatchItemFailure{ItemIdentifier: id})
	}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestTheAnswerDecidesWhatIsHandedOverAgain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer string
		want   []string
	}{
		"nothing":             {"", []string{"1 2 3"}},
		"null":                {"null", []string{"1 2 3"}},
		"an empty response":   {"{}", []string{"1 2 3"}},
		"a null list":         {`{"batchItemFailures":null}`, []string{"1 2 3"}},
		"an empty list":       {`{"batchItemFailures":[]}`, []string{"1 2 3"}},
		"one failure":         {failures("2"), []string{"1 2 3", "2 3"}},
		"the lowest failure":  {failures("3", "2"), []string{"1 2 3", "2 3"}},
		"the lowest first":    {failures("2", "3"), []string{"1 2 3", "2 3"}},
		"the last one":        {failures("3"), []string{"1 2 3", "3"}},
		"the first one":       {failures("1"), []string{"1 2 3", "1 2 3"}},
		"an empty identifier": {failures("2", ""), []string{"1 2 3", "1 2 3"}},
		"a null identifier":   {`{"batchItemFailures":[{"itemIdentifier":null}]}`, []string{"1 2 3", "1 2 3"}},
		"a misspelled one":    {`{"batchItemFailures":[{"identifier":"2"}]}`, []string{"1 2 3", "1 2 3"}},
		"an unknown one":      {failures("2", "4"), []string{"1 2 3", "1 2 3"}},
		"no response at all":  {`"done"`, []string{"1 2 3", "1 2 3"}},
		"an error":            {failed, []string{"1 2 3", "1 2 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &function{answers: []string{tc.answer}}
			assert.Equal(t, tc.want, pumped(t, pump(t, one("1", "2", "3"), f), f))
		})
	}
}

func TestABatchHasNoMoreRecordsThanItMay(t *testing.T) {
	t.Parallel()
	f := &function{}
	var sizes []int
	for _, batch := range pumped(t, pump(t, one(slices.Repeat([]string{"text"}, 250)...), f), f) {
		sizes = append(sizes, len(strings.Fields(batch)))
	}
	assert.Equal(t, []int{100, 100, 50}, sizes)
}

func TestAShardFollowsTheOneBefore(t *testing.T) {
	t.Parallel()
	for made, want := range map[int][]string{1: {"first", "first", "second", "third"}, 3: {"third", "third"}} {
		f := &function{answers: []string{failed}}
		p := pump(t, &shards{[]string{"first", "second", "third"}, made}, f)
		p.Latest = made == 3
		assert.Equal(t, want, pumped(t, p, f))
	}
}

func TestWhatIsTrimmedIsPassedOver(t *testing.T) {
	t.Parallel()
	s, f := one("3", "4"), &function{}
	s.fails = []string{"TrimmedDataAccessException"}
	assert.Equal(t, []string{"3 4"}, pumped(t, pump(t, s, f), f))
}

func TestAStreamThatCannotBeReadEndsThePump(t *testing.T) {
	t.Parallel()
	s := one("1")
	s.fails = []string{"TrimmedDataAccessException", "broken"}
	p := pump(t, s, &function{})
	require.ErrorContains(t, p.Run(t.Context()), "broken")
	require.ErrorContains(t, p.Idle(t.Context()), "broken")
}

func TestAnInvocationThatNobodyWaitedForIsNotHandled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := pump(t, one(slices.Repeat([]string{"text"}, 101)...), &function{})
	invocations := 0
	p.Invoke = func(context.Context, []byte) ([]byte, error) {
		invocations++
		cancel()
		return nil, nil
	}
	require.NoError(t, p.Run(ctx))
	assert.Equal(t, 1, invocations, "nothing is handed over that is behind it")
	require.Error(t, p.Idle(t.Context()))
}

func TestIdleEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, (&streams.Pump{}).Idle(ctx), context.Canceled)
}
