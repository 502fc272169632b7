package idempotent

import (
	"cmp"
	"context"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/gateway"
)

// Description says what a delivery stands for, and which record in the store belongs to it. It
// holds neither the key nor the payload. It is a plain value.
type Description struct {
	// Operation is the name of the wrapped handler.
	Operation string
	// Protected is true if the handler would run under a claim.
	Protected bool
	// Unprotected says in words why the handler would run without one. If Protected is true, it is
	// empty, and the fields below are set.
	Unprotected string
	// RecordKey names the record in the store: the operation and a digest of scope and key.
	RecordKey string
	// Fingerprint is what the record carries of the request, with the version of its algorithm in
	// front. It is empty if the handler has no fingerprint.
	Fingerprint string
	// Scope is what the key counts for, part by part. It is empty for a handler of
	// [WithPowertools], whose keys have no scope.
	Scope []ScopePart
}

// ScopePart is one part of the scope of a key.
type ScopePart struct {
	// Name says what the value is:
	//
	//   - "tenant of the invocation": the tenant id of a function with tenant isolation
	//   - "caller": where the name of the caller comes from: "jwt", "lambda", "lambda-number" (a
	//     principal that is a number), "cognito-identity", "iam", "api-key", "tenant" (the function
	//     of [WithTenant]), or "anonymous"
	//   - "issuer" and "subject", "principal", "identity", "account" and "user or role", "API key
	//     id", "tenant": the name of that caller
	//   - "API" and "stage", of HTTP handlers
	//   - "method", and "route" or "path", of HTTP handlers whose key is in a header: the endpoint
	//
	// A part that an event does not have is left out; the issuer of a token and the account of a
	// user or role may be empty.
	Name string
	// Value is as the gateway sent it, or as the function of [WithTenant] returned it.
	Value string
	// Personal is true for the name of a caller: for a support desk, not for logs.
	Personal bool
}

// DerivedKey returns the key that the function [DerivedKey] returns in the execution of this event:
// what another service may have seen of it. It is empty if Protected is false.
//
// It is another one only if the execution takes over a record whose fingerprint an earlier version
// of the handler, or of this module, has computed in another way.
func (d Description) DerivedKey(name string) string {
	if !d.Protected {
		return ""
	}
	return execution.Claim{RecordKey: d.RecordKey, Fingerprint: d.Fingerprint}.DerivedKey(name)
}

// Describe says what a delivery of in stands for. It neither asks the store nor runs the handler,
// and no observer hears of it. It calls the functions of [HTTP.Protect], [WithKey],
// [WithFingerprint] and [WithTenant], the last one twice. It hands ctx to that one, and reads the
// tenant id of the invocation from it. It is safe for concurrent use.
//
// The error is the one with which [Handler.Handle] refuses such an event before it asks the store,
// but never a problem document. [HTTP.MaxRequestAge] counts: to describe an old request, wrap the
// handler with [WithClock] and the time at which the request came.
func (h *Handler[In, Out]) Describe(ctx context.Context, in In) (Description, error) {
	return h.wrapped.describe(ctx, &source{in: &in, decoded: true, http: new(gateway.Request)})
}

// DescribeEvent is [Handler.Describe] for an event in its wire form, as [Handler.Invoke] gets it.
// It neither keeps nor modifies the payload.
func (h *Handler[In, Out]) DescribeEvent(ctx context.Context, payload []byte) (Description, error) {
	return h.wrapped.describe(ctx, &source{payload: payload, in: new(In), http: new(gateway.Request)})
}

func (w *wrapped) describe(ctx context.Context, src *source) (Description, error) {
	d := Description{Operation: w.settings.Operation}
	if w.disabled {
		d.Unprotected = "the protection is turned off"
		return d, nil
	}
	req, err := w.shape.identify(ctx, src)
	if err != nil {
		return Description{}, err
	}
	if req.recordKey == "" {
		d.Unprotected = cmp.Or(req.unprotected, "the event has no key, and needs none")
		return d, nil
	}
	d.Protected, d.RecordKey, d.Fingerprint = true, req.recordKey, req.fingerprint
	if w.keys.records != nil {
		return d, nil
	}
	who, err := w.keys.caller(ctx, src)
	if err != nil {
		return Description{}, err
	}
	for _, part := range src.http.ScopeParts(tenantID(ctx), who, w.keys.selects) {
		d.Scope = append(d.Scope, ScopePart(part))
	}
	return d, nil
}
