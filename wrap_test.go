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
	var nilStore *memory.Store
	for name, tc := range map[string]struct {
		wrap func(opts ...idempotent.Option)
		opts []idempotent.Option
		want []string
	}{
		"nil store": {
			wrap: func(o ...idempotent.Option) { idempotent.Wrap(plain, nil, o...) },
			want: []string{"store is nil"},
		},
		"typed nil store": {
			wrap: func(o ...idempotent.Option) { idempotent.Wrap(plain, nilStore, o...) },
			want: []string{"store is nil"},
		},
		"nil handler": {
			wrap: func(o ...idempotent.Option) { idempotent.Wrap[order, receipt](nil, memory.New(), o...) },
			want: []string{"handler is nil"},
		},
		"nil option": {opts: []idempotent.Option{nil}, want: []string{"option 3 is nil"}},
		"empty operation": {
			opts: []idempotent.Option{idempotent.WithOperation("")},
			want: []string{"WithOperation", `""`},
		},
		"bad operation": {
			opts: []idempotent.Option{idempotent.WithOperation("a#b")},
			want: []string{"WithOperation", `"a#b"`},
		},
		"newline": {
			opts: []idempotent.Option{idempotent.WithOperation("a\n")},
			want: []string{"WithOperation", `"a\n"`},
		},
		"long operation": {
			opts: []idempotent.Option{idempotent.WithOperation(strings.Repeat("a", 256))},
			want: []string{"WithOperation", "255"},
		},
		"nil key": {
			opts: []idempotent.Option{idempotent.WithKey[order](nil)},
			want: []string{"WithKey", "nil"},
		},
		"nil observer": {
			opts: []idempotent.Option{idempotent.WithObserver(nil)},
			want: []string{"WithObserver", "nil"},
		},
		"nil clock": {
			opts: []idempotent.Option{idempotent.WithClock(nil)},
			want: []string{"WithClock", "nil"},
		},
		"key of another": {
			opts: []idempotent.Option{idempotent.WithKey(func(receipt) (string, error) { return "", nil })},
			want: []string{"WithKey", "receipt", "order"},
		},
		"storeIf of other": {
			opts: []idempotent.Option{idempotent.WithStoreIf(func(order) bool { return true })},
			want: []string{"WithStoreIf", "receipt", "order"},
		},
		"tenant of other": {
			opts: []idempotent.Option{idempotent.WithTenant(func(context.Context, string) (string, error) {
				return "",
					nil
			})}, want: []string{"WithTenant", "string", "order"},
		},
		"short retention": {
			opts: []idempotent.Option{idempotent.WithRetention(time.Millisecond)},
			want: []string{"WithRetention", "1ms", "1s"},
		},
		"negative timing": {
			opts: []idempotent.Option{idempotent.WithTiming(idempotent.Timing{Margin: -1, Lease: time.Millisecond})},
			want: []string{"Margin", "-1ns", "Lease", "1ms"},
		},
		"margin over lease": {
			opts: []idempotent.Option{
				idempotent.WithTiming(idempotent.Timing{Margin: time.Minute, Lease: time.Second}),
			},
			want: []string{"Margin 1m0s", "Lease 1s"},
		},
		"margin over a third": {
			opts: []idempotent.Option{
				idempotent.WithTiming(idempotent.Timing{Margin: time.Second, Lease: 2 * time.Second}),
			},
			want: []string{"Margin 1s", "Lease 2s"},
		},
		"effects": {
			opts: []idempotent.Option{idempotent.WithEffects(7)},
			want: []string{"WithEffects", "7"},
		},
		"HTTP on plain": {
			opts: []idempotent.Option{idempotent.WithHTTP(idempotent.HTTP{})},
			want: []string{"WithHTTP", "order", "receipt"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.wrap == nil {
				tc.wrap = func(o ...idempotent.Option) { idempotent.Wrap(plain, memory.New(), o...) }
			}
			opts := append([]idempotent.Option{
				idempotent.WithOperation("test"),
				idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }),
			}, tc.opts...)
			text := strings.Join(problemsOf(t, func() { tc.wrap(opts...) }), "; ")
			for _, want := range tc.want {
				assert.Contains(t, text, want)
			}
		})
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

	problems = problemsOf(t, func() {
		idempotent.Wrap(func(context.Context, events.APIGatewayV2HTTPRequest) (string, error) { return "", nil },
			memory.New())
	})
	assert.Contains(t, strings.Join(problems, "; "), "events.APIGatewayV2HTTPResponse",
		"the response of another family is no HTTP handler")
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

func TestOptionsOfKeyAndFingerprintAreChecked(t *testing.T) {
	t.Parallel()
	for problem, h := range map[string]idempotent.HTTP{
		`FingerprintHeaders: "" is no header name`: {
			FingerprintHeaders: []string{""},
		},
		`FingerprintHeaders: "a b" is no header name`: {
			FingerprintHeaders: []string{"a b"},
		},
		`FingerprintHeaders: "X-A" is there twice`: {
			FingerprintHeaders: []string{"x-a", "X-A"},
		},
		`FingerprintHeaders: "idempotency-KEY" carries the key`: {
			FingerprintHeaders: []string{"idempotency-KEY"},
		},
		`FingerprintHeaders: "X-Key" carries the key`: {
			Header:             "x-key",
			FingerprintHeaders: []string{"X-Key"},
		},
		`FingerprintHeaders: "Authorization" differs between deliveries of one request`: {
			FingerprintHeaders: []string{"Authorization"},
		},
		`FingerprintHeaders: "x-amzn-trace-id" differs between deliveries of one request`: {
			FingerprintHeaders: []string{"x-amzn-trace-id"},
		},
		`FingerprintHeaders: "Cookie" differs between deliveries of one request`: {
			FingerprintHeaders: []string{"Cookie"},
		},
	} {
		problems := problemsOf(t, func() {
			idempotent.Wrap(httpHandler, memory.New(), idempotent.WithHTTP(h))
		})
		assert.Equal(t, []string{"WithHTTP: " + problem}, problems)
	}
	several := problemsOf(t, func() {
		idempotent.Wrap(httpHandler, memory.New(), idempotent.WithHTTP(idempotent.HTTP{
			FingerprintHeaders: []string{"Date", "idempotency-key"},
		}))
	})
	assert.Len(t, several, 2, several)
	anyKey := func(string) error { return nil }
	for _, h := range []idempotent.HTTP{
		{CheckKey: anyKey},
		{CheckKey: anyKey, FingerprintHeaders: []string{"Accept"}},
	} {
		assert.NotPanics(t, func() {
			idempotent.Wrap(httpHandler, memory.New(), idempotent.WithHTTP(h))
		})
	}
}
