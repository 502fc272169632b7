package versions_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/versions"
)

// AWS Powertools for Python, as it writes: a conditional PutItem, and an UpdateItem and a DeleteItem without a condition. proof/interop
// runs the real one.
type powertools struct{ *meeting }

// id is that of the record that the handler has left.
func (p powertools) id() map[string]types.AttributeValue {
	p.t.Helper()
	item := p.item()
	require.NotNil(p.t, item)
	return map[string]types.AttributeValue{"id": item["id"]}
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// takesOver claims the record, whose lease has lapsed.
func (p powertools) takesOver() {
	p.t.Helper()
	now := time.Now().Add(p.ahead)
	item := p.id()
	item["status"] = &types.AttributeValueMemberS{Value: "INPROGRESS"}
	item["expiration"] = number(now.Add(time.Hour).Unix())
	item["in_progress_expiration"] = number(now.Add(10 * time.Second).UnixMilli())
	_, err := p.client.PutItem(p.t.Context(), &dynamodb.PutItemInput{
		TableName: &p.table, Item: item,
		ConditionExpression: aws.String("attribute_not_exists(#id) OR #expiry < :now OR (#status = :inprogress AND " +
			"attribute_exists(#lease) AND #lease < :millis)"),
		ExpressionAttributeNames: map[string]string{
			"#id": "id", "#expiry": "expiration", "#status": "status", "#lease": "in_progress_expiration",
		},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":now": number(now.Unix()), ":millis": number(now.UnixMilli()), ":inprogress": item["status"],
		},
	})
	require.NoError(p.t, err)
}

func (p powertools) completes(result string) {
	p.t.Helper()
	_, err := p.client.UpdateItem(p.t.Context(), &dynamodb.UpdateItemInput{
		TableName: &p.table, Key: p.id(), UpdateExpression: aws.String("SET #data = :data, #expiry = :expiry, #status = :status"),
		ExpressionAttributeNames: map[string]string{"#data": "data", "#expiry": "expiration", "#status": "status"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":data": &types.AttributeValueMemberS{Value: result}, ":status": &types.AttributeValueMemberS{Value: "COMPLETED"},
			":expiry": number(time.Now().Add(p.ahead).Add(time.Hour).Unix()),
		},
	})
	require.NoError(p.t, err)
}

func (p powertools) fails() {
	p.t.Helper()
	_, err := p.client.DeleteItem(p.t.Context(), &dynamodb.DeleteItemInput{TableName: &p.table, Key: p.id()})
	require.NoError(p.t, err)
}

const theirs = `{"reserve":"theirs","charge":"theirs"}`

var powertoolsStories = []row{
	{"takes over from a crash after `reserve`, and crashes; then so does this version", func(m *meeting, by version) {
		m.leaves(by, m.first(versions.Dies))
		m.later()
		powertools{m}.takesOver()
		m.later()
		m.deliver(by, m.first(versions.Dies)) // which makes it UNKNOWN under Refuse
		m.later()
	}},
	{"takes over from a crash after `reserve`, and crashes", func(m *meeting, by version) {
		m.leaves(by, m.first(versions.Dies))
		m.later()
		powertools{m}.takesOver()
		m.later()
	}},
	{"takes over from a release after `reserve`, and runs", func(m *meeting, by version) {
		m.leaves(by, m.first(versions.Fails))
		m.ahead += time.Second
		powertools{m}.takesOver()
	}},
	{"takes over from a crash after `reserve`, and completes", func(m *meeting, by version) {
		m.leaves(by, m.first(versions.Dies))
		m.later()
		powertools{m}.takesOver()
		powertools{m}.completes(theirs)
	}},
	{"has lost its lease to a run that has recorded `reserve`, and completes", func(m *meeting, by version) {
		m.holds(by, versions.Ask{Effects: m.both("", versions.Holds)})
		powertools{m}.completes(theirs)
		require.True(m.t, m.keepsStep(), "nobody has removed it")
	}},
	{"has lost its lease to a run that has recorded `reserve`, and fails", func(m *meeting, by version) {
		m.holds(by, versions.Ask{Effects: m.both("", versions.Holds)})
		powertools{m}.fails()
	}},
}

func TestPowertoolsAndSteps(t *testing.T) {
	t.Parallel()
	table := newGrid("powertools", "a function with AWS Powertools", []column{
		{"this version, `Reexecute`", stepped, false}, {"this version, `Refuse`", stepped, true},
	}, powertoolsStories)
	table.fill(t, func(m *meeting, r row, c column) string {
		m.powertools = true
		r.leave(m, c.by)
		cell := m.meets(c.by)
		if cell == "replays" {
			assert.Equal(t, []string{"theirs"}, m.reserved)
		}
		return cell
	})
	t.Cleanup(func() { table.compare(t) })
}
