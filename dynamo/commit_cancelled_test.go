package dynamo_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
)

// reason is why DynamoDB says that it cancelled a transaction, for one of its writes.
type reason struct {
	Code    string
	Message string          `json:",omitempty"`
	Item    json.RawMessage `json:",omitempty"`
}

// cancelled is DynamoDB's answer to a transaction that it cancelled.
func cancelled(reasons ...reason) reply {
	codes := make([]string, len(reasons))
	for i, r := range reasons {
		codes[i] = r.Code
	}
	return cancelledWith("Transaction cancelled, please refer cancellation reasons for specific reasons ["+
		strings.Join(codes, ", ")+"]", reasons)
}

func cancelledWith(message string, reasons []reason) reply {
	body, err := json.Marshal(struct {
		Type                string `json:"__type"`
		Message             string
		CancellationReasons []reason `json:",omitempty"`
	}{"com.amazonaws.dynamodb.v20120810#TransactionCanceledException", message, reasons})
	if err != nil {
		panic(err)
	}
	return reply{status: http.StatusBadRequest, body: string(body)}
}

const (
	none      = "None"
	condition = "ConditionalCheckFailed"
)

// takenOver is the record of another owner.
var takenOver = json.RawMessage(
	`{"id":{"S":"order#1"},"status":{"S":"INPROGRESS"},"owner":{"S":"owner-2"},"expiration":{"N":"1800086400"}}`)

// commitOf commits two rows with the answer of a record.
func commitOf(t testing.TB, s *dynamo.Store) (held store.Record, done bool, err error) {
	t.Helper()
	seen, w := record("order#1"), twoRows(t)
	return s.Commit(t.Context(), seen, committed(seen, []byte(`"`+secret+`"`)), w, "token-1")
}

func twoRows(t testing.TB) store.Writes {
	t.Helper()
	return writesOf(t,
		dynamo.Put("orders", order{ID: secret}, dynamo.IfAbsent("order_id"), dynamo.ReturnOld()),
		sdkUpdate("stock", item{"sku": S(secret)}, "SET amount = :n",
			terms{values: map[string]any{":n": 4111111111111111}}))
}

// failures are the reasons in the order in which they count, behind refused conditions, with what
// the call then reports.
var failures = []struct {
	code, message string
	kind          store.Failure
	text          string
}{
	{"ItemCollectionSizeLimitExceeded", "Collection size.", store.FailureTooLarge, "Collection size."},
	{
		"ValidationError", "Item size to update has exceeded the maximum allowed size",
		store.FailureTooLarge, "Item size to update",
	},
	{
		"ValidationError", "The provided expression refers to an attribute that does not exist in the item",
		store.FailureRejected, "refers to an attribute that does not exist",
	},
	{
		"ValidationError", "The parameter cannot be converted to a numeric value: " + secret,
		store.FailureRejected, "ValidationError: (message withheld)",
	},
	{
		"TransactionConflict", "Transaction is ongoing for the item",
		store.FailureConflict, "TransactionConflict: Transaction is ongoing",
	},
	{"ProvisionedThroughputExceeded", "Throughput exceeds", store.FailureThrottled, "Throughput exceeds"},
	{"ThrottlingError", "Throughput exceeds", store.FailureThrottled, "ThrottlingError: Throughput exceeds"},
	{"Novel", secret, store.FailureUnavailable, "Novel"},
}

// TestEveryReasonInEachPosition of a transaction of the record and two rows, and all mixtures.
func TestEveryReasonInEachPosition(t *testing.T) {
	t.Parallel()
	codes := []reason{{Code: none}, {Code: condition, Message: "The conditional request failed"}}
	for _, f := range failures {
		codes = append(codes, reason{Code: f.code, Message: f.message})
	}
	for _, one := range codes {
		for _, two := range codes {
			for _, three := range codes {
				reasons := []reason{one, two, three}
				if one.Code == condition {
					reasons[0].Item = takenOver
				}
				requireOutcome(t, reasons)
			}
		}
	}
}

