package gateway

import "github.com/go-idempotent/idempotent/internal/httpfield"

// event holds the parts of an event that make its request, as the gateway sent them. A part that
// the event does not have is empty.
type event struct {
	text [textParts]string
	// query and multiQuery come from a gateway that takes the query apart. Other gateways send
	// partRawQuery.
	query      map[string]string
	multiQuery map[string][]string
	headers    headers
	// hasMulti is true if the gateway sent a header in multiValueHeaders.
	hasMulti bool
	body     []byte
	isBase64 bool
	// authorized is true if an authorizer let the caller in without a name for it.
	authorized bool
	// room is memory for headers.
	room headerRoom
}

// trace is the id by which access logs know a request.
func (e *event) trace() string {
	if ids := e.headers.of(httpfield.TraceID); len(ids) > 0 {
		return ids[0]
	}
	return ""
}

// forwarded reports whether a gateway or a load balancer has passed the request on. Of an event
// that a test made up it reports false.
func (e *event) forwarded() bool {
	return len(e.headers.of(httpfield.TraceID)) > 0 || len(e.headers.of(httpfield.ForwardedFor)) > 0
}

// part names what a member of an event is to its request. Each family has the parts in other
// members.
type part int

const (
	partMethod part = iota + 1
	partPath
	partRoute
	partAPI
	partStage
	partRequestID
	partRawQuery
	partDomain
	partDomainPrefix
	// The gateway establishes the caller by one of these, see [event.caller].
	partIssuer
	partSubject
	partPrincipal
	partPrincipalNumber // a principal that is an integer instead of a string
	partIdentity
	partAccount
	partUser
	partUserARN
	partAPIKey
	textParts // every part above is a text

	partAuthorizer    // that there is one, and not what it is
	partAuthorizerMap // that something in it is not null
	partBody
	partBase64
	partHeaders
	partMultiHeaders
	partQuery
	partMultiQuery
)

// member is the place where the events of a family have a part.
type member struct {
	// path names the members from the event inwards, with dots between them.
	path string
	part part
}

// membersOfAll are in the same place in all families.
var membersOfAll = []member{
	{"headers", partHeaders},
	{"body", partBody},
	{"isBase64Encoded", partBase64},
}
