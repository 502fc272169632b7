package idempotent

import (
	"math"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// callerV2 reads whom an HTTP API has established. The event has an authorizer only if the route does; one without any
// context is {"lambda": null}.
func callerV2(a *events.APIGatewayV2HTTPRequestContextAuthorizerDescription) caller {
	switch {
	case a == nil:
		return caller{source: anonymous}
	case a.JWT != nil && a.JWT.Claims["sub"] != "":
		return jwtCaller(a.JWT.Claims["iss"], a.JWT.Claims["sub"])
	case text(a.Lambda["principalId"]) != "":
		return caller{"lambda", []string{text(a.Lambda["principalId"])}}
	case integer(a.Lambda["principalId"]) != "":
		return caller{"lambda-number", []string{integer(a.Lambda["principalId"])}}
	case a.IAM != nil && a.IAM.CognitoIdentity.IdentityID != "":
		return caller{"cognito-identity", []string{a.IAM.CognitoIdentity.IdentityID}}
	case a.IAM != nil && a.IAM.UserID != "":
		return iamCaller(a.IAM.AccountID, a.IAM.UserID)
	default:
		return caller{source: anonymous}
	}
}

// callerV1 reads whom a REST API, or an HTTP API with payload format 1.0, has established. The latter fills the
// authorizer with nulls where there is none. A Lambda authorizer's principal and context share one map.
func callerV1(c *events.APIGatewayProxyRequestContext) caller {
	claims, _ := c.Authorizer["claims"].(map[string]any)
	switch {
	case text(claims["sub"]) != "":
		return jwtCaller(text(claims["iss"]), text(claims["sub"]))
	case text(c.Authorizer["principalId"]) != "":
		return caller{"lambda", []string{text(c.Authorizer["principalId"])}}
	case integer(c.Authorizer["principalId"]) != "":
		return caller{"lambda-number", []string{integer(c.Authorizer["principalId"])}}
	case c.Identity.CognitoIdentityID != "":
		return caller{"cognito-identity", []string{c.Identity.CognitoIdentityID}}
	case c.Identity.Caller != "":
		return iamCaller(c.Identity.AccountID, c.Identity.Caller)
	case c.Identity.APIKeyID != "":
		return caller{"api-key", []string{c.Identity.APIKeyID}}
	default:
		return caller{source: anonymous}
	}
}

// callerURL reads whom a function URL has established: somebody only with the authentication type AWS_IAM.
func callerURL(a *events.LambdaFunctionURLRequestContextAuthorizerDescription) caller {
	if a == nil || a.IAM == nil || a.IAM.UserID == "" {
		return caller{source: anonymous}
	}
	return iamCaller(a.IAM.AccountID, a.IAM.UserID)
}

// jwtCaller is the subject of a token, which is unique within its issuer (RFC 7519, section 4.1.2).
func jwtCaller(issuer, subject string) caller {
	return caller{"jwt", []string{issuer, subject}}
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
			return caller{source: anonymous}
		}
		id = role
	}
	return caller{"iam", []string{account, id}}
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
