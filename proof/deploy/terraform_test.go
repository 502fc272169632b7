package deploy_test

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/stretchr/testify/require"
	"github.com/zclconf/go-cty/cty"
)

const terraformModule = "../../deploy/terraform/main.tf"

// blocks are the blocks of a file of Terraform, by type and labels, such as "resource
// aws_dynamodb_table records".
func blocks(t *testing.T, content []byte) map[string]*hclsyntax.Block {
	t.Helper()
	file, problems := hclparse.NewParser().ParseHCL(content, "main.tf")
	require.False(t, problems.HasErrors(), problems.Error())
	all := map[string]*hclsyntax.Block{}
	body, _ := file.Body.(*hclsyntax.Body)
	for _, b := range body.Blocks {
		name := b.Type
		for _, label := range b.Labels {
			name += " " + label
		}
		all[name] = b
	}
	return all
}

// literal is the text of an attribute that needs nothing to be known, and else the name that it
// refers to.
func literal(b *hclsyntax.Block, name string) string {
	a, found := b.Body.Attributes[name]
	if !found {
		return ""
	}
	if v, problems := a.Expr.Value(nil); !problems.HasErrors() && v.Type() == cty.String {
		return v.AsString()
	}
	for _, v := range a.Expr.Variables() {
		return v.RootName()
	}
	return ""
}

// literals are the texts of a list. A text that needs something to be known is left as it is
// written.
func literals(content []byte, b *hclsyntax.Block, name string) (all []string) {
	a, found := b.Body.Attributes[name]
	if !found {
		return nil
	}
	expressions, problems := hcl.ExprList(a.Expr)
	if problems.HasErrors() {
		return nil
	}
	for _, e := range expressions {
		if v, problems := e.Value(nil); !problems.HasErrors() {
			all = append(all, v.AsString())
		} else {
			all = append(all, string(e.Range().SliceBytes(content)))
		}
	}
	return all
}

// within are the blocks of a type in another one.
func within(b *hclsyntax.Block, kind string) (found []*hclsyntax.Block) {
	for _, inner := range b.Body.Blocks {
		if inner.Type == kind {
			found = append(found, inner)
		}
	}
	return found
}

// terraformTable is the definition of a table of Terraform.
func terraformTable(t *testing.T, content []byte, b *hclsyntax.Block) definition {
	t.Helper()
	require.NotNil(t, b)
	i, ttl := within(b, "global_secondary_index"), within(b, "ttl")
	require.Len(t, i, 1)
	require.Len(t, ttl, 1)
	on, problems := ttl[0].Body.Attributes["enabled"].Expr.Value(nil)
	require.False(t, problems.HasErrors())
	require.True(t, on.True())
	d := definition{
		BillingMode: literal(b, "billing_mode"), Key: literal(b, "hash_key"), Stream: literal(b, "stream_view_type"),
		TimeToLive: literal(ttl[0], "attribute_name"),
		Index: index{
			Name: literal(i[0], "name"), Hash: literal(i[0], "hash_key"), Range: literal(i[0], "range_key"),
			Projection: literal(i[0], "projection_type"), Includes: literals(content, i[0], "non_key_attributes"),
		},
	}
	for _, a := range within(b, "attribute") {
		d.Attributes = append(d.Attributes, attribute{literal(a, "name"), literal(a, "type")})
	}
	return d
}

// terraformPolicy is the only statement of the policy document of the function.
func terraformPolicy(t *testing.T, content []byte, b *hclsyntax.Block) statement {
	t.Helper()
	require.NotNil(t, b)
	all := within(b, "statement")
	require.Len(t, all, 1)
	conditions := map[string]any{}
	for _, c := range within(all[0], "condition") {
		values := literals(content, c, "values")
		require.Len(t, values, 1)
		conditions[literal(c, "test")] = map[string]any{literal(c, "variable"): values[0]}
	}
	return statement{literals(content, all[0], "actions"), literals(content, all[0], "resources"), conditions}
}
