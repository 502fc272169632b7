package doctor_test

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/doctor"
)

// programs are two real ones, built once: one that wraps, and one that only imports the library.
var programs = sync.OnceValues(func() (map[string][]byte, error) {
	folder, err := os.MkdirTemp("", "idempotent-programs")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	built := map[string][]byte{}
	for _, name := range []string{"wraps", "imports"} {
		file := filepath.Join(folder, name)
		if err := exec.Command("go", "build", "-o", file, "../artifact/testdata/"+name).Run(); err != nil {
			return nil, err
		}
		if built[name], err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	return built, nil
})

// shop is a copy of testdata/shop.yaml, with what was built of it. A test changes what it is about.
type shop struct {
	t      *testing.T
	folder string
	plan   doctor.Plan
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t, folder: t.TempDir()}
	for _, name := range []string{"shop.yaml", "openapi.yaml", "openapi.json"} {
		content, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		s.write(name, content)
	}
	s.plan = doctor.Plan{Template: s.path("shop.yaml"), Parameters: map[string]string{"AWS::StackName": "shop"}}
	for function, program := range map[string]string{"Charge": "wraps", "Consume": "wraps", "Search": "imports"} {
		s.build(function, program)
	}
	s.zip("pay.zip", "wraps")
	return s
}

func (s *shop) path(name string) string { return filepath.Join(s.folder, name) }

func (s *shop) write(name string, content []byte) {
	s.t.Helper()
	require.NoError(s.t, os.MkdirAll(filepath.Dir(s.path(name)), 0o700))
	require.NoError(s.t, os.WriteFile(s.path(name), content, 0o600))
}

// program is the content of one of the programs.
func (s *shop) program(name string) []byte {
	s.t.Helper()
	all, err := programs()
	require.NoError(s.t, err)
	return all[name]
}

// build puts a program where SAM does.
func (s *shop) build(function, program string) {
	s.t.Helper()
	s.write(filepath.Join(".aws-sam", "build", function, "bootstrap"), s.program(program))
}

func (s *shop) zip(name, program string) {
	s.t.Helper()
	f, err := os.Create(s.path(name))
	require.NoError(s.t, err)
	defer f.Close()
	w := zip.NewWriter(f)
	entry, err := w.CreateHeader(&zip.FileHeader{Name: "bootstrap", Method: zip.Store})
	require.NoError(s.t, err)
	_, err = entry.Write(s.program(program))
	require.NoError(s.t, err)
	require.NoError(s.t, w.Close())
}

// replace changes a file of the shop. What is replaced has to be there, once.
func (s *shop) replace(name, old, by string) {
	s.t.Helper()
	content, err := os.ReadFile(s.path(name))
	require.NoError(s.t, err)
	require.Equal(s.t, 1, strings.Count(string(content), old), old)
	s.write(name, []byte(strings.Replace(string(content), old, by, 1)))
}

// examine lets the doctor look at the template.
func (s *shop) examine() []doctor.Finding {
	s.t.Helper()
	findings, err := s.plan.Examine()
	require.NoError(s.t, err)
	return findings
}

// wrong are the findings that are not fine, as lines.
func wrong(findings []doctor.Finding) []string {
	lines := []string{}
	for _, f := range findings {
		if f.Result != doctor.OK {
			lines = append(lines, line(f))
		}
	}
	return lines
}

func line(f doctor.Finding) string { return string(f.Result) + " | " + f.Check + " | " + f.Detail }

func TestNothingIsWrongWithATemplateThatIsRight(t *testing.T) {
	t.Parallel()
	findings := newShop(t).examine()
	assert.Empty(t, wrong(findings))
	seen := []string{}
	for _, f := range findings {
		if f.Check == "route" {
			seen = append(seen, f.Detail)
		}
	}
	assert.ElementsMatch(t, []string{
		"POST /charges (HTTP API ServerlessHttpApi): Charge wraps",
		"ANY $default (HTTP API Catch): Charge wraps",
		"DELETE /charges/{id} (REST API ServerlessRestApi): Charge wraps",
		"ANY / (function URL): Charge wraps",
		"PUT /charges (HTTP API Routed): Charge wraps",
		"ANY $default (HTTP API Routed): Charge wraps",
		"ANY $default (HTTP API Quick): Charge wraps",
		"PATCH /charges/{id} (REST API Methods): Charge wraps",
		"POST /described (REST API Described): Charge wraps",
		"ANY /included (REST API Included): Charge wraps",
		"PUT /elsewhere (HTTP API Elsewhere): Charge wraps",
		"ANY / (function URL): Pay wraps",
		"ANY /* (load balancer, listener Listener): Pay wraps",
		"POST /pay (load balancer, rule Rule): Pay wraps",
		"POST /search (HTTP API ServerlessHttpApi): Search is exempt: it only reads",
		"POST /report (HTTP API ServerlessHttpApi): Report is exempt: it writes the report of a day over itself",
		"POST /ship (HTTP API ServerlessHttpApi): Ship wraps, says its Metadata: the test of the image asks for a replay",
	}, seen)
}

