package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// keyQuestion is a request, and the handler that it came to: the values of the flags.
type keyQuestion struct {
	event, operation, key, keyPath          string
	method, route, path, api, stage, caller string
}

func (a *app) key() *cobra.Command {
	k := &keyQuestion{}
	cmd := &cobra.Command{
		Use:   "key --operation NAME --event FILE",
		Short: "Computes the record key of a request: from a complaint to a record",
		Long: `Computes the record key of a request, as the handler does. With a table it looks
the record up, without one it asks nobody. It takes the event, as the function
got it, or what is known of an HTTP request.

The event may be one of an HTTP API, a REST API, a function URL or a load
balancer, or any other value, such as one record of a queue. The latter needs
--key-path, or --key with what the function of WithKey returns.

  --route   the template that the gateway matched, such as /charges/{id};
            not of $default, a greedy route, a function URL or a load
            balancer: then --path counts, as the function sees it
  --api     the id of the API or of the function URL; of a load balancer the
            ARN of the target group
  --stage   of an HTTP API without another one, and of a function URL,
            $default; of a load balancer there is none
  --caller  whom the gateway named: jwt:ISSUER,SUBJECT  lambda:PRINCIPAL
            cognito-identity:ID  api-key:ID  iam:ACCOUNT,USER_ID,USER_ARN,
            as the access log has them; tenant:NAME is what the function of
            WithTenant returned. Without it nobody was named

--operation is the name that WithOperation gives, of an HTTP handler without
it the name of the function. Handlers with other options that change keys,
such as WithDigestKey or WithPowertools, tell them by their method
DescribeEvent.`,
		Example: `  idempotent key --operation charge --event event.json -o json
  idempotent key --operation ship --event message.json \
    --key-path 'powertools_json(body).order_id'
  idempotent key --operation ship --key o-17
  idempotent key --operation charge --key order-1 --method POST \
    --route /charges --api a1b2c3 --stage '$default' \
    --caller jwt:https://issuer.example,user-17`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			payload, describe, err := k.payload(a)
			if err != nil {
				return err
			}
			d, err := describe(cmd.Context(), k, payload)
			if err != nil {
				return err
			}
			if !d.Protected {
				return errors.New("this request has no record: " + d.Unprotected)
			}
			return a.lookUp(cmd.Context(), &d)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&k.event, "event", "", "the `file` with the event as JSON, - for standard input")
	f.StringVar(&k.operation, "operation", "", "the `name` of the handler")
	f.StringVar(&k.keyPath, "key-path", "", "the JMESPath `expression` of WithKeyPath")
	f.StringVar(&k.key, "key", "", "the `key` as the client sent it, or as WithKey returns it")
	f.StringVar(&k.method, "method", "", "the HTTP `method`")
	f.StringVar(&k.route, "route", "", "the `template` of the route")
	f.StringVar(&k.path, "path", "", "the `path`, where there is no route")
	f.StringVar(&k.api, "api", "", "the `id` of the API")
	f.StringVar(&k.stage, "stage", "", "the `stage` of the API")
	f.StringVar(&k.caller, "caller", "", "who sent it, `kind:name`")
	return cmd
}

// payload is the event of the request, and who describes it.
func (k *keyQuestion) payload(a *app) (payload []byte, of describe, err error) {
	known := k.method != "" || k.route != "" || k.path != "" || k.api != "" || k.stage != ""
	switch {
	case k.operation == "" && (k.event != "" || !known):
		return nil, nil, usagef("%s", operationMissing)
	case k.event != "" && known:
		return nil, nil, usagef("--event is the whole request: leave out --method, --route, --path, --api and --stage")
	case k.event == "" && known:
		payload, err = k.request()
		return payload, describeREST, err
	case k.event == "" && k.key != "":
		return []byte("{}"), describeValue, nil
	case k.event == "":
		return nil, nil, usagef(
			"say what the request was: --event FILE, or --key, --method, --api and so on; see --help")
	}
	// An event has 6 MB at most, or 20 MB of a stream.
	if payload, err = a.file("--event", k.event, 32<<20); err != nil {
		return nil, nil, err
	}
	if !json.Valid(payload) {
		return nil, nil, usagef("--event: the event of %d bytes is no JSON", len(payload))
	}
	of, err = kindOf(payload)
	return payload, of, err
}

const operationMissing = "--operation is missing: the name of the handler, of an HTTP handler usually that of its " +
	"function"

// describe asks a handler like the one that the request came to what an event stands for.
type describe func(context.Context, *keyQuestion, []byte) (idempotent.Description, error)

var (
	describeREST describe = describeAs[events.APIGatewayProxyRequest, events.APIGatewayProxyResponse]
	// describeValue is of one that answers no HTTP requests: --key or --key-path says its key.
	describeValue describe = describeAs[json.RawMessage, json.RawMessage]
)

// describeAs wraps a handler of these types, which never runs. What Wrap refuses is a wrong flag.
func describeAs[In, Out any](ctx context.Context, k *keyQuestion, event []byte) (d idempotent.Description, err error) {
	defer connect.Refused(&err)
	opts := []idempotent.Option{idempotent.WithDisabled(false), idempotent.WithOperation(k.operation)}
	kind, tenant, _ := strings.Cut(k.caller, ":")
	switch {
	case kind == "tenant" && tenant != "":
		opts = append(opts, idempotent.WithTenant(func(context.Context, In) (string, error) { return tenant, nil }))
	case k.caller != "" && k.event != "":
		return d, usagef("--caller %s: the event names the caller; only tenant:NAME goes with it", kind)
	}
	if k.keyPath != "" {
		opts = append(opts, idempotent.WithKeyPath(k.keyPath))
	}
	if _, isValue := any(*new(In)).(json.RawMessage); k.key != "" && (k.event != "" || isValue) {
		opts = append(opts, idempotent.WithKey(func(In) (string, error) { return k.key, nil }))
	}
	never := func(context.Context, In) (none Out, _ error) {
		return none, errors.New("a description runs no handler")
	}
	return idempotent.Wrap(never, memory.New(), opts...).DescribeEvent(ctx, event)
}

