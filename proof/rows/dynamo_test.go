package rows_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/proof/calls"
	"github.com/go-idempotent/idempotent/proof/rows"
	"github.com/go-idempotent/idempotent/store"
)

// TestTableDoesWhatDynamoDBDoes plays random transactions, among other writes of the record, on a
// Table and on DynamoDB Local.
func TestTableDoesWhatDynamoDBDoes(t *testing.T) {
	t.Parallel()
	client, suffix := dynamolocal.Client(dynamolocal.Endpoint(t)), rand.Text()
	records, rowTable := "records-"+suffix, "rows-"+suffix
	require.NoError(t, dynamo.CreateTable(t.Context(), client, records))
	require.NoError(t, dynamo.CreateTable(t.Context(), client, rowTable)) // a partition key "id" is all that rows need
	dynamolocal.DropAfter(t, client, records, rowTable)
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		p := &pair{
			T: rt, seen: seen, client: client, table: rowTable, model: rows.New(nil), real: dynamo.New(client, records),
			run: rand.Text(), key: "rows#" + rand.Text(), now: time.Unix(1_800_000_000, 0).UTC(),
		}
		p.model.Remembers = true
		rt.Repeat(map[string]func(*rapid.T){
			"claim":  func(*rapid.T) { p.claim() },
			"lease":  func(*rapid.T) { p.moveLease() },
			"step":   func(*rapid.T) { p.step() },
			"delete": func(*rapid.T) { p.remove() },
			"commit": func(*rapid.T) { p.commit() },
			"again":  func(*rapid.T) { p.again() },
			"apply":  func(*rapid.T) { p.apply() },
			"":       func(*rapid.T) { p.same() },
		})
	})
	t.Log(seen)
	for _, what := range []string{
		"committed", "another record", "writes refused", "rejected", "same token",
		"token recognised", "applied",
	} {
		require.NotZero(t, seen[what], "it has seen: %s", what)
	}
}

// pair is a Table and DynamoDB Local, to which the same is done.
type pair struct {
	*rapid.T

	seen   map[string]int
	client *dynamodb.Client
	table  string
	model  *rows.Table
	real   *dynamo.Store
	// run tells the rows of this run from those of others, key is the record's.
	run, key string
	now      time.Time
	// last is the commit that was made last, calls counts.
	last  func()
	calls int
}

var owners = []string{"OWNERA", "OWNERB"}

// record is a claim by somebody.
func (p *pair) record() store.Record {
	return store.Record{
		Key: p.key, Status: store.StatusInProgress, Owner: rapid.SampledFrom(owners).Draw(p.T, "owner"),
		Lease: p.now.Add(time.Minute), Expiry: p.now.Add(time.Hour), Fingerprint: "1:f", Attempt: 1, CreatedAt: p.now,
	}
}

// both makes a call of both, with the writes of each, and compares what they say.
func (p *pair) both(c calls.Call, items store.Writes) calls.Reply {
	got := c.Make(p.Context(), p.model)
	c.Writes = items
	real := c.Make(p.Context(), p.real)
	if errors.Is(got.Err, rows.ErrTwice) {
		p.seen["rejected"]++
		require.False(p, real.Done,
			"two writes of one row are never applied; DynamoDB Local looks at all conditions first")
		return got
	}
	p.sameErrors(got.Err, real.Err)
	require.Equal(p, got.Done, real.Done)
	if c.Op != calls.Swap || !got.Done {
		require.Equal(p, plain(got.Held), plain(real.Held))
	}
	return got
}

func (p *pair) claim() {
	p.both(calls.Call{Op: calls.Claim, Next: p.record(), Now: p.now}, nil)
}

// held is the record of both, or one that nobody holds.
func (p *pair) held() store.Record {
	if got := p.both(calls.Call{Op: calls.Get, Key: p.key}, nil); got.Done {
		return got.Held
	}
	return p.record()
}

// change changes the record of an execution.
func (p *pair) change(how func(next *store.Record)) {
	seen := p.held()
	if seen.Status == store.StatusInProgress {
		next := seen
		how(&next)
		p.both(calls.Call{Op: calls.Swap, Seen: seen, Next: next}, nil)
	}
}

func (p *pair) moveLease() {
	p.change(func(next *store.Record) { next.Lease, next.Steps = next.Lease.Add(time.Millisecond), nil })
}

func (p *pair) step() {
	p.change(func(next *store.Record) {
		one := []byte("1")
		next.Steps = map[string]store.Step{
			"a": {Kind: store.StepValue, Seal: store.Seal(next.Owner, one), Result: one},
		}
	})
}

func (p *pair) remove() { p.both(calls.Call{Op: calls.Delete, Seen: p.held()}, nil) }

