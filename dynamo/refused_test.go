package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
)

// usual is a client that takes no options, so that the SDK reads every answer in its own way.
type usual struct{ *dynamodb.Client }

func (u usual) PutItem(ctx context.Context, in *dynamodb.PutItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	return u.Client.PutItem(ctx, in)
}

func (u usual) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return u.Client.UpdateItem(ctx, in)
}

// refusedBy is DynamoDB's answer to a write that an item refuses.
func refusedBy(item string) string {
	return `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","Item":` + item +
		`,"message":"The conditional request failed"}`
}

const heldItem = `{"id":{"S":"k"},"status":{"S":"COMPLETED"},"expiration":{"N":"1800086400"},"data":{"S":"\"\u00e9\\\"\""}}`

// TestRefusalsAreReadAsTheSDKReadsThem: the short way makes no difference, whatever is answered.
func TestRefusalsAreReadAsTheSDKReadsThem(t *testing.T) {
	t.Parallel()
	whole := refusedBy(heldItem)
	answers := map[string]reply{
		"with the record":     {status: 400, body: whole},
		"without it":          {status: 400, body: refusedBy("null")},
		"an empty one":        {status: 400, body: refusedBy("{}")},
		"message capitalised": {status: 400, body: strings.Replace(whole, "message", "Message", 1)},
		"with spaces":         {status: 400, body: strings.Replace(whole, ":", " : ", 1)},
		"type last": {
			status: 400,
			body:   `{"Item":` + heldItem + `,"__type":"x#ConditionalCheckFailedException"}`,
		},
		"type of another service": {status: 400, body: strings.Replace(whole, "dynamodb", "other", 1)},
		"a longer type":           {status: 400, body: strings.Replace(whole, `Exception"`, `Exceptional"`, 1)},
		"another status":          {status: 500, body: whole},
		"accepted":                {status: 200, body: whole},
		"throttled":               throttled,
		"short":                   {status: 400, body: `{}`},
		"empty":                   {status: 400},
		"no JSON":                 {status: 400, body: "<html>" + strings.Repeat("x", 200)},
		"of wrong types":          {status: 400, body: refusedBy(`{"id":{"S":1}}`)},
	}
	for n := 0; n < len(whole); n += 13 {
		answers[fmt.Sprint("cut after ", n)] = reply{status: 400, body: whole[:n]}
	}
	for name, answer := range answers {
		for header, value := range map[string]string{"": "", "X-Amzn-ErrorType": "ThrottlingException"} {
			client := scriptedClient(&transport{answer: func(int, *http.Request, request) (*http.Response, error) {
				r, err := answer.send()
				if header != "" {
					r.Header.Set(header, value)
				}
				return r, err
			}})
			quick, usually := dynamo.New(client, table), dynamo.New(usual{client}, table)
			require.Equal(t, outcomes(t, usually), outcomes(t, quick), "%s, %s", name, header)
		}
	}
}

// outcome is what a write came to, except whether a failed one can have been applied: the usual
// client does not show that.
type outcome struct {
	held    store.Record
	applied bool
	kind    store.Failure
	text    string
}

// outcomes are those of a claim and of a swap.
func outcomes(t *testing.T, s *dynamo.Store) (all []outcome) {
	t.Helper()
	add := func(held store.Record, ok bool, err error) {
		o := outcome{held: held, applied: ok}
		if se, is := errors.AsType[*store.Error](err); is {
			se.NotApplied = false
			o.kind = se.Kind
		}
		if err != nil {
			o.text = err.Error()
		}
		all = append(all, o)
	}
	add(s.Claim(t.Context(), record("k"), claimTime))
	add(s.Swap(t.Context(), record("k"), completion(record("k"), []byte(`"x"`))))
	return all
}

// closing is a body that says whether it was closed, and fails after its text if it is told to.
type closing struct {
	io.Reader
	closed int
}

func (c *closing) Close() error { c.closed++; return nil }

// TestRefusalsThatBreakOff are answers that did not arrive, whose connection is given back all the
// same.
func TestRefusalsThatBreakOff(t *testing.T) {
	t.Parallel()
	whole := refusedBy(heldItem)
	for _, n := range []int{0, 10, 100, len(whole) - 1} {
		var bodies []*closing
		tr := &transport{answer: func(int, *http.Request, request) (*http.Response, error) {
			body := &closing{Reader: io.MultiReader(strings.NewReader(whole[:n]),
				iotest.ErrReader(io.ErrUnexpectedEOF))}
			bodies = append(bodies, body)
			return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: body}, nil
		}}
		_, claimed, err := dynamo.New(scriptedClient(tr), table).Claim(t.Context(), record("k"), claimTime)
		require.False(t, claimed)
		requireStoreError(t, err, "claim", store.FailureUnavailable, false)
		require.NotEmpty(t, bodies)
		for _, b := range bodies {
			require.NotZero(t, b.closed, n)
		}
	}
}
