package connect

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Logs is a client of CloudWatch Logs for streams that last.
type Logs struct {
	Client *cloudwatchlogs.Client

	conn *Connection
}

// OpenLogs makes a client of CloudWatch Logs from what a target says of Region and credentials. Another endpoint is named by the environment
// alone, because that of the target is of DynamoDB.
func OpenLogs(ctx context.Context, t Target) (*Logs, error) {
	t.Endpoint = ""
	cfg, err := t.load(ctx)
	if err != nil {
		return nil, err
	}
	c := &Connection{Config: cfg, target: t}
	c.Endpoint = aws.ToString(cloudwatchlogs.NewFromConfig(cfg).Options().BaseEndpoint)
	if err := c.authenticate(ctx); err != nil {
		return nil, err
	}
	return &Logs{NewLogsClient(c.Config), c}, nil
}

// NewLogsClient makes a client whose answers may last as long as they want.
func NewLogsClient(cfg aws.Config) *cloudwatchlogs.Client {
	return cloudwatchlogs.NewFromConfig(cfg, func(o *cloudwatchlogs.Options) {
		o.HTTPClient = ownBody{awshttp.NewBuildableClient()} // the other clients end an answer after a while
		if local(aws.ToString(o.BaseEndpoint)) {
			o.APIOptions = append(o.APIOptions, withoutHostPrefix)
		}
	})
}

// ownBody is a client that sends requests with a body of their own. The SDK closes its body as soon as an answer begins. If that comes before
// net/http has looked for more of the body, net/http ends the connection, and with it the stream.
type ownBody struct{ client cloudwatchlogs.HTTPClient }

// Do sends a request.
func (o ownBody) Do(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		return o.client.Do(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	own := r.Clone(r.Context())
	own.Body, own.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return o.client.Do(own)
}

// withoutHostPrefix keeps the name of a host of this machine as it is: the one of AWS has a prefix for streams.
func withoutHostPrefix(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("WithoutHostPrefix",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			return next.HandleInitialize(smithyhttp.DisableEndpointHostPrefix(ctx, true), in)
		}), middleware.Before)
}

// Groups returns the ARNs of log groups that are named by name or ARN: a live tail takes nothing else.
func (l *Logs) Groups(ctx context.Context, groups []string) ([]string, error) {
	arns := make([]string, len(groups))
	for i, group := range groups {
		if arn.IsARN(group) {
			arns[i] = strings.TrimSuffix(group, ":*")
			continue
		}
		caller, err := l.conn.Caller(ctx)
		if err != nil {
			return nil, fmt.Errorf("--log-group %q: give its ARN, or allow sts:GetCallerIdentity: %w", group, err)
		}
		who, err := arn.Parse(caller)
		if err != nil {
			return nil, fmt.Errorf("--log-group %q: give its ARN: AWS says you are %q: %w", group, caller, err)
		}
		arns[i] = fmt.Sprintf("arn:%s:logs:%s:%s:log-group:%s", who.Partition, l.conn.Config.Region, who.AccountID, group)
	}
	return arns, nil
}
