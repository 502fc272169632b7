package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
)

// logs speaks as CloudWatch Logs does to a live tail. Its sessions do, one after the other, what it was given; the last one goes on.
type logs struct {
	t        *testing.T
	sessions []func(s *tailSession)

	mu       sync.Mutex
	requests []map[string]any
}

// tailSession is one answer.
type tailSession struct {
	w   http.ResponseWriter
	end <-chan struct{}
}

func (l *logs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	assert.NoError(l.t, err)
	assert.Equal(l.t, "Logs_20140328.StartLiveTail", r.Header.Get("X-Amz-Target"))
	var in map[string]any
	assert.NoError(l.t, json.Unmarshal(body, &in))
	l.mu.Lock()
	do := l.sessions[min(len(l.requests), len(l.sessions)-1)]
	l.requests = append(l.requests, in)
	l.mu.Unlock()
	do(&tailSession{w, r.Context().Done()})
}

func (l *logs) made() []map[string]any {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.requests
}

// message writes a message of an event stream.
func (s *tailSession) message(kind, name, payload string) {
	headers := eventstream.Headers{
		{Name: ":message-type", Value: eventstream.StringValue(kind)},
		{Name: ":" + kind + "-type", Value: eventstream.StringValue(name)},
		{Name: ":content-type", Value: eventstream.StringValue("application/json")},
	}
	var out bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&out, eventstream.Message{Headers: headers, Payload: []byte(payload)}); err != nil {
		panic(err)
	}
	_, _ = s.w.Write(out.Bytes()) // the other side may have gone
	s.w.(http.Flusher).Flush()
}

func (s *tailSession) begin() {
	s.w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
	s.message("event", "initial-response", "{}")
	s.message("event", "sessionStart", `{"requestId":"r","sessionId":"s","logGroupIdentifiers":["g"]}`)
}

func (s *tailSession) lines(sampled bool, lines ...string) {
	results := make([]map[string]any, len(lines))
	for i, line := range lines {
		results[i] = map[string]any{"message": line, "timestamp": 1, "ingestionTime": 2, "logStreamName": "stream", "logGroupIdentifier": "1:g"}
	}
	payload, err := json.Marshal(map[string]any{"sessionMetadata": map[string]any{"sampled": sampled}, "sessionResults": results})
	if err != nil {
		panic(err)
	}
	s.message("event", "sessionUpdate", string(payload))
}

func (s *tailSession) expire() {
	s.message("exception", "SessionTimeoutException", `{"message":"Session timed out"}`)
}

// goOn says each moment that there is nothing new, until the other side goes.
func (s *tailSession) goOn() {
	for {
		select {
		case <-s.end:
			return
		case <-time.After(10 * time.Millisecond):
			s.lines(false)
		}
	}
}

// newTail makes a live tail of a server with these sessions.
func newTail(t *testing.T, sessions ...func(*tailSession)) (*Tail, *logs) {
	t.Helper()
	l := &logs{t: t, sessions: sessions}
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	client := connect.NewLogsClient(aws.Config{
		BaseEndpoint: aws.String(server.URL), Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	})
	return &Tail{
		Client: client, Groups: []string{"arn:aws:logs:eu-central-1:1:log-group:g"}, Filter: "?idempotency", Now: time.Now, Sentence: error.Error,
		Pause: 10 * time.Millisecond, Silence: time.Minute,
	}, l
}

// running runs a tail into a tally until the test stops it.
func running(t *testing.T, tail *Tail) (tally *Tally, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	tally = NewTally(time.Now)
	ended := make(chan error, 1)
	go func() { ended <- tail.Run(ctx, tally.Add) }()
	stop = func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(30 * time.Second):
			return errors.New("it does not end")
		}
	}
	t.Cleanup(cancel)
	return tally, stop
}

const patience = 30 * time.Second

