package main

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/internal/dev/dynamofake"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

// fake is DynamoDB below HTTP, without a socket. At first it answers from a table in memory, as
// DynamoDB would. After a rehearsal it plays the answers of the rehearsal at once, so that what is
// measured is the client and what stands on it. It is safe for concurrent use, except that nothing
// else may run during the rehearsal.
type fake struct {
	table   dynamofake.Server
	playing bool
	tape    *tape[reply]
}

// reply is an answer of DynamoDB.
type reply struct {
	status int
	body   []byte
	header http.Header
}

func newReply(status int, body []byte) reply {
	return reply{status: status, body: body, header: http.Header{
		"Content-Type":     {"application/x-amz-json-1.0"},
		"Content-Length":   {strconv.Itoa(len(body))},
		"X-Amzn-Requestid": {"7ULHTJ4J7C3VJ2QWKQ3N7ZP0JVV4KQNSO5AEMVJF66Q9ASUAAJG"},
		"X-Amz-Crc32":      {strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10)},
	}}
}

// clientOver is a client of the SDK with its defaults but for the transport.
func clientOver(transport dynamodb.HTTPClient) *dynamodb.Client {
	return dynamolocal.Client("http://dynamodb.invalid", func(o *dynamodb.Options) { o.HTTPClient = transport })
}

func operationOf(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_20120810.")
}

func (f *fake) connect() connection {
	return connection{client: clientOver(f), table: "idempotency", rehearse: f.rehearse}
}

// rehearse runs an operation once, and plays from then on what it was answered.
func (f *fake) rehearse(once func() error) error {
	f.playing, f.tape = false, newTape[reply]()
	err := once()
	f.playing = true
	return err
}

// Do implements dynamodb.HTTPClient.
func (f *fake) Do(r *http.Request) (*http.Response, error) {
	operation := operationOf(r)
	if f.playing {
		return f.play(operation, r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	status, answer := f.table.Answer(operation, body)
	a := newReply(status, answer)
	if f.tape != nil {
		f.tape.record(operation, a)
	}
	return a.response(), nil
}

func (f *fake) play(operation string, r *http.Request) (*http.Response, error) {
	a, ok := f.tape.play(operation)
	if !ok {
		return nil, fmt.Errorf("%s is not what was rehearsed", operation)
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil { // as it would be sent
		return nil, err
	}
	return a.response(), nil
}

func (a reply) response() *http.Response {
	return &http.Response{
		StatusCode: a.status, Header: a.header, ContentLength: int64(len(a.body)),
		Body: io.NopCloser(bytes.NewReader(a.body)),
	}
}