// requireOutcome requires of a commit what its reasons say.
func requireOutcome(t *testing.T, reasons []reason) {
	t.Helper()
	name := fmt.Sprint(reasons)
	s, tr := scripted(cancelled(reasons...), done)
	held, applied, err := commitOf(t, s)
	require.False(t, applied, name)
	calls := []string{"TransactWriteItems"}
	rank, first := len(failures), -1
	var refused []int
	for i, r := range reasons {
		if r.Code == condition && i > 0 {
			refused = append(refused, i-1)
		}
		for n, f := range failures {
			if r.Code == f.code && r.Message == f.message && before(n, rank) {
				rank, first = n, i
			}
		}
	}
	switch {
	case reasons[0].Code == condition:
		require.NoError(t, err, name)
		require.Equal(t, "owner-2", held.Owner, name)
	case refused != nil:
		requireStoreError(t, err, "commit", store.FailureRejected, true)
		require.ErrorIs(t, err, store.ErrWritesRefused)
		var ce *dynamo.ConditionError
		require.ErrorAs(t, err, &ce)
		for i, index := range refused {
			require.Equal(t, index, ce.Refused[i].Index, name)
			require.Equal(t, []string{"orders", "stock"}[index], ce.Refused[i].Table)
		}
		require.Len(t, ce.Refused, len(refused))
	case first >= 0:
		requireStoreError(t, err, "commit", failures[rank].kind, true)
		require.ErrorContains(t, err, failures[rank].text, name)
		at := []string{
			"the record: ", `items[0] (Put on table "orders"): `,
			`items[1] (Update on table "stock"): `,
		}[first]
		require.ErrorContains(t, err, at+failures[rank].code, name)
	default: // nobody knows why; the record is read, and is gone
		require.NoError(t, err, name)
		require.Zero(t, held)
		calls = append(calls, "GetItem")
	}
	require.Equal(t, calls, tr.calls(), name)
	requireNoSecret(t, err)
}

// before reports whether one failure counts before another one. Of one kind, the first in the call
// does.
func before(one, other int) bool {
	return other == len(failures) || one < other && failures[one].kind != failures[other].kind
}

// TestTheWriteThatFailedIsNamed where the answer, or the SDK, names it. A plain transaction has no
// record before its rows, and none to look at.
func TestTheWriteThatFailedIsNamed(t *testing.T) {
	t.Parallel()
	conflict := reason{Code: "TransactionConflict"}
	bad := func(message string) reply { return rejection("ValidationException", message) }
	const rejected, open = store.FailureRejected, store.FailureUnavailable
	for name, c := range map[string]struct {
		answer reply
		kind   store.Failure
		named  string
		end    string // if no write is named
	}{
		"a condition": {
			cancelled(reason{Code: condition}, conflict), rejected,
			`dynamo: nothing was written: the condition of items[0] (Put on table "orders") does not hold`, "",
		},
		"a conflict": {
			cancelled(reason{Code: none}, conflict), store.FailureConflict,
			`items[1] (Update on table "stock"): TransactionConflict`, "",
		},
		"by the place in the call": {
			bad("1 validation error detected: Value at 'transactItems.2.member.update.tableName' is bad"),
			rejected, "items[1] (Update", "",
		},
		"by the SDK":       {bad("invalid input, TransactItems[0].Put.TableName"), rejected, "items[0] (Put", ""},
		"behind the last":  {bad("Value at 'transactItems.3.member.put' is bad"), rejected, "", ""},
		"before the first": {bad("Value at 'transactItems.0.member.put' is bad"), rejected, "", ""},
		"a novel message":  {bad("something that nobody has seen"), rejected, "", ""},
		"too few codes": {
			cancelledWith("cancelled [TransactionConflict]", nil), store.FailureConflict, "",
			"one of the items: TransactionConflict",
		},
		"half of a list":        {cancelledWith("cancelled [Novel", nil), open, "", "one of the items: Novel"},
		"reasons that are none": {cancelled(make([]reason, 2)...), open, "", "the answer does not say why"},
		"no reasons":            {cancelledWith("cancelled", nil), open, "", "the answer does not say why"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, tr := scripted(c.answer)
			err := s.Apply(t.Context(), twoRows(t), "token-1")
			requireStoreError(t, err, "apply", c.kind, true)
			require.ErrorContains(t, err, c.named)
			require.Equal(t, c.named != "", strings.Contains(err.Error(), "items["), err)
			require.True(t, strings.HasSuffix(err.Error(), c.end), err)
			require.NotContains(t, err.Error(), "another key")
			require.Equal(t, []string{"TransactWriteItems"}, tr.calls())
		})
	}
}

