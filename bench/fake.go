package main

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/internal/dev/dynamofake"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

// fake is DynamoDB below HTTP, without a socket. At first it answers from a table in memory, as
// DynamoDB would. After a rehearsal it plays the answers of the rehearsal at once, again and again,
// so that what is measured is the client and what stands on it: the n-th call of an operation gets
// the n-th answer, and after the last one the next delivery begins. It is safe for concurrent use,
// except that nothing else may run during the rehearsal, and that deliveries which make several
// calls of one operation must not run at the same time. Make one with [newFake].
type fake struct {
	// client is one of the SDK with its defaults but for the transport, which is the fake.
	client *dynamodb.Client

	server  *dynamofake.Server
	playing bool

	mu      sync.Mutex
	answers map[string][]reply // of the rehearsal, by operation; nil before it
	played  map[string]int
}

// records is the table of a fake.
const records = "idempotency"

func newFake() *fake {
	f := &fake{server: new(dynamofake.Server)}
	f.client = dynamolocal.Client("http://dynamodb.invalid", func(o *dynamodb.Options) { o.HTTPClient = f })
	return f
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

// rehearse runs an operation once, and plays from then on what it was answered.
func (f *fake) rehearse(once func() error) error {
	f.playing, f.answers, f.played = false, map[string][]reply{}, map[string]int{}
	err := once()
	f.playing = true
	return err
}

// Do implements dynamodb.HTTPClient.
func (f *fake) Do(r *http.Request) (*http.Response, error) {
	operation := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_20120810.")
	if f.playing {
		return f.play(operation, r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	a := newReply(f.server.Answer(operation, body))
	if f.answers != nil {
		f.answers[operation] = append(f.answers[operation], a)
	}
	return a.response(), nil
}

func (f *fake) play(operation string, r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	answers, n := f.answers[operation], f.played[operation]
	f.played[operation]++
	f.mu.Unlock()
	if len(answers) == 0 {
		return nil, fmt.Errorf("%s is not what was rehearsed", operation)
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil { // as it would be sent
		return nil, err
	}
	return answers[n%len(answers)].response(), nil
}

func (a reply) response() *http.Response {
	return &http.Response{
		StatusCode: a.status, Header: a.header, ContentLength: int64(len(a.body)),
		Body: io.NopCloser(bytes.NewReader(a.body)),
	}
}
