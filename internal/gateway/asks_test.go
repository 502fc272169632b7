package gateway_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The kinds of event and response.
type (
	requestV2   = events.APIGatewayV2HTTPRequest
	responseV2  = events.APIGatewayV2HTTPResponse
	requestV1   = events.APIGatewayProxyRequest
	responseV1  = events.APIGatewayProxyResponse
	requestURL  = events.LambdaFunctionURLRequest
	responseURL = events.LambdaFunctionURLResponse
	requestALB  = events.ALBTargetGroupRequest
	responseALB = events.ALBTargetGroupResponse
)

// ask is a request as a client sends it. Its zero fields are those of a POST to /charges.
type ask struct {
	method, route, path string
	query               string // of one value per name
	key                 string // the header as it is sent; empty for none
	header              map[string]string
	body                string
	base64              bool
	formless            bool // an event without a method
}

func (a ask) withDefaults() ask {
	if !a.formless {
		a.method = orElse(a.method, "POST")
	}
	a.route = orElse(a.route, "/charges")
	a.path = orElse(a.path, "/charges")
	header := map[string]string{"content-type": "application/json"}
	maps.Copy(header, a.header)
	if a.key != "" {
		header["idempotency-key"] = a.key
	}
	a.header = header
	return a
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (a ask) v2() requestV2 {
	a = a.withDefaults()
	e := requestV2{
		Version: "2.0", RouteKey: a.method + " " + a.route, RawPath: a.path, RawQueryString: a.query,
		Headers: a.header, Body: a.body, IsBase64Encoded: a.base64,
	}
	e.RequestContext.APIID, e.RequestContext.Stage, e.RequestContext.RequestID = "api", "prod", "request-1"
	e.RequestContext.HTTP.Method = a.method
	return e
}

func (a ask) v1() requestV1 {
	a = a.withDefaults()
	e := requestV1{
		Resource: a.route, Path: a.path, HTTPMethod: a.method,
		Headers: a.header, MultiValueHeaders: map[string][]string{}, Body: a.body, IsBase64Encoded: a.base64,
	}
	for name, value := range a.header {
		e.MultiValueHeaders[name] = []string{value}
	}
	for pair := range strings.SplitSeq(a.query, "&") {
		name, value, ok := strings.Cut(pair, "=")
		if ok && e.QueryStringParameters == nil {
			e.QueryStringParameters = map[string]string{}
		}
		if ok {
			e.QueryStringParameters[name] = value
		}
	}
	e.RequestContext.APIID, e.RequestContext.Stage, e.RequestContext.RequestID = "api", "prod", "request-1"
	return e
}

func (a ask) url() requestURL {
	a = a.withDefaults()
	e := requestURL{
		Version: "2.0", RawPath: a.path, RawQueryString: a.query, Headers: a.header, Body: a.body,
		IsBase64Encoded: a.base64,
	}
	e.RequestContext.APIID, e.RequestContext.DomainPrefix, e.RequestContext.RequestID = "url", "url", "request-1"
	e.RequestContext.DomainName = "url.lambda-url.eu-central-1.on.aws"
	e.RequestContext.HTTP.Method = a.method
	return e
}

// alb is the request through a load balancer without multi-value headers, albMulti through one
// with.
func (a ask) alb() requestALB {
	a = a.withDefaults()
	e := requestALB{
		HTTPMethod: a.method, Path: a.path, QueryStringParameters: map[string]string{},
		Headers: maps.Clone(a.header), Body: a.body, IsBase64Encoded: a.base64,
	}
	e.Headers["x-amzn-trace-id"] = "request-1"
	for pair := range strings.SplitSeq(a.query, "&") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			e.QueryStringParameters[name] = value
		}
	}
	e.RequestContext.ELB.TargetGroupArn = "target-group"
	return e
}