// Each mistake is found, and changes nothing else.
func TestEachMistakeOfATemplateIsFound(t *testing.T) {
	t.Parallel()
	const (
		search = "POST /search (HTTP API ServerlessHttpApi): "
		bare   = "has the library in it, version (devel), and does not call Wrap"
	)
	for name, c := range map[string]struct {
		make func(s *shop)
		// finds are all findings that are not fine, by how they begin.
		finds []string
	}{
		"a function does not wrap": {func(s *shop) { s.build("Charge", "imports") }, []string{
			"problem | route | ANY $default (HTTP API Catch): Charge does not wrap: ", "problem | route | ANY $default (HTTP API Quick): Charge does not wrap: ",
			"problem | route | ANY $default (HTTP API Routed): Charge does not wrap: ", "problem | route | ANY / (function URL): Charge does not wrap: ",
			"problem | route | ANY /included (REST API Included): Charge does not wrap: ",
			"problem | route | DELETE /charges/{id} (REST API ServerlessRestApi): Charge does not wrap: ",
			"problem | route | PATCH /charges/{id} (REST API Methods): Charge does not wrap: ",
			"problem | route | POST /charges (HTTP API ServerlessHttpApi): Charge does not wrap: ",
			"problem | route | POST /described (REST API Described): Charge does not wrap: ",
			"problem | route | PUT /charges (HTTP API Routed): Charge does not wrap: ",
			"problem | route | PUT /elsewhere (HTTP API Elsewhere): Charge does not wrap: ",
		}},
		"an archive does not wrap": {func(s *shop) { s.zip("pay.zip", "imports") }, []string{
			"problem | route | ANY / (function URL): Pay does not wrap: ", "problem | route | ANY /* (load balancer, listener Listener): Pay does not wrap: ",
			"problem | route | POST /pay (load balancer, rule Rule): Pay does not wrap: ",
		}},
		"a function is not built": {func(s *shop) {
			require.NoError(s.t, os.RemoveAll(s.path(".aws-sam/build/Search")))
			s.replace("shop.yaml", "POST /search: it only reads", "POST /find: it only reads")
		}, []string{
			"not checked | alarms | Search: nobody knows whether it wraps",
			"warning | metadata | Search: it exempts the route \"POST /find\"",
			"warning | route | " + search + "nobody knows whether Search wraps: it is not built: run sam build first, or name the program with --binary Search=PATH",
		}},
		"an exemption of another route": {func(s *shop) { s.replace("shop.yaml", "POST /search: it only reads", "PUT /search: it only reads") }, []string{
			"problem | route | " + search + "Search does not wrap: ",
			"warning | metadata | Search: it exempts the route \"PUT /search\", and nothing of that name needs it",
		}},
		"a route without a reason": {func(s *shop) { s.replace("shop.yaml", "POST /search: it only reads", `POST /search: " "`) }, []string{
			"problem | metadata | Search: Metadata.Idempotent.Routes.POST /search has no reason, so it counts for nothing", "problem | route | " + search + "Search does not wrap: ",
		}},
		"a route that is just true": {func(s *shop) { s.replace("shop.yaml", "POST /search: it only reads", "POST /search: true") }, []string{
			"problem | metadata | Search: Metadata.Idempotent.Routes.POST /search has no reason", "problem | route | " + search + "Search does not wrap: ",
		}},
		"an exemption without a reason": {func(s *shop) {
			s.replace("shop.yaml", "Exempt: it writes the report of a day over itself", "Exempt: null")
		}, []string{
			"not checked | alarms | Report", "problem | metadata | Report: Metadata.Idempotent.Exempt has no reason",
			"warning | route | POST /report (HTTP API ServerlessHttpApi): nobody knows whether Report wraps: its runtime is python3.14: say in its Metadata what protects it",
		}},
		"an image without a word": {func(s *shop) { s.replace("shop.yaml", "Wraps: the test of the image asks for a replay", `Wraps: ""`) }, []string{
			"not checked | alarms | Ship", "problem | metadata | Ship: Metadata.Idempotent.Wraps has no reason",
			"warning | route | POST /ship (HTTP API ServerlessHttpApi): nobody knows whether Ship wraps: it is an image: name the program in it with --binary Ship=PATH",
		}},
		"a word that is not kept": {func(s *shop) { s.plan.Binaries = map[string]string{"Ship": s.path(".aws-sam/build/Search")} }, []string{
			"problem | metadata | Ship: its Metadata says that it wraps, but ", "problem | route | POST /ship (HTTP API ServerlessHttpApi): Ship does not wrap: ",
		}},
		"a word that is not known": {func(s *shop) { s.replace("shop.yaml", "Exempt: it", "Exempted: it") }, []string{
			"not checked | alarms | Report", "problem | metadata | Report: Metadata.Idempotent.Exempted is not known",
			"warning | route | POST /report (HTTP API ServerlessHttpApi): nobody knows",
		}},
		"an exemption that is no object": {func(s *shop) {
			s.replace("shop.yaml", "Idempotent: {Exempt: it writes the report of a day over itself}", "Idempotent: it writes")
		}, []string{
			"not checked | alarms | Report", "problem | metadata | Report: Metadata.Idempotent is no object", "warning | route | POST /report (HTTP API ServerlessHttpApi): nobody knows",
		}},
		"an exemption that is not needed": {func(s *shop) { s.plan.Binaries = map[string]string{"Report": s.path(".aws-sam/build/Charge")} }, []string{
			"warning | alarms | Report: there is no alarm on BecameUnknown", "warning | alarms | Report: there is no alarm on OpenAttention", "warning | alarms | Report: there is no alarm on StoreError",
			"warning | alarms | Report: there is no alarm on Takeover", "warning | alarms | Report: there is no alarm on Unreadable",
			"warning | metadata | Report: its Metadata exempts it, and it wraps",
		}},
		"a route that is exempt and need not be": {func(s *shop) {
			s.build("Search", "wraps")
			s.replace("shop.yaml", "Parameters:\n", "Metadata: {Idempotent: {Alarms: they are elsewhere}}\nParameters:\n")
		}, []string{"warning | metadata | Search: it exempts the route \"POST /search\", and nothing of that name needs it"}},
		"a program that nobody can read": {func(s *shop) {
			s.write(".aws-sam/build/Search/bootstrap", []byte("#!/bin/sh"))
			s.replace("shop.yaml", "POST /search: it only", "POST /find: it only")
		}, []string{
			"not checked | alarms | Search", "warning | metadata | Search: it exempts the route \"POST /find\"",
			"warning | route | " + search + "nobody knows whether Search wraps: ",
		}},
		"a route to nowhere": {func(s *shop) {
			s.replace("shop.yaml", "IntegrationUri: !GetAtt Charge.Arn", "IntegrationUri: https://example.com")
		}, []string{
			"not checked | route | ANY $default (HTTP API Routed) reaches no function of the template: https://example.com",
			"not checked | route | PUT /charges (HTTP API Routed) reaches no function of the template: https://example.com",
		}},
		"a document elsewhere": {func(s *shop) {
			s.replace("shop.yaml", "DefinitionUri: openapi.json", "DefinitionUri: s3://bucket/openapi.json")
		}, []string{
			"not checked | route | the routes of Elsewhere are in a document that cannot be read here: s3://bucket/openapi.json",
		}},
		"a slow function behind an HTTP API": {func(s *shop) { s.plan.Parameters["Seconds"] = "25" }, []string{
			"problem | queue: visibility timeout | Consume: Orders: messages are invisible for 120 s, which has to be 150 s",
			"problem | queue: visibility timeout | Consume: Returns: messages are invisible for 121 s, which has to be 150 s",
			"problem | timeout and gateway | Charge: HTTP API Elsewhere waits 21 s, and the function may run for 25 s",
			"problem | timeout and gateway | Charge: HTTP API Routed waits 25 s, and the function may run for 25 s",
		}},
		"a slow function behind a load balancer": {func(s *shop) { s.replace("shop.yaml", `Value: "120"`, `Value: "50"`) }, []string{
			"problem | timeout and gateway | Pay: load balancer, listener Listener waits 50 s, and the function may run for 50 s",
			"problem | timeout and gateway | Pay: load balancer, rule Rule waits 50 s, and the function may run for 50 s",
		}},
		"a load balancer as it is": {func(s *shop) {
			s.replace("shop.yaml", `idle_timeout.timeout_seconds, Value: "120"`, `x, Value: "1"`)
			s.replace("shop.yaml", "Timeout: 50", "Timeout: 60")
		}, []string{
			"problem | timeout and gateway | Pay: load balancer, listener Listener waits 60 s", "problem | timeout and gateway | Pay: load balancer, rule Rule waits 60 s",
		}},
		"whole batches of a queue": {func(s *shop) {
			s.replace("shop.yaml", "            FunctionResponseTypes: [ReportBatchItemFailures]\n        Clicks", "        Clicks")
		}, []string{
			"warning | event sources | Consume: Orders: ReportBatchItemFailures is off, so one failed record sends its whole batch again",
		}},
		"whole batches of a stream": {func(s *shop) {
			s.replace("shop.yaml", "FunctionResponseTypes: [ReportBatchItemFailures] # of clicks", "")
		}, []string{
			"warning | event sources | Consume: Clicks: ReportBatchItemFailures is off, so one failed record repeats its whole batch",
		}},
		"whole batches of a table": {func(s *shop) { s.replace("shop.yaml", "[ReportBatchItemFailures] # of changes", "[]") }, []string{
			"warning | event sources | Consume: Outbox: ReportBatchItemFailures is off",
		}},
		"whole batches of a mapping": {func(s *shop) {
			s.replace("shop.yaml", "FunctionResponseTypes: [ReportBatchItemFailures] # of returns", "BatchSize: 1")
		}, []string{
			"warning | event sources | Consume: Returns: ReportBatchItemFailures is off, so a failure that the function answers with is taken for a success",
		}},
		"visible too early": {func(s *shop) { s.replace("shop.yaml", "VisibilityTimeout: 120", "VisibilityTimeout: 119") }, []string{
			"problem | queue: visibility timeout | Consume: Orders: messages are invisible for 119 s, which has to be 120 s",
		}},
		"a timeout that nobody knows": {func(s *shop) {
			s.replace("shop.yaml", "Seconds: {Type: Number, Default: 20}", "Seconds: {Type: AWS::SSM::Parameter::Value<Number>, Default: /shop/seconds}")
		}, []string{
			"not checked | queue: visibility timeout | Consume: Orders: the timeout of the function is not in the template",
			"not checked | queue: visibility timeout | Consume: Returns: the timeout of the function is not in the template",
			"not checked | timeout and gateway | Charge: HTTP API Catch: the timeout of the function is not in the template", "not checked | timeout and gateway | Charge: HTTP API Elsewhere: ",
			"not checked | timeout and gateway | Charge: HTTP API Quick: ", "not checked | timeout and gateway | Charge: HTTP API Routed: ", "not checked | timeout and gateway | Charge: HTTP API ServerlessHttpApi: ",
			"not checked | timeout and gateway | Charge: REST API Described: ", "not checked | timeout and gateway | Charge: REST API Included: ", "not checked | timeout and gateway | Charge: REST API Methods: ",
			"not checked | timeout and gateway | Charge: REST API ServerlessRestApi: ", "not checked | timeout and gateway | Ship: HTTP API ServerlessHttpApi: ",
		}},
		"a timeout of a map that nobody knows": {func(s *shop) {
			s.replace("shop.yaml", "Timeout: 50", "Timeout: !FindInMap [Windows, !Ref AWS::Region, Batch]")
		}, []string{"not checked | timeout and gateway | Pay: load balancer, listener Listener: the timeout", "not checked | timeout and gateway | Pay: load balancer, rule Rule: the timeout"}},
		"a wait of an event that nobody knows": {func(s *shop) {
			s.replace("shop.yaml", "{Path: /charges, Method: post}", "{Path: /charges, Method: post, TimeoutInMillis: !Ref Wait}")
		}, []string{"not checked | timeout and gateway | Charge: nobody knows for how long HTTP API ServerlessHttpApi waits"}},
		"a wait that nobody knows beside one that is too short": {func(s *shop) {
			s.replace("shop.yaml", "{Path: /charges, Method: post}", "{Path: /charges, Method: post, TimeoutInMillis: !Ref Wait}")
			s.replace("shop.yaml", "Events:\n        Charges", "Events:\n        Slow: {Type: HttpApi, Properties: {Path: /slow, Method: post, TimeoutInMillis: 20000}}\n        Charges")
		}, []string{
			"not checked | timeout and gateway | Charge: nobody knows for how long HTTP API ServerlessHttpApi waits",
			"problem | timeout and gateway | Charge: HTTP API ServerlessHttpApi waits 20 s",
		}},
		"a wait of an integration that nobody knows": {func(s *shop) { s.replace("shop.yaml", "TimeoutInMillis: 25000", "TimeoutInMillis: !Ref Wait") }, []string{
			"not checked | timeout and gateway | Charge: nobody knows for how long HTTP API Routed waits",
		}},
		"a load balancer that is not in the template": {func(s *shop) { s.replace("shop.yaml", "LoadBalancerArn: !Ref Balancer", "LoadBalancerArn: !Ref Other") }, []string{
			"not checked | timeout and gateway | Pay: nobody knows for how long load balancer, listener Listener waits", "not checked | timeout and gateway | Pay: nobody knows for how long load balancer, rule Rule waits",
		}},
		"a load balancer of which nobody knows": {func(s *shop) { s.replace("shop.yaml", `Value: "120"`, "Value: !Ref Idle") }, []string{
			"not checked | timeout and gateway | Pay: nobody knows for how long load balancer, listener Listener waits", "not checked | timeout and gateway | Pay: nobody knows for how long load balancer, rule Rule waits",
		}},
		"a batching window that nobody knows": {func(s *shop) {
			s.replace("shop.yaml", "MaximumBatchingWindowInSeconds: !FindInMap [Windows, !Ref Stage, Batch]", "MaximumBatchingWindowInSeconds: !Ref Window")
		}, []string{"not checked | queue: visibility timeout | Consume: Orders: only a deployment knows its MaximumBatchingWindowInSeconds"}},
		"settings of a stream that nobody knows": {func(s *shop) {
			s.replace("shop.yaml", "MaximumRetryAttempts: 5\n            BisectBatchOnFunctionError: true", "MaximumRetryAttempts: !Ref Tries\n            BisectBatchOnFunctionError: !Ref Bisect")
			s.replace("shop.yaml", "[ReportBatchItemFailures] # of clicks", "!Ref Types")
		}, []string{
			"not checked | event sources | Consume: Clicks: only a deployment knows its FunctionResponseTypes",
			"not checked | stream: bisect on error | Consume: Clicks: only a deployment knows its BisectBatchOnFunctionError",
			"not checked | stream: retries | Consume: Clicks: only a deployment knows its MaximumRetryAttempts",
		}},
		"visible after the usual time": {func(s *shop) { s.replace("shop.yaml", `VisibilityTimeout: "121"`, "DelaySeconds: 0") }, []string{
			"problem | queue: visibility timeout | Consume: Returns: messages are invisible for 30 s, which has to be 120 s",
		}},
		"visible too early with a window": {func(s *shop) { s.plan.Parameters["Stage"] = "live" }, []string{
			"problem | queue: visibility timeout | Consume: Orders: messages are invisible for 120 s, which has to be 180 s",
		}},
		"another queue": {func(s *shop) {
			s.replace("shop.yaml", "!GetAtt Returns.Arn", "arn:aws:sqs:eu-central-1:123456789012:returned")
		}, []string{
			"not checked | queue: visibility timeout | Consume: returned: it is not in the template",
		}},
		"no dead-letter queue": {func(s *shop) {
			s.replace("shop.yaml", "RedrivePolicy: {deadLetterTargetArn: !GetAtt OrdersFailures.Arn, maxReceiveCount: 5}", "")
		}, []string{
			"warning | queue: dead-letter queue | Consume: Orders: there is none",
		}},
		"few receives":     {func(s *shop) { s.replace("shop.yaml", "maxReceiveCount: 5", "maxReceiveCount: 4") }, []string{"warning | queue: dead-letter queue | Consume: Orders: maxReceiveCount is 4"}},
		"retries for ever": {func(s *shop) { s.replace("shop.yaml", "MaximumRetryAttempts: 5", "MaximumRetryAttempts: -1") }, []string{"warning | stream: retries | Consume: Clicks: neither"}},
		"no destination": {func(s *shop) {
			s.replace("shop.yaml", "BisectBatchOnFunctionError: true\n            DestinationConfig: {OnFailure: {Destination: !GetAtt OrdersFailures.Arn}}\n        Changes", "BisectBatchOnFunctionError: true\n        Changes")
		}, []string{
			"warning | stream: on-failure destination | Consume: Clicks: there is none",
		}},
		"no bisection": {func(s *shop) {
			s.replace("shop.yaml", "MaximumRecordAgeInSeconds: 900\n            BisectBatchOnFunctionError: true", "MaximumRecordAgeInSeconds: 900")
		}, []string{
			"warning | stream: bisect on error | Consume: Outbox: off",
		}},
		"no alarm": {func(s *shop) {
			s.replace("shop.yaml", "MetricName: StoreError, ActionsEnabled", "MetricName: Mismatch, ActionsEnabled")
		}, []string{"warning | alarms | Charge: there is no alarm on StoreError"}},
		"an alarm that is off": {func(s *shop) { s.replace("shop.yaml", "ActionsEnabled: true", "ActionsEnabled: false") }, []string{"warning | alarms | Charge: there is no alarm on StoreError"}},
		"an alarm on another": {func(s *shop) {
			s.replace("shop.yaml", "MetricName: Unreadable, Dimensions: [{Name: Operation, Value: !Ref Charge}]", "MetricName: Unreadable, Dimensions: [{Name: Operation, Value: !Ref Search}]")
		}, []string{"warning | alarms | Charge: there is no alarm on Unreadable"}},
		"an alarm on no operation": {func(s *shop) {
			s.replace("shop.yaml", "MetricName: BecameUnknown, Dimensions: [{Name: Operation, Value: !Ref Charge}]", "MetricName: BecameUnknown")
		}, []string{"warning | alarms | Charge: there is no alarm on BecameUnknown"}},
		"an alarm on another namespace": {func(s *shop) {
			s.replace("shop.yaml", "Namespace: Idempotent, MetricName: OpenAttention, Dimensions: [{Name: Operation, Value: !Sub", "Namespace: AWS/Lambda, MetricName: OpenAttention, Dimensions: [{Name: Operation, Value: !Sub")
		}, []string{"warning | alarms | Charge: there is no alarm on OpenAttention"}},
		"an operation that is missing from a sum": {func(s *shop) {
			s.replace("shop.yaml", "MetricName: Takeover, Dimensions: [{Name: Operation, Value: consume}]", "MetricName: Takeover, Dimensions: [{Name: Operation, Value: other}]")
		}, []string{"warning | alarms | Consume: there is no alarm on Takeover"}},
		"no alarm on errors":    {func(s *shop) { s.replace("shop.yaml", "MetricName: Errors}", "MetricName: Duration}") }, []string{"warning | alarms | Charge: there is no alarm on Errors", "warning | alarms | Consume: there is no alarm on Errors", "warning | alarms | Pay: there is no alarm on Errors"}},
		"no alarm on throttles": {func(s *shop) { s.replace("shop.yaml", "SUM(Throttles)", "SUM(Invocations)") }, []string{"warning | alarms | Charge: there is no alarm on Throttles", "warning | alarms | Consume: there is no alarm on Throttles", "warning | alarms | Pay: there is no alarm on Throttles"}},
		"no alarm on a queue":   {func(s *shop) { s.replace("shop.yaml", "Value: orders}", "Value: returns}") }, []string{"warning | alarms | Orders: there is no alarm on ApproximateAgeOfOldestMessage"}},
		"no alarm on what is given up": {func(s *shop) {
			s.replace("shop.yaml", "Value: !GetAtt OrdersFailures.QueueName", "Value: !GetAtt Orders.QueueName")
		}, []string{"warning | alarms | OrdersFailures: there is no alarm on ApproximateNumberOfMessagesVisible"}},
		"no alarm on a stream":  {func(s *shop) { s.replace("shop.yaml", "MetricName: IteratorAge", "MetricName: Age") }, []string{"warning | alarms | Consume: there is no alarm on IteratorAge"}},
		"no alarm on an outbox": {func(s *shop) { s.replace("shop.yaml", "MetricName: ParkedMessages", "MetricName: PendingMessages") }, []string{"warning | alarms | Outbox: there is no alarm on ParkedMessages"}},
		"a condition that nobody knows": {func(s *shop) {
			s.replace("shop.yaml", "IsLive: !Equals [!Ref Stage, live]", "IsLive: !Equals [!Ref AWS::Region, eu-central-1]")
			s.plan.Parameters["Slow"] = "true"
			s.plan.Parameters["Seconds"] = "5"
		}, []string{
			"not checked | conditions | these depend on what only a deployment knows, and are taken to hold: IsSlow",
			"problem | queue: visibility timeout | Consume: Orders: ", "problem | queue: visibility timeout | Consume: Returns: ",
			"problem | timeout and gateway | Charge: HTTP API Catch waits 30 s, and the function may run for 60 s", "problem | timeout and gateway | Charge: HTTP API Elsewhere", "problem | timeout and gateway | Charge: HTTP API Quick",
			"problem | timeout and gateway | Charge: HTTP API Routed", "problem | timeout and gateway | Charge: HTTP API ServerlessHttpApi",
			"problem | timeout and gateway | Charge: REST API Described waits 29 s", "problem | timeout and gateway | Charge: REST API Included", "problem | timeout and gateway | Charge: REST API Methods",
			"problem | timeout and gateway | Charge: REST API ServerlessRestApi", "problem | timeout and gateway | Ship: HTTP API ServerlessHttpApi",
		}},
		"a condition that does not hold": {func(s *shop) {
			s.replace("shop.yaml", "  Mapping:\n", "  Mapping:\n    Condition: IsLive\n")
			s.replace("shop.yaml", "  ReturnsAge: {", "  ReturnsAge: {Condition: IsLive, ")
		}, []string{
			"not checked | conditions | IsLive does not hold with these parameters, so these are not looked at: Mapping",
		}},
		"stacks that a condition leaves out": {func(s *shop) {
			s.replace("shop.yaml", "  Clicks:\n    Type: AWS::Kinesis::Stream\n", "  Clicks:\n    Type: AWS::Kinesis::Stream\n  Nested: {Type: AWS::CloudFormation::Stack, Condition: IsLive}\n  Other: {Type: AWS::Serverless::Application, Condition: IsLive}\n")
		}, []string{
			"not checked | conditions | IsLive does not hold with these parameters, so these are not looked at: Nested, Other",
		}},
		"parts that a condition leaves out": {func(s *shop) {
			s.replace("shop.yaml", "      CodeUri: report/\n", "      CodeUri: report/\n      KmsKeyArn: !If [IsLive, !Ref Key, !Ref AWS::NoValue]\n      FunctionUrlConfig: !If [IsLive, {AuthType: NONE}, !Ref AWS::NoValue]\n")
			s.replace("shop.yaml", "        Report: {Type: HttpApi", "        Other: !If [IsTest, !Ref AWS::NoValue, {Type: HttpApi, Properties: {Path: /other, Method: POST}}]\n        Report: {Type: HttpApi")
			s.replace("shop.yaml", "        paths:\n", "        paths:\n          /live: !If [IsLive, {post: {}}, {get: {}}]\n")
			s.replace("openapi.yaml", "paths:\n", "paths:\n  /live: {Fn::If: [IsLive, {post: {}}, {get: {}}]}\n")
			s.replace("shop.yaml", "DefaultActions: [{Type: forward, TargetGroupArn: !Ref Payers}]", "DefaultActions: [!If [IsLive, {Type: redirect}, {Type: forward, TargetGroupArn: !Ref Payers}]]")
			s.replace("shop.yaml", "Globals:\n  Function:\n", "Globals:\n  Function:\n    FunctionUrlConfig: !If [IsLive, {AuthType: NONE}, !Ref AWS::NoValue]\n")
			s.replace("shop.yaml", "Conditions:\n  IsLive", "Conditions:\n  IsTest: !Not [!Condition IsLive]\n  IsLive")
		}, []string{
			"not checked | conditions | IsLive does not hold with these parameters, so these are not looked at: Globals.Function.FunctionUrlConfig, Described.DefinitionBody.paths./live, Listener.DefaultActions, Report.FunctionUrlConfig, openapi.yaml.paths./live",
			"not checked | conditions | IsTest holds with these parameters, so these are not looked at: Report.Events.Other",
		}},
		"transforms that are not known": {func(s *shop) {
			s.replace("shop.yaml", "Transform: AWS::Serverless-2016-10-31", "Transform: [Company, AWS::LanguageExtensions, {Name: AWS::Include, Parameters: {Location: x}}, AWS::Serverless-2016-10-31]")
		}, []string{"not checked | template | the transform AWS::Include is not done", "not checked | template | the transform Company is not done"}},
		"a loop of events": {func(s *shop) {
			s.replace("shop.yaml", "Events:\n        Search: {Type: HttpApi, Properties: {Path: /search, Method: POST}}",
				"Events:\n        Fn::ForEach::Routes: [Name, [a, b], {\"Post${Name}\": {Type: HttpApi, Properties: {Path: /x, Method: POST}}}]\n        Search: {Type: HttpApi, Properties: {Path: /search, Method: POST}}")
		}, []string{"not checked | template | Search.Events has Fn::ForEach::Routes, which is not expanded"}},
		"nothing but a loop of events": {func(s *shop) {
			s.replace("shop.yaml", "Report: {Type: HttpApi, Properties: {Path: /report, Method: POST}}", "Fn::ForEach::Routes: [Name, [a, b], {}]")
		}, []string{"not checked | template | Report.Events has Fn::ForEach::Routes, which is not expanded"}},
		"includes": {func(s *shop) {
			const include = "Fn::Transform: {Name: AWS::Include, Parameters: {Location: s3://b/k}}"
			s.replace("shop.yaml", "Resources:\n  # One", include+"\nResources:\n  # One")
			s.replace("shop.yaml", "Mappings:\n", "Mappings:\n  "+include+"\n")
			s.replace("shop.yaml", "Globals:\n", "Globals:\n  "+include+"\n")
			s.replace("shop.yaml", "Parameters:\n", "Parameters:\n  "+include+"\n")
			s.replace("shop.yaml", "Conditions:\n  Is", "Conditions:\n  "+include+"\n  Is")
			s.replace("shop.yaml", "  Search:\n    Type", "  Search:\n    "+include+"\n    Type")
			s.replace("shop.yaml", "  Catch:\n    Type: AWS::Serverless::HttpApi\n", "  Catch:\n    Type: AWS::Serverless::HttpApi\n    Properties: {"+include+"}\n")
			s.replace("shop.yaml", "      CodeUri: report/\n", "      CodeUri: report/\n      "+include+"\n")
			s.replace("shop.yaml", "  Clicks:\n    Type: AWS::Kinesis::Stream\n", "  Clicks:\n    Type: AWS::Kinesis::Stream\n    Properties: {ShardCount: !Odd 1}\n")
		}, []string{
			"not checked | template | Catch has Fn::Transform, which is not expanded", "not checked | template | Clicks.ShardCount has Fn::Odd, which is not expanded",
			"not checked | template | Conditions has Fn::Transform", "not checked | template | Globals has Fn::Transform", "not checked | template | Mappings has Fn::Transform",
			"not checked | template | Parameters has Fn::Transform", "not checked | template | Report has Fn::Transform", "not checked | template | Search has Fn::Transform",
			"not checked | template | the template has Fn::Transform",
		}},
		"an include in a document": {func(s *shop) {
			s.replace("shop.yaml", "        paths:\n", "        paths:\n          Fn::Transform: {Name: AWS::Include, Parameters: {Location: s3://b/k}}\n")
			s.replace("openapi.yaml", "paths:\n", "paths:\n  Fn::Transform: {Name: AWS::Include, Parameters: {Location: s3://b/k}}\n")
		}, []string{
			"not checked | template | Described.DefinitionBody.paths has Fn::Transform, which is not expanded", "not checked | template | openapi.yaml.paths has Fn::Transform, which is not expanded",
		}},
		"an include beside what a document has": {func(s *shop) {
			s.replace("shop.yaml", "        paths:\n", "        Fn::Transform: {Name: AWS::Include, Parameters: {Location: s3://b/k}}\n        paths:\n")
		}, []string{"not checked | route | the routes of Described are in a document that cannot be read here: s3://b/k"}},
		"a document of a macro": {func(s *shop) {
			s.replace("shop.yaml", "        paths:\n", "        Fn::Transform: {Name: Company}\n        paths:\n")
		}, []string{
			"not checked | route | the routes of Described are in a document that cannot be read here: Company", "not checked | template | Described.DefinitionBody has Fn::Transform",
		}},
		"references to other documents": {func(s *shop) {
			s.replace("shop.yaml", "        paths:\n", "        paths:\n          /a: {$ref: other.yaml}\n          /b: {$ref: other.yaml}\n          /c: {$ref: '#/nothing'}\n          /d: {post: {x-amazon-apigateway-integration: {$ref: integration.yaml}}}\n")
			s.replace("openapi.yaml", "paths:\n", "paths: {$ref: paths.yaml}\nothers:\n")
			s.replace("shop.yaml", "DefinitionUri: openapi.json", "DefinitionBody: !Ref Body")
		}, []string{
			"not checked | route | POST /d (REST API Described) reaches no function of the template: integration.yaml",
			"not checked | route | the routes of Described are in a document that cannot be read here: other.yaml, #/nothing",
			"not checked | route | the routes of Elsewhere are in a document that cannot be read here: ${Body}",
			"not checked | route | the routes of Included are in a document that cannot be read here: paths.yaml",
		}},
		"what is not read": {func(s *shop) {
			s.replace("shop.yaml", "  Clicks:\n    Type: AWS::Kinesis::Stream\n", "  Clicks:\n    Type: AWS::Kinesis::Stream\n  Fn::ForEach::Each: [Name, [a, b], {}]\n  Socket:\n    Type: AWS::ApiGatewayV2::Api\n    Properties: {ProtocolType: WEBSOCKET}\n  Nested:\n    Type: AWS::CloudFormation::Stack\n")
		}, []string{
			"not checked | template | Fn::ForEach::Each is no resource with a type", "not checked | template | Nested is a stack of its own", "not checked | template | Socket is a WebSocket API",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			c.make(s)
			found := wrong(s.examine())
			slices.Sort(found)
			require.Len(t, found, len(c.finds), "%s", strings.Join(found, "\n"))
			for i, begin := range c.finds {
				assert.True(t, strings.HasPrefix(found[i], begin), "%s\n%s", begin, found[i])
			}
			if name == "an archive does not wrap" {
				assert.Contains(t, found[0], bare)
			}
		})
	}
}

