package sam

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// longForm rewrites the short form of intrinsic functions, "!Sub text", into the long one, {"Fn::Sub": text}. See
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/intrinsic-function-reference.html.
func longForm(n *yaml.Node) {
	for _, child := range n.Content {
		longForm(child)
	}
	if !strings.HasPrefix(n.Tag, "!") || strings.HasPrefix(n.Tag, "!!") {
		return
	}
	name := strings.TrimPrefix(n.Tag, "!")
	if name != functionRef && name != functionCondition {
		name = "Fn::" + name
	}
	argument := *n
	argument.Tag, argument.Anchor = "", ""
	if argument.Kind == yaml.ScalarNode {
		argument.Tag = "!!str"
	}
	key := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}
	*n = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{&key, &argument}, Line: n.Line, Anchor: n.Anchor}
}