type keyLine struct {
	RecordKey string    `json:"record_key"`
	Operation string    `json:"operation"`
	Scope     []keyPart `json:"scope,omitempty"`
	// Found says whether there is a record, if somebody looked.
	Found *bool         `json:"found,omitempty"`
	State operate.State `json:"state,omitempty"`
	Where connect.Place `json:"where,omitzero"`
}

type keyPart struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// lookUp prints a description, and what there is under its key where there is a table.
func (a *app) lookUp(ctx context.Context, d *idempotent.Description) error {
	line := keyLine{RecordKey: d.RecordKey, Operation: d.Operation}
	var rows show.Rows
	rows.Add("Record key", d.RecordKey)
	for i, p := range d.Scope {
		line.Scope = append(line.Scope, keyPart{p.Name, p.Value})
		rows.Add(map[bool]string{true: "Scope"}[i == 0], p.Name+" "+p.Value)
	}
	if a.target.Table != "" || a.demo {
		if err := a.open(ctx); err != nil {
			return err
		}
		shown, err := a.operator.Inspect(ctx, d.RecordKey)
		_, unreadable := errors.AsType[*store.UnreadableError](err)
		switch {
		case unreadable:
			shown.State = operate.StateOther
		case err != nil && !errors.Is(err, operate.ErrNotFound):
			return err
		}
		found := shown.State != ""
		line.Found, line.State, line.Where = &found, shown.State, a.place
		if found {
			rows.Add("Record", "there is one: "+string(line.State))
		} else {
			rows.Add("Record", "none: it was never written, or was released, or has expired and was deleted; or the "+
				"request was another one: its caller, stage, route or path differed")
		}
	}
	if a.output == outputJSON {
		return a.json(line)
	}
	if line.Found == nil || *line.Found {
		rows.Add("Next", fmt.Sprintf("idempotent inspect '%s'", d.RecordKey))
	}
	return a.out().Table(rows)
}

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
	}
	return describeValue, nil
}

// request makes an event of what is known of an HTTP request: one of a REST API, because a scope
// does not depend on the gateway.
func (k *keyQuestion) request() ([]byte, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	context := map[string]any{"apiId": k.api, "stage": k.stage}
	if err := k.nameCaller(context); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{
		"resource": k.route, "path": k.path, "httpMethod": strings.ToUpper(k.method),
		"headers": map[string]string{"Idempotency-Key": k.key}, "requestContext": context,
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
	}
	return nil
}

var (
	stageName  = regexp.MustCompile(`^([A-Za-z0-9_-]{1,128}|\$default)$`)
	methodName = regexp.MustCompile(`^[A-Za-z]+$`)
)

// callers are the kinds of callers with the form of their names, as the access log of a gateway has
// them. The event of a REST API has the parts of a name as members of its identity, or in its
// authorizer, or in the claims of that.
var callers = map[string]struct {
	form, in string
	members  []string
	number   bool
}{
	"anonymous":        {},
	"tenant":           {form: "NAME"}, // the handler names the tenant
	"jwt":              {form: "ISSUER,SUBJECT", in: "claims", members: []string{"iss", "sub"}},
	"lambda":           {form: "PRINCIPAL", in: "authorizer", members: []string{"principalId"}},
	"lambda-number":    {form: "INTEGER", in: "authorizer", members: []string{"principalId"}, number: true},
	"cognito-identity": {form: "ID", members: []string{"cognitoIdentityId"}},
	"api-key":          {form: "ID", members: []string{"apiKeyId"}},
	"iam":              {form: "ACCOUNT,USER_ID[,USER_ARN]", members: []string{"accountId", "caller", "userArn"}},
}

// nameCaller puts the caller into the context of the event of a REST API. An authorizer that is
// there and names nobody would be refused.
func (k *keyQuestion) nameCaller(context map[string]any) error {
	kind, name, _ := strings.Cut(k.caller, ":")
	as, known := callers[kind]
	values := append(strings.SplitN(name, ",", max(1, len(as.members))), "", "")
	number, notANumber := strconv.ParseInt(name, 10, 64)
	switch {
	case k.caller == "":
		return nil
	case !known:
		return usagef(
			"--caller %s: is none of jwt, lambda, lambda-number, cognito-identity, iam, api-key, tenant, anonymous",
			kind)
	case as.form != "" && name == "", strings.Contains(as.form, ",") && values[1] == "",
		as.number && notANumber != nil:
		return usagef("--caller %s: is not %s:%s", kind, kind, as.form)
	}
	named := make(map[string]any)
	for i, member := range as.members {
		if named[member] = values[i]; as.number {
			named[member] = number
		}
	}
	switch {
	case as.in == "claims":
		context["authorizer"] = map[string]any{as.in: named}
	case as.members != nil:
		context[cmp.Or(as.in, "identity")] = named
	}
	return nil
}
