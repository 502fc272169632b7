package gateway

// ScopePart is one part of a scope in words.
type ScopePart struct {
	Name, Value string
	// Personal is true if the value names a person, or who acts for one.
	Personal bool
}

// ScopeParts lists what [Request.Scope] digests, apart from the key, or, for a selected key, [Request.ScopeOfSelected]: for people who
// ask what a key counts for. Two scopes are equal if and only if their parts are. A part that the event does not have is left out, but a caller has all parts of its source.
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