// Exemptions of what is asked of queues and alarms have reasons, too.
func TestWhatIsExemptSaysWhy(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.replace("shop.yaml", "VisibilityTimeout: 120", "VisibilityTimeout: 30")
	s.replace("shop.yaml", "FunctionResponseTypes: [ReportBatchItemFailures] # of clicks", "")
	s.replace("shop.yaml", "MetricName: IteratorAge", "MetricName: Age")
	s.replace("shop.yaml", "MetricName: ParkedMessages", "MetricName: PendingMessages")
	s.replace("shop.yaml", "  Outbox:\n    Type: AWS::DynamoDB::Table\n", "  Outbox:\n    Type: AWS::DynamoDB::Table\n    Metadata: {Idempotent: {Alarms: somebody looks each day}}\n")
	s.replace("shop.yaml", "Idempotent: {Operation: consume}",
		"Idempotent: {Operation: consume, Sources: {Orders: they are counted, Clicks: one at a time}, Alarms: {IteratorAge: a board shows it}}")
	findings := s.examine()
	assert.Empty(t, wrong(findings))
	lines := []string{}
	for _, f := range findings {
		lines = append(lines, line(f))
	}
	for _, want := range []string{
		"ok | queue: visibility timeout | Consume: Orders is exempt: they are counted", "ok | event sources | Consume: Clicks is exempt: one at a time",
		"ok | alarms | Consume: IteratorAge is exempt: a board shows it", "ok | alarms | Outbox: ParkedMessages is exempt: somebody looks each day",
	} {
		assert.Contains(t, lines, want)
	}
}

