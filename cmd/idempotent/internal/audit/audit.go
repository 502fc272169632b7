package audit

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/doctor"
	"github.com/go-idempotent/idempotent/dynamo"
)

// audit is one look at a template.
type audit struct {
	*template

	build     string
	functions map[string]*function
	findings  doctor.Findings
}

// Examine makes all checks on the template in a file. It looks for programs in the folder build, by
// default .aws-sam/build beside the template. An error says that there is nothing to check.
func Examine(file, build string) (doctor.Findings, error) {
	t, err := read(file)
	if err != nil {
		return nil, err
	}
	a := &audit{
		template: t, build: cmp.Or(build, filepath.Join(t.folder, ".aws-sam", "build")),
		functions: map[string]*function{},
	}
	all, changing := t.routes()
	functions := t.of(kindServerless, kindFunction)
	a.found("template", doctor.OK, "functions: %d; routes: %d, of which %d change state", len(functions), all,
		len(changing))
	for _, text := range t.unread {
		a.found("template", doctor.NotChecked, "%s", text)
	}
	for _, f := range functions {
		a.functions[f.id] = a.look(f)
	}
	for _, r := range changing {
		a.route(r)
	}
	a.records(changing)
	a.alarms(functions)
	return a.findings, nil
}

// found adds what came of a check, once. Its detail is a format.
func (a *audit) found(check string, r doctor.Result, detail string, args ...any) {
	before := a.findings
	a.findings.Found(check, r, detail, args...)
	if slices.Contains(before, a.findings[len(before)]) {
		a.findings = before
	}
}

// function is a function of the template, with what is known of its program.
type function struct {
	resource

	// wraps and seen say whether the program wraps, and whether there is one. program says where it
	// is, or why there is none.
	wraps, seen bool
	program     string
	// exempt is why routes of the function need not wrap, by route, and under [everything] for all.
	// The Metadata of the function says that:
	//
	//	Metadata:
	//	  Idempotent:
	//	    Exempt: its image is built from ./orders, which wraps
	//	    DELETE /orders/{id}: who deletes twice has deleted
	exempt map[string]string
}

const everything = "EXEMPT"

func (a *audit) look(r resource) *function {
	f := &function{resource: r, exempt: map[string]string{}}
	path, is, err := a.program(r)
	switch {
	case err == nil:
		f.seen, f.wraps, f.program = true, is, path
	case errors.Is(err, fs.ErrNotExist):
		f.program = "its program is not here: build it first, or say in its Metadata why it is exempt"
	default:
		f.program = err.Error()
	}
	said, _ := r.metadata["Idempotent"].(map[string]any)
	for _, name := range sorted(said) {
		route, why := strings.ToUpper(name), strings.TrimSpace(text(said[name]))
		f.exempt[route] = why
		switch {
		case route != everything && !strings.Contains(route, " /"):
			a.found("metadata", doctor.Problem,
				"%s: its Metadata has %s, which is neither Exempt nor a route such as POST /charges", r.id, name)
		case why == "":
			a.found("metadata", doctor.Problem, "%s: its Metadata gives no reason for %s, so it counts for nothing",
				r.id, name)
		}
	}
	return f
}

// exempts is why a route need not be wrapped, empty if it has to be, or if the function wraps.
func (f *function) exempts(r route) string {
	if f.wraps {
		return ""
	}
	return cmp.Or(f.exempt[strings.ToUpper(r.method+" "+r.path)], f.exempt[everything])
}

// route says what protects a route that changes state.
func (a *audit) route(r route) {
	name := fmt.Sprintf("%s %s (%s): ", r.method, r.path, r.gateway)
	f := a.functions[r.function]
	if f == nil {
		a.found("route", doctor.NotChecked, "%sit reaches no function of the template: %s", name, r.target)
		return
	}
	switch why := f.exempts(r); {
	case f.wraps:
		a.found("route", doctor.OK, "%s%s wraps", name, f.id)
	case why != "":
		a.found("route", doctor.OK, "%s%s is exempt: %s", name, f.id, why)
	case f.seen:
		a.found("route", doctor.Problem, "%s%s does not wrap: %s does not call idempotent.Wrap", name, f.id, f.program)
	default:
		a.found("route", doctor.Warning, "%snobody knows whether %s wraps: %s", name, f.id, f.program)
	}
}