func TestALiveTailGoesOnAfterThreeHours(t *testing.T) {
	t.Parallel()
	emf := writers()["EMF"](someEvent)
	tail, l := newTail(t,
		func(s *tailSession) { s.begin(); s.lines(false, emf, "START", emf); s.expire() },
		func(s *tailSession) { s.begin(); s.lines(true, emf); s.goOn() },
	)
	tally, stop := running(t, tail)
	require.Eventually(t, func() bool { return tally.View().Deliveries.Total == 3 }, patience, time.Millisecond)
	state := tail.State()
	assert.Equal(t, 2, state.Sessions)
	assert.Equal(t, 1, state.Expired)
	assert.Zero(t, state.Broken)
	assert.Empty(t, state.Problem)
	assert.InDelta(t, 1, state.Sampled.Total, 0)
	said := fmt.Sprint(state.warnings(time.Now()))
	assert.Contains(t, said, "was over after three hours, as each is")
	assert.Contains(t, said, "There were more than 500 lines a second, in 1 second of the last minute")
	assert.NotContains(t, fmt.Sprint(state.warnings(time.Now().Add(missing))), "three hours", "some time later it says nothing")
	require.NoError(t, stop())
	assert.Equal(t, map[string]any{
		"logGroupIdentifiers": []any{"arn:aws:logs:eu-central-1:1:log-group:g"}, "logEventFilterPattern": "?idempotency",
	}, l.made()[0])
}

// A connection that breaks, a session that ends with an error, and a service that has no time are tried again.
func TestALiveTailThatBreaksBeginsAnew(t *testing.T) {
	t.Parallel()
	emf := writers()["EMF"](someEvent)
	tail, _ := newTail(t,
		func(s *tailSession) { s.begin(); s.lines(false, emf) },
		func(s *tailSession) { s.w.WriteHeader(http.StatusServiceUnavailable) },
		func(s *tailSession) {
			s.begin()
			s.message("exception", "SessionStreamingException", `{"message":"unknown"}`)
		},
		func(s *tailSession) {
			s.w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(s.w, `{"__type":"AccessDeniedException"}`)
		},
		func(s *tailSession) { s.begin(); s.lines(false, emf); s.goOn() },
	)
	tally, stop := running(t, tail)
	require.Eventually(t, func() bool { return tally.View().Deliveries.Total == 2 }, patience, time.Millisecond)
	state := tail.State()
	assert.Equal(t, 3, state.Sessions)
	assert.Equal(t, 2, state.Broken)
	assert.Empty(t, state.Problem)
	assert.Contains(t, fmt.Sprint(state.warnings(time.Now())), "lost its connection")
	require.NoError(t, stop())
}

func TestThatNoSessionRunsIsSaid(t *testing.T) {
	t.Parallel()
	tail, l := newTail(t, func(s *tailSession) {
		s.w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(s.w, `{"__type":"LimitExceededException","message":"too many\u001b[2J"}`)
	})
	_, stop := running(t, tail)
	require.Eventually(t, func() bool { return len(l.made()) > 2 }, patience, time.Millisecond)
	said := fmt.Sprint(tail.State().warnings(time.Now()))
	assert.Contains(t, said, "The live tail does not run for ")
	assert.Contains(t, said, `too many\x1b[2J`)
	require.NoError(t, stop())
}

func TestALiveTailThatCanNeverBeginIsAnError(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"AccessDeniedException", "ResourceNotFoundException", "InvalidParameterException", "UnrecognizedClientException"} {
		tail, l := newTail(t, func(s *tailSession) {
			s.w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(s.w, `{"__type":%q,"message":"no"}`, code)
		})
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := tail.Run(ctx, func([]byte, bool) {})
		cancel()
		require.ErrorContains(t, err, code)
		assert.Len(t, l.made(), 1)
	}
}

// A connection can die without a word. A session that runs says something each second.
func TestASessionThatSaysNothingIsGivenUp(t *testing.T) {
	t.Parallel()
	emf := writers()["EMF"](someEvent)
	silent := func(s *tailSession) { <-s.end }
	tail, l := newTail(t,
		func(s *tailSession) { s.begin(); s.lines(false, emf); silent(s) },
		func(s *tailSession) { // not even its beginning
			s.w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
			s.w.WriteHeader(http.StatusOK)
			s.w.(http.Flusher).Flush()
			silent(s)
		},
		silent,
		func(s *tailSession) { s.begin(); s.lines(false, emf); s.goOn() },
	)
	tail.Silence = time.Second
	tally, stop := running(t, tail)
	require.Eventually(t, func() bool { return tally.View().Deliveries.Total == 2 }, patience, time.Millisecond)
	assert.Len(t, l.made(), 4)
	assert.Equal(t, 1, tail.State().Broken)
	require.NoError(t, stop())
}
