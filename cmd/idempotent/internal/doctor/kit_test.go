package doctor_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/doctor"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/operate"
)

// account is as much of AWS as the doctor looks at: answers by the name of the call. A test changes
// what it is about.
type account struct {
	t       *testing.T
	answers map[string]string
	// errors are codes of errors, by the name of the call.
	errors map[string]string

	mu    sync.Mutex
	calls []call
}

type call struct{ name, body string }

const (
	table    = "idempotency"
	function = "shop-charge"
)

// healthy is an account in which nothing is wrong.
func healthy(t *testing.T) *account {
	t.Helper()
	return &account{t: t, errors: make(map[string]string), answers: map[string]string{
		"DescribeTable": `{"Table":{"TableName":"idempotency","TableStatus":"ACTIVE","DeletionProtectionEnabled":true,
			"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
			"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"attention","AttributeType":"S"},
				{"AttributeName":"attention_at","AttributeType":"N"}],
			"GlobalSecondaryIndexes":[{"IndexName":"attention-index","IndexStatus":"ACTIVE",
				"KeySchema":[{"AttributeName":"attention","KeyType":"HASH"},{"AttributeName":"attention_at","KeyType":"RANGE"}],
				"Projection":{"ProjectionType":"ALL"}}]}}`,
		"DescribeTimeToLive":        `{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":"expiration"}}`,
		"DescribeContinuousBackups": `{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED","PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":"ENABLED"}}}`,
		"Query":                     `{"Items":[],"Count":0,"ScannedCount":0}`,
		"Scan": `{"Items":[{"id":{"S":"shop-charge#a"},"status":{"S":"COMPLETED"},"expiration":{"N":"1782961200"},"completed_at":{"N":"1782874800000"}}],
			"Count":1,"ScannedCount":1}`,
		"GetFunctionConfiguration": `{"FunctionName":"shop-charge","Timeout":20,"Environment":{"Variables":{"IDEMPOTENCY_TABLE":"idempotency","RETENTION":"24h"}}}`,
		"GetPolicy": policy(`{"Principal":{"Service":"apigateway.amazonaws.com"},"Action":"lambda:InvokeFunction",
			"Condition":{"ArnLike":{"AWS:SourceArn":"arn:aws:execute-api:eu-central-1:123456789012:a1b2c3/*/POST/charges"}}}`),
		"GetIntegrations": `{"items":[{"integrationId":"i1","integrationUri":"arn:aws:lambda:eu-central-1:123456789012:function:shop-charge","timeoutInMillis":29000}]}`,
		"GetRoutes":       `{"items":[{"target":"integrations/i1","authorizationType":"JWT"},{"target":"integrations/i2","authorizationType":"AWS_IAM"}]}`,
		"GetResources": `{"item":[{"id":"r","resourceMethods":{"POST":{"methodIntegration":{"timeoutInMillis":29000,
			"uri":"arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:123456789012:function:shop-charge:live/invocations"}}}}]}`,
		"ListEventSourceMappings": mapping(
			`"FunctionResponseTypes":["ReportBatchItemFailures"],"BatchSize":10,"MaximumBatchingWindowInSeconds":5`),
		"GetQueueUrl":        `{"QueueUrl":"https://sqs.eu-central-1.amazonaws.com/123456789012/charges"}`,
		"GetQueueAttributes": `{"Attributes":{"VisibilityTimeout":"125","RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:eu-central-1:123456789012:dead\",\"maxReceiveCount\":5}"}}`,
	}}
}

func policy(statement string) string {
	text := `{"Version":"2012-10-17","Statement":[` + statement + `]}`
	return `{"Policy":` + strconv.Quote(strings.NewReplacer("\n", "", "\t", "").Replace(text)) + `}`
}

func mapping(members string) string {
	return `{"EventSourceMappings":[{"EventSourceArn":"arn:aws:sqs:eu-central-1:123456789012:charges",` +
		members + `}]}`
}

// stream is a mapping of the stream of a table in which nothing is wrong.
const stream = `{"EventSourceMappings":[{"EventSourceArn":"arn:aws:dynamodb:eu-central-1:123456789012:table/charges/stream/2026-07-01T00:00:00.000",
	"FunctionResponseTypes":["ReportBatchItemFailures"],"BatchSize":100,"MaximumRetryAttempts":10,"MaximumRecordAgeInSeconds":-1,
	"BisectBatchOnFunctionError":true,"DestinationConfig":{"OnFailure":{"Destination":"arn:aws:sqs:eu-central-1:123456789012:failures"}}}]}`

// replace changes an answer.
func (a *account) replace(name, old, by string) {
	a.t.Helper()
	require.Contains(a.t, a.answers[name], old)
	a.answers[name] = strings.Replace(a.answers[name], old, by, 1)
}

// examine lets the doctor look at the account.
func (a *account) examine(change ...func(*doctor.Patient)) map[string][]doctor.Finding {
	a.t.Helper()
	findings, err := a.patient(change...).Examine(a.t.Context())
	require.NoError(a.t, err)
	by := make(map[string][]doctor.Finding)
	for _, f := range findings {
		by[f.Check] = append(by[f.Check], f)
	}
	return by
}

func (a *account) patient(change ...func(*doctor.Patient)) *doctor.Patient {
	a.t.Helper()
	s := httptest.NewServer(a)
	a.t.Cleanup(s.Close)
	cfg := aws.Config{
		Region: "eu-central-1", BaseEndpoint: aws.String(s.URL), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}
	client := dynamodb.NewFromConfig(cfg)
	records := dynamo.New(client, table)
	p := &doctor.Patient{
		Connection: connect.Connection{Store: records, Client: client, Table: table, Config: cfg},
		Operator:   operate.New(records), Function: function,
	}
	for _, c := range change {
		c(p)
	}
	return p
}

// ServeHTTP answers a call of any of the services.
func (a *account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := nameOf(r)
	body, err := io.ReadAll(r.Body)
	assert.NoError(a.t, err)
	a.mu.Lock()
	a.calls = append(a.calls, call{name, string(body)})
	a.mu.Unlock()
	code, failed := a.errors[name]
	switch answer, known := a.answers[name]; {
	case failed:
		w.Header().Set("X-Amzn-Errortype", code)
		w.WriteHeader(status(code))
		fmt.Fprintf(w, `{"__type":"%s","message":"no"}`, code)
	case known:
		fmt.Fprint(w, answer)
	case strings.HasSuffix(name, "Item"): // a condition that never holds
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed"}`)
	default:
		assert.Fail(a.t, "nobody asks for this", "%s %s %s", name, r.Method, r.URL)
		w.WriteHeader(http.StatusNotImplemented)
	}
}

func status(code string) int {
	switch code {
	case "NotFoundException", "ResourceNotFoundException":
		return http.StatusNotFound
	default:
		return http.StatusBadRequest
	}
}

// nameOf is the name of a call.
func nameOf(r *http.Request) string {
	if _, name, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "."); ok {
		return name
	}
	for part, name := range map[string]string{
		"/configuration": "GetFunctionConfiguration", "/policy": "GetPolicy",
		"/event-source-mappings": "ListEventSourceMappings",
		"/integrations":          "GetIntegrations", "/resources": "GetResources", "/routes": "GetRoutes",
	} {
		if strings.Contains(r.URL.Path, part) {
			return name
		}
	}
	return r.URL.Path
}
