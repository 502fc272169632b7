package doctor_test

import (
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
		"key", "time to live", "attention index", "retention",
		"open records",
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

func TestEachProblemIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make   func(a *account)
		check  string
		result doctor.Result
		says   string
	}{
		"another key": {
			func(a *account) {
				a.replace("DescribeTable", `"AttributeName":"id","KeyType"`, `"AttributeName":"pk","KeyType"`)
			},
			"key", doctor.Problem, `partition key is "pk", expected "id"`,
		},
		"no time to live": {
			func(a *account) { a.replace("DescribeTimeToLive", "ENABLED", "DISABLED") },
			"time to live", doctor.Warning, "time to live is DISABLED",
		},
		"time to live elsewhere": {
			func(a *account) { a.replace("DescribeTimeToLive", "expiration", "ttl") },
			"time to live", doctor.Problem, `time to live is on "ttl"`,
		},
		"no index": {
			func(a *account) { a.replace("DescribeTable", "attention-index", "other-index") },
			"attention index", doctor.Warning, "there is no index",
		},
		"another index": {func(a *account) {
			a.replace("DescribeTable", `"ProjectionType":"ALL"`,
				`"ProjectionType":"KEYS_ONLY"`)
		}, "attention index", doctor.Warning, "is not projected"},
		"replicas": {func(a *account) {
			a.replace("DescribeTable", `"TableName"`, `"Replicas":[{"RegionName":"eu-west-1"}],"TableName"`)
		}, "replicas", doctor.Warning, "send all deliveries of a key to one Region"},
		"short retention": {
			func(a *account) { a.replace("Scan", "1782961200", "1782875100") },
			"retention", doctor.Warning, `a result of operation "shop-charge" is replayed for 5m0s`,
		},
		"another table": {func(a *account) {
			a.replace("GetFunctionConfiguration", `"idempotency"`,
				`"payments"`)
		}, "function names the table", doctor.Warning, `no variable of its environment is "idempotency"`},
		"HTTP API": {func(a *account) {
			a.replace("GetFunctionConfiguration", `"Timeout":20`,
				`"Timeout":30`)
		}, "timeout and gateway", doctor.Problem, "HTTP API a1b2c3 waits 29 s, and the function may run for 30 s"},
		"HTTP API by default": {func(a *account) {
			a.replace("GetIntegrations", `,"timeoutInMillis":29000`, "")
			a.replace("GetFunctionConfiguration", `"Timeout":20`, `"Timeout":30`)
		}, "timeout and gateway", doctor.Problem, "HTTP API a1b2c3 waits 30 s"},
		"REST API": {func(a *account) {
			a.errors["GetIntegrations"] = "NotFoundException"
			a.replace("GetFunctionConfiguration", `"Timeout":20`, `"Timeout":60`)
		}, "timeout and gateway", doctor.Problem, "REST API a1b2c3 waits 29 s, and the function may run for 60 s"},
		"REST API that streams": {func(a *account) {
			a.errors["GetIntegrations"] = "NotFoundException"
			a.replace("GetResources", `"timeoutInMillis":29000`,
				`"responseTransferMode":"STREAM","timeoutInMillis":900000`)
		}, "timeout and gateway", doctor.Problem, "REST API a1b2c3 streams the responses of the function"},
		"HTTP API with roles": {
			func(a *account) { a.replace("GetRoutes", "JWT", "AWS_IAM") },
			"callers", doctor.Warning, "HTTP API a1b2c3 authorizes by IAM: people who share a federated role",
		},
		"REST API with roles": {func(a *account) {
			a.errors["GetIntegrations"] = "NotFoundException"
			a.replace("GetResources", `{"methodIntegration"`, `{"authorizationType":"AWS_IAM","methodIntegration"`)
		}, "callers", doctor.Warning, "REST API a1b2c3 authorizes by IAM"},
		"URL with roles": {func(a *account) {
			a.answers["GetPolicy"] = policy(`{"Principal":{"AWS":"123456789012"},"Action":"lambda:InvokeFunctionUrl",
				"Condition":{"StringEquals":{"lambda:FunctionUrlAuthType":"AWS_IAM"}}}`)
		}, "callers", doctor.Warning, "its URL authorizes by IAM"},
		"whole batches": {
			func(a *account) { a.answers["ListEventSourceMappings"] = mapping(`"BatchSize":10`) },
			"event sources", doctor.Problem, "charges: ReportBatchItemFailures is off",
		},
		"batches of one": {
			func(a *account) { a.answers["ListEventSourceMappings"] = mapping(`"BatchSize":1`) }, "event sources",
			doctor.Problem,
			"charges: ReportBatchItemFailures is off, so a failure that the function answers with is taken for a success",
		},
		"visible too early": {
			func(a *account) { a.replace("GetQueueAttributes", "125", "124") },
			"queue: visibility timeout", doctor.Problem,
			"charges: messages are invisible for 124 s, which has to be 125 s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := healthy(t)
			c.make(a)
			findings := a.examine()
			require.Len(t, findings[c.check], 1)
			assert.Equal(t, c.result, findings[c.check][0].Result)
			assert.Contains(t, findings[c.check][0].Detail, c.says)
			for check, all := range findings { // and nothing else is
				if check == c.check ||
					(check == "timeout and gateway" || check == "queue: visibility timeout") &&
						strings.Contains(name, "API") {
					continue
				}
				assert.Equal(t, doctor.OK, all[0].Result, "%s: %s", check, all[0].Detail)
			}
		})
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
		"time to live": "what has expired stays until DeleteExpired deletes it", "replicas": "no handler can commit",
	} {
		require.Len(t, findings[check], 1, check)
		assert.Equal(t, doctor.Warning, findings[check][0].Result, check)
		assert.Contains(t, findings[check][0].Detail, says)
	}
	for _, check := range []string{"key", "attention index"} {
		assert.Equal(t, doctor.OK, findings[check][0].Result, check)
	}
}

// What cannot be looked at is never fine.
func TestWhatCannotBeSeenIsNotChecked(t *testing.T) {
	t.Parallel()
	for name, checks := range map[string][]string{
		"DescribeTable":            {"key", "time to live", "attention index", "replicas"},
		"DescribeTimeToLive":       {"time to live"},
		"Scan":                     {"retention"},
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
	a := healthy(t)
	a.errors["GetPolicy"] = "ResourceNotFoundException"
	assert.Equal(t, doctor.NotChecked, a.examine()["timeout and gateway"][0].Result, "no gateway can be seen")
	a = healthy(t)
	a.answers["GetPolicy"] = policy(
		`{"Principal":{"Service":"elasticloadbalancing.amazonaws.com"},"Action":"lambda:InvokeFunction"}`)
	assert.Equal(t, doctor.NotChecked, a.examine()["timeout and gateway"][0].Result, "a load balancer")
	a = healthy(t)
	a.answers["Scan"] = `{"Items":[],"Count":0,"ScannedCount":0}`
	assert.Equal(t, doctor.NotChecked, a.examine()["retention"][0].Result, "no record tells")
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

func TestFailedIsAProblemAndNothingLess(t *testing.T) {
	t.Parallel()
	assert.False(t, doctor.Failed([]doctor.Finding{
		{Result: doctor.OK},
		{Result: doctor.Warning},
		{Result: doctor.NotChecked},
	}))
	assert.True(t, doctor.Failed([]doctor.Finding{{Result: doctor.OK}, {Result: doctor.Problem}}))
}