// A query of Metrics Insights is an alarm on the metric that it selects, of what it selects.
func TestAQueryIsAnAlarmOnWhatItSelects(t *testing.T) {
	t.Parallel()
	none := []string{"Charge Takeover", "Charge Throttles", "Consume Throttles", "Pay Throttles"}
	for query, missing := range map[string][]string{
		`SELECT SUM(Throttles) FROM "AWS/Lambda"`:                                                  none[:1],
		`select max( "Throttles" ) from schema("AWS/Lambda", FunctionName) group by x`:             none[:1],
		`SELECT SUM(StoreErrors) FROM "AWS/ApiGateway" GROUP BY ThrottlesAndTakeover`:              none,
		`SELECT SUM(ThrottlesOfAll) FROM "AWS/Lambda"`:                                             none,
		`SELECT SUM(Throttles) FROM "AWS/ApiGateway"`:                                              none,
		`SELECT SUM(Throttles) FROM SCHEMA("AWS/Lambda", FunctionName) WHERE FunctionName = 'pay'`: none[:3],
		`SELECT SUM(Throttles) FROM "AWS/Lambda" WHERE "FunctionName" = '${Charge}'`:               {none[0], none[2], none[3]},
		`SELECT SUM(Throttles) FROM "AWS/Lambda" WHERE FunctionName != 'pay'`:                      {none[0], none[3]},
		`SELECT SUM(Takeover) FROM Shop`:                                                           none[1:],
		`SELECT SUM(Takeover) FROM "The Shop"`:                                                     none[1:],
		`SELECT SUM(Takeover) FROM "AWS/Lambda"`:                                                   none,
		`SELECT SUM(Takeover) FROM Shop WHERE Operation = '${Charge}' AND Stage = 'live'`:          none[1:],
		`SELECT SUM(Takeover) FROM Shop WHERE Operation = 'another'`:                               none,
	} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.replace("shop.yaml", "MetricName: Takeover, Dimensions: [{Name: Operation, Value: !Ref Charge}]", "MetricName: Mismatch")
			s.replace("shop.yaml", `'SELECT SUM(Throttles) FROM "AWS/Lambda"'`, "!Sub '"+strings.ReplaceAll(query, "'", "''")+"'")
			found := []string{}
			for _, text := range wrong(s.examine()) {
				said := regexp.MustCompile(`^warning . alarms . (\w+): there is no alarm on (\w+):`).FindStringSubmatch(text)
				require.NotNil(t, said, text)
				found = append(found, said[1]+" "+said[2])
			}
			assert.ElementsMatch(t, missing, found)
		})
	}
}

