package rows_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/relay"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/proof/rows"
	"github.com/go-idempotent/idempotent/store"
)

// TestBoxDoesWhatAnOutboxDoes plays random writes of relays on the messages of a Table and on an
// outbox in DynamoDB Local. Relays are shown a message as it was at any time before: so they come
// late, and meet another commit's.
func TestBoxDoesWhatAnOutboxDoes(t *testing.T) {
	t.Parallel()
	client, suffix := dynamolocal.Client(dynamolocal.Endpoint(t)), rand.Text()
	records, table := "records-"+suffix, "messages-"+suffix
	require.NoError(t, dynamo.CreateTable(t.Context(), client, records))
	require.NoError(t, outbox.CreateTable(t.Context(), client, table))
	dynamolocal.DropAfter(t, client, records, table)
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		p := &boxes{
			T: rt, seen: seen, client: &steered{Client: client}, table: table, model: rows.New(nil),
			real: dynamo.New(client, records),
			run:  rand.Text(), now: time.Unix(1_700_000_000, 0).UTC(),
		}
		does := map[string]func(*rapid.T){
			"send":    func(*rapid.T) { p.send() },
			"look":    func(*rapid.T) { p.look() },
			"redrive": func(*rapid.T) { p.redrive() },
			"drain":   func(*rapid.T) { p.drain() },
			"":        func(*rapid.T) { p.same() },
		}
		for name, of := range p.relayed() {
			does[name] = func(*rapid.T) {
				if m, is := p.seenBefore(of.fits); is {
					p.write(name, m, of.real(m), func(at time.Time) bool {
						return p.model.Answer(rows.BoxCall{Op: of.op, Entry: m.Entry(), At: at}).Done
					})
				}
			}
		}
		rt.Repeat(does)
	})
	t.Log(seen)
	for _, what := range []string{"done", "failed", "taken", "given up at once", "given up", "redriven"} {
		require.NotZero(t, seen[what], "it has seen: %s", what)
		require.NotZero(t, seen["not "+what], "it has seen: not %s", what)
	}
	require.NotZero(t, seen["sent"])
	require.NotZero(t, seen["not sent"])
	require.NotZero(t, seen["drained"])
}

// relayed is what a relay does to a message that it was shown: how the outbox is led to it, and
// which call of a box it is.
type relayed struct {
	op   rows.BoxOp
	fits func(rows.Message) bool
	real func(rows.Message) func() error
}

func (p *boxes) relayed() map[string]relayed {
	unlisted := func(m rows.Message) bool { return m.Tries == 0 }
	listed := func(m rows.Message) bool { return !m.GivenUp() }
	tried := func(m rows.Message) bool { return m.Tries > 0 && !m.GivenUp() }
	stream := func(result error) func(rows.Message) func() error {
		return func(m rows.Message) func() error { return p.streamed(m, result) }
	}
	drain := func(maxTries int) func(rows.Message) func() error {
		return func(m rows.Message) func() error { return p.found(m, maxTries) }
	}
	return map[string]relayed{
		"done":             {rows.Done, unlisted, stream(nil)},
		"failed":           {rows.Failed, unlisted, stream(errReceiver)},
		"given up at once": {rows.GiveUp, unlisted, stream(outbox.Permanent(errReceiver))}, // it can never be delivered
		"given up":         {rows.GiveUp, tried, drain(1)},                                 // its tries are used up
		"taken":            {rows.Take, listed, drain(many)},
	}
}

// boxes are the messages of a Table and an outbox, to which the same is done.
type boxes struct {
	*rapid.T

	seen   map[string]int
	client *steered
	table  string
	model  *rows.Table
	real   *dynamo.Store
	// run tells the messages of this run from those of others.
	run string
	now time.Time
	// known are messages as they were at some time, shown those that an operator was shown.
	known []rows.Message
	shown []givenUp
}

// givenUp is a message that an operator was shown, on both sides.
type givenUp struct {
	model rows.Message
	real  outbox.GivenUpMessage
}

