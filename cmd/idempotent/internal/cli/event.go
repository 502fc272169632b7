package cli

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// kindOf tells which handler an event came to: one of a gateway, or one of any other value.
func kindOf(payload []byte) (describe, error) {
	var e struct {
		HTTPMethod     string          `json:"httpMethod"`
		Records        json.RawMessage `json:"Records"`
		RequestContext struct {
			ELB        json.RawMessage `json:"elb"`
			HTTP       json.RawMessage `json:"http"`
			DomainName string          `json:"domainName"`
		} `json:"requestContext"`
	}
	_ = json.Unmarshal(payload, &e) // an event of another form, such as a list or a text, has none of these
	c := e.RequestContext
	switch {
	case e.Records != nil:
		return nil, usagef("--event: a batch has a record key for each of its records: give one of them")
	case c.ELB != nil:
		return describeAs[events.ALBTargetGroupRequest, events.ALBTargetGroupResponse], nil
	case c.HTTP != nil && strings.Contains(c.DomainName, ".lambda-url."):
		return describeAs[events.LambdaFunctionURLRequest, events.LambdaFunctionURLResponse], nil
	case c.HTTP != nil:
		return describeAs[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse], nil
	case e.HTTPMethod != "":
		return describeREST, nil
	default:
		return describeValue, nil
	}
}

// request makes an event of what is known of an HTTP request: one of a REST API, because a scope
// does not depend on the gateway.
func (k *keyQuestion) request() ([]byte, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	identity, authorizer, err := callerOf(k.caller)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{
		"resource": k.route, "path": k.path, "httpMethod": strings.ToUpper(k.method),
		"headers": map[string]string{"Idempotency-Key": k.key},
		"requestContext": map[string]any{
			"apiId": k.api, "stage": k.stage, "identity": identity,
			"authorizer": authorizer,
		},
	})
}

// check names all flags that are missing at once, and refuses what no request has.
func (k *keyQuestion) check() error {
	var missing []string
	needs := func(is bool, says string) {
		if !is {
			missing = append(missing, says)
		}
	}
	balanced := strings.HasPrefix(k.api, "arn:") // a load balancer is named by the ARN of the target group
	needs(k.operation != "", operationMissing)
	needs(k.key != "", "--key is missing: what the client sent in the header")
	needs(k.method != "", "--method is missing")
	needs(k.route != "" || k.path != "", "--route or --path is missing")
	needs(k.api != "", "--api is missing: the id of the API or of the function URL, or the ARN of the target group")
	needs(k.stage != "" || balanced,
		"--stage is missing: of an HTTP API without another one, and of a function URL, it is $default")
	switch {
	case missing != nil:
		return usagef("%s", strings.Join(missing, "; "))
	case k.route != "" && !strings.HasPrefix(k.route, "/"):
		return usagef("--route %q is no template: it begins with /, without the method. Of $default there is none: "+
			"give --path", k.route)
	case k.path != "" && !strings.HasPrefix(k.path, "/"):
		return usagef("--path %q does not begin with /", k.path)
	case strings.ContainsAny(k.api, "/.") && !balanced:
		return usagef("--api %q is no id: of https://a1b2c3.execute-api.eu-central-1.amazonaws.com it is a1b2c3", k.api)
	case !methodName.MatchString(k.method):
		return usagef("--method %q is no method", k.method)
	case k.stage != "" && balanced:
		return usagef("--stage %q: a load balancer has no stages", k.stage)
	case !balanced && !stageName.MatchString(k.stage):
		return usagef("--stage %q is no name of a stage: of …/live/charges it is live, of an HTTP API without one "+
			"$default", k.stage)
	default:
		return nil
	}
}

var (
	stageName  = regexp.MustCompile(`^([A-Za-z0-9_-]{1,128}|\$default)$`)
	methodName = regexp.MustCompile(`^[A-Za-z]+$`)
)

// Kinds of callers that are not what they look like: a number, and one that no event has.
const (
	callerNumber = "lambda-number"
	callerTenant = "tenant"
)

// callers are the kinds of callers with the form of their names, as the access log of a gateway has
// them. The event of a REST API has the parts of a name as members of its identity, of its
// authorizer, or of the claims of that.
var callers = map[string]struct {
	form                         string
	identity, authorizer, claims []string
}{
	"anonymous":        {},
	callerTenant:       {form: "NAME"}, // the handler names the tenant
	"jwt":              {form: "ISSUER,SUBJECT", claims: []string{"iss", "sub"}},
	"lambda":           {form: "PRINCIPAL", authorizer: []string{"principalId"}},
	callerNumber:       {form: "INTEGER", authorizer: []string{"principalId"}},
	"cognito-identity": {form: "ID", identity: []string{"cognitoIdentityId"}},
	"api-key":          {form: "ID", identity: []string{"apiKeyId"}},
	"iam":              {form: "ACCOUNT,USER_ID[,USER_ARN]", identity: []string{"accountId", "caller", "userArn"}},
}

// callerOf puts a caller where the event of a REST API has it. An authorizer that is there and
// names nobody would be refused.
func callerOf(caller string) (identity, authorizer map[string]any, err error) {
	kind, name, _ := strings.Cut(caller, ":")
	as, known := callers[kind]
	members := slices.Concat(as.identity, as.authorizer, as.claims)
	values := append(strings.SplitN(name, ",", max(1, len(members))), "", "")
	number, notANumber := strconv.ParseInt(name, 10, 64)
	switch {
	case caller == "":
		return nil, nil, nil
	case !known:
		return nil, nil, usagef(
			"--caller %s: is none of jwt, lambda, lambda-number, cognito-identity, iam, api-key, tenant, anonymous",
			kind)
	case as.form != "" && name == "", strings.Contains(as.form, ",") && values[1] == "",
		kind == callerNumber && notANumber != nil:
		return nil, nil, usagef("--caller %s: is not %s:%s", kind, kind, as.form)
	}
	named := make(map[string]any)
	for i, member := range members {
		if named[member] = values[i]; kind == callerNumber {
			named[member] = number
		}
	}
	switch {
	case as.identity != nil:
		return named, nil, nil
	case as.authorizer != nil:
		return nil, named, nil
	case as.claims != nil:
		return nil, map[string]any{"claims": named}, nil
	default:
		return nil, nil, nil
	}
}
