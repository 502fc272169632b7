package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/store"
)

var unsent = reply{err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}

// attempted is a call whose attempts are answered so, and what it then reports.
type attempted struct {
	replies    []reply
	attempts   int
	kind       store.Failure
	notApplied bool
}

// reports makes the call, and returns what the client sent.
func (c attempted) reports(t *testing.T, op string) *transport {
	t.Helper()
	s, tr := scripted(c.replies...)
	applied, err := false, error(nil)
	switch op {
	case "claim":
		_, applied, err = s.Claim(t.Context(), record("k"), claimTime)
	case "swap":
		_, applied, err = s.Swap(t.Context(), record("k"), record("k"))
	case "delete":
		applied, err = s.Delete(t.Context(), record("k"))
	case "commit":
		_, applied, err = commitOf(t, s)
	}
	require.False(t, applied)
	requireStoreError(t, err, op, c.kind, c.notApplied)
	requireNoSecret(t, err)
	require.Len(t, tr.calls(), c.attempts)
	return tr
}

// TestOutcomeIsKnownOnlyIfEveryAttemptIs scripts the three attempts that the SDK makes of one call.
// What is looked at after a refusal was not written, but an attempt before it may have been.
func TestOutcomeIsKnownOnlyIfEveryAttemptIs(t *testing.T) {
	t.Parallel()
	denied, meets := rejection("AccessDeniedException", "m"), rejection("ReplicatedWriteConflictException", "m")
	const busy, down, conflict, no = store.FailureThrottled, store.FailureUnavailable, store.FailureConflict,
		store.FailureAccessDenied
	for op, rows := range map[string]map[string]attempted{
		"claim": {
			"all throttled":                          {[]reply{throttled}, 3, busy, true},
			"first lost, then throttled":             {[]reply{lost, throttled}, 3, busy, false},
			"second lost":                            {[]reply{throttled, lost, throttled}, 3, busy, false},
			"last lost":                              {[]reply{throttled, throttled, lost}, 3, down, false},
			"all lost":                               {[]reply{lost}, 3, down, false},
			"first broken, then denied":              {[]reply{broken, denied}, 2, no, false},
			"first throttled, then denied":           {[]reply{throttled, denied}, 2, no, true},
			"never sent":                             {[]reply{unsent}, 3, down, true},
			"first never sent, then denied":          {[]reply{unsent, denied}, 2, no, true},
			"first lost, then never sent":            {[]reply{lost, unsent}, 3, down, false},
			"unreadable, not tried again":            {[]reply{ok("{"), throttled}, 1, down, false},
			"refused, and the look fails":            {[]reply{refused, throttled}, 1 + 3, busy, true},
			"another Region writes, not tried again": {[]reply{meets}, 1, conflict, true},
		},
		"swap": {
			"lost, refused, and the look fails":     {[]reply{lost, refused, throttled}, 2 + 3, busy, false},
			"another Region swaps, not tried again": {[]reply{meets}, 1, conflict, true},
		},
		"delete": {
			"refused behind a lost one, which may have deleted": {[]reply{lost, refused}, 2, down, false},
			"another Region deletes, not tried again":           {[]reply{meets}, 1, conflict, true},
		},
	} {
		for name, c := range rows {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c.reports(t, op)
			})
		}
	}
}

// failing is a client that ignores the options of a call.
func failing(err error) fake {
	return func(context.Context, any) (any, error) { return nil, err }
}

func TestClientThatHidesItsAttempts(t *testing.T) {
	t.Parallel()
	s := dynamo.New(failing(&types.ThrottlingException{}), table)
	_, _, err := s.Claim(t.Context(), record("k"), claimTime)
	requireStoreError(t, err, "claim", store.FailureThrottled, false)

	s = dynamo.New(failing(&smithy.GenericAPIError{Code: "ValidationException", Message: secret}), table)
	_, _, err = s.Claim(t.Context(), record("k"), claimTime)
	requireStoreError(t, err, "claim", store.FailureRejected, false)
	require.ErrorContains(t, err, "ValidationException: (message withheld)")

	s = dynamo.New(wall(item{"status": S("COMPLETED"), "expiration": N("1800086400"), "data": S("1")}), table)
	held, claimed, err := s.Claim(t.Context(), record("k"), claimTime)
	require.NoError(t, err)
	require.False(t, claimed)
	require.Equal(t, store.StatusCompleted, held.Status)
}

