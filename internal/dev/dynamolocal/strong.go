package dynamolocal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Strong makes tables on DynamoDB Local behave as replicas of global tables with multi-Region
// strong consistency do, as far as AWS documents that: they have no time to live and no
// transactions; DescribeTable tells the mode; a write of an item that another Region writes is
// refused with ReplicatedWriteConflictException, before anything of it is applied. That reads and
// conditions see the latest version in every Region is what DynamoDB Local does anyway, because
// there is one table.
//
// See
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/V2globaltables_HowItWorks.html.
// What it does not say is a guess: with which code a replica refuses what it does not have (here
// ValidationException), and whether a write can be refused so after it was applied (here never).
//
// It stands between the SDK and the network, so it sees every attempt. The zero value is ready. It
// is safe for concurrent use.
type Strong struct {
	// Conflict says of a write, by its number from 1 on and by its call, that another Region is at
	// one of its items. Nil says no. Regions of one Strong conflict by themselves, too.
	Conflict func(n int, call string) bool
	// Latency is how long a write waits for another Region.
	Latency   time.Duration
	mu        sync.Mutex
	writes    []string
	conflicts int
	writing   map[string]string // by item, the Region that writes it
}

// Region returns an option of a client in a Region.
func (s *Strong) Region(name string) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) {
		After(func(out *dynamodb.DescribeTableOutput) {
			out.Table.MultiRegionConsistency = types.MultiRegionConsistencyStrong
		})(o)
		network := o.HTTPClient
		if network == nil {
			network = awshttp.NewBuildableClient()
		}
		o.HTTPClient = &strongRegion{Strong: s, name: name, network: network}
	}
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

// strongRegion is the HTTP client of one Region.
type strongRegion struct {
	*Strong

	name    string
	network dynamodb.HTTPClient
}

func (s *strongRegion) Do(r *http.Request) (*http.Response, error) {
	_, call, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	switch call {
	case "UpdateTimeToLive", "TransactWriteItems", "TransactGetItems", "ExecuteTransaction":
		return refusal("ValidationException", call+" is not supported with multi-Region strong consistency"), nil
	case "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem":
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		items, err := itemsOf(body)
		if err != nil {
			return nil, err
		}
		if !s.begin(s.name, call, items) {
			return refusal("ReplicatedWriteConflictException",
				"One or more items in this request are being modified by a request in another Region."), nil
		}
		defer s.end(items)
		time.Sleep(s.Latency)
	}
	return s.network.Do(r)
}

// begin reports whether a write of these items may be applied. If so, it has to end.
func (s *Strong) begin(region, call string, items []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, call)
	refused := s.Conflict != nil && s.Conflict(len(s.writes), call)
	for _, it := range items {
		other, is := s.writing[it]
		refused = refused || is && other != region
	}
	if refused {
		s.conflicts++
		return false
	}
	if s.writing == nil {
		s.writing = make(map[string]string)
	}
	for _, it := range items {
		s.writing[it] = region
	}
	return true
}

func (s *Strong) end(items []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range items {
		delete(s.writing, it)
	}
}

// itemsOf returns what names the items that a call writes: their table and their keys, which are id
// and, where there is one, sk.
func itemsOf(body []byte) (items []string, err error) {
	type attributes struct {
		ID json.RawMessage `json:"id"`
		SK json.RawMessage `json:"sk"`
	}
	var in struct {
		TableName    string
		Key, Item    attributes
		RequestItems map[string][]struct {
			PutRequest    struct{ Item attributes }
			DeleteRequest struct{ Key attributes }
		}
	}
	err = json.Unmarshal(body, &in)
	name := func(table string, a, b attributes) {
		items = append(items, fmt.Sprintf("%s %s%s %s%s", table, a.ID, b.ID, a.SK, b.SK))
	}
	if in.TableName != "" {
		name(in.TableName, in.Key, in.Item)
	}
	for table, writes := range in.RequestItems {
		for _, w := range writes {
			name(table, w.PutRequest.Item, w.DeleteRequest.Key)
		}
	}
	return items, err
}

func refusal(code, message string) *http.Response {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":%q}`, code, message)
	return w.Result()
}