// A setting may be written as text, as that of a parameter is.
func TestASettingMayBeText(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.replace("shop.yaml", "MaximumRetryAttempts: 5\n            BisectBatchOnFunctionError: true", "MaximumRetryAttempts: 5\n            BisectBatchOnFunctionError: !Ref Bisect")
	s.replace("shop.yaml", "Parameters:\n", "Parameters:\n  Bisect: {Type: String, Default: \"true\", AllowedValues: [\"true\", \"false\"]}\n")
	assert.Empty(t, wrong(s.examine()))
	s.plan.Parameters["Bisect"] = "false"
	found := wrong(s.examine())
	require.Len(t, found, 1)
	assert.Contains(t, found[0], "warning | stream: bisect on error | Consume: Clicks: off")
}

// Alarms may be in a template of their own.
func TestAlarmsOfATemplateMayBeElsewhere(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.replace("shop.yaml", "MetricName: IteratorAge", "MetricName: Age")
	s.replace("shop.yaml", "Parameters:\n", "Metadata: {Idempotent: {Alarms: they are in monitoring.yaml}}\nParameters:\n")
	assert.Empty(t, wrong(s.examine()))
}

// sam build writes a template beside what it has built.
func TestATemplateThatWasBuiltHasItsPrograms(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	build := s.path(".aws-sam/build")
	content, err := os.ReadFile(s.path("shop.yaml"))
	require.NoError(t, err)
	text := strings.ReplaceAll(string(content), "BuildMethod: makefile", "{BuildMethod: makefile, SamResourceId: some}")
	text = strings.ReplaceAll(text, "    Metadata:\n      {BuildMethod: makefile, SamResourceId: some}", "    Metadata:\n      BuildMethod: makefile\n      SamResourceId: some")
	for _, id := range []string{"Charge", "Search", "Consume"} {
		head, tail, found := strings.Cut(text, "  "+id+":\n    Type: AWS::Serverless::Function\n")
		require.True(t, found, id)
		text = head + "  " + id + ":\n    Type: AWS::Serverless::Function\n" + strings.Replace(tail, "CodeUri: .", "CodeUri: "+id, 1)
	}
	require.NoError(t, os.WriteFile(filepath.Join(build, "template.yaml"), []byte(text), 0o600))
	for _, name := range []string{"pay.zip", "openapi.yaml", "openapi.json"} {
		require.NoError(t, os.Rename(s.path(name), filepath.Join(build, name)))
	}
	s.plan.Template = filepath.Join(build, "template.yaml")
	assert.Empty(t, wrong(s.examine()))
}

