package stack_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/stack"
	"github.com/go-idempotent/idempotent/operate"
)

const (
	attentionRole = "AttentionRole"
	index         = onlyTable + "/index/" + dynamo.AttentionIndex
)

// accesses are the calls of DynamoDB in statements, each on its resource.
func accesses(t *testing.T, all []statement) map[access]bool {
	t.Helper()
	found := map[access]bool{}
	for _, st := range all {
		for _, action := range st.actions() {
			if call, ofDynamoDB := strings.CutPrefix(action, "dynamodb:"); ofDynamoDB {
				require.False(t, found[access{call, st.Resource.(string)}], "%s is allowed twice", action)
				found[access{call, st.Resource.(string)}] = true
			}
		}
	}
	return found
}

// managed are the statements of a policy for people.
func managed(t *testing.T, s *stack.Stack, name string) []statement {
	t.Helper()
	require.Contains(t, s.Of("AWS::IAM::ManagedPolicy"), name)
	require.ElementsMatch(t, []string{"Description", "PolicyDocument"}, keysOf(s.Resources[name].Properties))
	return statementsIn(t, s.Resources[name].At("PolicyDocument"))
}

func keysOf(m map[string]any) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}

// office is the template's table with records of the function, and an operator whose calls are noted.
type office struct {
	t        *testing.T
	calls    *recorder
	operator *operate.Operator
	records  *dynamo.Store
	function *idempotent.Handler[order, string]
}

type order struct {
	ID    string
	Size  int // of the result
	Fails bool
}

func charges(_ context.Context, o order) (string, error) {
	if o.Fails {
		return "", idempotent.Uncertain(errors.New("no answer"))
	}
	return bulky(o.Size), nil
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{t: t, calls: &recorder{}}
	table, endpoint := newTable(t), dynamolocal.Endpoint(t)
	o.records = dynamo.New(dynamolocal.Client(endpoint, o.calls.observe), table)
	o.operator = operate.New(o.records)
	o.function = idempotent.Wrap(charges, dynamo.New(dynamolocal.Client(endpoint), table), idempotent.WithOperation(operation),
		idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }))
	return o
}

func (o *office) open(id string) operate.Shown { return o.leave(order{ID: id, Fails: true}) }

// leave has the function leave a record, and shows it.
func (o *office) leave(in order) operate.Shown {
	o.t.Helper()
	_, err := o.function.Handle(o.t.Context(), in)
	require.Equal(o.t, in.Fails, err != nil)
	d, err := o.function.Describe(o.t.Context(), in)
	require.NoError(o.t, err)
	shown, err := o.operator.Inspect(o.t.Context(), d.RecordKey)
	require.NoError(o.t, err)
	return shown
}

var act = operate.Act{By: "dana", Why: "the provider was asked"}

func (o *office) settle(s operate.Shown, v operate.Verdict) {
	o.t.Helper()
	_, err := o.operator.Settle(o.t.Context(), s, v, act)
	require.NoError(o.t, err)
}

func (o *office) list(q operate.Query) (found int) {
	o.t.Helper()
	_, err := o.operator.Cost(o.t.Context(), q)
	require.NoError(o.t, err)
	for _, err := range o.operator.List(o.t.Context(), q) {
		require.NoError(o.t, err)
		found++
	}
	return found
}

func TestTheFunctionThatCountsMayDoWhatACountNeeds(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.open("k")
	o.calls.accessed()
	found := 0
	for _, err := range o.operator.List(t.Context(), operate.Query{Operation: operation}) {
		require.NoError(t, err)
		found++
	}
	require.Equal(t, 1, found)
	needs := o.calls.accessed()
	for name, parameters := range variants {
		all := statements(t, deployed(t, parameters), attentionRole)
		require.Equal(t, needs, accesses(t, all), name)
		for _, st := range all {
			switch on := st.Resource; on {
			case index:
			case "${AttentionLogGroup.Arn}":
				require.Equal(t, []string{"logs:CreateLogStream", "logs:PutLogEvents"}, st.actions())
			case parameters["KmsKeyArn"]:
				require.Equal(t, []string{"kms:Decrypt", "kms:DescribeKey"}, st.actions())
				require.Equal(t, []any{"dynamodb.us-east-1.amazonaws.com", "lambda.us-east-1.amazonaws.com"},
					st.Condition["StringEquals"]["kms:ViaService"])
			default:
				require.Fail(t, "another resource", "%s: %v may %v", name, on, st.Action)
			}
		}
		roles := slices.Sorted(maps.Keys(deployed(t, parameters).Of("AWS::IAM::Role")))
		require.Subset(t, []string{attentionRole, ordersRole, chargeRole, relayRole, drainRole, shippingRole, reconcileRole, stripeRole, sweepRole}, roles, "each role is looked at by a test")
	}
}

