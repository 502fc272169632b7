// Package mailtest has messages of orders in an outbox for the tests of those who deliver them, and a mail.
package mailtest

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/outbox"
)

// What the sample event has.
const (
	ID    = "5f0d3c1e-8a7b-4c2d-9e6f-1a2b3c4d5e6f"
	Email = "a@example.com"
	Body  = `{"order_id":"9c2a7e54-1b3d-4f60-8a9b-c0d1e2f3a4b5","email":"a@example.com"}`
)

// Outbox is a table of its own on DynamoDB Local.
type Outbox struct {
	*dynamodb.Client

	Table string
}

// New makes an outbox.
func New(t *testing.T) Outbox {
	t.Helper()
	o := Outbox{dynamolocal.Client(dynamolocal.Endpoint(t)), "outbox-" + rand.Text()}
	require.NoError(t, outbox.CreateTable(t.Context(), o.Client, o.Table))
	return o
}

// Place puts the message into the table that the sample event in a file tells of, and returns the event as one of this table.
func (o Outbox) Place(t *testing.T, file string) (event []byte) {
	t.Helper()
	sample, err := os.ReadFile(file)
	require.NoError(t, err)
	event = []byte(strings.ReplaceAll(string(sample), ":table/outbox/", ":table/"+o.Table+"/"))
	var parsed events.DynamoDBEvent
	require.NoError(t, json.Unmarshal(event, &parsed))
	item := map[string]types.AttributeValue{}
	for name, v := range parsed.Records[0].Change.NewImage {
		if v.DataType() == events.DataTypeNumber {
			item[name] = &types.AttributeValueMemberN{Value: v.Number()}
		} else {
			item[name] = &types.AttributeValueMemberS{Value: v.String()}
		}
	}
	_, err = o.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(o.Table), Item: item})
	require.NoError(t, err)
	return event
}

// Message is the message as it is in the table now.
func (o Outbox) Message(t *testing.T) map[string]types.AttributeValue {
	t.Helper()
	out, err := o.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(o.Table), Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: ID}},
		ConsistentRead: aws.Bool(true),
	})
	require.NoError(t, err)
	return out.Item
}

// RequireDone checks that the message is marked as delivered.
func (o Outbox) RequireDone(t *testing.T) {
	t.Helper()
	require.Contains(t, o.Message(t), "done_at")
	require.NotContains(t, o.Message(t), "outbox_due")
}

// Letter is a request to the mail.
type Letter struct{ What, Key, MediaType, Body string }

// Mail is a mail that remembers what it was asked, and answers with a status.
type Mail struct {
	URL string

	mu      sync.Mutex
	status  int
	letters []Letter
}

// NewMail starts a mail that answers 200.
func NewMail(t *testing.T) *Mail {
	t.Helper()
	m := &Mail{status: http.StatusOK}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	m.URL = server.URL
	return m
}

// ServeHTTP implements [http.Handler].
func (m *Mail) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	sent, err := io.ReadAll(req.Body)
	if err != nil {
		return // the client hung up
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.letters = append(m.letters, Letter{
		req.Method + " " + req.URL.Path, req.Header.Get("Idempotency-Key"), req.Header.Get("Content-Type"), string(sent),
	})
	w.WriteHeader(m.status)
	_, _ = io.WriteString(w, "secret reason")
}

// Answer sets the status of the answers from now on.
func (m *Mail) Answer(status int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status = status
}

// Letters are the requests so far.
func (m *Mail) Letters() []Letter {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Letter{}, m.letters...)
}