// steered is the client of a relay whose clock and whose reads are the test's. What it writes it
// writes.
type steered struct {
	*dynamodb.Client

	// at becomes every instant that is written.
	at time.Time
	// read, unless nil, is what every read finds.
	read map[string]types.AttributeValue
	// writes are those of an operation, applied those that were not refused.
	writes, applied int
}

func (s *steered) GetItem(
	ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	if s.read == nil {
		return s.Client.GetItem(ctx, in, opts...)
	}
	return &dynamodb.GetItemOutput{Item: s.read}, nil
}

func (s *steered) Query(ctx context.Context, in *dynamodb.QueryInput,
	opts ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	switch {
	case s.read == nil:
		return s.Client.Query(ctx, in, opts...)
	case in.ExpressionAttributeValues[":shard"].(*types.AttributeValueMemberS).Value != "0":
		return &dynamodb.QueryOutput{}, nil
	default:
		return &dynamodb.QueryOutput{Items: []map[string]types.AttributeValue{s.read}}, nil
	}
}

func (s *steered) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	for _, name := range []string{":due", ":now"} {
		if _, has := in.ExpressionAttributeValues[name]; has {
			in.ExpressionAttributeValues[name] = number(s.at.UnixMilli())
		}
	}
	out, err := s.Client.UpdateItem(ctx, in, opts...)
	s.writes++
	if err == nil {
		s.applied++
	}
	return out, err
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// later moves the clock, or leaves it. No two instants that are written are equal by chance.
func (p *boxes) later() time.Time {
	p.now = p.now.Add(time.Duration(rapid.IntRange(0, 1).Draw(p.T, "later")) * time.Second)
	return p.now
}

// claim is that of an execution that sends messages.
func (p *boxes) claim(owner string, hook execution.Commits) execution.Claim {
	return execution.Claim{Operation: "rows", RecordKey: p.run, Owner: owner, Commits: hook}
}

func (p *boxes) remember(id string) {
	if m := p.model.Messages()[id]; m.Pending() {
		p.known = append(p.known, m)
	}
}

// send puts a message, with a condition beside it that may not hold.
func (p *boxes) send() {
	owner, name := rapid.SampledFrom(owners).Draw(p.T, "owner"), rapid.SampledFrom(names).Draw(p.T, "name")
	amount := rapid.Int64Range(1, 3).Draw(p.T, "amount")
	refused := rapid.IntRange(0, 4).Draw(p.T, "refused") == 0
	var h taker
	claim := p.claim(owner, &h)
	ctx := execution.With(p.Context(), claim)
	body := map[string]int64{"n": amount}
	items := []dynamo.Item{outbox.New(p.table).Message(ctx, name, body, outbox.MessageConfig{Topic: p.run})}
	writes := rows.Writes{{Op: rows.Send, Key: claim.DerivedKey(name), Set: body, Owner: owner}}
	if refused {
		items = append(items, gate(p.table))
		writes = append(writes, rows.Write{
			Op: rows.Check, Key: "gate",
			If: []rows.Condition{{Kind: rows.Present, Name: "id"}},
		})
	}
	_, err := dynamo.Commit(ctx, 0, items...)
	require.NoError(p, err)
	realErr := p.real.Apply(p.Context(), h.writes, rand.Text())
	id := writes[0].Key
	writes[0].At = p.later()
	err = p.model.Apply(p.Context(), writes, "")
	require.Equal(p, refused, errors.Is(err, store.ErrWritesRefused))
	require.Equal(p, refused, errors.Is(realErr, store.ErrWritesRefused))
	if refused {
		p.seen["not sent"]++
		return
	}
	p.setDue(id, writes[0].At)
	p.seen["sent"]++
	p.remember(id)
}

// setDue gives a message that was just put the time of the test.
func (p *boxes) setDue(id string, at time.Time) {
	_, err := p.client.Client.UpdateItem(p.Context(), &dynamodb.UpdateItemInput{
		TableName:                 aws.String(p.table),
		Key:                       map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}},
		UpdateExpression:          aws.String("SET outbox_due = :at, created_at = :at"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":at": number(at.UnixMilli())},
	})
	require.NoError(p, err)
}

