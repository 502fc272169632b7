// Package idempotent makes an AWS Lambda handler safe to retry.
//
//	func main() {
//		store := dynamo.New(dynamodb.NewFromConfig(cfg), os.Getenv("IDEMPOTENCY_TABLE"))
//		lambda.Start(idempotent.Wrap(charge, store, idempotent.WithObserver(observe.Slog(nil))))
//	}
//
//	func charge(ctx context.Context, req events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)
//
// A delivery is one invocation of the function, with one event; clients retry, so several deliveries may carry one request.
// The first delivery of a key runs the handler, and its result is stored. A later delivery of the same key gets that
// result back, byte for byte, without running the handler. A delivery that meets a running one is told to wait. If the
// process dies, the next delivery takes over as soon as the lease of the dead one has ended.
//
// # Handlers
//
// A handler of HTTP requests (API Gateway, function URL, Application Load Balancer) needs no option: the key is the header
// Idempotency-Key, required on POST and PATCH; it counts per caller and route; misuse is answered by problem documents. See
// [WithHTTP].
//
// Any other handler names its operation and says where its key is:
//
//	idempotent.Wrap(fulfil, store,
//		idempotent.WithOperation("fulfil-order"),
//		idempotent.WithKey(func(o Order) (string, error) { return o.ID, nil }),
//		idempotent.WithFingerprint(func(o Order) (any, error) { return o, nil }))
//
// Its caller gets the errors of this package, for example [ErrInProgress]. Without a fingerprint, whatever comes under the
// key gets the first result.
//
// Nothing is logged unless [WithObserver] says so.
//
// # What is guaranteed, and what is not
//
// Within the retention at most one execution per key is committed. A second one starts only after the first was
// released (it failed) or its lease lapsed (it crashed), never while it is live. If the store cannot answer, the handler
// does not run.
//
// After a crash the handler runs again, and an effect outside the store, such as a charge, may already have happened.
// Pass [DerivedKey] downstream: it is the same for every attempt of one request. If the downstream takes no key,
// use [WithUnrepeatable], and [WithResolver] if it can be asked.
//
// A handler says more about its failures by marking them: [NotExecuted], [Terminal], [Uncertain].
package idempotent

import "context"

// Handler is a wrapped handler. It implements the Handler interface of aws-lambda-go's lambda package, so lambda.Start
// takes it. It is safe for concurrent use, and one process may run many invocations at once. Its zero value is
// not usable: Wrap makes it.
type Handler[In, Out any] struct {
	*config
	handler   func(context.Context, In) (Out, error)
	shape     shape[In, Out]
	functions functions[In, Out]
}

// Wrap makes handler idempotent on store. It panics with a [*ConfigError] that names everything wrong with the
// configuration, as it runs once, when the function starts.
//
// In and Out are what [Handler.Invoke] decodes and encodes, exactly as lambda.NewHandler does. If In is an
// events.APIGatewayV2HTTPRequest, events.APIGatewayProxyRequest, events.LambdaFunctionURLRequest or
// events.ALBTargetGroupRequest, or a pointer to one, and Out the response that belongs to it, the handler is an HTTP
// handler; every other one needs [WithOperation], and [WithKey] or [WithKeyPath]. A response that is an io.Reader (a
// stream) cannot be replayed and is refused. Options of lambda.StartWithOptions about JSON have no effect: they are about
// functions, and this is a handler.
//
// One store may serve many handlers. The environment is read here and not again: AWS_LAMBDA_FUNCTION_NAME for the
// default operation of HTTP handlers, POWERTOOLS_IDEMPOTENCY_DISABLED as the default of [WithDisabled].
func Wrap[In, Out any](handler func(context.Context, In) (Out, error), store Store, opts ...Option) *Handler[In, Out] {
	h := &Handler[In, Out]{handler: handler}
	var problems problems
	h.config = newConfig(store, opts, &problems)
	if handler == nil {
		problems.addf("Wrap: the handler is nil")
	}
	h.functions = typedFunctions[In, Out](h.config, &problems)
	h.shape = shapeOf(h.config, h.functions, &problems)
	problems.panicIfAny()
	return h
}

// Invoke handles one delivery in its wire form. Payload and result are what lambda.NewHandler would read and write for
// the same function, and a replay returns the bytes that were stored. It does not keep or modify the payload.
//
// The error is the handler's own error value, without its mark, or one of this package, which HTTP handlers answer as
// problem documents instead, or the decoder's, if the payload is no event of the handler. A replayed [Terminal] error is a
// messages.InvokeResponse_Error, which Lambda reports by the type and text of the first one.
func (h *Handler[In, Out]) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	d := &delivery[In, Out]{Handler: h, source: source[In]{payload: payload}, wire: true}
	return d.bytes(d.run(ctx))
}

// Handle handles one delivery by value, for tests and for composition. For HTTP events, and whenever In survives a
// round trip through JSON, it finds the same records as [Handler.Invoke]. A replay is decoded from JSON: an Out
// that does not survive that comes back as what its JSON says.
//
// A replayed [Terminal] error is a [*ReplayedError].
func (h *Handler[In, Out]) Handle(ctx context.Context, in In) (Out, error) {
	d := &delivery[In, Out]{Handler: h, source: source[In]{in: in, decoded: true}}
	return d.value(d.run(ctx))
}
