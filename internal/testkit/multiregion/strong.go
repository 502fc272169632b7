// Package multiregion makes tables on DynamoDB Local behave as replicas of global tables with
// multi-Region strong consistency do, as far as AWS documents that.
//
// See
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/V2globaltables_HowItWorks.html.
// What it does not say is a guess: with which code a replica refuses what it does not have (here
// ValidationException), and whether a write can be refused so after it was applied (here never).
package multiregion

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
)

// Strong makes the tables of a client such replicas: they have no time to live and no transactions;
// DescribeTable tells the mode; a write of an item that another Region writes is refused with
// ReplicatedWriteConflictException, before anything of it is applied.
//
// It stands between the SDK and the network, so it sees every attempt. The zero value is ready. It
// is safe for concurrent use.
type Strong struct {
	// Conflict says of a write, by its number from 1 on and by its call, that another Region is at
	// one of its items. Nil says no.
	Conflict  func(n int, call string) bool
	mu        sync.Mutex
	writes    []string
	conflicts int
}

// Client is an option of a client.
func (s *Strong) Client(o *dynamodb.Options) {
	dynamotest.After(func(out *dynamodb.DescribeTableOutput) {
		out.Table.MultiRegionConsistency = types.MultiRegionConsistencyStrong
	})(o)
	network := o.HTTPClient
	o.HTTPClient = smithyhttp.ClientDoFunc(func(r *http.Request) (*http.Response, error) {
		_, call, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		switch call {
		case "UpdateTimeToLive", "TransactWriteItems", "TransactGetItems", "ExecuteTransaction":
			return refusal("ValidationException", call+" is not supported with multi-Region strong consistency"), nil
		case "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem":
			if s.meets(call) {
				return refusal("ReplicatedWriteConflictException",
					"One or more items in this request are being modified by a request in another Region."), nil
			}
		}
		return network.Do(r)
	})
}

// meets counts a write, and reports whether it meets another Region.
func (s *Strong) meets(call string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, call)
	refused := s.Conflict != nil && s.Conflict(len(s.writes), call)
	if refused {
		s.conflicts++
	}
	return refused
}

// Writes are the calls that wrote, or were refused, attempt by attempt.
func (s *Strong) Writes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.writes)
}

// Conflicts is how many writes were refused for another Region.
func (s *Strong) Conflicts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conflicts
}

func refusal(code, message string) *http.Response {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":%q}`, code, message)
	return w.Result()
}
