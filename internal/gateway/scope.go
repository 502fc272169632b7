package gateway

import (
	"strconv"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// Scope adds to h what a key belongs to: the tenant of the invocation (empty for none), the caller, and API, stage, method and
// route of r. Where there is no route, the path counts. h puts its length before each field, so no two scopes have the same
// digest.
//
// Digests are stored. What is added here, and in which order, must never change.
func (r *Request) Scope(h *fingerprint.Hash, tenantID string, who Caller, key string) {
	h.String("http")
	r.caller(h, tenantID, who)
	h.String(r.Method)
	if r.Route != "" {
		h.String("route")
		h.String(r.Route)
	} else {
		h.String("path")
		h.String(r.Path)
	}
	h.String(key)
}

// ScopeOfSelected is [Request.Scope] for a key that the handler selects from the event. Method, route and path do not count: a
// client chooses them, and whoever spells a path in eight ways must not have eight keys.
func (r *Request) ScopeOfSelected(h *fingerprint.Hash, tenantID string, who Caller, key string) {
	h.String("http selected")
	r.caller(h, tenantID, who)
	h.String(key)
}

func (r *Request) caller(h *fingerprint.Hash, tenantID string, who Caller) {
	h.String(tenantID)
	h.String(who.source)
	h.String(strconv.Itoa(who.count))
	for _, part := range who.parts[:who.count] {
		h.String(part)
	}
	h.String(r.API)
	h.String(r.Stage)
}