// The source of a function is no program of it, even if a program lies there.
func TestWhatLiesInTheSourceIsNotWhatIsBuilt(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.write("bootstrap", s.program("wraps"))
	require.NoError(t, os.RemoveAll(s.path(".aws-sam")))
	s.plan.Build = s.path("elsewhere")
	s.write("elsewhere/Consume/bootstrap", s.program("wraps"))
	found := strings.Join(wrong(s.examine()), "\n")
	assert.Contains(t, found, "nobody knows whether Charge wraps: it is not built")
	assert.NotContains(t, found, "Consume")
	s.plan.Binaries = map[string]string{"Charge": s.path("bootstrap"), "Search": s.path("nothing")}
	found = strings.Join(wrong(s.examine()), "\n")
	assert.NotContains(t, found, "Charge")
}

func TestATemplateIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(s *shop)
		says string
	}{
		"none":              {func(s *shop) { s.plan.Template = s.path("nothing.yaml") }, "the template cannot be read"},
		"no YAML":           {func(s *shop) { s.write("shop.yaml", []byte("a: [")) }, "is no template"},
		"empty":             {func(s *shop) { s.write("shop.yaml", nil) }, "it is empty"},
		"another file":      {func(s *shop) { s.write("shop.yaml", []byte("name: shop")) }, "it has no Resources"},
		"no parameter":      {func(s *shop) { s.plan.Parameters["Fast"] = "true" }, `the template has no parameter "Fast"`},
		"no value":          {func(s *shop) { s.plan.Parameters["Stage"] = "prod" }, `Stage may not be "prod": it is one of [test live]`},
		"no such function":  {func(s *shop) { s.plan.Binaries = map[string]string{"Sell": "."} }, `the template has no function "Sell"`},
		"a name for a list": {func(s *shop) { s.write("shop.yaml", []byte("Resources: [a]")) }, "is no template"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			c.make(s)
			_, err := s.plan.Examine()
			require.ErrorContains(t, err, c.says)
		})
	}
}

// What the guide shows of Metadata is understood, every word of it.
func TestTheMetadataOfTheGuide(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/operate.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "```yaml\nSearchFunction:\n")
	require.True(t, found)
	example, _, _ := strings.Cut(rest, "```")
	s := newShop(t)
	indented := "  SearchFunction:\n"
	for text := range strings.Lines(example) {
		indented += "  " + text
	}
	s.write("shop.yaml", []byte("Resources:\n"+indented))
	lines := wrong(s.examine())
	assert.Contains(t, lines, `warning | metadata | SearchFunction: it exempts the route "POST /search", and nothing of that name needs it`)
	assert.Contains(t, lines, `warning | metadata | SearchFunction: it exempts the source "Clicks", and nothing of that name needs it`)
	assert.Len(t, lines, 8, "and six alarms: %s", strings.Join(lines, "\n"))
	assert.NotContains(t, strings.Join(lines, "\n"), "Takeover")
}