// seenBefore draws a message as it was at some time. False says that there is none like it.
func (p *boxes) seenBefore(fits func(rows.Message) bool) (rows.Message, bool) {
	fitting := slices.DeleteFunc(slices.Clone(p.known), func(m rows.Message) bool { return !fits(m) })
	if len(fitting) == 0 {
		return rows.Message{}, false
	}
	m := rapid.SampledFrom(fitting).Draw(p.T, "seen")
	if rapid.IntRange(0, 3).Draw(p.T, "as it is") > 0 {
		if now := p.model.Messages()[m.ID]; fits(now) && now.Pending() {
			return now, true
		}
	}
	return m, true
}

// write lets both sides do the same with a message, and compares what became of it.
func (p *boxes) write(name string, m rows.Message, real func() error, model func(at time.Time) bool) {
	p.client.at, p.client.writes, p.client.applied = p.later(), 0, 0
	require.NoError(p, real())
	p.client.read = nil
	require.Equal(p, 1, p.client.writes, name)
	wrote := model(p.now)
	require.Equal(p, wrote, p.client.applied == 1, "%s of %v on %v", name, m, p.model.Messages()[m.ID])
	if !wrote {
		name = "not " + name
	}
	p.seen[name]++
	p.remember(m.ID)
}

// many is more tries than a message here has.
const many = 1000

// streamed hands a message over to a relay that delivers it with this result.
func (p *boxes) streamed(m rows.Message, result error) func() error {
	return func() error {
		image := map[string]events.DynamoDBAttributeValue{}
		for name, v := range itemOf(m) {
			switch v := v.(type) {
			case *types.AttributeValueMemberS:
				image[name] = events.NewStringAttribute(v.Value)
			case *types.AttributeValueMemberN:
				image[name] = events.NewNumberAttribute(v.Value)
			}
		}
		r := outbox.NewRelay(p.client, p.table, func(context.Context, outbox.Message) error { return result },
			outbox.Config{MaxTries: many})
		_, err := r.Stream(p.Context(), events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{{
			EventName: "INSERT", Change: events.DynamoDBStreamRecord{NewImage: image, SequenceNumber: "1"},
		}}})
		return err
	}
}

// found lets a drain find a message, and fail to deliver it.
func (p *boxes) found(m rows.Message, maxTries int) func() error {
	return func() error {
		p.client.read = itemOf(m)
		deliver := func(context.Context, outbox.Message) error { return errReceiver }
		_, err := outbox.NewRelay(p.client, p.table, deliver,
			outbox.Config{MaxTries: maxTries, NoStream: true}).Drain(p.Context())
		return err
	}
}

var errReceiver = errors.New("the receiver does not take it")

// itemOf is a message as the outbox has it.
func itemOf(m rows.Message) map[string]types.AttributeValue {
	s := func(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }
	it := map[string]types.AttributeValue{
		"id": s(m.ID), "topic": s("t"), "body": s("1"), "owner": s(m.Owner),
		"created_at": number(m.Created.UnixMilli()),
		"outbox_due": number(m.Due.UnixMilli()), "outbox_shard": s("0"),
	}
	if m.Tries > 0 {
		it["tries"] = number(int64(m.Tries))
	}
	if m.GivenUp() {
		it["outbox_shard"] = s("given-up")
	}
	return it
}

// look shows an operator what is given up.
func (p *boxes) look() {
	want := map[string]rows.Message{}
	for id, m := range p.model.Messages() {
		if m.GivenUp() {
			want[id] = m
		}
	}
	got := map[string]bool{}
	for m, err := range outbox.GivenUp(p.Context(), p.client, p.table) {
		require.NoError(p, err)
		if m.Topic == p.run {
			got[m.ID] = true
			require.Contains(p, want, m.ID)
			require.Equal(p, want[m.ID].GivenUpAt.UnixMilli(), m.GivenUpAt.UnixMilli())
			p.shown = append(p.shown, givenUp{want[m.ID], m})
		}
	}
	require.Len(p, got, len(want))
}