// TestCallThatEndsWhileTheClientWaitsSaysWhyItWaited: the client pauses between its attempts, and
// of a context that ends meanwhile it returns nothing else.
func TestCallThatEndsWhileTheClientWaitsSaysWhyItWaited(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	patient := func(o *dynamodb.Options) {
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return time.Hour, nil })
		})
	}
	of := func(r reply) *dynamodb.Client { return scriptedClient(answering(r), patient) }
	nobody := dynamolocal.Client("http://"+closed.Addr().String(), patient)
	for name, c := range map[string]struct {
		client     *dynamodb.Client
		kind       store.Failure
		notApplied bool
		text       string
	}{
		"nobody listens": {nobody, store.FailureUnavailable, true, "connection refused"},
		"throttled":      {of(throttled), store.FailureThrottled, true, "Rate exceeded"},
		"broken":         {of(broken), store.FailureUnavailable, false, "InternalServerError"},
		"lost":           {of(lost), store.FailureUnavailable, false, "unexpected EOF"},
		"a proxy's page": {
			of(reply{status: http.StatusBadGateway, body: secret}), store.FailureUnavailable, false, "status 502",
		},
	} {
		test := func(t *testing.T, in func(context.Context) (context.Context, context.CancelFunc), ended error) {
			inBubble(t, func(t *testing.T) {
				ctx, cancel := in(t.Context())
				defer cancel()
				for op, err := range everyCall(ctx, dynamo.New(c.client, table)) {
					require.ErrorIs(t, err, ended)
					requireNoSecret(t, err)
					if op == "read result" && timedOut(err) {
						continue // a read of parts is tried again until the end, which may come in the middle of a try
					}
					requireStoreError(t, err, op, c.kind, c.notApplied || op == "get" || op == "read result")
					require.ErrorContains(t, err, c.text)
				}
			})
		}
		t.Run(name, func(t *testing.T) { test(t, until3s, context.DeadlineExceeded) })
		t.Run(name+", cancelled", func(t *testing.T) { test(t, cancelledIn3s, context.Canceled) })
	}
}

// everyCall makes calls of a store at the same time, each of which fails, and returns their errors.
func everyCall(ctx context.Context, s *dynamo.Store) map[string]error {
	var claim, swap, del, get, read error
	done := completion(record("k"), []byte(`"x"`))
	parted := done
	parted.Result, parted.Parts = nil, "1:1"
	var calls sync.WaitGroup
	calls.Go(func() { _, _, claim = s.Claim(ctx, record("k"), claimTime) })
	calls.Go(func() { _, _, swap = s.Swap(ctx, record("k"), done) })
	calls.Go(func() { _, del = s.Delete(ctx, record("k")) })
	calls.Go(func() { _, _, get = s.Get(ctx, "k") })
	calls.Go(func() { _, read = s.ReadResult(ctx, parted) })
	calls.Wait()
	return map[string]error{"claim": claim, "swap": swap, "delete": del, "get": get, "read result": read}
}

func cancelledIn3s(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	time.AfterFunc(3*time.Second, cancel)
	return ctx, cancel
}

func until3s(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 3*time.Second)
}

