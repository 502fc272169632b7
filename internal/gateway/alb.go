package gateway

import (
	"net/url"
	"slices"
	"strconv"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/internal/httpfield"
)

// loadBalancer is an Application Load Balancer.
//
// It names no caller. A listener rule that authenticates adds the header x-amzn-oidc-identity, but
// where no rule does, the load balancer passes on that header as any client sends it.
var loadBalancer = kind[events.ALBTargetGroupRequest, events.ALBTargetGroupResponse]{
	of:      "a load balancer",
	members: membersOfALB, request: requestALB, parts: partsALB, with: withALB,
}

var membersOfALB = slices.Concat(membersOfAll, membersOfFormat1, []member{
	{"requestContext.elb.targetGroupArn", partAPI},
})

// requestALB takes the target group for the API, and the trace id for the request id, because
// access logs know the request by it. A load balancer has no routes. It reads the headers of an
// answer in the form in which it sent those of the request.
//
// The event of a REST API is refused. It has a method too, but no target group, so two stages would
// share a scope.
func requestALB(r *Request) {
	e := &r.event
	if trace := r.Header(httpfield.TraceID); len(trace) > 0 {
		r.RequestID = trace[0]
	}
	r.query = undecodedQueryOf(e.query, e.multiQuery)
	r.answerIn = singleMap
	if e.hasMulti {
		r.answerIn = multiMap
	}
	if r.API == "" && r.forwarded() {
		r.Refusal = errNoTargetGroup
	}
}

// undecodedQueryOf collects the fields of a query that the load balancer has taken apart but not
// decoded. If one field cannot be decoded, all fields count as they were sent.
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

func partsALB(r events.ALBTargetGroupResponse) response {
	return response{status: r.StatusCode, headers: r.Headers, multi: r.MultiValueHeaders, body: r.Body}
}

// withALB keeps the description of a status that stays. It makes one for another status, such as
// "409 Conflict".
func withALB(out events.ALBTargetGroupResponse, r response) events.ALBTargetGroupResponse {
	if out.StatusCode != r.status {
		out.StatusDescription = strconv.Itoa(r.status) + " " + reasonPhrases[r.status]
	}
	out.StatusCode, out.Body = r.status, r.body
	out.Headers, out.MultiValueHeaders = r.headers, r.multi
	return out
}

// reasonPhrases has the phrases of the IANA registry for every status that a response of
// [Family.Make] may have.
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
