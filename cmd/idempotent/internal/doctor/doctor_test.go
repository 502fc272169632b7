package doctor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/doctor"
	"github.com/go-idempotent/idempotent/store"
)

func TestNothingIsWrongWithWhatIsRight(t *testing.T) {
	t.Parallel()
	a := healthy(t)
	findings := a.examine()
	for check, all := range findings {
		for _, f := range all {
			assert.Equal(t, doctor.OK, f.Result, "%s: %s", check, f.Detail)
		}
	}
	for _, check := range []string{
		"table", "open records",
		"function", "function names the table",
		"timeout and gateway", "event sources",
		"queue: visibility timeout", "queue: dead-letter queue",
	} {
		assert.Len(t, findings[check], 1, check)
	}
}

// A doctor who makes it worse is none.
func TestTheDoctorChangesNothing(t *testing.T) {
	t.Parallel()
	a := healthy(t)
	a.examine()
	require.NotEmpty(t, a.calls)
	for _, c := range a.calls {
		assert.Regexp(t, `^(Get|Describe|List|Query|Scan)`, c.name)
	}
}

// Each change of an answer leads to one finding, and changes no other.
func TestEachProblemIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of            func(*testing.T) *account
		call, old, by string
		check         string
		result        doctor.Result
		says          string
	}{
		"another key": {
			healthy, "DescribeTable", `"AttributeName":"id","KeyType"`, `"AttributeName":"pk","KeyType"`,
			"table", doctor.Problem, `partition key is "pk", expected "id"`,
		},
		"no time to live": {
			healthy, "DescribeTimeToLive", "ENABLED", "DISABLED",
			"table", doctor.Warning, "time to live is DISABLED",
		},
		"time to live elsewhere": {
			healthy, "DescribeTimeToLive", "expiration", "ttl",
			"table", doctor.Problem, `time to live is on "ttl"`,
		},
		"no index": {
			healthy, "DescribeTable", "attention-index", "other-index",
			"table", doctor.Warning, "there is no index",
		},
		"another index": {
			healthy, "DescribeTable", `"ProjectionType":"ALL"`, `"ProjectionType":"INCLUDE","NonKeyAttributes":["status","reason"]`,
			"table", doctor.Warning, "is not projected",
		},
		"replicas": {
			healthy, "DescribeTable", `"TableName"`, `"Replicas":[{"RegionName":"eu-west-1"}],"TableName"`,
			"replicas", doctor.Warning, "send all deliveries of a key to one Region",
		},
		"another table": {
			healthy, configuration, `"idempotency"`, `"payments"`,
			"function names the table", doctor.Warning, `no variable of its environment is "idempotency"`,
		},
		"HTTP API": {
			healthy, configuration, `"Timeout":20`, `"Timeout":30`,
			"timeout and gateway", doctor.Problem, "HTTP API a1b2c3 waits 29 s, and the function may run for 30 s",
		},
		"HTTP API by default": {
			usual, configuration, `"Timeout":20`, `"Timeout":30`,
			"timeout and gateway", doctor.Problem, "HTTP API a1b2c3 waits 30 s",
		},
		"REST API": {
			rest, configuration, `"Timeout":20`, `"Timeout":60`,
			"timeout and gateway", doctor.Problem, "REST API a1b2c3 waits 29 s, and the function may run for 60 s",
		},
		"REST API that streams": {
			rest, "GetResources", `"timeoutInMillis":29000`, `"responseTransferMode":"STREAM","timeoutInMillis":900000`,
			"timeout and gateway", doctor.Problem, "REST API a1b2c3 streams the responses of the function",
		},
		"HTTP API with roles": {
			healthy, "GetRoutes", "JWT", "AWS_IAM",
			"callers", doctor.Warning, "HTTP API a1b2c3 authorizes by IAM: people who share a federated role",
		},
		"REST API with roles": {
			rest, "GetResources", `{"methodIntegration"`, `{"authorizationType":"AWS_IAM","methodIntegration"`,
			"callers", doctor.Warning, "REST API a1b2c3 authorizes by IAM",
		},
		"URL with roles": {
			byURL, "GetPolicy", `\"NONE\"`, `\"AWS_IAM\"`,
			"callers", doctor.Warning, "its URL authorizes by IAM",
		},
		"whole batches": {
			healthy, mappings, `"FunctionResponseTypes":["ReportBatchItemFailures"],`, "",
			"event sources", doctor.Problem, "charges: ReportBatchItemFailures is off, so one failed record sends",
		},
		"batches of one": {
			healthy, mappings, `"FunctionResponseTypes":["ReportBatchItemFailures"],"BatchSize":10`, `"BatchSize":1`,
			"event sources", doctor.Problem,
			"charges: ReportBatchItemFailures is off, so a failure that the function answers with is taken for a success",
		},
		"visible too early": {
			healthy, attributes, "125", "124",
			visibility, doctor.Problem, "charges: messages are invisible for 124 s, which has to be 125 s",
		},
		"a longer window": {
			healthy, mappings, `InSeconds":5`, `InSeconds":6`,
			visibility, doctor.Problem, "charges: messages are invisible for 125 s, which has to be 126 s",
		},
		"no visibility timeout": {
			healthy, attributes, `"VisibilityTimeout":"125",`, "",
			visibility, doctor.NotChecked, "charges: its visibility timeout is no number",
		},
		"no dead-letter queue": {
			healthy, attributes,
			`,"RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:eu-central-1:123456789012:dead\",\"maxReceiveCount\":5}"`,
			"", deadLetters, doctor.Problem, "charges: there is none",
		},
		"too few receives": {
			healthy, attributes, `maxReceiveCount\":5`, `maxReceiveCount\":4`,
			deadLetters, doctor.Warning, "charges: maxReceiveCount is 4, which has to be 5",
		},
		"receives as a text": {
			healthy, attributes, `maxReceiveCount\":5`, `maxReceiveCount\":\"7\"`,
			deadLetters, doctor.OK, "charges: after 7 receives",
		},
		"a policy that is none": {
			healthy, attributes, `maxReceiveCount\":5`, `maxReceiveCount\":[]`,
			deadLetters, doctor.NotChecked, "charges: its redrive policy cannot be read",
		},
		"a policy without a number": {
			healthy, attributes, `,\"maxReceiveCount\":5`, "",
			deadLetters, doctor.NotChecked, "charges: its redrive policy cannot be read",
		},
		"a stream in whole batches": {
			streamed, mappings, `"FunctionResponseTypes":["ReportBatchItemFailures"],`, "",
			"event sources", doctor.Problem, "charges: ReportBatchItemFailures is off, so one failed record repeats",
		},
		"a stream to nowhere": {
			streamed, mappings, `"Destination":"arn:aws:sqs:eu-central-1:123456789012:failures"`, "",
			destination, doctor.Problem, "charges: there is none",
		},
		"a destination on success": {
			streamed, mappings, `"OnFailure"`, `"OnSuccess"`,
			destination, doctor.Problem, "charges: there is none",
		},
		"a stream without a destination": {
			streamed, mappings,
			`,"DestinationConfig":{"OnFailure":{"Destination":"arn:aws:sqs:eu-central-1:123456789012:failures"}}`, "",
			destination, doctor.Problem, "charges: there is none",
		},
		"Kinesis": {
			streamed, mappings, streamOfTable, "arn:aws:kinesis:eu-central-1:123456789012:stream/placed",
			destination, doctor.OK, "placed",
		},
		"another broker": {
			streamed, mappings, streamOfTable, "arn:aws:kafka:eu-central-1:123456789012:cluster/placed/1",
			"event sources", doctor.NotChecked, "placed: it is no queue of SQS and no stream",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := c.of(t)
			a.replace(c.call, c.old, c.by)
			findings := a.examine()
			require.Len(t, findings[c.check], 1)
			assert.Equal(t, c.result, findings[c.check][0].Result)
			assert.Contains(t, findings[c.check][0].Detail, c.says)
			for check, all := range findings { // and nothing else is
				ofTimeout := check == "timeout and gateway" || check == visibility
				if check != c.check && (!ofTimeout || !strings.Contains(name, "API")) {
					assert.Equal(t, doctor.OK, all[0].Result, "%s: %s", check, all[0].Detail)
				}
			}
			if strings.Contains(a.answers[mappings], `"EventSourceArn":"arn:aws:sqs:`) {
				return
			}
			assert.NotContains(t, findings, visibility)
			for _, call := range a.calls {
				assert.NotContains(t, call.name, "Queue", "a stream is no queue")
			}
		})
	}
}

