package idempotent_test

import (
	"bytes"
	"context"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
)

func plain(context.Context, order) (receipt, error) { return receipt{}, nil }

func TestEveryConfigurationProblemNamesOptionAndValue(t *testing.T) {
	t.Parallel()
	text := func(wrap func()) string { return strings.Join(problemsOf(t, wrap), "; ") }
	assert.Contains(t, text(func() { idempotent.Wrap(plain, nil) }), "store is nil")
	assert.Contains(t, text(func() { idempotent.Wrap(plain, (*memory.Store)(nil)) }), "store is nil")
	assert.Contains(t, text(func() { idempotent.Wrap[order, receipt](nil, memory.New()) }), "handler is nil")
	resolver := idempotent.WithResolver(func(context.Context, idempotent.Execution, order) (
		idempotent.Resolution[receipt], error,
	) {
		return idempotent.StillUnknown[receipt](), nil
	})
	assert.Contains(t, text(func() {
		idempotent.Wrap(plain, memory.New(), append(keyed[order]("k"), resolver,
			idempotent.WithEffects(idempotent.Repeatable))...)
	}), "WithEffects(Repeatable) contradicts WithResolver")
	noTenant := func(context.Context, string) (string, error) { return "", nil }
	for _, tc := range []struct {
		opt  idempotent.Option
		want []string
	}{
		{nil, []string{"option 3 is nil"}},
		{idempotent.WithOperation(""), []string{"WithOperation", `""`}},
		{idempotent.WithOperation("a#b"), []string{"WithOperation", `"a#b"`}},
		{idempotent.WithOperation("a\n"), []string{"WithOperation", `"a\n"`}},
		{idempotent.WithOperation(strings.Repeat("a", 256)), []string{"WithOperation", "255"}},
		{idempotent.WithKey[order](nil), []string{"WithKey", "nil"}},
		{idempotent.WithObserver(nil), []string{"WithObserver", "nil"}},
		{idempotent.WithClock(nil), []string{"WithClock", "nil"}},
		{
			idempotent.WithKey(func(receipt) (string, error) { return "", nil }),
			[]string{"WithKey", "receipt", "order"},
		},
		{
			idempotent.WithStoreIf(func(order) bool { return true }),
			[]string{"WithStoreIf", "receipt", "order"},
		},
		{idempotent.WithTenant(noTenant), []string{"WithTenant", "string", "order"}},
		{idempotent.WithRetention(time.Millisecond), []string{"WithRetention", "1ms", "1s"}},
		{
			idempotent.WithTiming(idempotent.Timing{Margin: -1, Lease: time.Millisecond}),
			[]string{"Margin", "-1ns", "Lease", "1ms"},
		},
		{
			idempotent.WithTiming(idempotent.Timing{Margin: time.Minute, Lease: time.Second}),
			[]string{"Margin 1m0s", "Lease 1s"},
		},
		{
			idempotent.WithTiming(idempotent.Timing{Margin: time.Second, Lease: 2 * time.Second}),
			[]string{"Margin 1s", "Lease 2s"},
		},
		{idempotent.WithWait(-time.Second), []string{"WithWait: -1s is less than 0s"}},
		{idempotent.WithEffects(-1), []string{"WithEffects", "-1"}},
		{idempotent.WithEffects(3), []string{"WithEffects", "3"}},
		{idempotent.WithHTTP(idempotent.HTTP{}), []string{"WithHTTP", "order", "receipt"}},
	} {
		said := text(func() { idempotent.Wrap(plain, memory.New(), append(keyed[order]("k"), tc.opt)...) })
		for _, want := range tc.want {
			assert.Contains(t, said, want)
		}
	}
}

func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	problems := problemsOf(t, func() {
		idempotent.Wrap[order, receipt](nil, nil,
			idempotent.WithRetention(0), idempotent.WithTiming(idempotent.Timing{Lease: -1, Reserve: -1}))
	})
	assert.Len(t, problems, 8, "%v: store, retention, three timings, handler, operation, key", problems)
}