// commit completes what is held, or what is taken for it.
func (p *pair) commit() {
	seen := p.held()
	if seen.Status != store.StatusInProgress {
		seen = p.record() // a stale owner's
	}
	seen.Expiry, seen.StepWrites = time.Time{}, store.AnyStepWrites
	switch rapid.IntRange(0, 9).Draw(p.T, "seen") {
	case 0:
		seen.Lease = seen.Lease.Add(-time.Millisecond)
	case 1:
		seen.Owner = rapid.SampledFrom(owners).Draw(p.T, "seen owner")
	case 2:
		seen.Reason = store.ReasonReleased
	case 3:
		seen.Lease = time.Time{}
	}
	w := p.writes()
	next := seen
	next.Status, next.Steps, next.Lease = store.StatusCompleted, nil, time.Time{}
	next.Result = []byte(strconv.Itoa(rapid.IntRange(0, 9).Draw(p.T, "result")))
	next.Seal = store.CommitSeal(next.Owner, next.Result, p.calls+1)
	next.CompletedAt, next.Expiry = p.now, p.now.Add(24*time.Hour)
	c, items := calls.Call{Op: calls.Commit, Seen: seen, Next: next, Writes: w, Token: p.token()}, p.items(w)
	p.last = func() {
		switch got := p.both(c, items); {
		case got.Done:
			p.seen["committed"]++
		case got.Err == nil:
			p.seen["another record"]++
		}
	}
	p.last()
}

// again repeats the last commit with its token.
func (p *pair) again() {
	if p.last == nil {
		return
	}
	p.seen["same token"]++
	before := p.seen["committed"]
	p.last()
	if p.seen["committed"] > before {
		p.seen["token recognised"]++ // or it was refused before
	}
}

func (p *pair) token() string {
	p.calls++
	return fmt.Sprintf("%.26s-%d", p.run, p.calls)
}

func (p *pair) apply() {
	w, token := p.writes(), p.token()
	if len(w) == 0 {
		return
	}
	err, realErr := p.model.Apply(p.Context(), w, token), p.real.Apply(p.Context(), p.items(w), token)
	if errors.Is(err, rows.ErrTwice) {
		p.seen["rejected"]++
		require.Error(p, realErr, "a condition of the first write may be what DynamoDB Local says of it")
		return
	}
	p.sameErrors(err, realErr)
	if err == nil {
		p.seen["applied"]++
	}
}

// sameErrors compares what both say of a transaction that was not applied.
func (p *pair) sameErrors(err, realErr error) {
	require.Equal(p, err == nil, realErr == nil, "%v, and DynamoDB says: %v", err, realErr)
	if err == nil {
		return
	}
	refused, is := errors.AsType[*rows.RefusedError](err)
	realRefused, realIs := errors.AsType[*dynamo.ConditionError](realErr)
	require.Equal(p, is, realIs, "%v, and DynamoDB says: %v", err, realErr)
	if !is {
		p.seen["rejected"]++
		return
	}
	p.seen["writes refused"]++
	var indexes []int
	for _, item := range realRefused.Refused {
		indexes = append(indexes, item.Index)
	}
	require.Equal(p, refused.Indexes, indexes)
	for _, e := range []error{err, realErr} {
		require.ErrorIs(p, e, store.ErrWritesRefused)
		failed, ok := errors.AsType[*store.Error](e)
		require.True(p, ok)
		require.True(p, failed.NotApplied)
	}
}

var names = []string{"a", "b"}

// writes draws those of a transaction. Now and then two are of one row.
func (p *pair) writes() rows.Writes {
	numbers := rapid.MapOfN(rapid.SampledFrom(names), rapid.Int64Range(-2, 3), 1, 2)
	condition := rapid.Custom(func(t *rapid.T) rows.Condition {
		return rows.Condition{
			Kind:   rapid.SampledFrom([]rows.Kind{rows.Absent, rows.Present, rows.AtLeast, rows.Equal}).Draw(t, "kind"),
			Name:   rapid.SampledFrom(names).Draw(t, "name"),
			Number: rapid.Int64Range(-2, 3).Draw(t, "number"),
		}
	})
	write := rapid.Custom(func(t *rapid.T) rows.Write {
		w := rows.Write{
			Op: rapid.SampledFrom([]rows.Op{rows.Put, rows.Update, rows.Update, rows.Delete, rows.Check}).Draw(t,
				"op"),
			Key: fmt.Sprintf("%s-%d", p.run, rapid.IntRange(1, 4).Draw(t, "row")),
		}
		if w.Op == rows.Check || rapid.IntRange(0, 2).Draw(t, "has conditions") == 0 {
			w.If = rapid.SliceOfN(condition, 1, 2).Draw(t, "conditions")
		}
		switch w.Op {
		case rows.Put:
			w.Set = numbers.Draw(t, "row")
		case rows.Update:
			w.Add = numbers.Draw(t, "added")
			for name := range w.Add {
				if rapid.Bool().Draw(t, "set "+name) {
					w.Set = map[string]int64{name: w.Add[name]}
					delete(w.Add, name)
					break
				}
			}
		case rows.Delete, rows.Check, rows.Send:
		}
		return w
	})
	w := rows.Writes(rapid.SliceOfN(write, 0, 3).Draw(p.T, "writes"))
	if rapid.IntRange(0, 9).Draw(p.T, "twice") > 0 {
		seen := map[string]bool{}
		w = slices.DeleteFunc(w, func(one rows.Write) bool {
			twice := seen[one.Key]
			seen[one.Key] = true
			return twice
		})
	}
	return w
}