// Names of calls and checks that are long, and the stream of a table.
const (
	configuration = "GetFunctionConfiguration"
	mappings      = "ListEventSourceMappings"
	attributes    = "GetQueueAttributes"
	visibility    = "queue: visibility timeout"
	deadLetters   = "queue: dead-letter queue"
	destination   = "stream: on-failure destination"
	streamOfTable = "arn:aws:dynamodb:eu-central-1:123456789012:table/charges/stream/2026-07-01T00:00:00.000"
)

// Accounts in which nothing is wrong, either: with an HTTP API that has no time limit of its own,
// with a REST API, with the URL of a function, and with a stream instead of a queue.
func usual(t *testing.T) *account {
	t.Helper()
	a := healthy(t)
	a.replace("GetIntegrations", `,"timeoutInMillis":29000`, "")
	return a
}

func rest(t *testing.T) *account {
	t.Helper()
	a := healthy(t)
	a.errors["GetIntegrations"] = "NotFoundException"
	return a
}

func byURL(t *testing.T) *account {
	t.Helper()
	a := healthy(t)
	a.answers["GetPolicy"] = policy(`{"Principal":{"AWS":"123456789012"},"Action":"lambda:InvokeFunctionUrl",
		"Condition":{"StringEquals":{"lambda:FunctionUrlAuthType":"NONE"}}}`)
	return a
}

