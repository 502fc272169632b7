// Package idempotent makes an AWS Lambda handler safe to retry.
//
//	func main() {
//		store := dynamo.New(dynamodb.NewFromConfig(cfg), os.Getenv("IDEMPOTENCY_TABLE"))
//		lambda.Start(idempotent.Wrap(charge, store, idempotent.WithObserver(observe.Slog(nil))))
//	}
//
//	func charge(ctx context.Context, req events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)
//
// The first delivery of a key runs the handler and stores its result as JSON. A later delivery of
// the same key gets that text back, byte for byte, and does not run the handler. One that arrives
// while the handler still runs is told to wait. If the process dies meanwhile, the key stays
// blocked until the lease ends, usually two seconds after the deadline of that invocation.
//
// # Words
//
//   - delivery: one invocation of the function, with one event. One request can come in several.
//   - operation: the name of the wrapped handler.
//   - key: what makes deliveries one request. The client sends it, or an option selects it.
//   - scope: what a key counts for: the tenant, and for HTTP the API, the method and the route.
//   - record key: the name of a record in the store: the operation and a digest of scope and key.
//   - fingerprint: a digest of what a request says. A key with another one is refused.
//   - claim: the write that gives the record to one delivery. Only that delivery runs the handler.
//   - execution: one run of the handler, under one claim.
//   - owner: the random token of one claim. It tells an execution that the record is its own.
//   - lease: the time until which a claim is protected: no other delivery can get the record.
//   - takeover: the claim of a record whose lease has ended, because its execution crashed.
//   - complete: to end a claim with a stored result.
//   - release: to end a claim without one, after a failure. The next delivery runs the handler.
//   - replay: to answer a delivery with the stored result, without running the handler.
//   - retention, expiry: how long a completed record is replayed, and when that ends.
//   - seal: owner and digest of a result, stored with it: who stored it, and that it is unchanged.
//   - step: an effect whose result is recorded at once, so that no later execution repeats it.
//   - start mark: what the record keeps of a step that has begun and whose end is not recorded.
//   - commit: a transaction that completes the record and writes rows of the handler's own with it.
//   - UNKNOWN: the state of a record whose effect may have happened, so that nobody executes again.
//   - settle: to decide how a record ends. A resolver or a person settles an UNKNOWN one.
//
// # Handlers
//
// A handler of HTTP requests (API Gateway, function URL, Application Load Balancer) needs no
// option. Its key is in the header Idempotency-Key, which POST and PATCH must carry. [WithHTTP] has
// the rules. Any other handler names its operation and says where its key is; package batch makes
// the function of a queue or a stream of it.
//
//	idempotent.Wrap(fulfil, store,
//		idempotent.WithOperation("fulfil-order"),
//		idempotent.WithKey(func(o Order) (string, error) { return o.ID, nil }))
//
// The caller of such a handler gets the errors of this package, for example [ErrInProgress]. An
// event with the same key and other content gets [ErrMismatch]; [WithFingerprint] says what counts
// as the content. The package logs nothing by itself: [WithObserver] reports every delivery.
//
// # What is guaranteed, and what is not
//
// Within the retention of a key at most one execution is committed: its result is stored, and later
// deliveries get it. A second execution starts only after the first one was released (it failed) or
// after its lease has ended (it crashed). If the store cannot answer, the handler does not run.
//
// After a crash the handler runs again. An effect outside the store may already have happened:
//
//   - Pass [DerivedKey], which is the same for every attempt, to the service that has the effect.
//   - If that service takes no key, use [WithEffects] with Unrepeatable.
//   - If it can be asked what happened, use [WithResolver].
//   - Make each of several effects a [Step]. What a step recorded is never repeated.
//   - Write rows of your own in DynamoDB with Commit of package dynamo: they are written and the
//     answer is stored, or neither is.
//   - Say what a failure means by marking the error: [NotExecuted], [Terminal], [Uncertain].
package idempotent

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/store"
)

// Handler is a wrapped handler. It implements the Handler interface of aws-lambda-go's lambda
// package, so lambda.Start takes it. It is safe for concurrent use. Its zero value is not usable.
type Handler[In, Out any] struct{ wrapped *wrapped }