func TestOneMistakeIsOneProblem(t *testing.T) {
	t.Parallel()
	key := idempotent.WithKey(func(order) (string, error) { return "k", nil })
	operation := idempotent.WithOperation("test")
	for name, opts := range map[string][]idempotent.Option{
		"nil key":         {operation, idempotent.WithKey[order](nil)},
		"bad path":        {operation, idempotent.WithKeyPath("bad(")},
		"empty operation": {key, idempotent.WithOperation("")},
	} {
		assert.Len(t, problemsOf(t, func() { idempotent.Wrap(plain, memory.New(), opts...) }), 1, name)
	}
}

func TestResponseOfAGatewayThatIsNotKnownNeedsARuleForItsStatuses(t *testing.T) {
	t.Parallel()
	type in = events.APIGatewayWebsocketProxyRequest
	type out = events.APIGatewayProxyResponse
	handler := func(context.Context, in) (out, error) { return out{StatusCode: 503}, nil }
	opts := append(keyed[in]("k"), keyOnly[in]())
	problems := problemsOf(t, func() { idempotent.Wrap(handler, memory.New(), opts...) })
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], "WithStoreIf")
	assert.NotPanics(t, func() {
		idempotent.Wrap(handler, memory.New(),
			append(opts, idempotent.WithStoreIf(func(o out) bool { return o.StatusCode < 500 }))...)
	})
}

func TestHandlerThatIsNotHTTPMustNameOperationAndKey(t *testing.T) {
	t.Parallel()
	problems := problemsOf(t, func() { idempotent.Wrap(plain, memory.New()) })
	require.Len(t, problems, 2)
	assert.Contains(t, problems[0], "WithOperation")
	assert.Contains(t, problems[1], "WithKey")
}

func TestStreamsAreRefusedWhenWrapping(t *testing.T) {
	t.Parallel()
	refused(t, func(context.Context, order) (io.Reader, error) { return nil, nil })
	refused(t, func(context.Context, any) (io.ReadCloser, error) { return nil, nil })
	refused(t, func(context.Context, any) (*strings.Reader, error) { return nil, nil })
	refused(t, func(context.Context, any) (bytes.Buffer, error) { return bytes.Buffer{}, nil })
	refused(t, func(context.Context,
		events.LambdaFunctionURLRequest,
	) (*events.LambdaFunctionURLStreamingResponse, error) {
		return nil, nil
	})
	refused(t, func(context.Context,
		*events.LambdaFunctionURLRequest,
	) (events.LambdaFunctionURLStreamingResponse, error) {
		return events.LambdaFunctionURLStreamingResponse{}, nil
	})
	refused(t, func(context.Context, any) (*events.LambdaFunctionURLStreamingResponse, error) { return nil, nil })
	refused(t, func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyStreamingResponse, error) {
		return events.APIGatewayProxyStreamingResponse{}, nil
	})
}

// refused checks that a stream is the one thing that is wrong with a handler, whatever else it
// lacks.
func refused[In, Out any](t *testing.T, handler func(context.Context, In) (Out, error)) {
	t.Helper()
	problems := problemsOf(t, func() { idempotent.Wrap(handler, memory.New()) })
	require.Len(t, problems, 1, "%v", problems)
	assert.Contains(t, problems[0], reflect.TypeFor[Out]().String()+" is a stream")
	assert.Contains(t, problems[0], "BUFFERED")
}

func httpHandler(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	return events.APIGatewayV2HTTPResponse{StatusCode: 201}, nil
}

func TestOperationOfAnHTTPHandlerIsTheFunctionName(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "charges-prod")
	store := memory.New()
	var key string
	handler := idempotent.Wrap(httpHandler, store,
		idempotent.WithObserver(func(_ context.Context, e report.Delivery) { key = e.RecordKey }))
	_, err := handler.Handle(t.Context(), post("k-1"))
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(key, "charges-prod#"), key)
	assert.Len(t, key, len("charges-prod#")+43)

	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "")
	handler = idempotent.Wrap(httpHandler, store,
		idempotent.WithObserver(func(_ context.Context, e report.Delivery) { key = e.RecordKey }))
	_, err = handler.Handle(t.Context(), post("k-1"))
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(key, "local#"), key)

	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "a b")
	assert.Contains(t, problemsOf(t, func() { idempotent.Wrap(httpHandler, store) })[0],
		`AWS_LAMBDA_FUNCTION_NAME: "a b"`)
}