// TestAnswersThatLackSomething: some implementations send no items, and some programs in between
// drop the reasons.
func TestAnswersThatLackSomething(t *testing.T) {
	t.Parallel()
	seen := record("order#1")
	ours, err := json.Marshal(map[string]any{"Item": map[string]any{
		"id": map[string]string{"S": seen.Key}, "status": map[string]string{"S": "INPROGRESS"},
		"owner":                  map[string]string{"S": seen.Owner},
		"in_progress_expiration": map[string]string{"N": fmt.Sprint(seen.Lease.UnixMilli())},
		"expiration":             map[string]string{"N": "1800086400"},
	}})
	require.NoError(t, err)
	mine, theirs, gone := ok(string(ours)), ok(`{"Item":`+string(takenOver)+`}`), done
	codes := func(codes string) reply {
		return cancelledWith("Transaction cancelled, please refer cancellation reasons for specific reasons "+codes, nil)
	}
	some := func(reasons ...reason) reply { return cancelledWith("cancelled [ValidationError]", reasons) }
	ofRecord := cancelled(reason{Code: condition}, reason{Code: none}, reason{Code: none})
	const tooLarge = "Item size to update has exceeded the maximum allowed size"
	for name, c := range map[string]struct {
		answer, look reply
		owner        string // of the held record, if that is the outcome
		kind         store.Failure
	}{
		"ours, without the record":                {ofRecord, theirs, "owner-2", ""},
		"ours, without the record, which is gone": {ofRecord, gone, "", ""},
		"only codes, ours": {
			codes("[ConditionalCheckFailed, None, None]"), theirs, "owner-2", "",
		},
		"only codes, a row's": {
			codes("[None, ConditionalCheckFailed, None]"), mine, "", store.FailureRejected,
		},
		"only codes, a conflict": {
			codes("[None, None, TransactionConflict]"), mine, "", store.FailureConflict,
		},
		"too few reasons":  {some(reason{Code: condition}), theirs, "owner-2", ""},
		"too many reasons": {some(make([]reason, 4)...), mine, "", store.FailureUnavailable},
		"one of three, as DynamoDB Local sends it": {
			some(reason{Code: "ValidationError", Message: tooLarge}), mine, "", store.FailureTooLarge,
		},
		"one of three, and the record is another": {
			some(reason{Code: "ValidationError", Message: "m"}), theirs, "owner-2", "",
		},
		"one of three, a condition":          {codes("[ConditionalCheckFailed]"), mine, "", store.FailureUnavailable},
		"nothing, and the record is another": {cancelledWith("", nil), theirs, "owner-2", ""},
		"nothing, and the record is gone":    {cancelledWith("", nil), gone, "", ""},
		"nothing, and the record is ours":    {cancelledWith("", nil), mine, "", store.FailureUnavailable},
		"reasons that are none":              {cancelled(make([]reason, 3)...), mine, "", store.FailureUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := scripted(c.answer, c.look)
			held, done, err := commitOf(t, s)
			require.False(t, done)
			if c.kind != "" {
				requireStoreError(t, err, "commit", c.kind, true)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.owner, held.Owner)
		})
	}
	t.Run("the record cannot be read", func(t *testing.T) {
		t.Parallel()
		s, _ := scripted(lost, ofRecord, throttled)
		_, done, err := commitOf(t, s)
		require.False(t, done)
		requireStoreError(t, err, "commit", store.FailureThrottled, false)
	})
	t.Run("a record that is not understood", func(t *testing.T) {
		t.Parallel()
		s, _ := scripted(notUnderstood())
		_, done, err := commitOf(t, s)
		require.False(t, done)
		requireUnreadable(t, err, "")
	})
}

// notUnderstood is a refusal by a record that cannot be understood.
func notUnderstood() reply {
	return cancelled(reason{Code: condition, Item: json.RawMessage(`{"id":{"S":"order#1"}}`)},
		reason{Code: none}, reason{Code: none})
}