// TestCallThatEndsDuringAnAttemptSaysHowTheOneBeforeFailed: what its own end did to the last
// attempt tells nothing.
func TestCallThatEndsDuringAnAttemptSaysHowTheOneBeforeFailed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, tr := scripted(done)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, _, err := s.Claim(ended, record("k"), claimTime)
		requireStoreError(t, err, "claim", store.FailureTimeout, true)
		require.ErrorIs(t, err, context.Canceled)
		require.Empty(t, tr.calls())

		for _, before := range []int{0, 1} {
			tr := &transport{answer: func(n int, r *http.Request, _ request) (*http.Response, error) {
				if n < before {
					return throttled.send()
				}
				<-r.Context().Done()
				return nil, r.Context().Err()
			}}
			ctx, cancel := until3s(t.Context())
			defer cancel()
			_, _, err := dynamo.New(scriptedClient(tr), table).Claim(ctx, record("k"), claimTime)
			requireStoreError(t, err, "claim", store.FailureTimeout, false)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, before == 1, strings.Contains(err.Error(), "the attempt before failed: "))
			require.Equal(t, before == 1, strings.Contains(err.Error(), "Rate exceeded"))
		}
	})
}

func timedOut(err error) bool {
	failed, ok := errors.AsType[*store.Error](err)
	return ok && failed.Kind == store.FailureTimeout
}

// TestServerThatSendsNoOldItem reads the record that refused, or finds it gone.
func TestServerThatSendsNoOldItem(t *testing.T) {
	t.Parallel()
	found := reply{status: http.StatusOK, body: `{"Item":{"id":{"S":"k"},"status":{"S":"COMPLETED"},
		"expiration":{"N":"1800086400"},"data":{"S":"1"}}}`}
	want := store.Record{
		Key: "k", Status: store.StatusCompleted, Expiry: time.Unix(1_800_086_400, 0).UTC(), Result: []byte("1"),
	}
	for name, c := range map[string]struct {
		replies []reply
		held    store.Record
	}{
		"held": {[]reply{refused, found}, want},
		"gone": {[]reply{refused, done}, store.Record{}},
		"held, behind an attempt that may have written it": {[]reply{lost, refused, found}, want},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			looks := len(c.replies) - 1
			requireLook := func(call string, tr *transport, held store.Record, done bool, err error) {
				require.NoError(t, err)
				require.False(t, done)
				require.Equal(t, c.held, held)
				require.Equal(t, append(slices.Repeat([]string{call}, looks), "GetItem"), tr.calls())
				require.JSONEq(t, `{"TableName":"idempotency","Key":{"id":{"S":"k"}},"ConsistentRead":true}`,
					string(tr.requests[looks].Body))
			}
			s, tr := scripted(c.replies...)
			held, claimed, err := s.Claim(t.Context(), record("k"), claimTime)
			requireLook("PutItem", tr, held, claimed, err)
			s, tr = scripted(c.replies...)
			held, swapped, err := s.Swap(t.Context(), record("k"), record("k"))
			requireLook("UpdateItem", tr, held, swapped, err)
		})
	}
	s, tr := scripted(throttled, refused)
	deleted, err := s.Delete(t.Context(), record("k"))
	require.NoError(t, err, "every attempt was answered")
	require.False(t, deleted)
	require.Equal(t, []string{"DeleteItem", "DeleteItem"}, tr.calls())
}

// usual is a client that takes no options, so that the SDK reads every answer in its own way.
type usual struct{ *dynamodb.Client }

func (u usual) PutItem(ctx context.Context, in *dynamodb.PutItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	return u.Client.PutItem(ctx, in)
}

func (u usual) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return u.Client.UpdateItem(ctx, in)
}

// refusedBy is DynamoDB's answer to a write that an item refuses.
func refusedBy(item string) string {
	return `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","Item":` + item +
		`,"message":"The conditional request failed"}`
}

const heldItem = `{"id":{"S":"k"},"status":{"S":"COMPLETED"},"expiration":{"N":"1800086400"},"data":{"S":"\"\u00e9\\\"\""}}`

