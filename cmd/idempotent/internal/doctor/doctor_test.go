package doctor_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/doctor"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/operate"
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
		"key", "time to live", "attention index", "point-in-time recovery", "deletion protection", "retention",
		"open records",
		"you may inspect", "you may list by index", "you may list by scan", "you may settle and release",
		"you may delete",
		"you may run a handler", "function", "function names the table", "retention in the environment",
		"timeout and gateway", "event sources",
		"queue: visibility timeout", "queue: dead-letter queue",
	} {
		assert.Len(t, findings[check], 1, check)
	}
}

// A doctor who makes it worse is none: it reads, writes under a condition that never holds, and
// deletes what nobody can have.
func TestTheDoctorChangesNothing(t *testing.T) {
	t.Parallel()
	a := healthy(t)
	a.examine()
	require.NotEmpty(t, a.calls)
	written := 0
	for _, c := range a.calls {
		switch c.name {
		case "PutItem", "UpdateItem", "DeleteItem":
			written++
			var in struct {
				ConditionExpression, UpdateExpression string
				ExpressionAttributeNames              map[string]string
			}
			require.NoError(t, json.Unmarshal([]byte(c.body), &in))
			assert.Equal(t, "attribute_exists(#key) AND attribute_not_exists(#key)", in.ConditionExpression, c.name)
			assert.Equal(t, map[string]string{"#key": "id"}, in.ExpressionAttributeNames)
		case "BatchWriteItem":
			written++
			assert.Regexp(t, `^\{"RequestItems":\{"idempotency":\[\{"DeleteRequest":\{"Key":\{"id":\{"S":"shop-charge#idempotent-doctor-[A-Z2-7]{26}"\}\}\}\}\]\}\}$`, c.body)
		default:
			assert.Regexp(t, `^(Get|Describe|List|BatchGet|Query|Scan)`, c.name)
		}
	}
	assert.Equal(t, 4, written)
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
		"no time to live": {func(a *account) { a.replace("DescribeTimeToLive", "ENABLED", "DISABLED") },
			"time to live", doctor.Warning, "time to live is DISABLED"},
		"time to live elsewhere": {func(a *account) { a.replace("DescribeTimeToLive", "expiration", "ttl") },
			"time to live", doctor.Problem, `time to live is on "ttl"`},
		"no index": {func(a *account) { a.replace("DescribeTable", "attention-index", "other-index") },
			"attention index", doctor.Warning, "there is no index"},
		"another index": {func(a *account) {
			a.replace("DescribeTable", `"ProjectionType":"ALL"`,
				`"ProjectionType":"KEYS_ONLY"`)
		}, "attention index", doctor.Warning, "is not projected"},
		"no recovery": {func(a *account) {
			a.replace("DescribeContinuousBackups", `Status":"ENABLED"}`,
				`Status":"DISABLED"}`)
		}, "point-in-time recovery", doctor.Warning, "cannot be restored"},
		"no protection": {func(a *account) {
			a.replace("DescribeTable", `"DeletionProtectionEnabled":true`, `"DeletionProtectionEnabled":false`)
		}, "deletion protection", doctor.Warning, "off"},
		"replicas": {func(a *account) {
			a.replace("DescribeTable", `"TableName"`, `"Replicas":[{"RegionName":"eu-west-1"}],"TableName"`)
		}, "replicas", doctor.Warning, "send all deliveries of a key to one Region"},
		"short retention": {func(a *account) { a.replace("Scan", "1782961200", "1782875100") },
			"retention", doctor.Warning, `a result of operation "shop-charge" is replayed for 5m0s`},
		"may not settle": {func(a *account) { a.errors["UpdateItem"] = "AccessDeniedException" },
			"you may settle and release", doctor.Warning, "not allowed: dynamodb:UpdateItem"},
		"may not delete": {func(a *account) { a.errors["DeleteItem"] = "AccessDeniedException" },
			"you may delete", doctor.Warning, "not allowed: dynamodb:DeleteItem"},
		"another table": {func(a *account) {
			a.replace("GetFunctionConfiguration", `"idempotency"`,
				`"payments"`)
		}, "function names the table", doctor.Warning, `no variable of its environment is "idempotency"`},
		"short retention in the environment": {func(a *account) { a.replace("GetFunctionConfiguration", "24h", "600") },
			"retention in the environment", doctor.Warning, "RETENTION is 10m0s"},
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
		"HTTP API with roles": {func(a *account) { a.replace("GetRoutes", "JWT", "AWS_IAM") },
			"callers", doctor.Warning, "HTTP API a1b2c3 authorizes by IAM: people who share a federated role"},
		"REST API with roles": {func(a *account) {
			a.errors["GetIntegrations"] = "NotFoundException"
			a.replace("GetResources", `{"methodIntegration"`, `{"authorizationType":"AWS_IAM","methodIntegration"`)
		}, "callers", doctor.Warning, "REST API a1b2c3 authorizes by IAM"},
		"URL with roles": {func(a *account) {
			a.answers["GetPolicy"] = policy(`{"Principal":{"AWS":"123456789012"},"Action":"lambda:InvokeFunctionUrl",
				"Condition":{"StringEquals":{"lambda:FunctionUrlAuthType":"AWS_IAM"}}}`)
		}, "callers", doctor.Warning, "its URL authorizes by IAM"},
		"whole batches": {func(a *account) { a.answers["ListEventSourceMappings"] = mapping(`"BatchSize":10`) },
			"event sources", doctor.Problem, "charges: ReportBatchItemFailures is off"},
		"batches of one": {
			func(a *account) { a.answers["ListEventSourceMappings"] = mapping(`"BatchSize":1`) }, "event sources",
			doctor.Problem,
			"charges: ReportBatchItemFailures is off, so a failure that the function answers with is taken for a success",
		},
		"visible too early": {func(a *account) { a.replace("GetQueueAttributes", "125", "124") },
			"queue: visibility timeout", doctor.Problem,
			"charges: messages are invisible for 124 s, which has to be 125 s"},
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
				if check == c.check || check == "you may list by index" ||
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
	for _, check := range []string{"key", "attention index", "deletion protection"} {
		assert.Equal(t, doctor.OK, findings[check][0].Result, check)
	}
}