// post is the smallest event of an HTTP API with a key.
func post(key string) events.APIGatewayV2HTTPRequest {
	e := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: "POST /charges", RawPath: "/charges",
		Headers: map[string]string{"idempotency-key": key}, Body: `{"amount":1999}`,
	}
	e.RequestContext.HTTP.Method = "POST"
	return e
}

func TestEnvironmentSwitchOfPowertoolsIsReadWhenWrapping(t *testing.T) {
	for value, disabled := range map[string]bool{
		"": false, "1": true, "true": true, "YES": true, "On": true, "y": true, "0": false, "false": false,
		"no": false, "off": false,
	} {
		t.Setenv("POWERTOOLS_IDEMPOTENCY_DISABLED", value)
		s := newShop()
		overridden := newShop(idempotent.WithDisabled(!disabled))
		t.Setenv("POWERTOOLS_IDEMPOTENCY_DISABLED", "true") // too late
		_, err := s.handler.Handle(t.Context(), order{ID: "o-1"})
		require.NoError(t, err)
		assert.Equal(t, disabled, s.last.Outcome == report.Disabled, "%q", value)
		_, err = overridden.handler.Handle(t.Context(), order{ID: "o-1"})
		require.NoError(t, err)
		assert.Equal(t, !disabled, overridden.last.Outcome == report.Disabled, "%q", value)
	}
	t.Setenv("POWERTOOLS_IDEMPOTENCY_DISABLED", "maybe")
	assert.Contains(t, problemsOf(t, func() { newShop() })[0], `POWERTOOLS_IDEMPOTENCY_DISABLED: "maybe"`)
}

// refusedFirst returns the problem of a handler that has no other, whatever options it has or
// lacks.
func refusedFirst[In, Out any](t *testing.T) string {
	t.Helper()
	handler := func(context.Context, In) (out Out, _ error) { return out, nil }
	problems := problemsOf(t, func() { idempotent.Wrap(handler, memory.New()) })
	require.Len(t, problems, 1, "%v", problems)
	withKey := problemsOf(t, func() { idempotent.Wrap(handler, memory.New(), keyed[In]("k")...) })
	require.Equal(t, problems, withKey)
	return problems[0]
}

func TestEventOfAWholeBatchIsRefusedWhenWrapping(t *testing.T) {
	t.Parallel()
	for record, problem := range map[string]string{
		"events.SQSMessage":          refusedFirst[events.SQSEvent, events.SQSEventResponse](t),
		"events.KinesisEventRecord":  refusedFirst[events.KinesisEvent, events.KinesisEventResponse](t),
		"events.DynamoDBEventRecord": refusedFirst[*events.DynamoDBEvent, struct{}](t),
		"events.SNSEventRecord":      refusedFirst[events.SNSEvent, string](t),
		"events.S3EventRecord":       refusedFirst[events.S3Event, string](t),
		"events.KafkaRecord":         refusedFirst[events.KafkaEvent, string](t),
		"events.ActiveMQMessage":     refusedFirst[events.ActiveMQEvent, string](t),
		"events.RabbitMQMessage":     refusedFirst[events.RabbitMQEvent, string](t),
		"events.KinesisFirehoseEventRecord": refusedFirst[events.KinesisFirehoseEvent,
			events.KinesisFirehoseResponse](t),
		"events.CloudWatchEvent": refusedFirst[[]events.EventBridgeEvent, string](t), // from a pipe
	} {
		assert.Contains(t, problem, "is a whole batch")
		assert.Contains(t, problem, "wrap a handler of one record ("+record+")")
		assert.Contains(t, problem, "docs/batches.md")
	}
	for function, problem := range map[string]string{
		"batch.SQS":      refusedFirst[events.SQSEvent, events.SQSEventResponse](t),
		"batch.Kinesis":  refusedFirst[events.KinesisTimeWindowEvent, struct{ State string }](t),
		"batch.DynamoDB": refusedFirst[events.DynamoDBTimeWindowEvent, struct{ State string }](t),
	} {
		assert.Contains(t, problem, "and hand it to "+function+",")
	}
	assert.Contains(t, refusedFirst[events.SNSEvent, string](t), "and call its Handle for each,")
	assert.Contains(t, refusedFirst[events.KinesisTimeWindowEvent, struct{ State string }](t),
		"batch.Kinesis, which has no tumbling windows,")

	assert.NotPanics(t, func() {
		idempotent.Wrap(func(context.Context, events.SQSMessage) (string, error) { return "", nil }, memory.New(),
			keyed[events.SQSMessage]("k")...)
		idempotent.Wrap(func(context.Context, job) (string, error) { return "", nil }, memory.New(),
			append(keyed[job]("k"), keyOnly[job]())...)
		// has one task
		idempotent.Wrap(func(context.Context, events.S3BatchJobEvent) (string, error) { return "", nil }, memory.New(),
			append(keyed[events.S3BatchJobEvent]("k"), keyOnly[events.S3BatchJobEvent]())...)
	})
}

