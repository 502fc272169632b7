package stack_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/stack"
	"github.com/go-idempotent/idempotent/observe"
)

const namespace = "Idempotent" // of observe.EMF, unless an option says otherwise

// metric is one that an alarm or a dashboard looks at.
type metric struct{ namespace, name, dimension, value string }

// alarmed are the metrics of an alarm.
func alarmed(alarm stack.Resource) []metric {
	of := func(r stack.Resource, path ...any) metric {
		in := func(more ...any) string {
			s, _ := r.At(append(slices.Clone(path), more...)...).(string)
			return s
		}
		return metric{in("Namespace"), in("MetricName"), in("Dimensions", 0, "Name"), in("Dimensions", 0, "Value")}
	}
	if alarm.At("Metrics") == nil {
		return []metric{of(alarm)}
	}
	found := []metric{}
	for i := range alarm.At("Metrics").([]any) {
		if alarm.At("Metrics", i, "MetricStat") != nil {
			found = append(found, of(alarm, "Metrics", i, "MetricStat", "Metric"))
		}
	}
	return found
}

// shown are the metrics of a dashboard, whose rows repeat a field of the row before with a dot.
func shown(t *testing.T, dashboard stack.Resource) []metric {
	t.Helper()
	var body struct {
		Widgets []struct {
			Properties struct{ Metrics [][]any }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(dashboard.At("DashboardBody").(string)), &body))
	found := []metric{}
	for _, w := range body.Widgets {
		var before [4]string
		for _, row := range w.Properties.Metrics {
			for i := range before {
				if field := row[i].(string); field != "." {
					before[i] = field
				}
			}
			found = append(found, metric{before[0], before[1], before[2], before[3]})
		}
	}
	return found
}

func all(t *testing.T, s *stack.Stack) []metric {
	t.Helper()
	require.Len(t, s.Of("AWS::CloudWatch::Dashboard"), 1)
	found := shown(t, s.Resources["Dashboard"])
	for _, a := range s.Of("AWS::CloudWatch::Alarm") {
		found = append(found, alarmed(a)...)
	}
	return found
}

func TestAlarmsAndDashboardLookAtMetricsThatAreWritten(t *testing.T) {
	t.Parallel()
	written := []string{}
	for _, m := range append(observe.Metrics(), observe.AttentionMetrics()...) {
		written = append(written, m.Name)
	}
	// What AWS itself writes: metrics of a table and of the two functions.
	dimensions := map[string][]metric{
		"AWS/DynamoDB": {{dimension: "TableName", value: "${Table}"}},
		"AWS/Lambda":   {{dimension: "FunctionName", value: operation}, {dimension: "FunctionName", value: attending}},
		namespace:      {{dimension: "Operation", value: operation}},
	}
	for _, m := range all(t, deployed(t, nil)) {
		want, known := dimensions[m.namespace]
		require.True(t, known, "%v", m)
		require.Contains(t, want, metric{dimension: m.dimension, value: m.value}, "%v", m)
		if m.namespace == namespace {
			require.Contains(t, written, m.name)
		}
	}
}

func TestEverythingThatNeedsSomebodyHasAnAlarm(t *testing.T) {
	t.Parallel()
	s := deployed(t, variants["signed"])
	watched := []string{}
	for name, a := range s.Of("AWS::CloudWatch::Alarm") {
		require.Equal(t, []any{"arn:aws:sns:us-east-1:123456789012:alarms"}, a.At("AlarmActions"), name)
		require.True(t, strings.HasSuffix(name, "Alarm"), name)
		missing := "notBreaching" // metrics are written when something happens
		for _, m := range alarmed(a) {
			if slices.ContainsFunc(observe.AttentionMetrics(), func(counted observe.Metric) bool { return counted.Name == m.name }) {
				missing = "ignore" // nobody has counted, so nothing is known to have ended
			}
			watched = append(watched, m.namespace+"/"+m.name+" "+m.value)
		}
		require.Equal(t, missing, a.At("TreatMissingData"), name)
	}
	require.ElementsMatch(t, []string{
		"Idempotent/Takeover " + operation, "Idempotent/Mismatch " + operation, "Idempotent/StoreError " + operation,
		"Idempotent/BecameUnknown " + operation, "Idempotent/Unreadable " + operation,
		"Idempotent/OpenAttention " + operation, "Idempotent/OldestAttention " + operation,
		"AWS/DynamoDB/WriteThrottleEvents ${Table}", "AWS/DynamoDB/ReadThrottleEvents ${Table}",
		"AWS/Lambda/Throttles " + operation, "AWS/Lambda/Errors " + operation, "AWS/Lambda/Errors " + attending,
	}, watched, "a client that retries is no reason to wake somebody: MetUnknown has no alarm")
	require.Nil(t, deployed(t, nil).Resources["TakeoverAlarm"].At("AlarmActions"))
}

// ofOtherSettings are metrics that the example never writes: it has no resolver, no steps and no commits, does not wait, and
// is not disabled.
var ofOtherSettings = []string{
	"Resolved", "Disabled", "WaitLatency", "StepsRecorded", "StepsResumed", "StepsFailed", "StepsLost", "OrphanSteps",
	"Commits", "CommitsDeclined", "CommitsFailed", "CommitRetries", "CommittedOtherwise",
}

func TestTheDashboardShowsEveryMetricButThoseOfOtherSettings(t *testing.T) {
	t.Parallel()
	on := []string{}
	for _, m := range shown(t, deployed(t, nil).Resources["Dashboard"]) {
		if m.namespace == namespace {
			on = append(on, m.name)
		}
	}
	for _, m := range append(observe.Metrics(), observe.AttentionMetrics()...) {
		if !slices.Contains(ofOtherSettings, m.Name) {
			require.Contains(t, on, m.Name)
		}
	}
}
