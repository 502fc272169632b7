package gateway

import "strings"

// event holds the parts of an event that make its request, as the gateway sent them. A part that
// the event does not have is empty.
type event struct {
	text [textParts]string
	// query and multiQuery come from a gateway that takes the query apart. Other gateways send
	// partRawQuery.
	query      map[string]string
	multiQuery map[string][]string
	// names are those of the request headers that count, in lower case. They belong to the family
	// and are never modified.
	names   []string
	headers []header // of each name
	// hasMulti is true if the gateway sent a header in multiValueHeaders.
	hasMulti bool
	body     []byte
	isBase64 bool
	// authorized is true if an authorizer let the caller in, with or without a name for it.
	authorized bool
	// room is memory for the headers of a usual handler.
	room [8]header
}

// header has the values of one request header.
type header struct {
	values []string // in the order in which they were sent
	from   headerMap
	one    [1]string // memory for a single value
}

// header returns the header of a name in any spelling, nil if the handler does not look at it.
// decoded says that the name need not be ASCII.
func (e *event) header(name []byte, decoded bool) *header {
	for i, known := range e.names {
		if (decoded || len(known) == len(name)) && strings.EqualFold(known, string(name)) {
			return &e.headers[i]
		}
	}
	return nil
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
