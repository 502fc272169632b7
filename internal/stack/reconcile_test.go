package stack_test

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/stack"
	"github.com/go-idempotent/idempotent/operate"
)

const (
	reconcileRole = "ReconcileRole"
	stripeRole    = "StripeRole"
	sweepRole     = "SweepRole"
)

// hasReconcile reports whether a variant has the function that asks the provider, hasWebhook whether it has the one that hears of charges.
func hasReconcile(variant string) bool { return variants[variant]["Reconcile"] == "true" }

func hasWebhook(variant string) bool { return variants[variant]["StripeSigningSecretArn"] != "" }

// TestTheFunctionThatAsksMayDoWhatItNeeds plays every way that a question can end, with small and large results.
func TestTheFunctionThatAsksMayDoWhatItNeeds(t *testing.T) {
	t.Parallel()
	calls := &recorder{}
	table, endpoint := newTable(t), dynamolocal.Endpoint(t)
	options := []idempotent.Option{
		idempotent.WithOperation(operation), idempotent.WithEffects(idempotent.Unrepeatable),
		idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }),
	}
	function := idempotent.Wrap(charges, dynamo.New(dynamolocal.Client(endpoint), table), options...)
	asking := idempotent.Wrap(charges, dynamo.New(dynamolocal.Client(endpoint, calls.observe), table), options...)
	findings := map[string]func() (idempotent.Resolution[string], error){}
	for id, finding := range map[string]func() (idempotent.Resolution[string], error){
		"executed":  func() (idempotent.Resolution[string], error) { return idempotent.Executed("ch_1"), nil },
		"large":     func() (idempotent.Resolution[string], error) { return idempotent.Executed(bulky(1_000_000)), nil },
		"untouched": func() (idempotent.Resolution[string], error) { return idempotent.Untouched[string](), nil },
		"unknown":   func() (idempotent.Resolution[string], error) { return idempotent.StillUnknown[string](), nil },
		"away":      func() (idempotent.Resolution[string], error) { return idempotent.Executed(""), errors.New("away") },
	} {
		in := order{ID: id, Fails: true}
		_, err := function.Handle(t.Context(), in)
		require.Error(t, err)
		d, err := function.Describe(t.Context(), in)
		require.NoError(t, err)
		findings[d.RecordKey] = finding
	}
	r := operate.Reconcile(asking, func(_ context.Context, x idempotent.Execution) (idempotent.Resolution[string], error) {
		return findings[x.RecordKey]()
	}, operate.ReconcileConfig{How: idempotent.Reconciling{
		MaxTries: 1, Park: func(context.Context, idempotent.Execution, int) error { return nil },
	}})
	first, err := r.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{5, 2, 1, 2}, []int{first.Asked, first.Completed, first.Released, first.Scheduled}, "%+v", first)
	second, err := r.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, second.Parked)
	requireAsks(t, reconcileRole, "${ReconcileLogGroup.Arn}", calls, hasReconcile, "PaymentsSecretArn")
}

// TestTheFunctionThatHearsMayDoWhatItNeeds plays what an event does to a record.
func TestTheFunctionThatHearsMayDoWhatItNeeds(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	shown := o.open("k")
	large := o.open("large")
	o.calls.accessed()
	o.calls.keys = nil
	for id, s := range map[string]operate.Shown{`"ch_1"`: shown, `"` + bulky(1_000_000) + `"`: large} {
		found, _, err := o.operator.FindDerived(t.Context(), operation, s.DerivedKey("charge"))
		require.ErrorIs(t, err, operate.ErrNotFound, "this function asks for no key")
		_ = found
		again, err := o.operator.Inspect(t.Context(), s.Record.Key)
		require.NoError(t, err)
		o.settle(again, operate.Executed([]byte(id)))
	}
	requireAsks(t, stripeRole, "${StripeLogGroup.Arn}", o.calls, hasWebhook, "StripeSigningSecretArn")
}

// requireAsks checks that a role allows these calls, its logs, its secret, its queue and its key, and no more.
func requireAsks(t *testing.T, role, logs string, calls *recorder, has func(string) bool, secret string) {
	t.Helper()
	needs := calls.accessed()
	seen := 0
	for name, parameters := range variants {
		if !has(name) {
			require.NotContains(t, deployed(t, parameters).Resources, role, name)
			continue
		}
		seen++
		s := deployed(t, parameters)
		require.Equal(t, needs, accesses(t, statements(t, s, role)), name)
		pattern := keysOfRole(t, s, role)
		require.Equal(t, keysOfRole(t, s, chargeRole), pattern, "the keys of the function that charges")
		for _, key := range calls.keys {
			if key != "(no key)" { // a query of the index
				require.True(t, like(t, pattern, key), "%s is not like %s", key, pattern)
			}
		}
		for _, st := range statements(t, s, role) {
			switch on := st.Resource; on {
			case onlyTable, index:
			case logs:
				require.Equal(t, []string{"logs:CreateLogStream", "logs:PutLogEvents"}, st.actions())
			case "${ParkedRecords.Arn}":
				require.Equal(t, reconcileRole, role)
				require.Equal(t, []string{"sqs:SendMessage"}, st.actions())
			case parameters[secret]:
				require.Equal(t, []string{"secretsmanager:GetSecretValue"}, st.actions())
			case parameters["KmsKeyArn"]:
				require.Contains(t, st.Condition["StringEquals"], "kms:ViaService")
			default:
				require.Fail(t, "another resource", "%s: %v may %v", name, on, st.Action)
			}
		}
	}
	require.Positive(t, seen)
}