type (
	queueEvent events.SQSEvent
	wrapper    struct {
		*wrapper //nolint:unused // it is the embedding that counts
		events.KinesisEvent

		Region string
	}
	ours struct{ Records []*events.SQSMessage }
	// job has its own key, and messages among other things.
	job struct {
		ID       string
		Messages []events.SQSMessage
	}
)

func TestABatchInATypeOfTheUserIsRefusedWhenWrapping(t *testing.T) {
	t.Parallel()
	for _, problem := range []string{
		refusedFirst[queueEvent, string](t), refusedFirst[wrapper, string](t), refusedFirst[ours, string](t),
		refusedFirst[[]events.SQSMessage, string](t), refusedFirst[[]*events.DynamoDBEventRecord, string](t),
	} {
		assert.Contains(t, problem, "is a whole batch")
	}
}

func TestResponseOfAnotherGatewayIsRefusedWhenWrapping(t *testing.T) {
	t.Parallel()
	for want, problem := range map[string]string{
		"events.APIGatewayProxyResponse": refusedFirst[events.APIGatewayProxyRequest,
			events.APIGatewayV2HTTPResponse](t),
		"events.APIGatewayV2HTTPResponse": refusedFirst[*events.APIGatewayV2HTTPRequest,
			events.APIGatewayProxyResponse](t),
		"events.ALBTargetGroupResponse": refusedFirst[events.ALBTargetGroupRequest,
			*events.APIGatewayProxyResponse](t),
		"events.LambdaFunctionURLResponse": refusedFirst[events.LambdaFunctionURLRequest,
			events.ALBTargetGroupResponse](t),
	} {
		assert.Contains(t, problem, "return a "+want)
	}
	assert.Equal(t, "Wrap: events.APIGatewayProxyRequest is a request of a REST API, or of an HTTP API with payload "+
		"format 1.0, "+
		"and events.APIGatewayV2HTTPResponse a response of an HTTP API with payload format 2.0: return a "+
		"events.APIGatewayProxyResponse",
		refusedFirst[events.APIGatewayProxyRequest, events.APIGatewayV2HTTPResponse](t))
}

func TestAHandlerTellsItsOperation(t *testing.T) {
	t.Parallel()
	handler := func(_ context.Context, o order) (order, error) { return o, nil }
	require.Equal(t, "charge", idempotent.Wrap(handler, memory.New(), idempotent.WithOperation("charge"),
		idempotent.WithKey(func(order) (string, error) { return "k", nil })).Operation())
}