// Wrap makes handler idempotent on a store. Call it once, when the function starts: if the
// configuration is wrong, it panics with a [*ConfigError] that names every mistake.
//
// The handler is an HTTP handler if In is an events.APIGatewayV2HTTPRequest,
// events.APIGatewayProxyRequest, events.LambdaFunctionURLRequest or events.ALBTargetGroupRequest,
// or a pointer to one, and Out is the response that belongs to it. Behind IAM authorization people
// who share a federated role are mostly one caller, see [WithHTTP]: use [WithTenant] for them.
//
// Every other handler needs [WithOperation], and [WithKey] or [WithKeyPath]. Three events have a
// key of their own: an events.SQSMessage its message id, or, in a FIFO queue whose producer gave it
// a deduplication id, that with its queue and group; an events.KinesisEventRecord its stream and
// event id; an events.DynamoDBEventRecord its event id.
//
// Wrap refuses the event of a whole batch, see package batch; an Out that is an io.Reader, because
// a stream cannot be replayed; and one that JSON cannot carry: a channel, a function, a struct
// without exported fields (struct{} is fine). The options of lambda.StartWithOptions about JSON
// have no effect, because lambda applies them to functions.
//
// One store may serve many handlers: give each an operation of its own, or they take each other's
// results for their own. HTTP handlers may share one, because their routes keep records apart. Only
// Wrap reads the environment ([WithOperation], [WithPowertools], [WithDisabled]).
func Wrap[In, Out any](handler func(context.Context, In) (Out, error), s store.Store,
	opts ...Option,
) *Handler[In, Out] {
	var run func(ctx context.Context, in any) (any, error)
	if handler != nil {
		run = func(ctx context.Context, in any) (any, error) { return handler(ctx, *in.(*In)) } //nolint:forcetypeassert // see Invoke
	}
	return &Handler[In, Out]{wrap(run, typesOf[In, Out](), s, opts)}
}

// Operation returns the name of the wrapped handler, see [WithOperation].
func (h *Handler[In, Out]) Operation() string { return h.wrapped.settings.Operation }

// RecordsOf returns the operation that the keys of the handler's records name, see
// [store.Record.Operation]: that of the handler, or, with [WithPowertools], the prefix of the other
// program. A listing of operate takes it.
func (h *Handler[In, Out]) RecordsOf() string { return h.wrapped.recordsOf }

// Now returns the time by the clock of the handler, see [WithClock].
func (h *Handler[In, Out]) Now() time.Time { return h.wrapped.settings.Now() }

// Store returns the store that the handler was wrapped with.
func (h *Handler[In, Out]) Store() store.Store { return h.wrapped.settings.Store }

// Invoke handles one delivery in its wire form. It decodes In and encodes Out exactly as
// lambda.NewHandler does. A replay returns the bytes that were stored, on an HTTP handler with the
// headers that [WithHTTP] names. Invoke neither keeps nor modifies the payload.
//
// The error is one of these. Only the first may repeat anything of the payload or of a result.
//
//   - the handler's own error value, without its mark
//   - an [*Error] of this package, which Lambda reports by its kind, for example as
//     InProgressError. An HTTP handler answers with a problem document instead, unless it is
//     [ErrDecode] or [ErrEncode]
//   - a messages.InvokeResponse_Error, if a [Terminal] error is replayed: Lambda reports the type
//     and the text of the first one
func (h *Handler[In, Out]) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	d := new(typed[In])
	d.work = work{wrapped: h.wrapped, source: source{payload: payload, in: &d.in}, answer: answer{wire: true}}
	d.run(ctx)
	return d.bytes()
}

// Handle handles one delivery by value: for tests, and for code that calls the handler itself. It
// finds the same records as [Handler.Invoke] for HTTP events, and for every In that survives a
// round trip through JSON. A replay is decoded from the stored JSON, so it lacks what JSON does not
// keep of an Out, for example unexported fields. A replayed [Terminal] error is a [*ReplayedError].
//
// Handle and Invoke differ where a type has changed since the result was stored:
//
//   - Out: Invoke replays the stored bytes. Handle decodes them, and returns [ErrUnreadable] if
//     they do not fit.
//   - In: Invoke knows a new field only if the payload has it. Handle encodes it with its zero
//     value, so a request with a fingerprint over the whole event is a mismatch to records from
//     before.
//
// So call one of the two for a function, and give a new field omitempty.
//
// # Inside of another execution
//
// A handler may call Handle of another one, with the context that it was given. The error then
// keeps its mark, and counts for the outer execution if the outer handler returns it. An HTTP
// handler may return a response and a marked error, or have noted one with [Mark]. Other errors
// count for the outer execution like this:
//
//   - as [Uncertain]: one after which the inner record is UNKNOWN, [ErrUnknownOutcome],
//     [ErrSuperseded] and [ErrUnreadable], because the inner effect may have happened
//   - as [Terminal]: a [*ReplayedError]
//   - as any other error: those that say that the inner handler did not run now, such as
//     [ErrInProgress], [ErrMismatch] and [ErrStoreUnavailable]. The policies of the outer handler
//     decide
//
// A mark says something about the inner effect only. An outer handler that has had an effect of its
// own before marks an inner [NotExecuted] as [Uncertain]: the most cautious mark counts.
// [Handler.Invoke] removes marks, wherever it is called.
func (h *Handler[In, Out]) Handle(ctx context.Context, in In) (Out, error) {
	d := &typed[In]{in: in}
	d.work = work{wrapped: h.wrapped, source: source{in: &d.in, decoded: true}}
	d.within = execution.Within(ctx)
	d.run(ctx)
	out, err := d.value()
	return as[Out](out), err
}
