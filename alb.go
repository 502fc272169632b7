package idempotent

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// requestALB reads an event of an Application Load Balancer. It has no API and no routes: the target group stands for
// them. It has no request id either: the trace id is what its access log knows the request by. Nobody is named: the load
// balancer passes x-amzn-oidc-identity from a listener rule that authenticates, but also from a client where none does.
func requestALB(e events.ALBTargetGroupRequest) httpRequest {
	r := httpRequest{
		method:   strings.ToUpper(e.HTTPMethod),
		path:     e.Path,
		api:      e.RequestContext.ELB.TargetGroupArn,
		query:    undecodedQueryOf(e.QueryStringParameters, e.MultiValueQueryStringParameters),
		headers:  headersOf(e.Headers, e.MultiValueHeaders),
		body:     e.Body,
		isBase64: e.IsBase64Encoded,
		caller:   caller{source: anonymous},
		form:     readsHeaders,
	}
	if ids := r.headers[traceHeader]; len(ids) > 0 {
		r.requestID = ids[0]
	}
	if e.MultiValueHeaders != nil {
		r.form = readsMulti
	}
	// The event of a REST API has a method too, but no target group: two stages would share a scope.
	if r.api == "" && r.forwarded() {
		r.refusal = errNoTargetGroup
	}
	return r
}

// undecodedQueryOf collects the fields of a query that the load balancer has taken apart but not decoded. If one cannot
// be decoded, all count as they were sent.
func undecodedQueryOf(single map[string]string, multi map[string][]string) query {
	sent := queryOf(single, multi)
	decoded := query{fields: slices.Clone(sent.fields)}
	for i, f := range decoded.fields {
		name, nameErr := url.QueryUnescape(f.name)
		value, valueErr := url.QueryUnescape(f.value)
		if nameErr != nil || valueErr != nil {
			sent.opaque = "undecoded" // tells it apart from a query that decodes into these fields
			return sent
		}
		decoded.fields[i] = field{name, value}
	}
	return decoded
}

func responseALB(r events.ALBTargetGroupResponse) httpResponse {
	return httpResponse{status: r.StatusCode, headers: r.Headers, multi: r.MultiValueHeaders, body: r.Body}
}

// withALB keeps the description of a status that stays, and makes one for another: "409 Conflict".
func withALB(out events.ALBTargetGroupResponse, r httpResponse) events.ALBTargetGroupResponse {
	if out.StatusCode != r.status {
		out.StatusDescription = strconv.Itoa(r.status) + " " + reasonPhrases[r.status]
	}
	out.StatusCode, out.Body = r.status, r.body
	out.Headers, out.MultiValueHeaders = r.headers, r.multi
	return out
}

// reasonPhrases are those of the IANA registry of status codes, for the statuses that a problem can have.
var reasonPhrases = map[int]string{
	202: "Accepted",
	400: "Bad Request",
	401: "Unauthorized",
	409: "Conflict",
	422: "Unprocessable Content",
	425: "Too Early",
	500: "Internal Server Error",
	503: "Service Unavailable",
}