// marker is the text that idempotent.Wrap leaves in a program. It is put together here, so that
// this program does not have it.
var marker = []byte(strings.Join([]string{
	"github.com/go-idempotent/idempotent:", "this", "program", "calls", "Wrap", "(7H2QXVT4KZ6M)",
}, " "))

// wraps reports whether idempotent.Wrap is linked into the program at a path, which may be that of
// its folder. The error is fs.ErrNotExist if there is nothing, and another one for what is no
// program of Go, of which nobody knows.
func wraps(path string) (bool, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "bootstrap") // so Lambda's runtimes call it
	}
	content, err := os.ReadFile(path) //nolint:gosec // the template names it, and the user the template
	if err != nil || bytes.Contains(content, marker) {
		return err == nil, err
	}
	// In another program the absence of the marker says nothing: it may be compressed, or a script
	// that starts the program.
	if _, err := buildinfo.Read(bytes.NewReader(content)); err != nil {
		return false, fmt.Errorf("%s is no program of Go that can be read", path)
	}
	return false, nil
}

// program looks where a program may be: where SAM builds it, and where the template or CDK has it.
func (a *audit) program(f resource) (path string, is bool, err error) {
	path = filepath.Join(a.build, f.id)
	if is, err = wraps(path); !errors.Is(err, fs.ErrNotExist) {
		return path, is, err
	}
	code := text(f.metadata["aws:asset:path"]) // of CDK
	for _, property := range []string{"Code", "CodeUri"} {
		if local, is := f.properties[property].(string); is && f.metadata["BuildMethod"] == nil {
			code = local // what is built by a method is not where its source is
		}
	}
	if code == "" || strings.ContainsAny(code, "$:") {
		return path, false, fs.ErrNotExist
	}
	if !filepath.IsAbs(code) {
		code = filepath.Join(a.folder, code)
	}
	is, err = wraps(code)
	return code, is, err
}

// records looks at the tables that have the index of records, or that a function finds in a
// variable named like IDEMPOTENCY_TABLE. The functions behind routes that change state need them.
func (a *audit) records(changing []route) {
	for _, table := range a.of("AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable") {
		indexed := slices.ContainsFunc(list(table.properties["GlobalSecondaryIndexes"]), func(index any) bool {
			return text(at(index, "IndexName")) == dynamo.AttentionIndex
		})
		used := false
		for _, r := range changing {
			f := a.functions[r.function]
			if f == nil || f.exempts(r) != "" || f.seen && !f.wraps {
				continue
			}
			switch name := f.names(table.id); {
			case name != "" && (indexed || strings.Contains(name, "IDEMPOTENCY")):
				used = true
				a.found("environment", doctor.OK, "%s: %s is %s", f.id, name, table.id)
				a.permissions(f, table.id)
			case name == "" && indexed && f.wraps:
				a.found("environment", doctor.Warning, "%s: no variable of it names %s, where records are", f.id, table.id)
			}
		}
		if indexed || used {
			a.table(table, indexed)
		}
	}
}

// names is the variable of the function that names a table, empty if none does.
func (f *function) names(table string) string {
	variables, _ := at(f.properties, "Environment", "Variables").(map[string]any)
	for _, name := range sorted(variables) {
		if named(variables[name]) == table {
			return name
		}
	}
	return ""
}

