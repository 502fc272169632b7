package dynamotest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

// ending is a context that ends when the test says so, for a reason.
type ending struct {
	context.Context

	ended  chan struct{}
	reason error
}

func (e ending) Done() <-chan struct{} { return e.ended }

func (e ending) Err() error {
	select {
	case <-e.ended:
		return e.reason
	default:
		return nil
	}
}

// slow is a server that has got a write, and answers when the test says so.
func slow(t *testing.T) (endpoint string, arrived, answer chan struct{}) {
	t.Helper()
	arrived, answer = make(chan struct{}, 1), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client is gone
		arrived <- struct{}{}
		select {
		case <-answer:
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"}`)
	}))
	t.Cleanup(server.Close)
	return server.URL, arrived, answer
}

func write(ctx context.Context, client *dynamodb.Client) error {
	_, err := client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String("table"),
		Item:      map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "k"}},
	})
	return err
}

func TestWhoIsUnhurriedWaitsForTheAnswerUnlessItIsCancelled(t *testing.T) {
	t.Parallel()
	unhurried := []func(*dynamodb.Options){Unhurried}
	for name, c := range map[string]struct {
		opts         []func(*dynamodb.Options)
		reason, want error // nil: the answer
	}{
		"unhurried, at the deadline": {unhurried, context.DeadlineExceeded, nil},
		"others, at the deadline":    {nil, context.DeadlineExceeded, context.DeadlineExceeded},
		"unhurried, cancelled":       {unhurried, context.Canceled, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint, arrived, answer := slow(t)
			ctx := ending{t.Context(), make(chan struct{}), c.reason}
			go func() {
				<-arrived
				close(ctx.ended)
				if c.want == nil {
					time.Sleep(50 * time.Millisecond) // for a client that would give up
					close(answer)
				}
			}()
			err := write(ctx, dynamolocal.Client(endpoint, c.opts...))
			if c.want == nil {
				_, refused := errors.AsType[*types.ConditionalCheckFailedException](err)
				require.True(t, refused, err)
			} else {
				require.ErrorIs(t, err, c.want)
			}
		})
	}
}

func TestWhoIsUnhurriedBeginsNothingAfterTheDeadline(t *testing.T) {
	t.Parallel()
	endpoint, arrived, answer := slow(t)
	close(answer)
	ctx := ending{t.Context(), make(chan struct{}), context.DeadlineExceeded}
	close(ctx.ended)
	require.ErrorIs(t, write(ctx, dynamolocal.Client(endpoint, Unhurried)), context.DeadlineExceeded)
	require.Empty(t, arrived)
}
