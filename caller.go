package idempotent

import (
	"math"
	"strconv"
	"strings"
)

// caller is whom the gateway has established: the first that it names.
func (e *httpEvent) caller() caller {
	switch t := &e.text; {
	case t[partSubject] != "":
		return jwtCaller(t[partIssuer], t[partSubject])
	case t[partPrincipal] != "":
		return callerOf("lambda", t[partPrincipal])
	case t[partPrincipalNumber] != "":
		return callerOf("lambda-number", t[partPrincipalNumber])
	case t[partIdentity] != "":
		return callerOf("cognito-identity", t[partIdentity])
	case t[partUser] != "":
		return iamCaller(t[partAccount], t[partUser])
	case t[partAPIKey] != "":
		return callerOf("api-key", t[partAPIKey])
	default:
		return callerOf(anonymous)
	}
}

// jwtCaller is the subject of a token, which is unique within its issuer (RFC 7519, section 4.1.2).
func jwtCaller(issuer, subject string) caller {
	return callerOf("jwt", issuer, subject)
}

// poolSession is the session name that an identity pool gives to all of its users.
const poolSession = "CognitoIdentityCredentials"

// iamCaller is an IAM user or role. Behind the colon of a role's id is the session name, which differs between clients
// that are the same caller; behind that of an account's id is the name of a federated user, who is a caller of their own.
// The users of an identity pool have one role and one session name: without an identity id, which a function URL does not
// pass on, nothing tells them apart.
func iamCaller(account, id string) caller {
	if strings.HasPrefix(id, "AROA") {
		role, session, _ := strings.Cut(id, ":")
		if session == poolSession {
			return callerOf(anonymous)
		}
		id = role
	}
	return callerOf("iam", account, id)
}

// principal keeps what a Lambda authorizer says who the caller is.
func (e *httpEvent) principal(v any) {
	e.text[partPrincipal], e.text[partPrincipalNumber] = text(v), integer(v)
}

// text is the string in a decoded JSON value, empty for anything else.
func text(v any) string {
	s, _ := v.(string)
	return s
}

// integer is the decimal text of an integer in a decoded JSON value, empty for anything else. From 2^53 on it may have lost
// digits when it was decoded: two callers would be one number.
func integer(v any) string {
	const exact = 1 << 53
	n, ok := v.(float64)
	if !ok || n != math.Trunc(n) || math.Abs(n) >= exact {
		return ""
	}
	return strconv.FormatInt(int64(n), 10)
}