// table looks at time to live and at the index.
func (a *audit) table(table resource, indexed bool) {
	attribute := table.text("TimeToLiveSpecification", "AttributeName")
	switch {
	case table.text("TimeToLiveSpecification", "Enabled") != "true":
		a.found("time to live", doctor.Warning, "%s: it is off, so records stay when they have expired, and cost storage",
			table.id)
	case attribute != "expiration":
		a.found("time to live", doctor.Problem, "%s: it goes by %q, and records expire by \"expiration\"", table.id,
			attribute)
	default:
		a.found("time to live", doctor.OK, "%s", table.id)
	}
	if !indexed {
		a.found("attention index", doctor.Warning,
			"%s: there is none, so what somebody has to settle is found by reading the whole table", table.id)
	}
}

// alarms looks whether each alarm of the metrics watches the operation of a function of the
// template: by default that is the name of the function.
func (a *audit) alarms(functions []resource) {
	for _, alarm := range a.of("AWS::CloudWatch::Alarm") {
		for _, d := range list(alarm.properties["Dimensions"]) {
			operation := text(at(d, "Value"))
			known := slices.ContainsFunc(functions, func(f resource) bool {
				return named(operation) == f.id || operation == f.text("FunctionName")
			})
			if alarm.text("Namespace") == "Idempotent" && text(at(d, "Name")) == "Operation" && !known {
				a.found("alarm", doctor.Warning, "%s watches the operation %s, which no function here is named: unless "+
					"a handler has WithOperation(%q), it never fires. Let its Value be the !Ref of the function",
					alarm.id, operation, operation)
			}
		}
	}
}

// permissions looks whether the policies of a function allow what every request needs. Their
// conditions are not looked at.
func (a *audit) permissions(f *function, table string) {
	statements, elsewhere := a.statements(f, table)
	needed := []string{"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}
	missing := slices.DeleteFunc(needed, func(action string) bool {
		return slices.ContainsFunc(statements, func(s any) bool { return allows(s, action, table) })
	})
	switch {
	case len(missing) == 0:
		a.found("permissions", doctor.OK, "%s: what every request needs on %s", f.id, table)
	case elsewhere:
		a.found("permissions", doctor.NotChecked, "%s: not all of its policies are in the template", f.id)
	default:
		a.found("permissions", doctor.Problem, "%s: nothing allows %s on %s, so requests fail", f.id,
			strings.Join(missing, ", "), table)
	}
}

// statements are those of all policies of a function, as far as they are in the template. elsewhere
// says that others are not.
func (a *audit) statements(f *function, table string) (statements []any, elsewhere bool) {
	of := func(documents any) {
		for _, d := range list(documents) {
			if inside := at(d, "PolicyDocument"); inside != nil {
				d = inside
			}
			crud := at(d, "DynamoDBCrudPolicy", "TableName") // a policy template of SAM
			if named(crud) == table {
				allowed := map[string]any{"Effect": "Allow", "Action": "dynamodb:*", "Resource": crud}
				d = map[string]any{"Statement": allowed}
			}
			statements = append(statements, list(at(d, "Statement"))...)
			elsewhere = elsewhere || at(d, "Statement") == nil && crud == nil &&
				!strings.Contains(text(d), "AWSLambdaBasicExecutionRole")
		}
	}
	of(f.properties["Policies"])
	if f.text("Role") == "" {
		return statements, elsewhere
	}
	role, inTemplate := a.resources[named(f.properties["Role"])]
	of(role.properties["Policies"])
	of(role.properties["ManagedPolicyArns"])
	for _, policy := range a.of("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy") {
		if slices.ContainsFunc(list(policy.properties["Roles"]), func(r any) bool { return named(r) == role.id }) {
			of(policy.properties)
		}
	}
	return statements, elsewhere || !inTemplate
}

// allows reports whether a statement allows an action on a table.
func allows(statement any, action, table string) bool {
	return text(at(statement, "Effect")) == "Allow" &&
		slices.ContainsFunc(list(at(statement, "Action")), func(pattern any) bool {
			is, err := path.Match(strings.ToLower(text(pattern)), strings.ToLower(action))
			return is && err == nil
		}) &&
		slices.ContainsFunc(list(at(statement, "Resource")), func(of any) bool {
			return text(of) == "*" || named(of) == table && !strings.Contains(text(of), "/index/")
		})
}
