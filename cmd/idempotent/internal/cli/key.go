package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/memory"
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
		Long: `Computes the record key of a request, as the handler does, without asking
anybody: no table, no network. From the event, as the function got it:

  idempotent key --operation charge --event event.json

That may be an event of an HTTP API, a REST API, a function URL or a load
balancer; one record of SQS, SNS, Kinesis or a DynamoDB stream, or an event
of EventBridge, of a handler that takes the type of package events; or any
other value. All but the first four need --key-path, or --key with what the
function of WithKey returns.

Or from what is known of an HTTP request:

  idempotent key --operation charge --key order-1 --method POST \
    --route /charges --api a1b2c3 --stage '$default' \
    --caller jwt:https://issuer.example,user-17

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
		Example: `  idempotent key --operation charge --event event.json -o json | jq -r .record_key
  idempotent key --operation ship --event message.json --key-path 'powertools_json(body).order_id'
  idempotent key --operation ship --key o-17`,
		Args: cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error {
			payload, kind, err := k.payload(a)
			if err != nil {
				return err
			}
			d, err := k.describe(cmd.Context(), kind, payload)
			if err != nil {
				return err
			}
			if !d.Protected {
				return errors.New("this request has no record: " + d.Unprotected)
			}
			return a.printKey(&d)
		}),
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
	must(cmd.MarkFlagFilename("event", "json"))
	noFiles(cmd)
	return cmd
}

// payload is the event of the request, and which kind of event it is.
func (k *keyQuestion) payload(a *app) (payload []byte, kind string, err error) {
	known := k.method != "" || k.route != "" || k.path != "" || k.api != "" || k.stage != ""
	switch {
	case k.operation == "":
		return nil, "", usagef("--operation is missing: the name of the handler, of an HTTP handler usually that of its function")
	case k.event != "" && known:
		return nil, "", usagef("--event is the whole request: leave out --method, --route, --path, --api and --stage")
	case k.event == "" && known:
		payload, err = k.request()
		return payload, kindREST, err
	case k.event == "" && k.key != "":
		return []byte("{}"), kindValue, nil
	case k.event == "":
		return nil, "", usagef("say what the request was: --event FILE, or --key, --method, --api and so on; see --help")
	}
	if payload, err = a.file("--event", k.event, mostEvent); err != nil {
		return nil, "", err
	}
	if !json.Valid(payload) {
		return nil, "", usagef("--event: the event of %d bytes is no JSON", len(payload))
	}
	kind, err = kindOf(payload)
	return payload, kind, err
}

// mostEvent bounds what is read of an event. One has 6 MB at most, or 20 MB of a stream.
const mostEvent = 32 << 20

// describe asks a handler like the one that the request came to what an event of this kind stands for.
func (k *keyQuestion) describe(ctx context.Context, kind string, payload []byte) (idempotent.Description, error) {
	switch kind {
	case kindHTTP:
		return describeAs[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse](ctx, k, payload, true)
	case kindREST:
		return describeAs[events.APIGatewayProxyRequest, events.APIGatewayProxyResponse](ctx, k, payload, true)
	case kindURL:
		return describeAs[events.LambdaFunctionURLRequest, events.LambdaFunctionURLResponse](ctx, k, payload, true)
	case kindLoadBalancer:
		return describeAs[events.ALBTargetGroupRequest, events.ALBTargetGroupResponse](ctx, k, payload, true)
	case kindSQS:
		return describeAs[events.SQSMessage, json.RawMessage](ctx, k, payload, false)
	case kindSNS:
		return describeAs[events.SNSEventRecord, json.RawMessage](ctx, k, payload, false)
	case kindKinesis:
		return describeAs[events.KinesisEventRecord, json.RawMessage](ctx, k, payload, false)
	case kindDynamoDB:
		return describeAs[events.DynamoDBEventRecord, json.RawMessage](ctx, k, payload, false)
	case kindEventBridge:
		return describeAs[events.EventBridgeEvent, json.RawMessage](ctx, k, payload, false)
	default:
		return describeAs[json.RawMessage, json.RawMessage](ctx, k, payload, false)
	}
}

// describeAs wraps a handler of these types, which never runs. What Wrap refuses is a wrong flag.
func describeAs[In, Out any](ctx context.Context, k *keyQuestion, payload []byte, isHTTP bool) (d idempotent.Description, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *idempotent.ConfigError:
			err = usagef("%s", strings.Join(p.Problems, "; "))
		default:
			panic(p)
		}
	}()
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
	if k.key != "" && (k.event != "" || !isHTTP) {
		opts = append(opts, idempotent.WithKey(func(In) (string, error) { return k.key, nil }))
	}
	never := func(context.Context, In) (none Out, _ error) {
		return none, errors.New("a description runs no handler")
	}
	return idempotent.Wrap(never, memory.New(), opts...).DescribeEvent(ctx, payload)
}

// printKey prints a description.
func (a *app) printKey(d *idempotent.Description) error {
	type part struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	scope := make([]part, 0, len(d.Scope))
	rows := [][]show.Cell{show.Cells("Record key", d.RecordKey)}
	for i, p := range d.Scope {
		scope = append(scope, part{p.Name, p.Value})
		rows = append(rows, show.Cells(map[bool]string{true: "Scope"}[i == 0], p.Name+" "+p.Value))
	}
	if a.output == outputJSON {
		return a.json(struct {
			RecordKey string `json:"record_key"`
			Operation string `json:"operation"`
			Scope     []part `json:"scope,omitempty"`
		}{d.RecordKey, d.Operation, scope})
	}
	return a.out().Table(append(rows, show.Cells("Next", fmt.Sprintf("idempotent inspect '%s'", d.RecordKey))))
}