func TestWhatIsNotAskedForIsNotThere(t *testing.T) {
	t.Parallel()
	for name, parameters := range variants {
		s := deployed(t, parameters)
		for resource, there := range map[string]bool{
			"ReconcileFunction": hasReconcile(name), "ParkedRecords": hasReconcile(name), "ParkedAttentionAlarm": hasReconcile(name),
			"SweepFunction": parameters["Sweep"] == "true", "SweepErrorAlarm": parameters["Sweep"] == "true", "StripeFunction": hasWebhook(name), "StripeRoute": hasWebhook(name),
			"StripeRefusedFilter": hasWebhook(name), "StripeRefusedAlarm": hasWebhook(name),
		} {
			_, found := s.Resources[resource]
			require.Equal(t, there, found, "%s: %s", name, resource)
		}
		effects := map[bool]string{true: "unrepeatable", false: "repeatable"}[hasReconcile(name)]
		require.Equal(t, effects, s.Resources["ChargeFunction"].At("Environment", "Variables", "EFFECTS"), name)
	}
}

// TestTheFunctionThatAsksStoresResultsAsTheOneThatCharges compares their settings.
func TestTheFunctionThatAsksStoresResultsAsTheOneThatCharges(t *testing.T) {
	t.Parallel()
	s := deployed(t, variants["reconciled"])
	charge, asks, hears := s.Resources["ChargeFunction"], s.Resources["ReconcileFunction"], s.Resources["StripeFunction"]
	for _, name := range []string{"IDEMPOTENCY_TABLE", "PAYMENTS_URL", "PAYMENTS_SECRET", "PAYLOAD_FORMAT", "EFFECTS"} {
		require.Equal(t, charge.At("Environment", "Variables", name), asks.At("Environment", "Variables", name), name)
	}
	for _, f := range []stack.Resource{asks, hears} {
		require.Equal(t, operation, f.At("Environment", "Variables", "OPERATION"))
	}
	require.Equal(t, "${ParkedRecords}", asks.At("Environment", "Variables", "PARKED_QUEUE_URL"))
	require.Equal(t, "rate(1 minute)", asks.At("Events", "EveryMinute", "Properties", "Schedule"))
	most := asks.At("Timeout").(int)
	require.Less(t, most, 60, "it ends before the next one begins")
	require.Greater(t, float64(most), 2*idempotent.DefaultReconcileTimeout.Seconds(), "there is time for more than one question")
	require.Equal(t, "SampleCount", s.Resources["ReconcileSilentAlarm"].At("Statistic"), "a run with nothing to do is no silence")
	require.Equal(t, "breaching", s.Resources["ReconcileSilentAlarm"].At("TreatMissingData"))
	require.Equal(t, "POST /stripe", s.Resources["StripeRoute"].At("RouteKey"))
	watched := map[string]bool{}
	for _, name := range []string{"ParkedAttentionAlarm", "ReconcileErrorAlarm", "ReconcileSilentAlarm", "StripeErrorAlarm", "StripeRefusedAlarm"} {
		require.Equal(t, []any{variants["reconciled"]["AlarmTopicArn"]}, s.Resources[name].At("AlarmActions"), name)
		for _, m := range alarmed(s.Resources[name]) {
			watched[m.namespace+"/"+m.name+" "+m.value] = true
		}
	}
	require.Equal(t, map[string]bool{
		"Idempotent/ParkedAttention " + operation: true, "AWS/Lambda/Errors " + stackName + "-reconcile": true,
		"Idempotent/ReconcileAsked " + operation: true, "AWS/Lambda/Errors " + stackName + "-stripe": true,
		"Idempotent/" + stackName + "-StripeRefused ": true,
	}, maps.Clone(watched))
}

// TestTheFilterCountsWhatSettlesNothing compares the filter with its alarm, and with the lines that the function writes.
func TestTheFilterCountsWhatSettlesNothing(t *testing.T) {
	t.Parallel()
	s := deployed(t, variants["reconciled"])
	filter, alarm, hears := s.Resources["StripeRefusedFilter"], s.Resources["StripeRefusedAlarm"], s.Resources["StripeFunction"]
	require.Len(t, s.Of("AWS::Logs::MetricFilter"), 1)
	require.Equal(t, hears.At("LoggingConfig", "LogGroup"), filter.At("LogGroupName"))
	require.Equal(t, "JSON", hears.At("LoggingConfig", "LogFormat"), "the pattern reads JSON")
	require.Equal(t, `{ ($.level = "ERROR") || (($.level = "WARN") && ($.outcome = "not signed")) }`, filter.At("FilterPattern"))
	require.Len(t, filter.At("MetricTransformations"), 1)
	counts := func(name string) any { return filter.At("MetricTransformations", 0, name) }
	require.Equal(t, []any{alarm.At("Namespace"), alarm.At("MetricName"), "1"}, []any{counts("MetricNamespace"), counts("MetricName"), counts("MetricValue")})
	require.Nil(t, alarm.At("Dimensions"), "a metric without them is another one")
	require.Equal(t, []any{"Sum", 1, "notBreaching"}, []any{alarm.At("Statistic"), alarm.At("Threshold"), alarm.At("TreatMissingData")})
}
