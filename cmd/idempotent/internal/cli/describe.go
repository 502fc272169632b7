package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

// twin is a handler with the options of the one that the request came to. It only describes.
type twin struct {
	opts []idempotent.Option
	http idempotent.HTTP
	// hasHTTP is true if http says something.
	hasHTTP             bool
	selectedKey, tenant string
	tenantID            string
}

// handler makes the twin of the handler that the flags describe.
func (k *keyQuestion) handler() (*twin, error) {
	h := &twin{
		opts: []idempotent.Option{idempotent.WithDisabled(false)}, selectedKey: k.selectedKey, tenantID: k.tenantID,
		http:    idempotent.HTTP{Header: k.header, FingerprintHeaders: k.fingerprintHeaders},
		hasHTTP: k.header != "" || len(k.fingerprintHeaders) > 0,
	}
	kind, name, _ := strings.Cut(k.caller, ":")
	switch {
	case kind == callerTenant && name == "":
		return nil, usagef("--caller tenant: is not tenant:NAME")
	case kind == callerTenant:
		h.tenant = name
	case k.caller != "" && k.request == (knownRequest{}):
		return nil, usagef("--caller %s: the event names the caller; only tenant:NAME goes with it", kind)
	}
	if k.operation != "" {
		h.opts = append(h.opts, idempotent.WithOperation(k.operation))
	}
	if k.keyPath != "" {
		h.opts = append(h.opts, idempotent.WithKeyPath(k.keyPath))
	}
	if k.fingerprintPath != "" {
		h.opts = append(h.opts, idempotent.WithFingerprintPath(k.fingerprintPath))
	}
	if k.exactNames {
		h.opts = append(h.opts, idempotent.WithExactNames())
	}
	if k.partialKey {
		h.opts = append(h.opts, idempotent.WithPartialKey())
	}
	if k.withoutFingerprint {
		h.opts = append(h.opts, idempotent.WithoutFingerprint())
	}
	if k.powertools != "" {
		h.opts = append(h.opts, idempotent.WithPowertools(idempotent.Powertools{
			Language: idempotent.PowertoolsLanguage(k.powertools), Prefix: k.powertoolsPrefix, AllCallers: true,
		}))
	}
	if k.digestKeyFile != "" {
		secret, err := os.ReadFile(k.digestKeyFile)
		if err != nil {
			return nil, usagef("--digest-key-file cannot be read: %v", err)
		}
		h.opts = append(h.opts, idempotent.WithDigestKey(secret))
	}
	return h, nil
}

// describe asks the twin what an event of this kind stands for.
func (h *twin) describe(ctx context.Context, kind string, payload []byte) (idempotent.Description, error) {
	if h.tenantID != "" {
		ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{TenantID: h.tenantID})
	}
	switch kind {
	case kindHTTP:
		return describeAs[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse](ctx, h, payload, true)
	case kindREST:
		return describeAs[events.APIGatewayProxyRequest, events.APIGatewayProxyResponse](ctx, h, payload, true)
	case kindURL:
		return describeAs[events.LambdaFunctionURLRequest, events.LambdaFunctionURLResponse](ctx, h, payload, true)
	case kindLoadBalancer:
		return describeAs[events.ALBTargetGroupRequest, events.ALBTargetGroupResponse](ctx, h, payload, true)
	case kindSQS:
		return describeAs[events.SQSMessage, json.RawMessage](ctx, h, payload, false)
	case kindSNS:
		return describeAs[events.SNSEventRecord, json.RawMessage](ctx, h, payload, false)
	case kindKinesis:
		return describeAs[events.KinesisEventRecord, json.RawMessage](ctx, h, payload, false)
	case kindDynamoDB:
		return describeAs[events.DynamoDBEventRecord, json.RawMessage](ctx, h, payload, false)
	case kindEventBridge:
		return describeAs[events.EventBridgeEvent, json.RawMessage](ctx, h, payload, false)
	default:
		return describeAs[json.RawMessage, json.RawMessage](ctx, h, payload, false)
	}
}

// describeAs wraps a handler of these types, which never runs. What Wrap refuses is a wrong flag.
func describeAs[In, Out any](ctx context.Context, h *twin, payload []byte, isHTTP bool) (d idempotent.Description, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *idempotent.ConfigError:
			err = usagef("%s", strings.Join(p.Problems, "; "))
		default:
			panic(p)
		}
	}()
	opts := h.opts
	if isHTTP && h.hasHTTP {
		opts = append(opts, idempotent.WithHTTP(h.http))
	}
	if h.selectedKey != "" {
		opts = append(opts, idempotent.WithKey(func(In) (string, error) { return h.selectedKey, nil }))
	}
	if h.tenant != "" {
		opts = append(opts, idempotent.WithTenant(func(context.Context, In) (string, error) { return h.tenant, nil }))
	}
	never := func(context.Context, In) (none Out, _ error) {
		return none, errors.New("a description runs no handler")
	}
	return idempotent.Wrap(never, memory.New(), opts...).DescribeEvent(ctx, payload)
}