// TestACancelledTransactionIsKnownNotToBeApplied unless an attempt before it was not answered.
func TestACancelledTransactionIsKnownNotToBeApplied(t *testing.T) {
	t.Parallel()
	conflict := cancelled(reason{Code: none}, reason{Code: "TransactionConflict"}, reason{Code: none})
	row := cancelled(reason{Code: none}, reason{Code: condition}, reason{Code: none})
	progress := rejection("TransactionInProgressException", "m")
	mismatch := rejection("IdempotentParameterMismatchException", secret)
	for name, c := range map[string]attempted{
		"a conflict":                          {[]reply{conflict}, 1, store.FailureConflict, true},
		"a conflict behind a throttled one":   {[]reply{throttled, conflict}, 2, store.FailureConflict, true},
		"a conflict behind a lost one":        {[]reply{lost, conflict}, 2, store.FailureConflict, false},
		"a condition behind a lost one":       {[]reply{lost, row}, 2, store.FailureRejected, false},
		"a condition behind a broken one":     {[]reply{broken, row}, 2, store.FailureRejected, false},
		"a condition behind one in progress":  {[]reply{progress, row}, 2, store.FailureRejected, false},
		"in progress":                         {[]reply{progress}, 3, store.FailureConflict, false},
		"other parameters":                    {[]reply{mismatch}, 1, store.FailureRejected, false},
		"other parameters, behind a lost one": {[]reply{lost, mismatch}, 2, store.FailureRejected, false},
		"denied":                              {[]reply{denied}, 1, store.FailureAccessDenied, true},
		"lost":                                {[]reply{lost}, 3, store.FailureUnavailable, false},
		"unsent":                              {[]reply{unsent}, 3, store.FailureUnavailable, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := c.reports(t, "commit")
			for _, q := range tr.requests {
				require.Equal(t, string(tr.requests[0].Body), string(q.Body),
					"every attempt is the same, with the same token")
				require.Contains(t, string(q.Body), `"ClientRequestToken":"token-1"`)
			}
		})
	}
}

// TestPartsAreWrittenOnceForACommit: what follows them is repeated until it is answered, also by
// what is not understood.
func TestPartsAreWrittenOnceForACommit(t *testing.T) {
	t.Parallel()
	seen, w := record("order#1"), twoRows(t)
	next := committed(seen, largeAnswer(1<<16))
	s, tr := scripted(done, lost, lost, lost, done)
	mustCommit(t, s, seen, next, w, "token-1")
	sent := slices.Repeat([]string{"TransactWriteItems"}, 4)
	require.Equal(t, append([]string{"BatchWriteItem"}, sent...), tr.calls())
	require.JSONEq(t, string(tr.requests[1].Body), string(tr.requests[4].Body))

	s, tr = scripted(done, notUnderstood())
	_, _, err := s.Commit(t.Context(), seen, next, w, "token-1")
	requireUnreadable(t, err, "")
	require.Equal(t, []string{"BatchWriteItem", "TransactWriteItems"}, tr.calls())
}

// TestStoresThatCannotCommitSaySo before they send anything.
func TestStoresThatCannotCommitSaySo(t *testing.T) {
	t.Parallel()
	seen, rows := record("order#1"), twoRows(t)
	for text, writes := range map[string]store.Writes{
		"the writes are a dynamo_test.foreignWrites, which dynamo.Commit has not made": foreignWrites{},
		"the writes are a <nil>, which dynamo.Commit has not made":                     nil,
	} {
		s, tr := scripted(done)
		next := completion(seen, []byte(`"`+strings.Repeat("y", 3_000)+`"`))
		_, applied, err := s.Commit(t.Context(), seen, next, writes, "token-1")
		require.False(t, applied)
		requireNoCommit(t, err, "commit", text)
		require.Empty(t, tr.calls())
	}
	const text = "the client, a dynamo_test.fake, has no TransactWriteItems"
	s := dynamo.New(wall(nil), table)
	_, _, err := s.Commit(t.Context(), seen, completion(seen, nil), rows, "token-1")
	requireNoCommit(t, err, "commit", text)
	requireNoCommit(t, s.Apply(t.Context(), rows, "token-1"), "apply", text)
}

func requireNoCommit(t *testing.T, err error, op, text string) {
	t.Helper()
	requireStoreError(t, err, op, store.FailureRejected, true)
	require.ErrorIs(t, err, store.ErrNoCommit)
	require.NotErrorIs(t, err, store.ErrWritesRefused)
	require.ErrorContains(t, err, text)
}

type foreignWrites struct{}

func (foreignWrites) Len() int { return 0 }

