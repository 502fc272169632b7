package audit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/audit"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/doctor"
)

// programs are small real ones, built once, by their names: with and without a call of Wrap that
// the linker keeps.
var programs = sync.OnceValues(func() (map[string][]byte, error) {
	folder, err := os.MkdirTemp("", "idempotent-programs")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	build := exec.Command("go", "build", "-o", folder, "-trimpath", "-ldflags", "-s -w", "./testdata/generic",
		"./testdata/unreached", "github.com/go-idempotent/idempotent/examples/"+wraps)
	if out, err := build.CombinedOutput(); err != nil {
		return map[string][]byte{"output": out}, err
	}
	built := map[string][]byte{}
	for _, name := range []string{"generic", "unreached", wraps} {
		if built[name], err = os.ReadFile(filepath.Join(folder, name)); err != nil {
			return nil, err
		}
	}
	return built, nil
})

const wraps = "apigw-charge"

// project is a copy of one of the templates, with what was built of it. A test changes what it is
// about.
type project struct {
	t            *testing.T
	folder, file string
}

func newProject(t *testing.T, template string) *project {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "templates", template))
	require.NoError(t, err)
	p := &project{t: t, folder: t.TempDir(), file: template}
	p.write(template, content)
	return p
}

func (p *project) write(name string, content []byte) {
	p.t.Helper()
	file := filepath.Join(p.folder, name)
	require.NoError(p.t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(p.t, os.WriteFile(file, content, 0o600))
}

// build puts a program somewhere.
func (p *project) build(path, program string) {
	p.t.Helper()
	all, err := programs()
	require.NoError(p.t, err, "%s", all["output"])
	p.write(path, all[program])
}

// replace changes the template. What is replaced has to be there.
func (p *project) replace(old, by string) {
	p.t.Helper()
	content, err := os.ReadFile(filepath.Join(p.folder, p.file))
	require.NoError(p.t, err)
	require.Contains(p.t, string(content), old)
	p.write(p.file, []byte(strings.Replace(string(content), old, by, 1)))
}

// examine returns the findings as lines, those that are fine apart. Folders of the test are left
// out.
func (p *project) examine() (fine, wrong []string) {
	p.t.Helper()
	findings, err := audit.Examine(filepath.Join(p.folder, p.file), "")
	require.NoError(p.t, err)
	for _, f := range findings {
		line := strings.ReplaceAll(f.Check+": "+f.Detail, p.folder+"/", "")
		if f.Result == doctor.OK {
			fine = append(fine, line)
		} else {
			wrong = append(wrong, string(f.Result)+": "+line)
		}
	}
	return fine, wrong
}

func sam(t *testing.T) *project {
	t.Helper()
	p := newProject(t, "sam.yaml")
	p.build(".aws-sam/build/Charge/bootstrap", wraps)
	p.build(".aws-sam/build/Search/bootstrap", "unreached")
	return p
}

func cdk(t *testing.T) *project {
	t.Helper()
	p := newProject(t, "cdk.json")
	p.build("asset.abc/bootstrap", "generic")
	return p
}

func TestNothingIsWrongWithATemplateThatIsRight(t *testing.T) {
	t.Parallel()
	fine, wrong := sam(t).examine()
	assert.Empty(t, wrong)
	assert.Equal(t, []string{
		"template: functions: 3; routes: 7, of which 6 change state",
		"route: POST /charges (HTTP API ServerlessHttpApi): Charge wraps",
		"route: ANY $default (HTTP API Catch): Charge wraps",
		"route: DELETE /charges/{id} (REST API ServerlessRestApi): Charge wraps",
		"route: ANY / (function URL): Charge wraps",
		"route: POST /search (HTTP API ServerlessHttpApi): Search is exempt: it only reads",
		"route: POST /ship (HTTP API ServerlessHttpApi): Ship is exempt: the test of the image asks for a replay",
		"environment: Charge: IDEMPOTENCY_TABLE is Records",
		"permissions: Charge: what every request needs on Records",
		"time to live: Records",
	}, fine)
	fine, wrong = cdk(t).examine()
	assert.Empty(t, wrong)
	assert.Equal(t, []string{
		"template: functions: 1; routes: 4, of which 4 change state",
		"route: ANY / (function URL): Charge wraps",
		"route: ANY $default (HTTP API Http): Charge wraps",
		"route: POST /charges (HTTP API Http): Charge wraps",
		"route: PATCH /charges/{id} (REST API Rest): Charge wraps",
		"environment: Charge: IDEMPOTENCY_TABLE is Records",
		"permissions: Charge: what every request needs on Records",
		"time to live: Records",
	}, fine)
}

// finds checks which findings are not fine, by how they begin.
func (p *project) finds(begins ...string) {
	p.t.Helper()
	_, left := p.examine()
	for _, text := range begins {
		i := slices.IndexFunc(left, func(line string) bool { return strings.HasPrefix(line, text) })
		require.GreaterOrEqual(p.t, i, 0, "%s in %q", text, left)
		left = slices.Delete(left, i, i+1)
	}
	assert.Empty(p.t, left)
}

// Each mistake is found, and changes nothing else.
func TestEachMistakeIsFound(t *testing.T) {
	t.Parallel()
	const (
		search = "route: POST /search (HTTP API ServerlessHttpApi): "
		alarm  = "Alarm: {Type: AWS::CloudWatch::Alarm, Properties: {Namespace: Idempotent, " +
			"Dimensions: [{Name: Operation, Value: "
	)
	elsewhere := func(t *testing.T) *project {
		p := sam(t)
		p.replace("- AWSLambdaBasicExecutionRole", "- arn:aws:iam::1:policy/records")
		return p
	}
	for name, c := range map[string]struct {
		of      func(*testing.T) *project
		old, by string
		finds   []string
	}{
		"a route that is not wrapped": {sam, "Idempotent: {POST /search: it only reads}", "", []string{
			"problem: " + search + "Search does not wrap: .aws-sam/build/Search does not call idempotent.Wrap",
		}},
		"another route is exempt": {sam, "POST /search: it only", "GET /search: it only", []string{
			"problem: " + search + "Search does not wrap",
		}},
		"an exemption without a reason": {sam, "POST /search: it only reads", "POST /search: ''", []string{
			"problem: metadata: Search: its Metadata gives no reason for POST /search", "problem: " + search,
		}},
		"an exemption that nobody knows": {sam, "{POST /search:", "{Routes:", []string{
			"problem: metadata: Search: its Metadata has Routes, which is neither", "problem: " + search,
		}},
		"an alarm of another operation": {sam, "Catch:", alarm + "pay}]}}\n  Catch:", []string{
			`warning: alarm: Alarm watches the operation pay, which no function here is named: unless a handler has ` +
				`WithOperation("pay"), it never fires. Let its Value be the !Ref of the function`,
		}},
		"an alarm of a function": {sam, "Catch:", alarm + "!Ref Charge}]}}\n  Catch:", nil},
		"a missing action": {sam, "dynamodb:UpdateItem", "dynamodb:Query", []string{
			"problem: permissions: Charge: nothing allows dynamodb:UpdateItem on Records, so requests fail",
		}},
		"the index is not the table": {cdk, `"Resource": [{"Fn::GetAtt": ["Records", "Arn"]}, `, `"Resource": [`, []string{
			"problem: permissions: Charge: nothing allows dynamodb:GetItem, dynamodb:PutItem, dynamodb:UpdateItem on Records",
		}},
		"a policy that is elsewhere": {elsewhere, "dynamodb:UpdateItem", "dynamodb:Query", []string{
			"not checked: permissions: Charge: not all of its policies are in the template",
		}},
		"a role that is elsewhere": {
			cdk, `{"Fn::GetAtt": ["ChargeRole", "Arn"]}`, `"arn:aws:iam::1:role/charge"`,
			[]string{"not checked: permissions: Charge"},
		},
		"no variable": {cdk, `"IDEMPOTENCY_TABLE": {"Ref": "Records"}`, "", []string{
			"warning: environment: Charge: no variable of it names Records",
		}},
		"no time to live": {cdk, `"Enabled": true`, `"Enabled": false`, []string{
			"warning: time to live: Records: it is off",
		}},
		"another time to live": {sam, "AttributeName: expiration", "AttributeName: ttl", []string{
			`problem: time to live: Records: it goes by "ttl", and records expire by "expiration"`,
		}},
		"no index": {sam, "attention-index", "other-index", []string{
			"warning: attention index: Records: there is none",
		}},
		"a target that is elsewhere": {
			cdk, `{"Fn::GetAtt": ["Charge", "Arn"]}, "/invocations"`, `"pay", "/invocations"`,
			[]string{"not checked: route: PATCH /charges/{id} (REST API Rest): it reaches no function of the " +
				"template: arn:${AWS::Partition}"},
		},
		"an OpenAPI document": {
			sam, "Catch: {Type: AWS::Serverless::HttpApi}",
			"Catch: {Type: AWS::Serverless::HttpApi, Properties: {DefinitionBody: {openapi: 3.0.1}}}",
			[]string{"not checked: template: the routes of Catch are in an OpenAPI document"},
		},
		"a loop": {sam, "Catch:", "Fn::ForEach::All: [X, [a], {}]\n  Catch:", []string{
			"not checked: template: Fn::ForEach::All is no resource",
		}},
		"a stack of its own": {sam, "Catch:", "Other: {Type: AWS::CloudFormation::Stack}\n  Catch:", []string{
			"not checked: template: Other is a stack of its own",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := c.of(t)
			p.replace(c.old, c.by)
			p.finds(c.finds...)
		})
	}
}

// Nobody has built it, or what is there is a script.
func TestWhetherSomethingElseThanAProgramWrapsNobodyKnows(t *testing.T) {
	t.Parallel()
	p := sam(t)
	require.NoError(t, os.RemoveAll(filepath.Join(p.folder, ".aws-sam/build/Charge")))
	p.finds(slices.Repeat([]string{"warning: route: "}, 4)...)
	p.write(".aws-sam/build/Charge/bootstrap", []byte("#!/bin/sh\n"))
	p.finds(slices.Repeat([]string{"warning: route: "}, 4)...)
}

// The marker is there if and only if Wrap is linked in.
func TestAProgramTellsWhetherItWraps(t *testing.T) {
	t.Parallel()
	for program, is := range map[string]bool{
		"unreached": false, wraps: true, "generic": true,
	} {
		p := cdk(t)
		p.build("asset.abc/bootstrap", program)
		_, wrong := p.examine()
		assert.Equal(t, is, len(wrong) == 0, "%s: %q", program, wrong)
	}
}

func TestATemplateIsRefused(t *testing.T) {
	t.Parallel()
	_, err := audit.Examine("nowhere.yaml", "")
	require.ErrorIs(t, err, os.ErrNotExist)
	p := newProject(t, "sam.yaml")
	file := filepath.Join(p.folder, p.file)
	for _, text := range []string{"", "- a\n", "a: [", "Resources: {}\n", "Resources: []\n", "Resources: 1\n"} {
		p.write(p.file, []byte(text))
		_, err = audit.Examine(file, "")
		require.ErrorContains(t, err, "is no template", text)
	}
}

// What contradicts itself ends.
func TestATemplateMayContradictItself(t *testing.T) {
	t.Parallel()
	p := newProject(t, "sam.yaml")
	p.write(p.file, []byte(`
Resources:
  F: {Type: AWS::Lambda::Function}
  R: {Type: AWS::ApiGateway::Resource, Properties: {ParentId: !Ref R, PathPart: r}}
  M: {Type: AWS::ApiGateway::Method, Properties: {HttpMethod: POST, ResourceId: !Ref R, Integration: {Uri: !Ref F}}}
`))
	_, err := audit.Examine(filepath.Join(p.folder, p.file), "")
	require.NoError(t, err)
}

// The templates of this repository have no problem. Whether their functions wrap only a build
// tells.
func TestTheTemplatesOfTheRepositoryAreFine(t *testing.T) {
	t.Parallel()
	const root = "../../../../"
	seen := 0
	for _, file := range []string{"template.yaml", "examples/orders/template.yaml"} {
		if _, err := os.Stat(root + file); err != nil {
			continue
		}
		seen++
		findings, err := audit.Examine(root+file, t.TempDir())
		require.NoError(t, err)
		routes := 0
		for _, f := range findings {
			assert.NotEqual(t, doctor.Problem, f.Result, "%s: %s: %s", file, f.Check, f.Detail)
			if f.Check == "route" {
				routes++
			}
		}
		assert.Positive(t, routes, file)
	}
	assert.Positive(t, seen)
}