// What cannot be looked at is never fine.
func TestWhatCannotBeSeenIsNotChecked(t *testing.T) {
	t.Parallel()
	for name, checks := range map[string][]string{
		"DescribeTable":             {"key", "time to live", "attention index", "deletion protection"},
		"DescribeTimeToLive":        {"time to live"},
		"DescribeContinuousBackups": {"point-in-time recovery"},
		"Scan":                      {"retention"},
		"GetFunctionConfiguration":  {"function"},
		"GetPolicy":                 {"timeout and gateway"},
		"GetIntegrations":           {"timeout and gateway"},
		"GetRoutes":                 {"timeout and gateway"},
		"ListEventSourceMappings":   {"event sources"},
		"GetQueueUrl":               {"queue: visibility timeout"},
		"GetQueueAttributes":        {"queue: visibility timeout"},
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
	a = healthy(t)
	a.replace("GetFunctionConfiguration", "24h", "a day")
	assert.Equal(t, doctor.NotChecked, a.examine()["retention in the environment"][0].Result)
	a = healthy(t)
	a.errors["GetItem"] = "ThrottlingException"
	assert.Equal(t, doctor.NotChecked, a.examine()["you may inspect"][0].Result, "throttled is not denied")
}

func TestAnEmulatorHasNeitherBackupsNorPermissions(t *testing.T) {
	t.Parallel()
	a := healthy(t)
	findings := a.examine(func(p *doctor.Patient) { p.Emulator, p.Function = "http://127.0.0.1:8000", "" })
	for _, check := range []string{"point-in-time recovery", "deletion protection", "you may inspect",
		"you may delete"} {
		assert.Equal(t, doctor.Finding{Check: check, Result: doctor.NotChecked,
			Detail: "http://127.0.0.1:8000 is not AWS"}, findings[check][0])
	}
	assert.Equal(t, doctor.OK, findings["key"][0].Result)
	for _, c := range a.calls {
		assert.NotContains(t, []string{"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"}, c.name)
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

func TestFailedIsAProblemAndNothingLess(t *testing.T) {
	t.Parallel()
	assert.False(t, doctor.Failed([]doctor.Finding{{Result: doctor.OK}, {Result: doctor.Warning},
		{Result: doctor.NotChecked}}))
	assert.True(t, doctor.Failed([]doctor.Finding{{Result: doctor.OK}, {Result: doctor.Problem}}))
}

// DynamoDB itself takes the try-outs, and keeps what it had.
func TestDynamoDBTakesTheTryouts(t *testing.T) {
	t.Parallel()
	client := dynamolocal.Client(dynamolocal.Endpoint(t))
	name := "doctor-" + time.Now().Format("150405.000000")
	require.NoError(t, dynamo.CreateTable(t.Context(), client, name))
	records := dynamo.New(client, name)
	now := time.Now()
	r := store.Record{Key: "charge#1", Status: store.StatusInProgress, Owner: "a", Lease: now.Add(time.Minute),
		Expiry: now.Add(time.Hour)}
	_, claimed, err := records.Claim(t.Context(), r, now)
	require.NoError(t, err)
	require.True(t, claimed)
	before, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &name})
	require.NoError(t, err)

	a := healthy(t)
	findings, err := a.patient(func(p *doctor.Patient) {
		p.Store, p.Operator, p.DynamoDB, p.Table, p.Function = records, operate.New(records), client, name, ""
	}).Examine(t.Context())
	require.NoError(t, err)
	tried := 0
	for _, f := range findings {
		if strings.HasPrefix(f.Check, "you may") {
			tried++
			assert.Equal(t, doctor.OK, f.Result, "%s: %s", f.Check, f.Detail)
		}
	}
	assert.Equal(t, 6, tried)
	i := slices.IndexFunc(findings, func(f doctor.Finding) bool { return f.Check == "point-in-time recovery" })
	assert.NotEqual(t, doctor.OK, findings[i].Result, "DynamoDB Local has no backups")

	after, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &name})
	require.NoError(t, err)
	assert.Equal(t, before.Items, after.Items)
}
