package idempotent

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// membersALB are those of an event of an Application Load Balancer, and eventALB reads them from one that is decoded. It
// names nobody: the load balancer passes x-amzn-oidc-identity from a listener rule that authenticates, but also from a
// client where none does.
var membersALB = slices.Concat(membersOfAll, membersOfFormat1, []member{
	{"requestContext.elb.targetGroupArn", partAPI},
})

func eventALB(e events.ALBTargetGroupRequest, names []string) httpEvent {
	v := httpEvent{headers: headersIn(names, e.Headers, e.MultiValueHeaders), body: []byte(e.Body), isBase64: e.IsBase64Encoded}
	v.query, v.multiQuery = e.QueryStringParameters, e.MultiValueQueryStringParameters
	v.hasMulti = e.MultiValueHeaders != nil
	v.text = [textParts]string{
		partMethod: e.HTTPMethod,
		partPath:   e.Path,
		partAPI:    e.RequestContext.ELB.TargetGroupArn,
	}
	return v
}

// requestALB takes the target group for the API and its routes, of which there are none. There is no request id either:
// the trace id is what the access log knows the request by.
func requestALB(r *httpRequest) {
	e := &r.event
	r.method = strings.ToUpper(e.text[partMethod])
	r.path = e.text[partPath]
	r.api = e.text[partAPI]
	r.requestID = e.trace()
	r.query = undecodedQueryOf(e.query, e.multiQuery)
	r.caller = e.caller()
	r.form = readsHeaders
	if e.hasMulti {
		r.form = readsMulti
	}
	// The event of a REST API has a method too, but no target group: two stages would share a scope.
	if r.api == "" && e.forwarded() {
		r.refusal = errNoTargetGroup
	}
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