// TestWhatDynamoDBSaysOfATransactionIsTold, as far as it quotes no value.
func TestWhatDynamoDBSaysOfATransactionIsTold(t *testing.T) {
	t.Parallel()
	const tables = `"idempotency", "orders", "stock"`
	for name, c := range map[string]struct {
		code, message, text string
		kind                store.Failure
	}{
		"one item twice": {
			"ValidationException", "Transaction request cannot include multiple operations on one item",
			"two of the items are one and the same in their table, or one is the record itself", store.FailureRejected,
		},
		"a key": {
			"ValidationException", "The provided key element does not match the schema",
			"one of the tables " + tables + " has another key than the items for it", store.FailureRejected,
		},
		"a table": {
			"ResourceNotFoundException", "Requested resource not found", "one of the tables " + tables,
			store.FailureMissingTable,
		},
		"too large": {
			"ValidationException", "Transaction payload size cannot exceed 4MB. Payload Size: 5000000",
			"cannot exceed 4MB", store.FailureTooLarge,
		},
		"a denial": {
			"AccessDeniedException", "User: x is not authorized to perform: dynamodb:PutItem on resource: y",
			"dynamodb:PutItem on", store.FailureAccessDenied,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := scripted(rejection(c.code, c.message))
			_, _, err := commitOf(t, s)
			requireStoreError(t, err, "commit", c.kind, true)
			require.ErrorContains(t, err, c.text)
			require.ErrorContains(t, err, c.message)
			require.NotContains(t, err.Error(), "Store.Check")
			requireNoSecret(t, err)
		})
	}
	s, _ := scripted(rejection("ResourceNotFoundException", "m"))
	twice := writesOf(t, dynamo.Put("orders", order{ID: "1"}), dynamo.Put("orders", order{ID: "2"}))
	require.ErrorContains(t, s.Apply(t.Context(), twice, "token-1"), `one of the tables "orders": operation error`)
}

// TestWhichRejectionsAreTold: those that quote what an expression says, which is the program's own
// text, and no values.
func TestWhichRejectionsAreTold(t *testing.T) {
	t.Parallel()
	for message, told := range map[string]bool{
		`Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "stock >="`:                                                                               true,
		`Invalid UpdateExpression: Attribute name is a reserved keyword; reserved keyword: status`:                                                                  true,
		`Invalid ConditionExpression: An expression attribute value used in expression is not defined; attribute value: :n`:                                         true,
		`Invalid UpdateExpression: An expression attribute name used in the document path is not defined; attribute name: #s`:                                       true,
		`1 validation error detected: Invalid UpdateExpression: Two document paths overlap with each other; must remove or rewrite one of these paths; path one: x`: true,
		`Invalid UpdateExpression: The "SET" section can only be used once in an update expression;`:                                                                true,
		`Value provided in ExpressionAttributeValues unused in expressions: keys: {:n}`:                                                                             true,
		`One or more parameter values were invalid: Cannot update attribute order_id. This attribute is part of the key`:                                            true,
		`One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: order_id`:                    true,
		`Invalid ConditionExpression: The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {S:` +
			secret + `}`: false,
		`Invalid ConditionExpression: The first operand must be distinct from the remaining operands; first operand: ` +
			secret: false,
		`ExpressionAttributeValues contains invalid value: The parameter cannot be converted to a numeric value: ` +
			secret + ` for key :n`: false,
		`One or more parameter values were invalid: Input collection [` + secret +
			`] contains duplicates.`: false,
		`Number overflow. Attempting to store a number with magnitude larger than supported range: ` +
			secret: false,
		`1 validation error detected: Value '[` + secret +
			`]' at 'transactItems' failed to satisfy constraint: Invalid UpdateExpression: The "SET" section`: false,
		secret + ` Invalid UpdateExpression: Syntax error; token: x`: false,
	} {
		s, _ := scripted(rejection("ValidationException", message))
		_, _, err := commitOf(t, s)
		requireStoreError(t, err, "commit", store.FailureRejected, true)
		require.Equal(t, told, strings.Contains(err.Error(), message), message)
		requireNoSecret(t, err)

		s, _ = scripted(cancelled(reason{Code: none}, reason{Code: "ValidationError", Message: message},
			reason{Code: none}))
		_, _, err = commitOf(t, s)
		requireStoreError(t, err, "commit", store.FailureRejected, true)
		require.Equal(t, told, strings.Contains(err.Error(), message), message)
		requireNoSecret(t, err)
	}
}

// TestAConditionErrorIsNoOtherError.
func TestAConditionErrorIsNoOtherError(t *testing.T) {
	t.Parallel()
	err := error(&dynamo.ConditionError{Refused: []dynamo.RefusedItem{{Index: 3, Table: "orders"}}})
	require.ErrorIs(t, err, store.ErrWritesRefused)
	require.NotErrorIs(t, err, store.ErrNoCommit)
	require.Equal(t, `dynamo: nothing was written: the condition of items[3] (a write on table "orders") does not hold`,
		err.Error())
}
