package outbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/report"
)

func TestMessageIsWrittenWithItsCommit(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	before := time.Now().UnixMilli()
	id, owner := "", ""
	require.NoError(t, p.commit(t, "k", func(ctx context.Context) []dynamo.Item {
		id = idempotent.DerivedKey(ctx, "order-placed/1")
		claim, _ := execution.From(ctx)
		owner = claim.Owner
		ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{TenantID: "acme"})
		ctx = context.WithValue(ctx, "x-amzn-trace-id", "Root=1-5759e988-bd862e3fe1be46a994272793") //nolint:staticcheck // Lambda's
		return []dynamo.Item{p.box.Message(ctx, "order-placed/1", map[string]string{"html": "<b>"},
			outbox.MessageConfig{Topic: "order-placed", Group: "g", Attributes: map[string]string{"a": "1", "b": "2"}})}
	}))
	it := p.get(t, id)
	require.NotEmpty(t, owner)
	for _, name := range []string{"created_at", "outbox_due"} {
		require.InDelta(t, before, numberOf(t, it, name), 60_000)
	}
	require.Equal(t, it["created_at"], it["outbox_due"])
	require.Len(t, it["outbox_shard"].(*types.AttributeValueMemberS).Value, 1)
	for _, name := range []string{"created_at", "outbox_due", "outbox_shard"} {
		delete(it, name)
	}
	require.Equal(t, item{
		"id": S(id), "topic": S("order-placed"), "body": S(`{"html":"<b>"}`), "owner": S(owner), "group": S("g"),
		"tenant":     S("acme"),
		"trace":      S("Root=1-5759e988-bd862e3fe1be46a994272793"),
		"attributes": &types.AttributeValueMemberM{Value: item{"a": S("1"), "b": S("2")}},
	}, it)
}

func TestMessageSaysWhatIsWrongBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	body := map[string]string{"secret": "tok_visa"}
	bad := outbox.MessageConfig{Attributes: map[string]string{"": "v", "a": ""}}
	for name, c := range map[string]struct {
		message string
		body    any
		config  []outbox.MessageConfig
		says    string
	}{
		"no name": {" ", body, nil, `items[0]: outbox: message " ": the name is empty`},
		"two, and a bad one": {
			"m", body,
			[]outbox.MessageConfig{{}, bad},
			`items[0]: outbox: message "m": there are 2 values of MessageConfig, and one counts; ` +
				`Attributes: "" has no name or no value; Attributes: "a" has no name or no value`,
		},
		"no JSON": {"m", math.NaN(), nil, `items[0]: outbox: message "m": the body, a float64, has no JSON form`},
		"broken JSON": {
			"m", json.RawMessage(`{"secret":`), nil,
			`items[0]: outbox: message "m": the body, a ` + fmt.Sprintf("%T", json.RawMessage{}) + `, has no JSON form`,
		},
		"bytes": {
			"m", []byte(`{}`), nil,
			`items[0]: outbox: message "m": the body is a []byte, whose JSON form is a text in base64: ` +
				`pass JSON as a json.RawMessage, and text as a string`,
		},
		"too large": {"m", strings.Repeat("x", 399<<10), nil, "bytes, more than the 408576 of a message"},
		"another context": {
			"elsewhere", body, nil, `items[0]: outbox: message "elsewhere": the context belongs to no delivery`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := p.commit(t, name, func(ctx context.Context) []dynamo.Item {
				if c.message == "elsewhere" {
					ctx = context.Background()
				}
				return []dynamo.Item{p.box.Message(ctx, c.message, c.body, c.config...)}
			})
			require.ErrorIs(t, err, idempotent.ErrCommitRefused)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "tok_visa")
		})
	}
}

// The report of a delivery names the keys that somebody may have got.
func TestMessageThatIsRefusedHasNoKey(t *testing.T) {
	t.Parallel()
	box := outbox.New("outbox")
	var got []report.NamedKey
	h := idempotent.Wrap(func(ctx context.Context, o order) (string, error) {
		require.Error(t, box.Message(ctx, "refused", math.NaN()).Err)
		require.NoError(t, box.Message(ctx, "sent", o).Err)
		return "", nil
	}, memory.New(), idempotent.WithOperation("orders"), idempotent.WithKeyPath("id"),
		idempotent.WithObserver(func(_ context.Context, r report.Delivery) { got = r.DerivedKeys }))
	_, err := h.Handle(t.Context(), order{ID: "o-1"})
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, "sent", got[0].Name)
}

// TestTwoMessagesOfOneName are one item, which a transaction writes once.
func TestTwoMessagesOfOneName(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	err := p.commit(t, "k", func(ctx context.Context) []dynamo.Item {
		return []dynamo.Item{p.box.Message(ctx, "m", 1), p.box.Message(ctx, "m", 2)}
	})
	require.ErrorIs(t, err, idempotent.ErrCommitFailed)
	require.ErrorContains(t, err, "two of the items are one and the same in their table")
}

// The largest message can still be counted, put off, given up and redriven.
func TestLargestMessageCanBeWrittenTo(t *testing.T) {
	t.Parallel()
	p := newRig(t, outbox.Config{MaxTries: 2})
	var it item
	require.NoError(t, p.commit(t, "k", func(ctx context.Context) []dynamo.Item {
		id := idempotent.DerivedKey(ctx, "m")
		it = item{"id": S(id)}
		for n := 400 << 10; ; n-- {
			if m := p.box.Message(ctx, "m", strings.Repeat("x", n)); m.Err == nil {
				return []dynamo.Item{m}
			}
		}
	}))
	p.fail = down
	for range 2 {
		p.stream(p.now(it))
		p.late(t, it, time.Hour)
		p.drain()
	}
	require.NoError(t, p.redrive(t, p.find(t, it), "dana", strings.Repeat("why ", 50)))
}

func TestMessageOfAnUnprotectedExecutionHasAKeyOfItsOwn(t *testing.T) {
	t.Parallel()
	ctx := idempotent.Unprotected(t.Context())
	first, second := outbox.New("outbox").Message(ctx, "m", 1), outbox.New("outbox").Message(ctx, "m", 1)
	require.NoError(t, first.Err)
	require.NotEqual(t, first.Put.Item["id"], second.Put.Item["id"])
	require.NotEqual(t, first.Put.Item["owner"], second.Put.Item["owner"])
	require.NotContains(t, first.Put.Item, "trace")
}
