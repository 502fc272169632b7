package gateway_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"strconv"
	"strings"

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
		a.method = cmp.Or(a.method, "POST")
	}
	a.route, a.path = cmp.Or(a.route, "/charges"), cmp.Or(a.path, "/charges")
	header := map[string]string{"content-type": "application/json"}
	maps.Copy(header, a.header)
	if a.key != "" {
		header["idempotency-key"] = a.key
	}
	a.header = header
	return a
}

// single is the query as a map, nil for none.
func (a ask) single() map[string]string {
	var values map[string]string
	for pair := range strings.SplitSeq(a.query, "&") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			if values == nil {
				values = map[string]string{}
			}
			values[name] = value
		}
	}
	return values
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
		Resource: a.route, Path: a.path, HTTPMethod: a.method, QueryStringParameters: a.single(),
		Headers: a.header, MultiValueHeaders: severalOf(a.header), Body: a.body, IsBase64Encoded: a.base64,
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
		HTTPMethod: a.method, Path: a.path, QueryStringParameters: a.single(),
		Headers: maps.Clone(a.header), Body: a.body, IsBase64Encoded: a.base64,
	}
	e.Headers["x-amzn-trace-id"] = "request-1"
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

// reply is a response as the gateway gets it. Its fields are those that [fieldsOf] names.
type reply struct {
	Status  int
	Headers map[string]string
	Multi   map[string][]string
	Cookies []string
	Body    string
	Base64  bool
}

// fieldsOf are the fields of a response of package events, in the order of reply. One that the
// response does not have is not valid.
func fieldsOf(response reflect.Value) (fields []reflect.Value) {
	for _, name := range []string{
		"StatusCode", "Headers", "MultiValueHeaders", "Cookies", "Body", "IsBase64Encoded",
	} {
		fields = append(fields, response.FieldByName(name))
	}
	return fields
}

// respond is a reply as a handler returns it, by value or by pointer.
func respond[Out any](r reply) (out Out) {
	to := reflect.ValueOf(&out).Elem()
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	for i, field := range fieldsOf(to) {
		if field.IsValid() {
			field.Set(reflect.ValueOf(r).Field(i))
		}
	}
	return out
}

// read is what a gateway reads of a response, or of a pointer to one. Nil is an empty reply.
func read(out any) (r reply) {
	from := reflect.Indirect(reflect.ValueOf(out))
	if !from.IsValid() {
		return r
	}
	for i, field := range fieldsOf(from) {
		if field.IsValid() {
			reflect.ValueOf(&r).Elem().Field(i).Set(field)
		}
	}
	return r
}

// respondMulti and readMulti are respond and read behind a load balancer with multi-value headers,
// which ignores the others.
func respondMulti(r reply) responseALB {
	r.Headers, r.Multi = nil, severalOf(r.Headers)
	return respond[responseALB](r)
}

func readMulti(out responseALB) reply {
	r := read(out)
	r.Headers, r.Multi = nil, nil
	for name, values := range out.MultiValueHeaders {
		if r.Headers == nil {
			r.Headers = map[string]string{}
		}
		r.Headers[name] = strings.Join(values, ",")
	}
	return r
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

// problemPage is where the types of problems lead.
const problemPage = "https://github.com/go-idempotent/idempotent/blob/main/docs/problems.md#"

// problem is the document in a reply.
func (r reply) problem(t require.TestingT) map[string]any {
	assert.Equal(t, "application/problem+json", r.Headers["Content-Type"])
	var document map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.Body), &document), r.Body)
	return document
}

// assertProblem checks that r is the problem document of a kind.
func assertProblem(t require.TestingT, r reply, status int, kind string) {
	assert.Equal(t, status, r.Status)
	document := r.problem(t)
	assert.Equal(t, problemPage+kind, document["type"])
	assert.InDelta(t, status, document["status"], 0)
}

// summary is the status of a reply, with the kind of its problem, or with the word "replayed".
func (r reply) summary() string {
	text := strconv.Itoa(r.Status)
	var document struct{ Type string }
	_ = json.Unmarshal([]byte(r.Body), &document) // of a problem alone
	kind, ours := strings.CutPrefix(document.Type, problemPage)
	switch {
	case r.replayed():
		text += " replayed"
	case ours && r.Headers["Content-Type"] == "application/problem+json":
		text += " " + kind
	}
	return text
}
