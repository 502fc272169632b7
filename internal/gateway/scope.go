package gateway

import (
	"strconv"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// Scope adds to h what a key belongs to: the tenant of the invocation (empty for none), the caller,
// and API, stage, method and route of r. Where there is no route, the path counts. h puts its
// length before each field, so no two scopes have the same digest.
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

// ScopeOfSelected is [Request.Scope] for a key that the handler selects from the event. Method,
// route and path do not count: a client chooses them, and whoever spells a path in eight ways must
// not have eight keys.
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

// ScopePart is one part of a scope in words.
type ScopePart struct {
	Name, Value string
	// Personal is true if the value names a person, or who acts for one.
	Personal bool
}

// ScopeParts lists what [Request.Scope] digests, apart from the key, or, for a selected key,
// [Request.ScopeOfSelected]: for people who ask what a key counts for. Two scopes are equal if and
// only if their parts are. A part that the event does not have is left out, but a caller has all
// parts of its source.
func (r *Request) ScopeParts(tenantID string, who Caller, selected bool) []ScopePart {
	parts := make([]ScopePart, 0, 8)
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, ScopePart{Name: name, Value: value})
		}
	}
	add("tenant of the invocation", tenantID)
	parts = append(parts, who.scopeParts()...)
	add("API", r.API)
	add("stage", r.Stage)
	if selected {
		return parts
	}
	add("method", r.Method)
	add("route", r.Route)
	if r.Route == "" {
		add("path", r.Path)
	}
	return parts
}

// callerParts are the names of the parts of a caller, by its source.
var callerParts = map[string][2]string{
	"tenant":           {"tenant"},
	"jwt":              {"issuer", "subject"},
	"lambda":           {"principal"},
	"lambda-number":    {"principal"},
	"cognito-identity": {"identity"},
	"iam":              {"account", "user or role"},
	"api-key":          {"API key id"},
}

func (c Caller) scopeParts() []ScopePart {
	source := c.source
	if source == "" {
		source = anonymous
	}
	parts := append(make([]ScopePart, 0, 1+c.count), ScopePart{Name: "caller", Value: source})
	for i, value := range c.parts[:c.count] {
		parts = append(parts, ScopePart{Name: callerParts[c.source][i], Value: value, Personal: true})
	}
	return parts
}
