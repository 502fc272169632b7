package stack

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// longForm rewrites the short form of intrinsic functions, "!Sub text", into the long one, {"Fn::Sub": text}. See
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/intrinsic-function-reference.html.
func longForm(n *yaml.Node) error {
	for _, child := range n.Content {
		if err := longForm(child); err != nil {
			return err
		}
	}
	if !strings.HasPrefix(n.Tag, "!") || strings.HasPrefix(n.Tag, "!!") {
		return nil
	}
	name := strings.TrimPrefix(n.Tag, "!")
	argument := *n
	argument.Tag = ""
	switch name {
	case functionRef, functionCondition:
	case "Sub", "If", "Equals", "Not", "And", "GetAtt":
		name = "Fn::" + name
	default:
		return fmt.Errorf("line %d: the function !%s is not known", n.Line, name)
	}
	key := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}
	*n = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{&key, &argument}, Line: n.Line}
	return nil
}
