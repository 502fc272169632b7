package gateway

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// Scope adds to h what a key belongs to: the tenant of the invocation (empty for none), the caller,
// and API, stage, method and route of r, or the path where there is no route. Of a key that the
// handler selects from the event, method, route and path do not count: whoever spells a path in
// eight ways must not have eight keys.
//
// Digests are stored. What is added here, and in which order, must never change.
func (r *Request) Scope(h *fingerprint.Hash, tenantID string, who Caller, key string, selected bool) {
	kind := "http"
	if selected {
		kind = "http selected"
	}
	h.String(kind)
	h.String(tenantID)
	h.String(who.source)
	h.String(strconv.Itoa(who.count))
	for _, part := range who.parts[:who.count] {
		h.String(part)
	}
	h.String(r.API)
	h.String(r.Stage)
	if !selected {
		h.String(r.Method)
		if r.Route != "" {
			h.String("route")
			h.String(r.Route)
		} else {
			h.String("path")
			h.String(r.Path)
		}
	}
	h.String(key)
}

// ScopePart is one part of a scope in words.
type ScopePart struct {
	Name, Value string
	// Personal is true if the value names a person, or who acts for one.
	Personal bool
}

// ScopeParts lists what [Request.Scope] digests, apart from the key, for people who ask what a key
// counts for. Two scopes are equal if and only if their parts are. Left out is what the event does
// not have, but a caller has all parts of its source.
func (r *Request) ScopeParts(tenantID string, who Caller, selected bool) []ScopePart {
	parts := make([]ScopePart, 0, 8)
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, ScopePart{Name: name, Value: value})
		}
	}
	add("tenant of the invocation", tenantID)
	add("caller", who.source)
	for i, value := range who.parts[:who.count] {
		parts = append(parts, ScopePart{Name: callerParts[who.source][i], Value: value, Personal: true})
	}
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

// Caller is who sent a request. Two callers are the same if they are equal.
type Caller struct {
	// source says where the parts come from, so that two sources never name the same caller.
	source string
	parts  [2]string
	count  int // of parts that the source has
}

// anonymous is the source of all callers whom nothing identifies, because there is no authorizer.
const anonymous = "anonymous"

// unusable is the source of callers whom an authorizer let in without a name that tells them apart:
// a token without a subject, a Lambda authorizer without a principal, a number that decoding may
// have changed, the users of an identity pool. They must not share the scope of anonymous callers.
// The rest of an authorizer's context is no substitute: a token that is renewed between two tries
// would make two callers of one, and the second try would execute again.
const unusable = "unusable"

// CallerOf returns the caller that a source knows by these parts, of which there are at most two.
func CallerOf(source string, parts ...string) Caller {
	c := Caller{source: source}
	c.count = copy(c.parts[:], parts)
	return c
}

// Anonymous reports whether nothing identifies the caller. The zero Caller is anonymous.
func (c Caller) Anonymous() bool { return c.source == anonymous || c.source == "" }

// Unusable reports whether an authorizer let the caller in without a name that tells callers apart.
func (c Caller) Unusable() bool { return c.source == unusable }

// caller is whom the gateway has established. If the event names several, the first of these
// counts. A subject is unique within its issuer only (RFC 7519, section 4.1.2).
func (e *event) caller() (c Caller) {
	switch t := &e.text; {
	case t[partSubject] != "":
		c = CallerOf("jwt", t[partIssuer], t[partSubject])
	case t[partPrincipal] != "":
		c = CallerOf("lambda", t[partPrincipal])
	case t[partPrincipalNumber] != "":
		c = CallerOf("lambda-number", t[partPrincipalNumber])
	case t[partIdentity] != "":
		c = CallerOf("cognito-identity", t[partIdentity])
	case t[partUser] != "":
		c = iamCaller(t[partAccount], t[partUser], t[partUserARN])
	case e.authorized || t[partAccount] != "":
		c = CallerOf(unusable)
	case t[partAPIKey] != "":
		c = CallerOf("api-key", t[partAPIKey])
	default:
		return Caller{source: anonymous}
	}
	// It stands for characters that could not be decoded, whichever they were.
	if strings.ContainsRune(c.parts[0], utf8.RuneError) || strings.ContainsRune(c.parts[1], utf8.RuneError) {
		return CallerOf(unusable)
	}
	return c
}

// poolSession is the session name that an identity pool gives to all of its users.
const poolSession = "CognitoIdentityCredentials"

// personalRole begins the name of every role that IAM Identity Center makes. All people with one
// permission set share the role, and the session has the name of the person, see
// https://docs.aws.amazon.com/singlesignon/latest/userguide/howtogetcredentials.html.
const personalRole = ":assumed-role/AWSReservedSSO_"

// iamCaller is an IAM user or role. The id of a role ends in a colon and the name of the session.
// One caller has sessions of different names, so the session does not count, except in a role of
// IAM Identity Center, and where it is an e-mail address: that is what providers of SAML and OIDC
// call the person. Another name of a federated session looks like that of any client. The users of
// an identity pool share one role and one session name: without an identity id, which a function
// URL does not pass on, nothing tells them apart. The id of an account may end in a colon and the
// name of a federated user, a caller of their own.
func iamCaller(account, id, arn string) Caller {
	if strings.HasPrefix(id, "AROA") {
		role, session, _ := strings.Cut(id, ":")
		switch personal := strings.Contains(arn, personalRole); {
		case session == poolSession, personal && session == "":
			return CallerOf(unusable)
		case !personal && !isAddress(session):
			id = role
		}
	}
	return CallerOf("iam", account, id)
}

func isAddress(session string) bool {
	user, domain, found := strings.Cut(session, "@")
	host, top, dotted := strings.Cut(domain, ".")
	return found && dotted && user != "" && host != "" && top != "" && !strings.Contains(domain, "@")
}
