package idempotent

import (
	"context"
	"errors"
	"strconv"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// caller is who sent a request. The source tags it, so that two sources never mean one caller.
type caller struct {
	source string
	parts  []string
}

// The callers that nothing identifies.
const (
	// anonymous: nobody asked. All of them share one scope.
	anonymous = "anonymous"
	// unnamed: an authorizer let the caller in but did not say who it is. To take them all for one caller would hand the
	// response of one to another; to guess from the rest of the authorizer's context would make two callers of one whose
	// token was renewed between two tries, and execute twice. So only WithTenant can tell.
	unnamed = "unnamed"
)

var errUnnamed = errors.New("it is not given, and the authorizer let the request in without naming its caller")

// caller is the user's tenant, else whom the gateway has established.
func (s *httpShape[In, Out]) caller(ctx context.Context, src *source[In], r httpRequest) (caller, error) {
	switch {
	case s.functions.tenant != nil:
		tenant, err := tenantOf(ctx, s.config, s.functions.tenant, src)
		return caller{"tenant", []string{tenant}}, err
	case r.caller.source == unnamed:
		return caller{}, &RefusedError{Operation: s.operation, Source: optionTenant, Err: errUnnamed}
	default:
		return r.caller, nil
	}
}

// tenantID is the tenant of an invocation in a function with tenant isolation, else empty. Such tenants never share a
// record, although one caller may act for several.
func tenantID(ctx context.Context) string {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		return lc.TenantID
	}
	return ""
}

// scope digests what a key belongs to. Every field is prefixed by its length, so no two scopes are written the same.
func (r httpRequest) scope(h *fingerprint.Hash, tenantID string, who caller, key string) {
	h.String("http")
	h.String(tenantID)
	h.String(who.source)
	h.String(strconv.Itoa(len(who.parts)))
	for _, part := range who.parts {
		h.String(part)
	}
	h.String(r.api)
	h.String(r.stage)
	h.String(r.method)
	if r.route != "" {
		h.String("route")
		h.String(r.route)
	} else {
		h.String("path")
		h.String(r.path)
	}
	h.String(key)
}
