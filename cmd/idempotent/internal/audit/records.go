package audit

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/doctor"
	"github.com/go-idempotent/idempotent/dynamo"
)

// needed are the actions without which a request fails.
var needed = []string{"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}

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
				a.found("environment", doctor.OK, f.id+": "+name+" is "+table.id)
				a.permissions(f, table.id)
			case name == "" && indexed && f.wraps:
				a.found("environment", doctor.Warning, f.id+": no variable of it names "+table.id+", where records are")
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
		if named(variables[name], "") == table {
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
		a.found("time to live", doctor.Warning,
			table.id+": it is off, so records stay when they have expired, and cost storage")
	case attribute != "expiration":
		a.found("time to live", doctor.Problem,
			fmt.Sprintf("%s: it goes by %q, and records expire by \"expiration\"", table.id, attribute))
	default:
		a.found("time to live", doctor.OK, table.id)
	}
	if !indexed {
		a.found("attention index", doctor.Warning,
			table.id+": there is none, so what somebody has to settle is found by reading the whole table")
	}
}

// alarms looks whether each alarm of the metrics watches the operation of a function of the
// template: by default that is the name of the function.
func (a *audit) alarms(functions []resource) {
	for _, alarm := range a.of("AWS::CloudWatch::Alarm") {
		if alarm.text("Namespace") != "Idempotent" {
			continue
		}
		for _, d := range list(alarm.properties["Dimensions"]) {
			operation := text(at(d, "Value"))
			known := slices.ContainsFunc(functions, func(f resource) bool {
				return named(operation, "") == f.id || operation == f.text("FunctionName")
			})
			if text(at(d, "Name")) == "Operation" && !known {
				a.found("alarm", doctor.Warning, fmt.Sprintf("%s watches the operation %s, which no function here is "+
					"named: unless a handler has WithOperation(%q), it never fires. Let its Value be the !Ref of the function",
					alarm.id, operation, operation))
			}
		}
	}
}

// permissions looks whether the policies of a function allow what every request needs. Their
// conditions are not looked at.
func (a *audit) permissions(f *function, table string) {
	statements, elsewhere := a.statements(f, table)
	missing := slices.DeleteFunc(slices.Clone(needed), func(action string) bool {
		return slices.ContainsFunc(statements, func(s any) bool { return allows(s, action, table) })
	})
	switch {
	case len(missing) == 0:
		a.found("permissions", doctor.OK, f.id+": what every request needs on "+table)
	case elsewhere:
		a.found("permissions", doctor.NotChecked, f.id+": not all of its policies are in the template")
	default:
		a.found("permissions", doctor.Problem,
			fmt.Sprintf("%s: nothing allows %s on %s, so requests fail", f.id, strings.Join(missing, ", "), table))
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
			statements = append(statements, list(at(d, "Statement"))...)
			crud := at(d, "DynamoDBCrudPolicy", "TableName") // a policy template of SAM
			if named(crud, "") == table {
				statements = append(statements,
					map[string]any{"Effect": "Allow", "Action": "dynamodb:*", "Resource": "${" + table + "}"})
			}
			elsewhere = elsewhere || at(d, "Statement") == nil && crud == nil &&
				!strings.Contains(text(d), "AWSLambdaBasicExecutionRole")
		}
	}
	of(f.properties["Policies"])
	if f.text("Role") == "" {
		return statements, elsewhere
	}
	role, inTemplate := a.resources[named(f.properties["Role"], "")]
	of(role.properties["Policies"])
	of(role.properties["ManagedPolicyArns"])
	for _, policy := range a.of("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy") {
		if slices.ContainsFunc(list(policy.properties["Roles"]), func(r any) bool { return named(r, "") == role.id }) {
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
			return text(of) == "*" || named(of, "") == table && !strings.Contains(text(of), "/index/")
		})
}
