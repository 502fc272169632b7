package dynamo_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
)

// shop is a function that takes orders: each delivery commits the row of its order with its answer.
type shop struct {
	store  store.Store
	client *dynamodb.Client
	orders string
	opts   []idempotent.Option
	// large makes the answers so large that they are kept in parts, stepped takes a step before,
	// endless has no deadline.
	large, stepped, endless bool
}

// family is a kind of events that the shop takes: it delivers a request with a key, and returns the
// status and the body of the answer and its headers.
type family func(t *testing.T, s *shop, key string) (status int, body string, headers map[string]string)

// httpFamily makes a family of the functions that build an event and an answer.
func httpFamily[In, Out any](event func(key string) In, answer func(status int, body string) Out) family {
	return func(t *testing.T, s *shop, key string) (int, string, map[string]string) {
		t.Helper()
		h := idempotent.Wrap(func(ctx context.Context, _ In) (Out, error) {
			id, body, err := s.take(ctx)
			if err != nil {
				return answer(500, ""), err
			}
			out, err := dynamo.Commit(ctx, answer(201, body),
				dynamo.Put(s.orders, order{ID: id}, dynamo.IfAbsent("order_id")))
			if _, taken := errors.AsType[*dynamo.ConditionError](err); taken {
				return answer(409, "taken"), nil
			}
			return out, err
		}, s.store, append(s.opts, unhurried())...)
		payload, err := json.Marshal(event(key))
		require.NoError(t, err)
		ctx := t.Context()
		if !s.endless {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, 29*time.Second)
			defer cancel()
		}
		text, err := h.Invoke(ctx, payload)
		require.NoError(t, err)
		var out struct {
			StatusCode        int
			Body              string
			Headers           map[string]string
			MultiValueHeaders map[string][]string
		}
		require.NoError(t, json.Unmarshal(text, &out))
		headers := make(map[string]string)
		for name, values := range out.MultiValueHeaders {
			headers[name] = strings.Join(values, ",")
		}
		maps.Copy(headers, out.Headers)
		return out.StatusCode, out.Body, headers
	}
}

// take is what the handler does before its commit.
func (s *shop) take(ctx context.Context) (id, body string, err error) {
	id = idempotent.DerivedKey(ctx, "order")
	if s.stepped {
		id, err = idempotent.Step(ctx, "reserve", func(context.Context) (string, error) { return id, nil })
	}
	body = "created " + id
	if s.large {
		body += string(largeAnswer(1 << 19))
	}
	return id, body, err
}

func families() map[string]family {
	const content = `{"id":"o-1"}`
	header := func(key string) map[string]string { return map[string]string{"idempotency-key": key} }
	return map[string]family{
		"HTTP API": httpFamily(func(key string) (e events.APIGatewayV2HTTPRequest) {
			e.Version, e.RouteKey, e.RawPath, e.Headers, e.Body = "2.0", "POST /orders", "/orders", header(key), content
			e.RequestContext.HTTP.Method, e.RequestContext.HTTP.Path = "POST", "/orders"
			return e
		}, func(status int, body string) events.APIGatewayV2HTTPResponse {
			return events.APIGatewayV2HTTPResponse{StatusCode: status, Body: body, Cookies: []string{"session=1"}}
		}),
		"REST API": httpFamily(func(key string) events.APIGatewayProxyRequest {
			return events.APIGatewayProxyRequest{
				Resource: "/orders", Path: "/orders", HTTPMethod: "POST",
				Headers: header(key), Body: content,
			}
		}, func(status int, body string) events.APIGatewayProxyResponse {
			return events.APIGatewayProxyResponse{StatusCode: status, Body: body}
		}),
		"function URL": httpFamily(func(key string) (e events.LambdaFunctionURLRequest) {
			e.Version, e.RawPath, e.Headers, e.Body = "2.0", "/orders", header(key), content
			e.RequestContext.HTTP.Method, e.RequestContext.HTTP.Path = "POST", "/orders"
			return e
		}, func(status int, body string) events.LambdaFunctionURLResponse {
			return events.LambdaFunctionURLResponse{StatusCode: status, Body: body}
		}),
		"load balancer": httpFamily(func(key string) (e events.ALBTargetGroupRequest) {
			e.HTTPMethod, e.Path, e.Headers, e.Body = "POST", "/orders", header(key), content
			e.RequestContext.ELB.TargetGroupArn = "arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/t/1"
			return e
		}, func(status int, body string) events.ALBTargetGroupResponse {
			return events.ALBTargetGroupResponse{StatusCode: status, Body: body}
		}),
	}
}

// TestCommitsOfHTTPHandlers: behind every front, in every table and in every mode the row and the
// answer are there once, and the replay is the answer.
func TestCommitsOfHTTPHandlers(t *testing.T) {
	t.Parallel()
	for name, deliver := range families() {
		for mode, change := range map[string]func(*shop){
			"plain":            func(*shop) {},
			"large":            func(s *shop) { s.large = true },
			"after a step":     func(s *shop) { s.stepped = true },
			"with a heartbeat": func(s *shop) { s.endless = true },
			"behind a cache":   func(s *shop) { s.store = cache.New(s.store, 1<<20) },
			"large, after a step, behind a cache": func(s *shop) {
				s.large, s.stepped, s.store = true, true, cache.New(s.store, 1<<20)
			},
			"beside Powertools for Python":     sharing(idempotent.PowertoolsPython),
			"beside Powertools for TypeScript": sharing(idempotent.PowertoolsTypeScript),
			"beside Powertools for Java":       sharing(idempotent.PowertoolsJava),
		} {
			for shape, opts := range map[string][]dynamo.Config{"": nil, ", in another shape": shaped()} {
				t.Run(name+", "+mode+shape, func(t *testing.T) {
					t.Parallel()
					client, table := newTableOf(t, opts...)
					s := &shop{
						store: dynamo.New(client, table, opts...), client: client,
						orders: ordersTable(t, client),
					}
					change(s)
					status, body, headers := deliver(t, s, "k-1")
					require.Equal(t, 201, status, body)
					require.NotContains(t, headers, "Idempotent-Replayed")
					id, _, _ := strings.Cut(strings.TrimPrefix(body, "created "), "\"")
					require.Len(t, scan(t, client, s.orders), 1)
					require.NotEmpty(t, getOrder(t, client, s.orders, id))

					again, replay, headers := deliver(t, s, "k-1")
					require.Equal(t, 201, again)
					require.Equal(t, body, replay)
					require.Equal(t, "true", headers["Idempotent-Replayed"])
					require.Len(t, scan(t, client, s.orders), 1)
				})
			}
		}
	}
}

func sharing(l idempotent.PowertoolsLanguage) func(*shop) {
	return func(s *shop) {
		s.opts = append(s.opts,
			idempotent.WithPowertools(idempotent.Powertools{Language: l, Prefix: "p", AllCallers: true}),
			idempotent.WithKeyPath("powertools_json(body).id"))
	}
}

// scan returns all items of a table.
func scan(t *testing.T, client *dynamodb.Client, table string) []item {
	t.Helper()
	out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table, ConsistentRead: new(true)})
	require.NoError(t, err)
	return out.Items
}
