// Command peer runs handlers as it is told, see package versions. The tag before builds it with the version
// before steps, the tag steps with the one before commits.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/proof/versions"
)

// timeout is that of an invocation.
const timeout = 10 * time.Second

type event struct{ ID string }

type peer struct {
	client *dynamodb.Client
	name   string
	in     *json.Decoder
	out    *json.Encoder
	// count numbers the effects of this process.
	count int
}

func main() {
	p := &peer{
		name: os.Args[1], in: json.NewDecoder(os.Stdin), out: json.NewEncoder(os.Stdout),
		client: dynamodb.New(dynamodb.Options{
			Region: "us-east-1", BaseEndpoint: aws.String(os.Args[2]), DisableValidateResponseChecksum: true,
			Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		}),
	}
	for {
		var a versions.Ask
		if p.in.Decode(&a) != nil {
			return
		}
		said := p.deliver(a)
		said.Done = true
		p.say(said)
	}
}

func (p *peer) say(s versions.Said) {
	if err := p.out.Encode(s); err != nil {
		panic(err)
	}
}

func (p *peer) deliver(a versions.Ask) (said versions.Said) {
	clock := func() time.Time { return time.Now().Add(a.Ahead) }
	store := dynamo.New(p.client, a.Table)
	opts := []idempotent.Option{
		idempotent.WithOperation("order"), idempotent.WithClock(clock),
		idempotent.WithObserver(func(_ context.Context, e idempotent.Event) { said.Settlement = string(e.Settlement) }),
	}
	if a.Powertools {
		opts = append(opts[1:], idempotent.WithKeyPath("ID"), idempotent.WithPowertools(idempotent.Powertools{
			Language: idempotent.PowertoolsPython, Prefix: "order",
		}))
	} else {
		opts = append(opts, idempotent.WithKey(func(e event) (string, error) { return e.ID, nil }))
	}
	if a.Refuse {
		opts = append(opts, idempotent.WithCrashPolicy(idempotent.Refuse))
	}
	if a.Wait {
		opts = append(opts, idempotent.WithWait(timeout/2))
	}
	handler := idempotent.Wrap(func(ctx context.Context, _ event) (map[string]string, error) { return p.handle(ctx, a) }, store, opts...)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if a.Settle {
		said.Err = settle(ctx, handler, event{ID: a.Key}, operate.New(store, operate.WithClock(clock)))
		return said
	}
	returned, err := handler.Handle(ctx, event{ID: a.Key})
	said.Returned, said.Err = returned, nameOf(err)
	return said
}

func settle(ctx context.Context, handler *idempotent.Handler[event, map[string]string], e event, o *operate.Operator) string {
	d, err := handler.Describe(ctx, e)
	if err != nil {
		return err.Error()
	}
	shown, err := o.Inspect(ctx, d.RecordKey)
	if err != nil {
		return err.Error()
	}
	if _, err = o.Settle(ctx, shown, operate.NotExecuted(), operate.Act{By: "dana", Why: "looked"}); err != nil {
		return err.Error()
	}
	return ""
}

func (p *peer) handle(ctx context.Context, a versions.Ask) (map[string]string, error) {
	done := map[string]string{}
	for _, e := range a.Effects {
		result, err := take(ctx, a.Steps, e, func(context.Context) (string, error) {
			p.say(versions.Said{Effect: e.Name})
			p.count++
			return fmt.Sprintf("%s-%d", p.name, p.count), p.end(e.End)
		})
		if err != nil {
			return nil, err
		}
		done[e.Name] = result
	}
	if err := p.end(a.End); err != nil {
		return nil, err
	}
	switch a.Answer {
	case versions.Small:
	case versions.Compressed:
		done["more"] = strings.Repeat("more and more ", 1000)
	case versions.InParts:
		for len(done["more"]) < 64<<10 {
			done["more"] += rand.Text()
		}
	}
	return commit(ctx, a, done)
}

var errOwn = errors.New("failed")

func (p *peer) end(e versions.End) error {
	switch e {
	case versions.Fails:
		return errOwn
	case versions.Uncertain:
		return idempotent.Uncertain(errOwn)
	case versions.Dies:
		os.Exit(1)
	case versions.Holds, versions.HoldsAndFails:
		p.say(versions.Said{Holds: true})
		var line any
		if err := p.in.Decode(&line); err != nil {
			os.Exit(1)
		}
		if e == versions.HoldsAndFails {
			return errOwn
		}
	}
	return nil
}

// sentinels are the errors that both versions have. The first one that an error is gives it its name.
var sentinels = []struct {
	err  error
	name string
}{
	{idempotent.ErrInProgress, "in progress"},
	{idempotent.ErrSuperseded, "superseded"},
	{idempotent.ErrUnknownOutcome, "unknown outcome"},
	{idempotent.ErrUnreadable, "unreadable"},
	{idempotent.ErrStoreUnavailable, "store unavailable"},
	{idempotent.ErrMismatch, "mismatch"},
	{idempotent.ErrLeaseLost, "lease lost"},
	{errOwn, "its own"},
}

func nameOf(err error) string {
	if err == nil {
		return ""
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			return s.name
		}
	}
	return err.Error()
}
