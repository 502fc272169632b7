package cli

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The kinds of events.
const (
	gatewayHTTP         = "http-api"
	gatewayREST         = "rest-api"
	gatewayURL          = "function-url"
	gatewayLoadBalancer = "load-balancer"
	gatewayNone         = "none"
)

func gateways() []string {
	return []string{gatewayHTTP, gatewayREST, gatewayURL, gatewayLoadBalancer, gatewayNone}
}

// kindOf tells what kind of event this is, unless somebody has said so.
func kindOf(payload []byte, said string) (string, error) {
	if said != "" && !slices.Contains(gateways(), said) {
		return "", usagef("--gateway %q is none of %s", said, strings.Join(gateways(), ", "))
	}
	if !json.Valid(payload) {
		return "", usagef("--event: the event of %d bytes is no JSON", len(payload))
	}
	if said != "" {
		return said, nil
	}
	var e struct {
		HTTPMethod     string `json:"httpMethod"`
		RequestContext struct {
			ELB        json.RawMessage `json:"elb"`
			HTTP       json.RawMessage `json:"http"`
			DomainName string          `json:"domainName"`
		} `json:"requestContext"`
	}
	if err := json.Unmarshal(payload, &e); err != nil {
		return gatewayNone, nil //nolint:nilerr // an event of another form, such as a list or a text
	}
	c := e.RequestContext
	switch {
	case c.ELB != nil:
		return gatewayLoadBalancer, nil
	case c.HTTP != nil && strings.Contains(c.DomainName, ".lambda-url."):
		return gatewayURL, nil
	case c.HTTP != nil:
		return gatewayHTTP, nil
	case e.HTTPMethod != "":
		return gatewayREST, nil
	default:
		return gatewayNone, nil
	}
}

// knownRequest is what is known of a request without its event.
type knownRequest struct {
	key, method, route, path, query, body, contentType, api, stage string
}

// event makes the event of a REST API of it: a scope does not depend on the kind of gateway.
func (r knownRequest) event(a *app, header, caller string) ([]byte, error) {
	switch {
	case r.key == "":
		return nil, usagef("--key is missing: what the client sent in the header")
	case r.method == "":
		return nil, usagef("--method is missing")
	case r.route == "" && r.path == "":
		return nil, usagef("--route or --path is missing")
	case r.api == "":
		return nil, usagef("--api is missing: the id of the API or of the function URL, or the ARN of the target group")
	case r.stage == "" && !strings.HasPrefix(r.api, "arn:"):
		return nil, usagef("--stage is missing: of an HTTP API without another one, and of a function URL, it is $default")
	}
	identity, authorizer, err := identityOf(caller)
	if err != nil {
		return nil, err
	}
	if header == "" {
		header = "Idempotency-Key"
	}
	query, err := url.ParseQuery(r.query)
	if err != nil {
		return nil, usagef("--query cannot be decoded: %v", err)
	}
	headers := map[string]string{header: r.key}
	if r.contentType != "" {
		headers["Content-Type"] = r.contentType
	}
	e := map[string]any{
		"resource": r.route, "path": r.path, "httpMethod": r.method, "headers": headers,
		"multiValueQueryStringParameters": query,
		"requestContext":                  map[string]any{"apiId": r.api, "stage": r.stage, "identity": identity, "authorizer": authorizer},
	}
	if r.body != "" {
		body, err := a.file("--body", r.body)
		if err != nil {
			return nil, err
		}
		e["body"] = string(body)
		if !utf8.Valid(body) {
			e["body"], e["isBase64Encoded"] = base64.StdEncoding.EncodeToString(body), true
		}
	}
	return json.Marshal(e)
}

// identityOf puts a caller where the event of a REST API has it.
func identityOf(caller string) (identity, authorizer map[string]any, err error) {
	kind, name, _ := strings.Cut(caller, ":")
	first, second, isPair := strings.Cut(name, ",")
	bad := func(want string) error { return usagef("--caller %s: is not %s:%s", kind, kind, want) }
	identity, authorizer = map[string]any{}, map[string]any{}
	switch kind {
	case "", "anonymous", callerTenant:
	case "jwt":
		if !isPair || second == "" {
			return nil, nil, bad("ISSUER,SUBJECT")
		}
		authorizer["claims"] = map[string]any{"iss": first, "sub": second}
	case "iam":
		if !isPair || second == "" {
			return nil, nil, bad("ACCOUNT,USER_OR_ROLE_ID")
		}
		identity["accountId"], identity["caller"] = first, second
	case "lambda":
		authorizer["principalId"] = name
	case "lambda-number":
		n, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			return nil, nil, bad("INTEGER")
		}
		authorizer["principalId"] = n
	case "cognito-identity":
		identity["cognitoIdentityId"] = name
	case "api-key":
		identity["apiKeyId"] = name
	default:
		return nil, nil, usagef("--caller %q is none of jwt, lambda, lambda-number, cognito-identity, iam, api-key, tenant, anonymous", kind)
	}
	if name == "" && kind != "" && kind != "anonymous" {
		return nil, nil, bad("NAME")
	}
	return identity, authorizer, nil
}

// callerTenant is the caller that a function of WithTenant names.
const callerTenant = "tenant"