// TestRefusalsAreReadAsTheSDKReadsThem: the short way makes no difference, whatever is answered.
func TestRefusalsAreReadAsTheSDKReadsThem(t *testing.T) {
	t.Parallel()
	whole := refusedBy(heldItem)
	answers := map[string]reply{
		"with the record":     {status: 400, body: whole},
		"without it":          {status: 400, body: refusedBy("null")},
		"an empty one":        {status: 400, body: refusedBy("{}")},
		"message capitalised": {status: 400, body: strings.Replace(whole, "message", "Message", 1)},
		"with spaces":         {status: 400, body: strings.Replace(whole, ":", " : ", 1)},
		"type last": {
			status: 400,
			body:   `{"Item":` + heldItem + `,"__type":"x#ConditionalCheckFailedException"}`,
		},
		"type of another service": {status: 400, body: strings.Replace(whole, "dynamodb", "other", 1)},
		"a longer type":           {status: 400, body: strings.Replace(whole, `Exception"`, `Exceptional"`, 1)},
		"another status":          {status: 500, body: whole},
		"accepted":                {status: 200, body: whole},
		"throttled":               throttled,
		"short":                   {status: 400, body: `{}`},
		"empty":                   {status: 400},
		"no JSON":                 {status: 400, body: "<html>" + strings.Repeat("x", 200)},
		"of wrong types":          {status: 400, body: refusedBy(`{"id":{"S":1}}`)},
	}
	for n := 0; n < len(whole); n += 13 {
		answers[fmt.Sprint("cut after ", n)] = reply{status: 400, body: whole[:n]}
	}
	for name, answer := range answers {
		for header, value := range map[string]string{"": "", "X-Amzn-ErrorType": "ThrottlingException"} {
			client := scriptedClient(&transport{answer: func(int, *http.Request, request) (*http.Response, error) {
				r, err := answer.send()
				if header != "" {
					r.Header.Set(header, value)
				}
				return r, err
			}})
			quick, usually := dynamo.New(client, table), dynamo.New(usual{client}, table)
			require.Equal(t, outcomes(t, usually), outcomes(t, quick), "%s, %s", name, header)
		}
	}
}

// outcome is what a write came to, except whether a failed one can have been applied: the usual
// client does not show that.
type outcome struct {
	held    store.Record
	applied bool
	kind    store.Failure
	text    string
}

// outcomes are those of a claim and of a swap.
func outcomes(t *testing.T, s *dynamo.Store) (all []outcome) {
	t.Helper()
	add := func(held store.Record, ok bool, err error) {
		o := outcome{held: held, applied: ok}
		if se, is := errors.AsType[*store.Error](err); is {
			se.NotApplied = false
			o.kind = se.Kind
		}
		if err != nil {
			o.text = err.Error()
		}
		all = append(all, o)
	}
	add(s.Claim(t.Context(), record("k"), claimTime))
	add(s.Swap(t.Context(), record("k"), completion(record("k"), []byte(`"x"`))))
	return all
}

// closing is a body that says whether it was closed, and fails after its text if it is told to.
type closing struct {
	io.Reader
	closed int
}

func (c *closing) Close() error { c.closed++; return nil }

// TestRefusalsThatBreakOff are answers that did not arrive, whose connection is given back all the
// same.
func TestRefusalsThatBreakOff(t *testing.T) {
	t.Parallel()
	whole := refusedBy(heldItem)
	for _, n := range []int{0, 10, 100, len(whole) - 1} {
		var bodies []*closing
		tr := &transport{answer: func(int, *http.Request, request) (*http.Response, error) {
			body := &closing{Reader: io.MultiReader(strings.NewReader(whole[:n]),
				iotest.ErrReader(io.ErrUnexpectedEOF))}
			bodies = append(bodies, body)
			return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: body}, nil
		}}
		_, claimed, err := dynamo.New(scriptedClient(tr), table).Claim(t.Context(), record("k"), claimTime)
		require.False(t, claimed)
		requireStoreError(t, err, "claim", store.FailureUnavailable, false)
		require.NotEmpty(t, bodies)
		for _, b := range bodies {
			require.NotZero(t, b.closed, n)
		}
	}
}
