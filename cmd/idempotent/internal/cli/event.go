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
	kindHTTP         = "http-api"
	kindREST         = "rest-api"
	kindURL          = "function-url"
	kindLoadBalancer = "load-balancer"
	kindSQS          = "sqs"
	kindSNS          = "sns"
	kindKinesis      = "kinesis"
	kindDynamoDB     = "dynamodb"
	kindEventBridge  = "eventbridge"
	kindValue        = "value"
)

func kinds() []string {
	return []string{
		kindHTTP, kindREST, kindURL, kindLoadBalancer, kindSQS, kindSNS, kindKinesis, kindDynamoDB, kindEventBridge, kindValue,
	}
}

// kindOf tells what kind of event this is, unless somebody has said so.
func kindOf(payload []byte, said string) (string, error) {
	switch {
	case said != "" && !slices.Contains(kinds(), said):
		return "", usagef("--kind %q is none of %s", said, strings.Join(kinds(), ", "))
	case !json.Valid(payload):
		return "", usagef("--event: the event of %d bytes is no JSON", len(payload))
	case said != "":
		return said, nil
	}
	var e struct {
		HTTPMethod     string          `json:"httpMethod"`
		EventSource    string          `json:"eventSource"` // of SNS with a capital, which decoding does not mind
		DetailType     json.RawMessage `json:"detail-type"`
		Records        json.RawMessage `json:"Records"`
		RequestContext struct {
			ELB        json.RawMessage `json:"elb"`
			HTTP       json.RawMessage `json:"http"`
			DomainName string          `json:"domainName"`
		} `json:"requestContext"`
	}
	if err := json.Unmarshal(payload, &e); err != nil {
		return kindValue, nil //nolint:nilerr // an event of another form, such as a list or a text
	}
	c := e.RequestContext
	switch {
	case e.Records != nil:
		return "", usagef("--event: a batch has a record key for each of its records: give one of them")
	case c.ELB != nil:
		return kindLoadBalancer, nil
	case c.HTTP != nil && strings.Contains(c.DomainName, ".lambda-url."):
		return kindURL, nil
	case c.HTTP != nil:
		return kindHTTP, nil
	case e.HTTPMethod != "":
		return kindREST, nil
	case e.DetailType != nil:
		return kindEventBridge, nil
	}
	for _, kind := range []string{kindSQS, kindSNS, kindKinesis, kindDynamoDB} {
		if e.EventSource == "aws:"+kind {
			return kind, nil
		}
	}
	return kindValue, nil
}

// knownRequest is what is known of a request without its event.
type knownRequest struct {
	key, method, route, path, query, body, contentType, api, stage string
}

// event makes the event of a REST API of it: a scope does not depend on the kind of gateway. selected says that the handler
// selects the key, which then counts on every route. read reads the body.
func (r knownRequest) event(read func(flag, name string) ([]byte, error), header, caller string, selected bool) ([]byte, error) {
	switch {
	case r.key == "" && !selected:
		return nil, usagef("--key is missing: what the client sent in the header")
	case r.method == "":
		return nil, usagef("--method is missing")
	case r.route == "" && r.path == "" && !selected:
		return nil, usagef("--route or --path is missing")
	case r.api == "":
		return nil, usagef("--api is missing: the id of the API or of the function URL, or the ARN of the target group")
	case r.stage == "" && !strings.HasPrefix(r.api, "arn:"):
		return nil, usagef("--stage is missing: of an HTTP API without another one, and of a function URL, it is $default")
	}
	identity, authorizer, err := callerOf(caller)
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
	headers := make(map[string]string)
	if r.key != "" {
		headers[header] = r.key
	}
	if r.contentType != "" {
		headers["Content-Type"] = r.contentType
	}
	e := map[string]any{
		"resource": r.route, "path": r.path, "httpMethod": r.method, "headers": headers,
		"multiValueQueryStringParameters": query,
		"requestContext":                  map[string]any{"apiId": r.api, "stage": r.stage, "identity": identity, "authorizer": authorizer},
	}
	if r.body != "" {
		body, err := read("--body", r.body)
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

// callerOf puts a caller where the event of a REST API has it. An authorizer that is there and names nobody would be refused.
func callerOf(caller string) (identity, authorizer map[string]any, err error) {
	kind, name, _ := strings.Cut(caller, ":")
	first, second, _ := strings.Cut(name, ",")
	bad := func(want string) error { return usagef("--caller %s: is not %s:%s", kind, kind, want) }
	switch {
	case kind == "" || kind == "anonymous":
		return nil, nil, nil
	case name == "":
		return nil, nil, bad("NAME")
	}
	switch kind {
	case callerTenant:
		return nil, nil, nil
	case "jwt":
		if second == "" {
			return nil, nil, bad("ISSUER,SUBJECT")
		}
		return nil, map[string]any{"claims": map[string]any{"iss": first, "sub": second}}, nil
	case "iam":
		user, arn, _ := strings.Cut(second, ",")
		if user == "" {
			return nil, nil, bad("ACCOUNT,USER_ID[,USER_ARN]")
		}
		return map[string]any{"accountId": first, "caller": user, "userArn": arn}, nil, nil
	case "lambda":
		return nil, map[string]any{"principalId": name}, nil
	case "lambda-number":
		n, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			return nil, nil, bad("INTEGER")
		}
		return nil, map[string]any{"principalId": n}, nil
	case "cognito-identity":
		return map[string]any{"cognitoIdentityId": name}, nil, nil
	case "api-key":
		return map[string]any{"apiKeyId": name}, nil, nil
	default:
		return nil, nil, usagef("--caller %s: is none of jwt, lambda, lambda-number, cognito-identity, iam, api-key, tenant, anonymous", kind)
	}
}

// callerTenant is the caller that a function of WithTenant names.
const callerTenant = "tenant"
