package stack_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/stack"
)

// parsed is the stack of a template without parameters.
func parsed(t *testing.T, text string) *stack.Stack {
	t.Helper()
	template, err := read(t, text)
	require.NoError(t, err)
	s, err := template.Stack("s", nil)
	require.NoError(t, err)
	return s
}

func read(t *testing.T, text string) (*stack.Template, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "template.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return stack.Read(file)
}

const small = `
Parameters:
  Size: {Default: -1, Type: Number}
  Kind: {Default: a, AllowedValues: [a, b]}
  Url: {Default: "", AllowedPattern: "^(https://.+)?$"}
Rules:
  SomeNeedOthers:
    RuleCondition: !Equals [!Ref Kind, b]
    Assertions:
      - {Assert: !Not [!Equals [!Ref Url, ""]], AssertDescription: b needs a Url}
Conditions:
  Sized: !Not [!Equals [!Ref Size, -1]]
  Both: !And [!Condition Sized, !Equals [!Ref Kind, b]]
Resources:
  Group: {Type: "AWS::Logs::LogGroup", Properties: {LogGroupName: !Sub "/${AWS::StackName}/${Kind}"}}
  Other:
    Type: Some
    Condition: Both
    Properties: {Size: !Ref Size}
  Thing:
    Type: Some
    Properties:
      Name: !Ref Group
      Arn: !GetAtt Group.Arn
      Gone: !If [Sized, x, !Ref AWS::NoValue]
      Text: !Sub ["${A}-${Group}-${Group.Arn}-${Other}", {A: !If [Sized, !Ref Size, none]}]
      On: true
      List: [1, !If [Sized, 2, !Ref AWS::NoValue]]
      Stage: !Ref Api.Stage
  Api: {Type: "AWS::Serverless::Api", Properties: {StageName: live}}
Outputs:
  Name: {Value: !Ref Group}
  Size: {Condition: Sized, Value: !Ref Size}
`

func TestTemplateIsResolved(t *testing.T) {
	t.Parallel()
	template, err := read(t, small)
	require.NoError(t, err)

	s, err := template.Stack("s", nil)
	require.NoError(t, err)
	require.NotContains(t, s.Resources, "Other")
	require.Equal(t, map[string]any{
		"Name": "/s/a", "Arn": "${Group.Arn}", "Text": "none-/s/a-${Group.Arn}-${Other}", "On": true, "List": []any{1}, "Stage": "live",
	}, s.Resources["Thing"].Properties)
	require.Equal(t, map[string]string{"Name": "/s/a"}, s.Outputs)

	s, err = template.Stack("s", map[string]string{"Size": "7", "Kind": "b", "Url": "https://x"})
	require.NoError(t, err)
	require.Equal(t, "7", s.Resources["Other"].At("Size"))
	require.Equal(t, 2, s.Resources["Thing"].At("List", 1))
	require.Nil(t, s.Resources["Thing"].At("List", 2))
	require.Equal(t, "7-/s/b-${Group.Arn}-${Other}", s.Resources["Thing"].At("Text"))
	require.Len(t, s.Of("Some"), 2)
	require.Equal(t, map[string]string{"Name": "/s/b", "Size": "7"}, s.Outputs)
}

func TestParametersThatTheTemplateRefuses(t *testing.T) {
	t.Parallel()
	template, err := read(t, small)
	require.NoError(t, err)
	for _, c := range []struct {
		parameters map[string]string
		problem    string
	}{
		{map[string]string{"Sise": "7"}, "there is no parameter Sise"},
		{map[string]string{"Kind": "c"}, `parameter Kind: "c" is none of [a b]`},
		{map[string]string{"Url": "http://x"}, `parameter Url: "http://x" does not match`},
		{map[string]string{"Kind": "b"}, "rule SomeNeedOthers: b needs a Url"},
	} {
		_, err := template.Stack("s", c.parameters)
		require.ErrorContains(t, err, c.problem)
	}
}

func TestTemplatesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for text, problem := range map[string]string{
		"Resources: [":                        "did not find",
		"Resources: {A: {Type: !Import x}}":   "the function !Import is not known",
		"Resources: 7":                        "cannot unmarshal",
		"Parameters: {A: {AllowedValues: 7}}": "cannot unmarshal",
	} {
		_, err := read(t, text)
		require.ErrorContains(t, err, problem, text)
	}
	_, err := stack.Read("no such file")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestTemplatesThatCannotBeResolved(t *testing.T) {
	t.Parallel()
	for properties, problem := range map[string]string{
		"{A: !Ref B}":                "there is no B to refer to",
		"{A: !Ref B.Stage}":          "there is no B.Stage to refer to",
		"{A: !GetAtt B.Arn}":         "there is no B to have an attribute",
		"{A: !Sub '${B}'}":           "there is no B to refer to",
		"{A: !Sub '${B.Arn}'}":       "there is no B to have an attribute",
		"{A: !If [B, 1, 2]}":         "there is no condition B",
		"{A: !If [B, 1]}":            "a condition and two values",
		"{A: [!Equals [1]]}":         "Fn::Equals with 1 arguments is not known",
		"{A: {Fn::Join: ['', [a]]}}": "Fn::Join with 2 arguments is not known",
	} {
		template, err := read(t, "Resources: {R: {Type: T, Properties: "+properties+"}}")
		require.NoError(t, err)
		_, err = template.Stack("s", nil)
		require.ErrorContains(t, err, problem, properties)
		require.ErrorContains(t, err, "resource R", properties)
	}
}
