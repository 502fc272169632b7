package deploy_test

import (
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/stretchr/testify/require"
	"github.com/zclconf/go-cty/cty"
)

const terraformModule = "../../deploy/terraform/main.tf"

// terraform are the blocks of a text of Terraform, by type and labels, such as "resource
// aws_dynamodb_table records".
type terraform map[string]block

// block is one, as plain values: an attribute is a text, a number, a bool or a list of these, and
// what needs something to be known is left as it is written. Blocks in it are a list under their
// type.
type block = map[string]any

func readModule(t *testing.T) (terraform, string) {
	t.Helper()
	module, err := os.ReadFile(terraformModule)
	require.NoError(t, err)
	return parseTerraform(t, module), string(module)
}

func parseTerraform(t *testing.T, content []byte) terraform {
	t.Helper()
	file, problems := hclparse.NewParser().ParseHCL(content, "main.tf")
	require.False(t, problems.HasErrors(), problems.Error())
	all := terraform{}
	for _, b := range file.Body.(*hclsyntax.Body).Blocks {
		all[strings.Join(append([]string{b.Type}, b.Labels...), " ")] = plainBlock(content, b.Body)
	}
	return all
}

func plainBlock(content []byte, b *hclsyntax.Body) block {
	all := block{}
	for name, a := range b.Attributes {
		all[name] = plainValue(content, a.Expr)
	}
	for _, inner := range b.Blocks {
		list, _ := all[inner.Type].([]any)
		all[inner.Type] = append(list, plainBlock(content, inner.Body))
	}
	return all
}

func plainValue(content []byte, e hcl.Expression) any {
	if elements, problems := hcl.ExprList(e); !problems.HasErrors() {
		list := make([]any, len(elements))
		for i, element := range elements {
			list[i] = plainValue(content, element)
		}
		return list
	}
	v, problems := e.Value(nil)
	switch {
	case !problems.HasErrors() && v.Type() == cty.String:
		return v.AsString()
	case !problems.HasErrors() && v.Type() == cty.Bool:
		return v.True()
	case !problems.HasErrors() && v.Type() == cty.Number:
		n, _ := v.AsBigFloat().Int64()
		return int(n)
	default:
		return string(e.Range().SliceBytes(content))
	}
}

// table is the definition of a table of Terraform.
func (all terraform) table(name string) definition {
	b := all["resource aws_dynamodb_table "+name]
	key := func(name any, kind string) any { return map[string]any{"AttributeName": name, "KeyType": kind} }
	i, attributes := at(b, "global_secondary_index", 0), []any{}
	for _, a := range list(b, "attribute") {
		attributes = append(attributes, map[string]any{"AttributeName": at(a, "name"), "AttributeType": at(a, "type")})
	}
	d := definition{
		"BillingMode": at(b, "billing_mode"), "AttributeDefinitions": attributes,
		"KeySchema": []any{key(at(b, "hash_key"), "HASH")},
		"GlobalSecondaryIndexes": []any{map[string]any{
			"IndexName": at(i, "name"), "KeySchema": []any{
				key(at(i, "hash_key"), "HASH"),
				key(at(i, "range_key"), "RANGE"),
			},
			"Projection": map[string]any{
				"ProjectionType": at(i, "projection_type"), "NonKeyAttributes": at(i, "non_key_attributes"),
			},
		}},
		"TimeToLiveSpecification": map[string]any{
			"AttributeName": at(b, "ttl", 0, "attribute_name"), "Enabled": at(b, "ttl", 0, "enabled"),
		},
	}
	if at(b, "stream_enabled") == true {
		d["StreamSpecification"] = map[string]any{"StreamViewType": at(b, "stream_view_type")}
	}
	return d
}

// statements are those of the policy document of the function.
func (all terraform) statements() (found []statement) {
	for _, s := range list(all["data aws_iam_policy_document function"], "statement") {
		conditions := map[string]any{}
		for _, c := range list(s, "condition") {
			conditions[text(c, "test")] = map[string]any{text(c, "variable"): strings.Join(texts(c, "values"), ", ")}
		}
		found = append(found, statement{texts(s, "actions"), texts(s, "resources"), conditions})
	}
	return found
}
