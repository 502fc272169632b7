// Package deploy tests that what deploys the library agrees with the library: the templates of SAM,
// the module of Terraform, and the pages have the table of dynamo.TableDefinition and the actions
// of dynamo.Actions, and functions may do what their code calls, and no more.
package deploy_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/outbox"
)

// definition is a table with one index, in the words of DynamoDB, which are those of
// CloudFormation: BillingMode, AttributeDefinitions, KeySchema, GlobalSecondaryIndexes,
// TimeToLiveSpecification and, of one that has it, StreamSpecification.
type definition = map[string]any

// records is the table of the records, and messages that of an outbox, as the library defines them.
func records() definition {
	return of(dynamo.TableDefinition("idempotency"), dynamo.TimeToLiveDefinition("idempotency"))
}

func messages() definition {
	return of(outbox.TableDefinition("outbox"), outbox.TimeToLiveDefinition("outbox"))
}

func of(in *dynamodb.CreateTableInput, ttl *dynamodb.UpdateTimeToLiveInput) (d definition) {
	for _, part := range []any{in, ttl} {
		text, err := json.Marshal(part)
		if err == nil {
			err = json.Unmarshal(text, &d)
		}
		if err != nil {
			panic(err) // inputs have a JSON form
		}
	}
	delete(d, "TableName")
	if stream, is := d["StreamSpecification"].(map[string]any); is {
		delete(stream, "StreamEnabled") // who names its view has one
	}
	return set(d).(definition)
}

// set is a value without members that are null, or empty texts.
func set(value any) any {
	switch value := value.(type) {
	case map[string]any:
		maps.DeleteFunc(value, func(_ string, v any) bool { return v == "" || set(v) == nil })
	case []any:
		for _, element := range value {
			set(element)
		}
	}
	return value
}

// The templates of SAM, read as plain YAML: a function such as !Ref Table is the text Table.
const (
	paymentTemplate = "../../template.yaml"
	ordersTemplate  = "../../examples/orders/template.yaml"
)

type resource struct {
	Type       string         `yaml:"Type"`
	Deletion   string         `yaml:"DeletionPolicy"`
	Replace    string         `yaml:"UpdateReplacePolicy"`
	Properties map[string]any `yaml:"Properties"`
}

// readTemplate returns the resources of a template.
func readTemplate(t *testing.T, content string) map[string]resource {
	t.Helper()
	var parsed struct {
		Resources map[string]resource `yaml:"Resources"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(content), &parsed))
	require.NotEmpty(t, parsed.Resources)
	return parsed.Resources
}

// at is the value at the end of a path of member names and list indices, nil if there is none.
func at(value any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[step]
		case int:
			all, _ := value.([]any)
			if step >= len(all) {
				return nil
			}
			value = all[step]
		}
	}
	return value
}

func text(value any, path ...any) string {
	s, _ := at(value, path...).(string)
	return s
}

func list(value any, path ...any) []any {
	all, _ := at(value, path...).([]any)
	return all
}

func number(value any, path ...any) int {
	n, _ := at(value, path...).(int)
	return n
}

func texts(value any, path ...any) (all []string) {
	for _, e := range list(value, path...) {
		all = append(all, text(e))
	}
	return all
}

// table is the definition of a table of a template.
func (r resource) table() definition {
	d := maps.Clone(r.Properties)
	delete(d, "DeletionProtectionEnabled")
	delete(d, "PointInTimeRecoverySpecification")
	return d
}

// statements are those of the policies of a function: what each allows, and under which condition.
func (r resource) statements() (all []statement) {
	for _, p := range list(r.Properties, "Policies") {
		for _, s := range list(p, "Statement") {
			all = append(all, statement{several(s, "Action"), several(s, "Resource"), at(s, "Condition")})
		}
	}
	return all
}

// statement is one of a policy. A list of one element and its element are the same.
type statement struct {
	actions, resources []string
	condition          any
}

func several(value any, name string) []string {
	if one := text(value, name); one != "" {
		return []string{one}
	}
	return texts(value, name)
}

// keysOf is the condition that allows keys of an operation, and no request without keys.
func keysOf(operation string) any {
	return map[string]any{
		"ForAllValues:StringLike": map[string]any{"dynamodb:LeadingKeys": operation + "#*"},
		"Null":                    map[string]any{"dynamodb:LeadingKeys": "false"},
	}
}

// transacted is the condition that allows an action as an item of a transaction only.
func transacted() any {
	return map[string]any{
		"ForAnyValue:StringEquals": map[string]any{"dynamodb:EnclosingOperation": "TransactWriteItems"},
	}
}
