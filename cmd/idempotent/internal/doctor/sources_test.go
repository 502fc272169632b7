package doctor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/doctor"
)

func TestEachSettingOfAQueueIsLookedAt(t *testing.T) {
	t.Parallel()
	const redrive = `,"RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:eu-central-1:123456789012:dead\",\"maxReceiveCount\":5}"`
	for name, c := range map[string]struct {
		make   func(a *account)
		check  string
		result doctor.Result
		says   string
	}{
		"no dead-letter queue": {
			func(a *account) { a.replace("GetQueueAttributes", redrive, "") },
			"queue: dead-letter queue", doctor.Problem, "charges: there is none",
		},
		"too few receives": {
			func(a *account) { a.replace("GetQueueAttributes", `maxReceiveCount\":5`, `maxReceiveCount\":4`) },
			"queue: dead-letter queue", doctor.Warning, "charges: maxReceiveCount is 4, which has to be 5",
		},
		"receives as a text": {
			func(a *account) { a.replace("GetQueueAttributes", `maxReceiveCount\":5`, `maxReceiveCount\":\"7\"`) },
			"queue: dead-letter queue", doctor.OK, "charges: after 7 receives",
		},
		"a policy that is none": {
			func(a *account) { a.replace("GetQueueAttributes", `maxReceiveCount\":5`, `maxReceiveCount\":[]`) },
			"queue: dead-letter queue", doctor.NotChecked, "charges: its redrive policy cannot be read",
		},
		"a policy without a number": {
			func(a *account) { a.replace("GetQueueAttributes", `,\"maxReceiveCount\":5`, "") },
			"queue: dead-letter queue", doctor.NotChecked, "charges: its redrive policy cannot be read",
		},
		"no visibility timeout": {
			func(a *account) { a.replace("GetQueueAttributes", `"VisibilityTimeout":"125",`, "") },
			"queue: visibility timeout", doctor.NotChecked, "charges: its visibility timeout is no number",
		},
		"a longer window": {
			func(a *account) {
				a.replace("ListEventSourceMappings", `InSeconds":5`, `InSeconds":6`)
			}, "queue: visibility timeout", doctor.Problem,
			"charges: messages are invisible for 125 s, which has to be 126 s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := healthy(t)
			c.make(a)
			requireOnly(t, a.examine(), c.check, c.result, c.says)
		})
	}
}

func TestEachSettingOfAStreamIsLookedAt(t *testing.T) {
	t.Parallel()
	const destination = `,"DestinationConfig":{"OnFailure":{"Destination":"arn:aws:sqs:eu-central-1:123456789012:failures"}}`
	for name, c := range map[string]struct {
		old, by string
		check   string
		result  doctor.Result
		says    string
	}{
		"whole batches": {
			`"FunctionResponseTypes":["ReportBatchItemFailures"],`, "", "event sources", doctor.Problem,
			"charges: ReportBatchItemFailures is off, so one failed record repeats",
		},
		"nowhere": {
			`"Destination":"arn:aws:sqs:eu-central-1:123456789012:failures"`, "",
			"stream: on-failure destination", doctor.Problem, "charges: there is none",
		},
		"on success": {
			`"OnFailure"`, `"OnSuccess"`, "stream: on-failure destination", doctor.Problem,
			"charges: there is none",
		},
		"no destination": {destination, "", "stream: on-failure destination", doctor.Problem, "charges: there is none"},
		"Kinesis": {
			"arn:aws:dynamodb:eu-central-1:123456789012:table/charges/stream/2026-07-01T00:00:00.000",
			"arn:aws:kinesis:eu-central-1:123456789012:stream/placed",
			"stream: on-failure destination", doctor.OK, "placed",
		},
		"another broker": {
			"arn:aws:dynamodb:eu-central-1:123456789012:table/charges/stream/2026-07-01T00:00:00.000",
			"arn:aws:kafka:eu-central-1:123456789012:cluster/placed/1",
			"event sources", doctor.NotChecked, "placed: it is no queue of SQS and no stream",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := healthy(t)
			a.answers["ListEventSourceMappings"] = stream
			a.replace("ListEventSourceMappings", c.old, c.by)
			findings := a.examine()
			requireOnly(t, findings, c.check, c.result, c.says)
			require.NotContains(t, findings, "queue: visibility timeout")
			for _, call := range a.calls {
				require.NotContains(t, call.name, "Queue", "a stream is no queue")
			}
		})
	}
}

// TestTheAttributesThatAreLookedAtAreAskedFor: SQS answers no others.
func TestTheAttributesThatAreLookedAtAreAskedFor(t *testing.T) {
	t.Parallel()
	a := healthy(t)
	a.examine()
	i := slices.IndexFunc(a.calls, func(c call) bool { return c.name == "GetQueueAttributes" })
	require.GreaterOrEqual(t, i, 0)
	assert.Contains(t, a.calls[i].body, `"AttributeNames":["VisibilityTimeout","RedrivePolicy"]`)
}

// TestEachSourceIsLookedAt: what is wrong with one says nothing of the others.
func TestEachSourceIsLookedAt(t *testing.T) {
	t.Parallel()
	a := healthy(t)
	one, other := strings.TrimSuffix(a.answers["ListEventSourceMappings"], "]}"),
		strings.TrimPrefix(stream, `{"EventSourceMappings":[`)
	a.answers["ListEventSourceMappings"] = one + "," + other
	findings := a.examine()
	require.Len(t, findings["event sources"], 2)
	for _, check := range []string{
		"queue: visibility timeout", "queue: dead-letter queue",
		"stream: on-failure destination",
	} {
		require.Len(t, findings[check], 1, check)
		assert.Equal(t, doctor.OK, findings[check][0].Result, check)
	}
}

// requireOnly checks that one finding is this, and that nothing else is wrong.
func requireOnly(t *testing.T, findings map[string][]doctor.Finding, check string, result doctor.Result, says string) {
	t.Helper()
	require.Len(t, findings[check], 1, check)
	assert.Equal(t, result, findings[check][0].Result)
	assert.Contains(t, findings[check][0].Detail, says)
	for other, all := range findings {
		if other != check {
			assert.Equal(t, doctor.OK, all[0].Result, "%s: %s", other, all[0].Detail)
		}
	}
}
