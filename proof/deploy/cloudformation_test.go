package deploy_test

import (
	"maps"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

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
func readTemplate(t *testing.T, file string) map[string]resource {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	return parseTemplate(t, content)
}

func parseTemplate(t *testing.T, content []byte) map[string]resource {
	t.Helper()
	var parsed struct {
		Resources map[string]resource `yaml:"Resources"`
	}
	require.NoError(t, yaml.Unmarshal(content, &parsed))
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
	for _, other := range []string{
		"TableName", "DeletionProtectionEnabled", "PointInTimeRecoverySpecification",
		"Tags",
	} {
		delete(d, other)
	}
	return d
}

// statement is one of a policy. A list of one element and its element are the same.
type statement struct {
	actions, resources []string
	conditions         any
}

// statements are those of the policies of a function.
func (r resource) statements() (all []statement) {
	for _, p := range list(r.Properties, "Policies") {
		for _, s := range list(p, "Statement") {
			all = append(all, statement{several(s, "Action"), several(s, "Resource"), at(s, "Condition")})
		}
	}
	return all
}

func several(value any, name string) []string {
	if one := text(value, name); one != "" {
		return []string{one}
	}
	return texts(value, name)
}

// keysOf is the condition that allows keys of an operation, and no request without keys.
func keysOf(pattern string) map[string]any {
	return map[string]any{
		"ForAllValues:StringLike": map[string]any{"dynamodb:LeadingKeys": pattern},
		"Null":                    map[string]any{"dynamodb:LeadingKeys": "false"},
	}
}
