package dynamo

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// refusedBegins is how DynamoDB begins to answer that a condition was refused.
const refusedBegins = `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"`

// replayProtocol is the protocol of a client with a short way for what every duplicate gets: a
// refused condition with the held record. To learn what kind an error is the SDK parses all of its
// text twice, the first time slowly: for a record of 4 KB that takes longer than the rest of the
// call. Here the beginning tells, and the SDK parses it once, as it does every other answer.
// Whatever begins otherwise goes the usual way.
type replayProtocol struct{ smithyhttp.ClientProtocol }

// readQuickly is passed to the client with the call.
func readQuickly(o *dynamodb.Options) {
	if o.Protocol != nil {
		o.Protocol = replayProtocol{o.Protocol}
	}
}

func (p replayProtocol) DeserializeResponse(
	ctx context.Context, schema *smithy.OperationSchema, registry *smithy.TypeRegistry,
	resp *smithyhttp.Response, out smithy.Deserializable,
) error {
	if resp.StatusCode != http.StatusBadRequest || resp.Header.Get("X-Amzn-Errortype") != "" {
		return p.ClientProtocol.DeserializeResponse(ctx, schema, registry, resp, out)
	}
	begin := make([]byte, len(refusedBegins))
	n, _ := io.ReadFull(resp.Body, begin) // an error is met again by whoever reads on
	answer := *resp.Response
	answer.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(begin[:n]), resp.Body), resp.Body}
	whole := &smithyhttp.Response{Response: &answer}
	if string(begin[:n]) != refusedBegins {
		return p.ClientProtocol.DeserializeResponse(ctx, schema, registry, whole, out)
	}
	answer.StatusCode = http.StatusOK // which is how the protocol is told to read it into what it is given
	var refused types.ConditionalCheckFailedException
	if err := p.ClientProtocol.DeserializeResponse(ctx, schema, registry, whole, &refused); err != nil {
		return err
	}
	return &refused
}
