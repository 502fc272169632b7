package e2e_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// record is a record in the table, read past the library.
type record struct {
	ID         string `dynamodbav:"id"`
	Status     string `dynamodbav:"status"`
	Owner      string `dynamodbav:"owner"`
	Lease      int64  `dynamodbav:"in_progress_expiration"` // epoch milliseconds
	Expiration int64  `dynamodbav:"expiration"`             // epoch seconds
	Data       string `dynamodbav:"-"`                      // the result, wherever it is kept
	Parts      string `dynamodbav:"parts"`
	Encoding   string `dynamodbav:"encoding"`
	Commit     string `dynamodbav:"commit"`
	Reason     string `dynamodbav:"reason"`
	Attempt    int    `dynamodbav:"attempt"`
}

// records are all records of the table, with their results.
func (s *deployment) records() []record {
	s.t.Helper()
	items := s.items()
	results := make(map[string]string) // by the id of the item
	for _, item := range items {
		results[text(item["id"])] = text(item["data"])
	}
	var all []record
	for _, item := range items {
		var r record
		require.NoError(s.t, attributevalue.UnmarshalMap(item, &r))
		if r.Status == "" {
			continue // a part
		}
		r.Data = results[r.ID]
		for n := 1; r.Parts != "" && results[r.part(n)] != ""; n++ {
			r.Data += results[r.part(n)]
		}
		if r.Encoding == "gzip" {
			r.Data = expanded(s.t, r.Data)
		}
		all = append(all, r)
	}
	return all
}

// expanded is what was compressed.
func expanded(t *testing.T, data string) string {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(data))
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(text)
}

// part is the id of the nth part of the result.
func (r record) part(n int) string { return fmt.Sprintf("%s#%s#%d", r.ID, r.Commit, n) }

func (s *deployment) items() []map[string]types.AttributeValue {
	s.t.Helper()
	return s.scan(s.table)
}

// scan returns all items of a table, read past the library.
func (s *deployment) scan(table string) (all []map[string]types.AttributeValue) {
	s.t.Helper()
	for pages := dynamodb.NewScanPaginator(s.dynamo, &dynamodb.ScanInput{
		TableName: aws.String(table), ConsistentRead: aws.Bool(true),
	}); pages.HasMorePages(); {
		page, err := pages.NextPage(context.Background())
		require.NoError(s.t, err)
		all = append(all, page.Items...)
	}
	return all
}

// text is the content of an attribute, whether text or bytes.
func text(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberB:
		return string(v.Value)
	default:
		return ""
	}
}

// record is the only one of the table.
func (s *deployment) record() record {
	s.t.Helper()
	all := s.records()
	require.Len(s.t, all, 1, "records")
	return all[0]
}

// response is the stored one.
func (r record) response(t *testing.T) events.APIGatewayV2HTTPResponse {
	t.Helper()
	var response events.APIGatewayV2HTTPResponse
	require.NoError(t, json.Unmarshal([]byte(r.Data), &response), r.Data)
	return response
}

// assertCharged checks what must be true of an order whose client has its answer: one charge under
// one key, one record that is completed, and no client was ever told anything else.
func (s *shop) assertCharged(o order, stored record, answers []answer) {
	s.t.Helper()
	charges := s.provider.charges(o.amount)
	require.Len(s.t, charges, 1, "distinct charges of %s", o.key)
	assert.Contains(s.t, stored.response(s.t).Body, charges[0].ID)
	s.assertAnswered(stored, answers)
}

// assertAnswered checks that a record is completed, and that no client was ever told anything else
// than what it holds.
func (s *deployment) assertAnswered(stored record, answers []answer) {
	s.t.Helper()
	assert.Equal(s.t, "COMPLETED", stored.Status)
	response := stored.response(s.t)
	for _, a := range answers {
		if !a.ok() && a.status != response.StatusCode {
			continue
		}
		assert.Equal(s.t, response.StatusCode, a.status)
		assert.Equal(s.t, response.Body, a.body)
		expires, answered := a.unmarked(s.t)
		assert.Equal(s.t, response, answered, "every answer is the one that is stored")
		if expires != "" || a.replayed() { // an owner that could not learn whether its completion landed says nothing
			assert.Equal(s.t, time.Unix(stored.Expiration, 0).UTC().Format(http.TimeFormat), expires)
		}
	}
}

// unmarked is the answer without what was added to it for the client, and until when it says that
// it is replayed.
func (a answer) unmarked(t *testing.T) (expires string, response events.APIGatewayV2HTTPResponse) {
	t.Helper()
	require.NoError(t, json.Unmarshal(a.payload, &response))
	expires = response.Headers["Idempotency-Key-Expires"]
	delete(response.Headers, "Idempotency-Key-Expires")
	delete(response.Headers, "Idempotent-Replayed")
	return expires, response
}