// taker is the hook of a delivery that keeps the writes of a commit.
type taker struct{ writes store.Writes }

func (h *taker) Commit(_ context.Context, _ any, w store.Writes, unfit error) error {
	h.writes = w
	return unfit
}

// items are the writes as those of DynamoDB.
func (p *pair) items(w rows.Writes) store.Writes {
	var items []dynamo.Item
	for _, one := range w {
		items = append(items, p.item(one))
	}
	var h taker
	ctx := execution.With(p.Context(), execution.Claim{Operation: "rows", RecordKey: p.key, Commits: &h})
	_, err := dynamo.Commit(ctx, 0, items...)
	require.NoError(p, err)
	return h.writes
}

// item is a write of the SDK.
func (p *pair) item(w rows.Write) dynamo.Item {
	e := expressions{names: map[string]string{}, values: map[string]types.AttributeValue{}}
	key := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: w.Key}}
	conditions := make([]string, len(w.If))
	for i, c := range w.If {
		conditions[i] = e.condition(c)
	}
	var condition *string
	if len(conditions) > 0 {
		condition = aws.String(strings.Join(conditions, " AND "))
	}
	update := e.update(w)
	names, values := e.used()
	var of types.TransactWriteItem
	switch w.Op {
	case rows.Put:
		for name, n := range w.Set {
			key[name] = number(n)
		}
		of.Put = &types.Put{
			TableName: &p.table, Item: key, ConditionExpression: condition, ExpressionAttributeNames: names,
			ExpressionAttributeValues: values,
		}
	case rows.Update:
		of.Update = &types.Update{
			TableName: &p.table, Key: key, UpdateExpression: &update, ConditionExpression: condition,
			ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		}
	case rows.Delete:
		of.Delete = &types.Delete{
			TableName: &p.table, Key: key, ConditionExpression: condition, ExpressionAttributeNames: names,
			ExpressionAttributeValues: values,
		}
	case rows.Check, rows.Send:
		of.ConditionCheck = &types.ConditionCheck{
			TableName: &p.table, Key: key, ConditionExpression: condition, ExpressionAttributeNames: names,
			ExpressionAttributeValues: values,
		}
	}
	return dynamo.Item{TransactWriteItem: of}
}

// expressions are what those of a write refer to.
type expressions struct {
	names  map[string]string
	values map[string]types.AttributeValue
}

// used is what there is, each nil if there is nothing: DynamoDB takes no empty ones.
func (e expressions) used() (names map[string]string, values map[string]types.AttributeValue) {
	if len(e.names) > 0 {
		names = e.names
	}
	if len(e.values) > 0 {
		values = e.values
	}
	return names, values
}

func (e expressions) name(attribute string) string {
	e.names["#"+attribute] = attribute
	return "#" + attribute
}

func (e expressions) value(n int64) string {
	ref := fmt.Sprintf(":v%d", len(e.values))
	e.values[ref] = number(n)
	return ref
}

func (e expressions) condition(c rows.Condition) string {
	switch c.Kind {
	case rows.Absent:
		return "attribute_not_exists(" + e.name(c.Name) + ")"
	case rows.Present:
		return "attribute_exists(" + e.name(c.Name) + ")"
	case rows.AtLeast:
		return e.name(c.Name) + " >= " + e.value(c.Number)
	default:
		return e.name(c.Name) + " = " + e.value(c.Number)
	}
}

// update is the expression of an update, nothing for other writes.
func (e expressions) update(w rows.Write) (text string) {
	if w.Op != rows.Update {
		return ""
	}
	for of, numbers := range map[string]map[string]int64{"SET": w.Set, "ADD": w.Add} {
		separator := " " + of + " "
		for _, name := range slices.Sorted(maps.Keys(numbers)) {
			sign := " "
			if of == "SET" {
				sign = " = "
			}
			text += separator + e.name(name) + sign + e.value(numbers[name])
			separator = ", "
		}
	}
	return text
}

// same compares the record and the rows.
func (p *pair) same() {
	p.held()
	all := map[string]rows.Row{}
	for n := 1; n <= 4; n++ {
		key := fmt.Sprintf("%s-%d", p.run, n)
		out, err := p.client.GetItem(p.Context(), &dynamodb.GetItemInput{
			TableName: aws.String(p.table), ConsistentRead: aws.Bool(true),
			Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: key}},
		})
		require.NoError(p, err)
		if out.Item == nil {
			continue
		}
		delete(out.Item, "id")
		r := rows.Row{}
		require.NoError(p, attributevalue.UnmarshalMap(out.Item, &r))
		all[key] = r
	}
	require.Equal(p, p.model.Rows(), all)
}

// plain is a record in the form in which two stores can be compared.
func plain(r store.Record) string {
	if r.Key == "" {
		return ""
	}
	names := slices.Sorted(maps.Keys(r.Steps))
	return fmt.Sprint(r.Key, r.Status, r.Owner, milliseconds(r.Lease), milliseconds(r.Expiry), r.Fingerprint,
		string(r.Result), r.Seal,
		r.Attempt, r.Reason, milliseconds(r.CompletedAt), names, r.StepWrites)
}

func milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
