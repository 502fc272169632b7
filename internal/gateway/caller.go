package gateway

import (
	"strings"
	"unicode/utf8"
)

// Caller is who sent a request. Two callers are the same if they are equal.
type Caller struct {
	// source says where the parts come from, so that two sources never name the same caller.
	source string
	parts  [2]string
	// count is how many parts the source has.
	count int
}

// anonymous is the source of all callers whom nothing identifies, because there is no authorizer.
const anonymous = "anonymous"

// unusable is the source of callers whom an authorizer let in without a name that tells them apart:
// a token without a subject, a Lambda authorizer without a principal, a number that decoding may
// have changed, the users of an identity pool. They must not share the scope of anonymous callers.
// The rest of an authorizer's context is no substitute for a name. It would make two callers of one
// whose token was renewed between two tries, and the second try would execute again.
const unusable = "unusable"

// CallerOf returns the caller that a source knows by these parts, of which there are at most two.
func CallerOf(source string, parts ...string) Caller {
	c := Caller{source: source}
	c.count = copy(c.parts[:], parts)
	return c
}

// Anonymous reports whether nothing identifies the caller. The zero Caller is anonymous.
func (c Caller) Anonymous() bool { return c.source == anonymous || c.source == "" }

// Unusable reports whether an authorizer let the caller in, but did not say who it is in a way that
// tells callers apart.
func (c Caller) Unusable() bool { return c.source == unusable }

// caller is whom the gateway has established. If the event names several, the first of these
// counts.
func (e *event) caller() Caller {
	c := e.namedCaller()
	for _, part := range c.parts {
		// what stands for characters that could not be decoded, whichever they were
		if strings.ContainsRune(part, utf8.RuneError) {
			return CallerOf(unusable)
		}
	}
	return c
}

func (e *event) namedCaller() Caller {
	switch t := &e.text; {
	case t[partSubject] != "":
		return jwtCaller(t[partIssuer], t[partSubject])
	case t[partPrincipal] != "":
		return CallerOf("lambda", t[partPrincipal])
	case t[partPrincipalNumber] != "":
		return CallerOf("lambda-number", t[partPrincipalNumber])
	case t[partIdentity] != "":
		return CallerOf("cognito-identity", t[partIdentity])
	case t[partUser] != "":
		return iamCaller(t[partAccount], t[partUser], t[partUserARN])
	case e.authorized || t[partAccount] != "":
		return CallerOf(unusable)
	case t[partAPIKey] != "":
		return CallerOf("api-key", t[partAPIKey])
	default:
		return CallerOf(anonymous)
	}
}

// named reports whether the event has a name for its caller.
func (e *event) named() bool {
	t := &e.text
	return t[partSubject] != "" || t[partPrincipal] != "" || t[partPrincipalNumber] != "" || t[partIdentity] != "" ||
		t[partUser] != ""
}

// jwtCaller is the subject of a token. A subject is unique within its issuer only (RFC 7519,
// section 4.1.2).
func jwtCaller(issuer, subject string) Caller {
	return CallerOf("jwt", issuer, subject)
}

// poolSession is the session name that an identity pool gives to all of its users.
const poolSession = "CognitoIdentityCredentials"

// personalRole begins the name of every role that IAM Identity Center makes. All people with one
// permission set share the role. The name of the session is the name of the person, see
// https://docs.aws.amazon.com/singlesignon/latest/userguide/howtogetcredentials.html.
const personalRole = ":assumed-role/AWSReservedSSO_"

// iamCaller is an IAM user or role.
//
// The id of a role ends in a colon and the name of the session. Clients that are the same caller
// have sessions of different names, so the session does not count, except in a role of IAM Identity
// Center, and where it is an e-mail address: that is what providers of SAML and OIDC call the
// person. Another name of a federated session looks like that of any client. The users of an
// identity pool share one role and one session name. Without an identity id, which a function URL
// does not pass on, nothing tells them apart.
//
// The id of an account ends in a colon and the name of a federated user, who is a caller of their
// own.
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

// isAddress reports whether the name of a session is an e-mail address, which names a person.
func isAddress(session string) bool {
	user, domain, found := strings.Cut(session, "@")
	host, top, dotted := strings.Cut(domain, ".")
	return found && dotted && user != "" && host != "" && top != "" && !strings.Contains(domain, "@")
}