func (p *boxes) redrive() {
	if rapid.IntRange(0, 3).Draw(p.T, "looks first") > 0 {
		p.look()
	}
	if len(p.shown) == 0 {
		return
	}
	s := rapid.SampledFrom(p.shown[max(0, len(p.shown)-2):]).Draw(p.T, "shown")
	p.write("redriven", s.model, func() error {
		err := outbox.Redrive(p.Context(), p.client, p.table, s.real, "a test", "to compare")
		if errors.Is(err, outbox.ErrNotGivenUp) {
			return nil
		}
		return err
	}, func(at time.Time) bool { return p.model.Redrive(s.model, at) })
}

// arrivals takes messages. It is safe for concurrent use.
type arrivals struct {
	mu  sync.Mutex
	all []string
}

func (a *arrivals) take(id, body string, tries int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, fmt.Sprint(id, " ", body, " ", tries))
	slices.Sort(a.all)
}

// drain delivers what is left on both sides.
func (p *boxes) drain() {
	if rapid.IntRange(0, 4).Draw(p.T, "drains") > 0 {
		return // or there would be little left for the others
	}
	var got, want arrivals
	p.client.at = p.later()
	r := outbox.NewRelay(p.client, p.table, func(_ context.Context, m outbox.Message) error {
		if m.Topic == p.run {
			got.take(m.ID, string(m.Body), m.Tries)
		}
		return nil
	}, outbox.Config{NoStream: true, MaxTries: many, Concurrency: 1})
	_, err := r.Drain(p.Context())
	require.NoError(p, err)
	model := relay.New(p.model.Box(), func(_ context.Context, e rows.Entry) error {
		want.take(e.ID, bodyOf(e.Message), e.Tries)
		return nil
	}, func(context.Context, rows.Entry, relay.Outcome, error) {}, relay.Settings{
		Concurrency: 1, Timeout: time.Minute, MaxTries: many, Pause: func(int) time.Duration { return 0 },
		Now: func() time.Time { return p.now },
	})
	require.NoError(p, model.Drain(p.Context()))
	require.Equal(p, want.all, got.all)
	p.seen["drained"] += len(got.all)
}

func bodyOf(r rows.Row) string { return fmt.Sprintf(`{"n":%d}`, r["n"]) }

// same compares all messages.
func (p *boxes) same() {
	claim := p.claim("", nil)
	for _, name := range names {
		id := claim.DerivedKey(name)
		out, err := p.client.Client.GetItem(p.Context(), &dynamodb.GetItemInput{
			TableName: aws.String(p.table), ConsistentRead: aws.Bool(true),
			Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}},
		})
		require.NoError(p, err)
		m, there := p.model.Messages()[id]
		require.Equal(p, there, out.Item != nil)
		if !there {
			continue
		}
		real := map[string]string{}
		for name, v := range out.Item {
			switch v := v.(type) {
			case *types.AttributeValueMemberS:
				real[name] = v.Value
			case *types.AttributeValueMemberN:
				real[name] = v.Value
			}
		}
		require.Equal(p, m.Pending(), real["expiration"] == "")
		require.Equal(p, m.GivenUp(), real["outbox_shard"] == "given-up")
		require.Equal(p, m.Pending(), real["outbox_shard"] != "")
		require.True(p, m.GivenUp() || real["last_error"] == "")
		for _, of := range []string{
			"id", "topic", "created_at", "expiration", "outbox_shard", "redriven_at",
			"redriven_by", "redriven_reason", "last_write", "redrive", "last_error",
		} {
			delete(real, of)
		}
		require.Equal(p, attributesOf(m), real)
	}
}

// attributesOf are those of a message that decide anything.
func attributesOf(m rows.Message) map[string]string {
	all := map[string]string{"owner": m.Owner, "body": bodyOf(m.Body)}
	if m.Tries > 0 {
		all["tries"] = strconv.Itoa(m.Tries)
	}
	for name, at := range map[string]time.Time{"outbox_due": m.Due, "given_up_at": m.GivenUpAt, "done_at": m.DoneAt} {
		if !at.IsZero() {
			all[name] = strconv.FormatInt(at.UnixMilli(), 10)
		}
	}
	return all
}

// gate is a condition that does not hold, as long as nobody has written that item.
func gate(table string) dynamo.Item {
	return dynamo.Item{TransactWriteItem: types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &table, Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "gate"}},
		ConditionExpression: aws.String("attribute_exists(id)"),
	}}}
}