func (a ask) albMulti() requestALB {
	e := a.alb()
	e.MultiValueHeaders, e.MultiValueQueryStringParameters = severalOf(e.Headers), severalOf(e.QueryStringParameters)
	e.Headers, e.QueryStringParameters = nil, nil
	return e
}

func severalOf(single map[string]string) map[string][]string {
	if single == nil {
		return nil
	}
	several := map[string][]string{}
	for name, value := range single {
		several[name] = []string{value}
	}
	return several
}

// reply is a response as the gateway gets it.
type reply struct {
	Status  int
	Headers map[string]string
	Multi   map[string][]string
	Cookies []string
	Body    string
	Base64  bool
}

func (r reply) v2() responseV2 {
	return responseV2{
		StatusCode: r.Status, Headers: r.Headers, MultiValueHeaders: r.Multi, Cookies: r.Cookies, Body: r.Body,
		IsBase64Encoded: r.Base64,
	}
}

func (r reply) v1() responseV1 {
	return responseV1{
		StatusCode: r.Status, Headers: r.Headers, MultiValueHeaders: r.Multi, Body: r.Body,
		IsBase64Encoded: r.Base64,
	}
}

func ofV2(r responseV2) reply {
	return reply{r.StatusCode, r.Headers, r.MultiValueHeaders, r.Cookies, r.Body, r.IsBase64Encoded}
}

func ofV1(r responseV1) reply {
	return reply{r.StatusCode, r.Headers, r.MultiValueHeaders, nil, r.Body, r.IsBase64Encoded}
}

func (r reply) url() responseURL {
	return responseURL{
		StatusCode: r.Status, Headers: r.Headers, Cookies: r.Cookies, Body: r.Body,
		IsBase64Encoded: r.Base64,
	}
}

func ofURL(r responseURL) reply {
	return reply{r.StatusCode, r.Headers, nil, r.Cookies, r.Body, r.IsBase64Encoded}
}

func (r reply) alb() responseALB {
	return responseALB{StatusCode: r.Status, Headers: r.Headers, Body: r.Body, IsBase64Encoded: r.Base64}
}

func ofALB(r responseALB) reply {
	return reply{r.StatusCode, r.Headers, r.MultiValueHeaders, nil, r.Body, r.IsBase64Encoded}
}

func (r reply) albMulti() responseALB {
	return responseALB{
		StatusCode: r.Status, MultiValueHeaders: severalOf(r.Headers), Body: r.Body,
		IsBase64Encoded: r.Base64,
	}
}

// ofALBMulti is what a load balancer with multi-value headers sends: it ignores the others.
func ofALBMulti(r responseALB) reply {
	var headers map[string]string
	for name, values := range r.MultiValueHeaders {
		if headers == nil {
			headers = map[string]string{}
		}
		headers[name] = strings.Join(values, ",")
	}
	return reply{r.StatusCode, headers, nil, nil, r.Body, r.IsBase64Encoded}
}

func (r reply) replayed() bool { return r.Headers["Idempotent-Replayed"] == "true" }

// unmarked is r without the headers that are ours: the mark of a replay, and the expiry.
func (r reply) unmarked() reply {
	headers := map[string]string{}
	for name, value := range r.Headers {
		if name != "Idempotent-Replayed" && name != "Idempotency-Key-Expires" {
			headers[name] = value
		}
	}
	r.Headers = headers
	return r
}

// problem is the document in a reply.
func (r reply) problem(t *testing.T) map[string]any {
	t.Helper()
	assert.Equal(t, "application/problem+json", r.Headers["Content-Type"])
	var document map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.Body), &document), r.Body)
	return document
}

// assertProblem checks that r is the problem document of a kind.
func assertProblem(t *testing.T, r reply, status int, kind string) {
	t.Helper()
	assert.Equal(t, status, r.Status)
	document := r.problem(t)
	assert.Equal(t, "https://github.com/go-idempotent/idempotent/blob/main/docs/problems.md#"+kind, document["type"])
	assert.InDelta(t, status, document["status"], 0)
}