func streamed(t *testing.T) *account {
	t.Helper()
	a := healthy(t)
	a.answers[mappings] = stream
	return a
}

// TestTheAttributesThatAreLookedAtAreAskedFor: SQS answers no others.
func TestTheAttributesThatAreLookedAtAreAskedFor(t *testing.T) {
	t.Parallel()
	a := healthy(t)
	a.examine()
	i := slices.IndexFunc(a.calls, func(c call) bool { return c.name == attributes })
	require.GreaterOrEqual(t, i, 0)
	assert.Contains(t, a.calls[i].body, `"AttributeNames":["VisibilityTimeout","RedrivePolicy"]`)
}

// TestEachSourceIsLookedAt: what is wrong with one says nothing of the others.
func TestEachSourceIsLookedAt(t *testing.T) {
	t.Parallel()
	a := healthy(t)
	a.replace(mappings, "]}", ","+strings.TrimPrefix(stream, `{"EventSourceMappings":[`))
	findings := a.examine()
	require.Len(t, findings["event sources"], 2)
	for _, check := range []string{visibility, deadLetters, destination} {
		require.Len(t, findings[check], 1, check)
		assert.Equal(t, doctor.OK, findings[check][0].Result, check)
	}
}

// TestMultiRegionStrongConsistency: a table that cannot have time to live is no problem, but
// somebody has to delete what expires.
func TestMultiRegionStrongConsistency(t *testing.T) {
	t.Parallel()
	a := healthy(t)
	a.replace("DescribeTable", `"TableName"`,
		`"MultiRegionConsistency":"STRONG","Replicas":[{"RegionName":"eu-west-1"}],"TableName"`)
	a.errors["DescribeTimeToLive"] = "ValidationException"
	findings := a.examine()
	for check, says := range map[string]string{
		"table": "what has expired stays until DeleteExpired deletes it", "replicas": "no handler can commit",
	} {
		require.Len(t, findings[check], 1, check)
		assert.Equal(t, doctor.Warning, findings[check][0].Result, check)
		assert.Contains(t, findings[check][0].Detail, says)
	}
}

// What cannot be looked at is never fine.
func TestWhatCannotBeSeenIsNotChecked(t *testing.T) {
	t.Parallel()
	for name, checks := range map[string][]string{
		"DescribeTable":            {"table", "replicas"},
		"DescribeTimeToLive":       {"table"},
		"Scan":                     {"open records"},
		"GetFunctionConfiguration": {"function"},
		"GetPolicy":                {"timeout and gateway"},
		"GetIntegrations":          {"timeout and gateway"},
		"GetRoutes":                {"timeout and gateway"},
		"ListEventSourceMappings":  {"event sources"},
		"GetQueueUrl":              {"queue: visibility timeout"},
		"GetQueueAttributes":       {"queue: visibility timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := healthy(t)
			a.errors[name] = "AccessDeniedException"
			findings := a.examine()
			for _, check := range checks {
				require.NotEmpty(t, findings[check], check)
				assert.Equal(t, doctor.NotChecked, findings[check][0].Result, check)
				assert.Contains(t, findings[check][0].Detail, "not allowed: ", check)
			}
		})
	}
	for says, c := range map[string]struct{ check, call, answer string }{
		"its policy lets no gateway call it": {"timeout and gateway", "GetPolicy", ""},
		"a load balancer calls it": {"timeout and gateway", "GetPolicy", policy(
			`{"Principal":{"Service":"elasticloadbalancing.amazonaws.com"},"Action":"lambda:InvokeFunction"}`)},
	} {
		a := healthy(t)
		if a.answers[c.call] = c.answer; c.answer == "" {
			a.errors[c.call] = "ResourceNotFoundException"
		}
		f := a.examine()[c.check][0]
		assert.Equal(t, doctor.NotChecked, f.Result, says)
		assert.Contains(t, f.Detail, says)
	}
}

func TestWithoutATableThereIsNothingToExamine(t *testing.T) {
	t.Parallel()
	a := healthy(t)
	a.errors["DescribeTable"] = "ResourceNotFoundException"
	_, err := a.patient().Examine(t.Context())
	var failed *store.Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, store.FailureMissingTable, failed.Kind)
}
