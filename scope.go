package idempotent

import (
	"context"
	"strconv"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// caller is who sent a request. The source tags it, so that two sources never mean one caller.
type caller struct {
	source string
	// parts are as many as the source has.
	parts [2]string
	count int
}

func callerOf(source string, parts ...string) caller {
	c := caller{source: source}
	c.count = copy(c.parts[:], parts)
	return c
}

// anonymous is every caller who cannot be identified: nobody asked, or an authorizer let them in without naming them. To
// guess from the rest of an authorizer's context would make two callers of one whose token was renewed between two
// tries, and execute twice.
const anonymous = "anonymous"

// caller is the user's tenant, else whom the gateway has established.
func (s *httpShape[In, Out]) caller(ctx context.Context, src *source[In], r *httpRequest) (caller, error) {
	if s.functions.tenant == nil {
		return r.caller, nil
	}
	tenant, err := tenantOf(ctx, s.config, s.functions.tenant, src)
	return callerOf("tenant", tenant), err
}

// requireTenant refuses a caller who cannot be identified, if that is asked for. A tenant of the invocation is enough: its
// records are its own. So is what [WithTenant] finds, which fails by itself.
func (s *httpShape[In, Out]) requireTenant(ctx context.Context, r *httpRequest) error {
	named := s.functions.tenant != nil || r.caller.source != anonymous || tenantID(ctx) != ""
	if s.http.RequireTenant && !named {
		return &MissingTenantError{Operation: s.operation}
	}
	return nil
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
func (r *httpRequest) scope(h *fingerprint.Hash, tenantID string, who caller, key string) {
	h.String("http")
	h.String(tenantID)
	h.String(who.source)
	h.String(strconv.Itoa(who.count))
	for _, part := range who.parts[:who.count] {
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