func TestHTTPOptionsAreChecked(t *testing.T) {
	t.Parallel()
	const again = ": an old request would be executed again after its record expired"
	aged := func(header string, age time.Duration) idempotent.HTTP {
		return idempotent.HTTP{TimestampHeader: header, MaxRequestAge: age}
	}
	fingerprint := func(names ...string) idempotent.HTTP { return idempotent.HTTP{FingerprintHeaders: names} }
	differs := func(name string) string {
		return `FingerprintHeaders: "` + name + `" differs between deliveries of one request`
	}
	covering, ofKey := aged("X-Time", time.Minute), aged("X-Key", time.Minute)
	covering.FingerprintHeaders, ofKey.Header = []string{"Accept", "x-time"}, "x-key"
	renamed := fingerprint("X-Key")
	renamed.Header = "x-key"
	problems := func(h idempotent.HTTP, opts ...idempotent.Option) []string {
		return problemsOf(t, func() {
			idempotent.Wrap(httpHandler, memory.New(), append(opts, idempotent.WithHTTP(h))...)
		})
	}
	for problem, h := range map[string]idempotent.HTTP{
		`Header "Idempotency Key" is no header name`:                 {Header: "Idempotency Key"},
		`Header "X-Amzn-Trace-Id" has another meaning`:               {Header: "X-Amzn-Trace-Id"},
		`RequireKey: "post" is no method in capitals`:                {RequireKey: []string{"post"}},
		`RequireKey: "" is no method in capitals`:                    {RequireKey: []string{""}},
		`RequireKey: GET has no effect to protect`:                   {RequireKey: []string{"POST", "GET"}},
		`MismatchStatus 401 is not 400, 409 or 422`:                  {MismatchStatus: 401},
		`MismatchStatus 404 is not 400, 409 or 422`:                  {MismatchStatus: 404},
		`MismatchStatus 500 is not 400, 409 or 422`:                  {MismatchStatus: 500},
		`MaxRequestAge needs a TimestampHeader`:                      aged("", time.Minute),
		`TimestampHeader needs a MaxRequestAge`:                      aged("X-Timestamp", 0),
		`TimestampHeader "X Timestamp" is no header name`:            aged("X Timestamp", time.Minute),
		`TimestampHeader "idempotency-key" is the header of the key`: aged("idempotency-key", time.Minute),
		`TimestampHeader "X-Key" is the header of the key`:           ofKey,
		`MaxRequestAge: 999ms is less than 1s`:                       aged("X-Timestamp", 999*time.Millisecond),
		`MaxRequestAge: -1s is less than 1s`:                         aged("X-Timestamp", -time.Second),
		`FingerprintHeaders: "" is no header name`:                   fingerprint(""),
		`FingerprintHeaders: "a b" is no header name`:                fingerprint("a b"),
		`FingerprintHeaders: "X-A" is there twice`:                   fingerprint("x-a", "X-A"),
		`FingerprintHeaders: "idempotency-KEY" carries the key`:      fingerprint("idempotency-KEY"),
		`FingerprintHeaders: "X-Key" carries the key`:                renamed,
		differs("Authorization"):                                     fingerprint("Authorization"),
		differs("x-amzn-trace-id"):                                   fingerprint("x-amzn-trace-id"),
		differs("Cookie"):                                            fingerprint("Cookie"),

		`TimestampHeader "X-Time" is also one of FingerprintHeaders: ` +
			`a retry at another time would be another request`: covering,

		`MaxRequestAge 24h0m0s is more than 23h59m0s, the retention less 1m0s of clock skew` +
			again: aged("X-Time", 24*time.Hour),
	} {
		assert.Equal(t, []string{"WithHTTP: " + problem}, problems(h))
	}
	assert.Len(t, problems(fingerprint("Date", "idempotency-key")), 2)
	hour := idempotent.WithRetention(time.Hour)
	assert.Equal(t, []string{
		"WithHTTP: MaxRequestAge 59m1s is more than 59m0s, the retention less 1m0s of clock skew" + again,
	}, problems(aged("X-Time", 59*time.Minute+time.Second), hour))
	assert.NotPanics(t, func() {
		idempotent.Wrap(httpHandler, memory.New(), hour, idempotent.WithHTTP(aged("X-Time", 59*time.Minute)))
		idempotent.Wrap(httpHandler, memory.New(), idempotent.WithRetention(time.Second)) // without a limit
	})
}