// TestAnOperatorMayLookAndNotTouch plays what somebody does who wants to know.
func TestAnOperatorMayLookAndNotTouch(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.open("k")
	large := o.leave(order{ID: "large", Size: 1_000_000})
	o.calls.accessed()

	require.Equal(t, 1, o.list(operate.Query{Operation: operation}))
	require.Equal(t, 1, o.list(operate.Query{}))
	require.Equal(t, 2, o.list(operate.Query{Scan: true, States: operate.States()}))
	_, err := o.operator.Inspect(t.Context(), large.Record.Key)
	require.NoError(t, err)
	_, err = o.operator.Result(t.Context(), large)
	require.NoError(t, err)
	require.NoError(t, o.records.Check(t.Context()))
	_, err = o.records.Advise(t.Context())
	require.NoError(t, err)
	needs := o.calls.accessed()
	needs[access{"DescribeContinuousBackups", onlyTable}] = true // the doctor of the command line tool asks for it

	for name, parameters := range variants {
		all := managed(t, deployed(t, parameters), "OperatorPolicy")
		may := accesses(t, all)
		maps.DeleteFunc(may, func(a access, _ bool) bool { return strings.HasPrefix(a.resource, outboxTable) }) // another test looks at messages
		require.Equal(t, needs, may, name)
		for _, st := range all {
			for _, action := range st.actions() {
				require.Regexp(t, `^(dynamodb:(Get|BatchGet|Query|Scan|Describe)|lambda:(Get|ListEventSourceMappings$)|sqs:Get|kms:(Decrypt|DescribeKey)$)`, action, name)
			}
		}
	}
}

// TestASettlerMayChangeRecordsOfTheFunctionAndNoOthers plays every verdict, with small and large results.
func TestASettlerMayChangeRecordsOfTheFunctionAndNoOthers(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	shown := map[string]operate.Shown{}
	for _, id := range []string{"executed", "large", "not executed", "failed", "released", "deleted"} {
		shown[id] = o.open(id)
	}
	cached := o.leave(order{ID: "cached", Size: 1_000_000})
	o.calls.accessed()
	o.calls.keys = nil

	o.settle(shown["executed"], operate.Executed([]byte(`"ch_1"`)))
	o.settle(shown["large"], operate.Executed([]byte(`"`+bulky(1_000_000)+`"`)))
	o.settle(shown["not executed"], operate.NotExecuted())
	o.settle(shown["failed"], operate.Failed("Declined", "the card was declined"))
	_, err := o.operator.Release(t.Context(), shown["released"], act)
	require.NoError(t, err)
	for _, s := range []operate.Shown{shown["deleted"], cached} {
		_, err := o.operator.Delete(t.Context(), s, act)
		require.NoError(t, err)
	}

	s := deployed(t, nil)
	looks := accesses(t, managed(t, s, "OperatorPolicy"))
	needs := o.calls.accessed()
	for a := range needs {
		if looks[a] {
			delete(needs, a) // a settler has the policy of an operator, too
		}
	}
	all := managed(t, s, "SettlerPolicy")
	require.Equal(t, needs, accesses(t, all))
	require.Len(t, all, 1)
	require.Len(t, all[0].Condition, 2)
	require.Equal(t, "false", all[0].Condition["Null"]["dynamodb:LeadingKeys"], "without keys ForAllValues holds")
	patterns := all[0].Condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"].([]any)
	require.Equal(t, []any{keysOfRole(t, s, chargeRole)}, patterns, "the keys of the function")
	pattern := patterns[0].(string)
	require.NotEmpty(t, o.calls.keys)
	for _, key := range o.calls.keys {
		require.True(t, like(t, pattern, key), "%s is not like %s", key, pattern)
	}
}

// TestAPolicyForPeopleIsNobodysUntilSomebodyAttachesIt: the template gives rights to no person.
func TestAPolicyForPeopleIsNobodysUntilSomebodyAttachesIt(t *testing.T) {
	t.Parallel()
	s := deployed(t, nil)
	require.Len(t, s.Of("AWS::IAM::ManagedPolicy"), 2)
	for name := range s.Of("AWS::IAM::ManagedPolicy") {
		require.Equal(t, "${"+name+"}", s.Outputs[name+"Arn"])
	}
	encrypted := managed(t, deployed(t, variants["signed"]), "OperatorPolicy")
	require.Equal(t, variants["signed"]["KmsKeyArn"], encrypted[len(encrypted)-1].Resource, "who reads the table needs its key")
}

func TestTheCountComesEveryFewMinutesAndNamesTheFunction(t *testing.T) {
	t.Parallel()
	s := deployed(t, nil)
	function := s.Resources["AttentionFunction"]
	require.Equal(t, attending, function.At("FunctionName"))
	require.Equal(t, map[string]any{"IDEMPOTENCY_TABLE": "${Table}", "OPERATIONS": operation}, function.At("Environment", "Variables"))
	require.Equal(t, "rate(5 minutes)", function.At("Events", "EveryFiveMinutes", "Properties", "Schedule"))
	require.Equal(t, 0, function.At("EventInvokeConfig", "MaximumRetryAttempts"), "the next count comes anyway")
	for _, name := range []string{"OpenAttentionAlarm", "OldestAttentionAlarm"} {
		alarm := s.Resources[name]
		require.Equal(t, "Maximum", alarm.At("Statistic"), "%s: a number is counted, events are summed up", name)
		require.Equal(t, 300, alarm.At("Period"), name)
	}
	seconds := s.Resources["OldestAttentionAlarm"].At("Threshold").(int)
	require.Less(t, seconds, int(idempotent.DefaultUnknownRetention.Seconds()/4), "somebody must have time before the record expires")
}
