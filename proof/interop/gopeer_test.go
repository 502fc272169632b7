package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

// peerVariable makes the test binary a peer.
const peerVariable = "INTEROP_PEER"

func TestMain(m *testing.M) {
	if os.Getenv(peerVariable) == "" {
		os.Exit(m.Run())
	}
	if err := serve(os.Stdin, os.Stdout); err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// goPeer is this library as a peer.
type goPeer struct {
	in  *json.Decoder
	out *json.Encoder
}

func serve(in io.Reader, out io.Writer) error {
	p := goPeer{in: json.NewDecoder(bufio.NewReader(in)), out: json.NewEncoder(out)}
	for {
		var a ask
		if err := p.in.Decode(&a); err != nil {
			return err
		}
		if err := p.out.Encode(p.invoke(a)); err != nil {
			return err
		}
	}
}

func (p goPeer) invoke(a ask) answer {
	ctx := context.Background()
	if a.RemainingMS != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(*a.RemainingMS)*time.Millisecond)
		defer cancel()
	}
	client := dynamolocal.Client(os.Getenv(dynamolocal.EndpointVariable))
	store := dynamo.New(client, a.Table, a.Shape.config())
	var handler lambda.Handler = idempotent.Wrap(handlerOf[json.RawMessage, json.RawMessage](p, a), store,
		a.options()...)
	if a.HTTP {
		handler = idempotent.Wrap(handlerOf[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse](p, a),
			store, a.options()...)
	}
	returned, err := handler.Invoke(ctx, a.Event)
	if err != nil {
		return answer{Error: errorType(err), Cause: err.Error()}
	}
	return answer{Returned: returned}
}

// errorType is the name that Lambda answers with.
func errorType(err error) string {
	name := fmt.Sprintf("%T", err)
	return name[strings.LastIndexByte(name, '.')+1:]
}

// handlerOf is a handler that reports that it runs, and ends as it is told. Like many it does not
// look at its context.
func handlerOf[In, Out any](p goPeer, a ask) func(context.Context, In) (Out, error) {
	return func(context.Context, In) (out Out, err error) {
		if err := p.out.Encode(answer{Entered: true}); err != nil {
			return out, err
		}
		var end told
		if err := p.in.Decode(&end); err != nil {
			return out, err
		}
		switch {
		case end.Fail == "":
			return out, json.Unmarshal(end.Return, &out)
		case a.Uncertain:
			return out, idempotent.Uncertain(errors.New(end.Fail))
		default:
			return out, errors.New(end.Fail)
		}
	}
}

func (a ask) options() []idempotent.Option {
	mode := idempotent.Powertools{
		Language: idempotent.PowertoolsLanguage(a.Language), Prefix: a.Prefix, Hash: a.Hash,
		AllCallers: true,
	}
	if a.Prefix == "" && a.Language == "python" {
		mode.Function = "app.handler"
	}
	opts := []idempotent.Option{
		idempotent.WithPowertools(mode), idempotent.WithExactNames(),
		idempotent.WithTiming(idempotent.Timing{ClaimBudget: time.Minute}),
	}
	if a.KeyPath != "" {
		opts = append(opts, idempotent.WithKeyPath(a.KeyPath))
	}
	if a.ValidationPath != "" {
		opts = append(opts, idempotent.WithFingerprintPath(a.ValidationPath))
	}
	if a.ExpiresAfter != 0 {
		opts = append(opts, idempotent.WithRetention(time.Duration(a.ExpiresAfter)*time.Second))
	}
	return opts
}

func (s shape) config() dynamo.Config {
	c := dynamo.Config{Attributes: dynamo.Attributes{
		Key: s.Key, Status: s.Status, Expiration: s.Expiration, Lease: s.Lease, Data: s.Data, Validation: s.Validation,
	}}
	if s.Sort != "" {
		c.SortKey, c.Partition = s.Sort, s.Partition
	}
	return c
}
