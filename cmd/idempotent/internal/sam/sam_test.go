package sam_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/sam"
)

const head = `
Parameters:
  Stage: {Type: String, Default: test}
  Size: {Type: Number, Default: 7}
  Secret: {Type: String}
  Stored: {Type: "AWS::SSM::Parameter::Value<String>", Default: /shop/stage}
  Many: {Type: CommaDelimitedList, Default: "a, b"}
Mappings:
  Sizes: {test: {Small: 1}}
Conditions:
  IsTest: !Equals [!Ref Stage, test]
  IsLive: !Not [!Condition IsTest]
  IsSeven: {"Fn::Equals": [{Ref: Size}, "7"]}
  Either: !Or [!Condition IsLive, !Condition IsTest]
  Hidden: !Equals [!Ref Secret, x]
  Same: !Equals [!Ref Secret, !Ref Secret]
  HiddenAndLive: !And [!Condition Hidden, !Condition IsLive]
  HiddenOrTest: !Or [!Condition Hidden, !Condition IsTest]
  NotHidden: !Not [!Condition Hidden]
  Around: !Not [!Condition Around]
Resources:
  Thing:
    Type: Some::Thing
    Properties:
      P: `

func read(t *testing.T, text string, parameters map[string]string) (*sam.Template, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "template.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return sam.Read(file, parameters)
}

// What is known is computed, and what only a deployment knows stays as it is.
func TestFunctionsAreComputed(t *testing.T) {
	t.Parallel()
	for property, want := range map[string]any{
		`!Ref Stage`:                   "test",
		`!Ref Size`:                    7,
		`!Ref Secret`:                  "${Secret}",
		`!Ref Stored`:                  "${Stored}",
		`!Ref Many`:                    []any{"a", "b"},
		`!Ref Nothing`:                 "${Nothing}",
		`[!Ref AWS::NoValue, x]`:       []any{"x"},
		`{A: !Ref AWS::NoValue, B: x}`: map[string]any{"B": "x"},
		`!GetAtt Thing.Arn`:            "${Thing.Arn}",
		`!GetAtt [Thing, Arn]`:         "${Thing.Arn}",
		`{"Fn::GetAtt": [Thing, Arn]}`: "${Thing.Arn}",
		`!Sub "${Stage}-${Thing.Arn}-${!Literal}-${AWS::Region}"`: "test-${Thing.Arn}-${Literal}-${AWS::Region}",
		`!Sub ["${A}-${Size}", {A: !Ref Stage}]`:                  "test-7",
		`!If [IsTest, a, b]`:                                      "a",
		`!If [IsLive, a, b]`:                                      "b",
		`!If [IsSeven, a, b]`:                                     "a",
		`!If [Either, a, b]`:                                      "a",
		`!If [Same, a, b]`:                                        "a",
		`!If [HiddenAndLive, a, b]`:                               "b",
		`!If [HiddenOrTest, a, b]`:                                "a",
		`!If [IsLive, !Ref AWS::NoValue, [1, 2]]`:                 []any{1, 2},
		`!Join ["-", [a, !Ref Size]]`:                             "a-7",
		`!Join ["-", !Ref Many]`:                                  "a-b",
		`!Select [1, !Split [":", "a:b:c"]]`:                      "b",
		`!Select [7, [a]]`:                                        "${Fn::Select}",
		`!FindInMap [Sizes, !Ref Stage, Small]`:                   1,
		`!FindInMap [Sizes, !Ref Secret, Small]`:                  "${Fn::FindInMap}",
		`!ImportValue other`:                                      "${Fn::ImportValue}",
		`!Base64 x`:                                               "${Fn::Base64}",
		`!Custom x`:                                               "${Fn::Custom}",
		`!If [a]`:                                                 "${Fn::If}",
		`{Condition: {StringEquals: {a: b}}}`:                     map[string]any{"Condition": map[string]any{"StringEquals": map[string]any{"a": "b"}}},
		`!Sub "08"`:                                               "08",
		`&same [!Ref Stage]`:                                      []any{"test"},
	} {
		template, err := read(t, head+property+"\n", nil)
		require.NoError(t, err, property)
		assert.Equal(t, want, template.Resources["Thing"].At("P"), property)
		assert.Empty(t, template.Guessed, property)
	}
}

// A condition that nobody can know holds, so that nothing goes unseen, and is told.
func TestWhatNobodyCanKnowIsTold(t *testing.T) {
	t.Parallel()
	for property, want := range map[string]struct {
		value   any
		guessed string
	}{
		`!If [Hidden, a, b]`:                   {"a", "Hidden"},
		`!If [NotHidden, a, b]`:                {"a", "NotHidden"},
		`!If [Hidden, !Ref "AWS::NoValue", b]`: {"b", "Hidden"},
		`!If [Around, a, b]`:                   {"a", "Around"},
		`!If [Missing, a, b]`:                  {"a", "Missing"},
	} {
		template, err := read(t, head+property+"\n", nil)
		require.NoError(t, err, property)
		assert.Equal(t, want.value, template.Resources["Thing"].At("P"), property)
		assert.Equal(t, []string{want.guessed}, template.Guessed, property)
	}
	template, err := read(t, head+`!If [Hidden, a, b]`, map[string]string{"Secret": "y"})
	require.NoError(t, err)
	assert.Equal(t, "b", template.Resources["Thing"].At("P"))
	assert.Empty(t, template.Guessed)
}

// JSON is read as it is, tabs and all, with functions in their long form.
func TestJSONIsRead(t *testing.T) {
	t.Parallel()
	template, err := read(t, "{\n\t\"Parameters\": {\"A\": {\"Type\": \"Number\", \"Default\": 30}},\n\t\"Resources\": {\n\t\t\"F\": {\"Type\": \"AWS::Lambda::Function\","+
		"\"Properties\": {\"Timeout\": {\"Ref\": \"A\"}}, \"Metadata\": {\"aws:asset:path\": \"asset.1\"}}}}", nil)
	require.NoError(t, err)
	functions := template.Functions()
	require.Len(t, functions, 1)
	assert.Equal(t, "30s", functions[0].Timeout.String())
	assert.Equal(t, "asset.1", functions[0].Code)
}

// Of a list each element is to be allowed.
func TestAListOfAllowedValuesIsAllowed(t *testing.T) {
	t.Parallel()
	const stages = `
Parameters:
  Stages: {Type: CommaDelimitedList, AllowedValues: [a, b]}
Resources:
  Thing: {Type: Some::Thing, Properties: {P: !Ref Stages}}
`
	template, err := read(t, stages, map[string]string{"Stages": "a, b"})
	require.NoError(t, err)
	assert.Equal(t, []any{"a", "b"}, template.Resources["Thing"].At("P"))
	_, err = read(t, stages, map[string]string{"Stages": "a,c"})
	require.ErrorContains(t, err, `Stages may not be "a,c": it is one of [a b]`)
}

// Globals are merged as SAM does: objects are merged, lists joined, the rest replaced.
func TestGlobalsAreThoseOfFunctions(t *testing.T) {
	t.Parallel()
	template, err := read(t, `
Globals:
  Function: {Timeout: 9, Runtime: provided.al2, Layers: [a], Environment: {Variables: {A: a, B: b}}}
Resources:
  Own: {Type: AWS::Serverless::Function, Properties: {Timeout: 5, Layers: [b], Environment: {Variables: {B: c}}}}
  Bare: {Type: AWS::Serverless::Function}
  Raw: {Type: AWS::Lambda::Function}
`, nil)
	require.NoError(t, err)
	own := template.Resources["Own"]
	assert.Equal(t, 5, own.At("Timeout"))
	assert.Equal(t, []any{"a", "b"}, own.At("Layers"))
	assert.Equal(t, map[string]any{"A": "a", "B": "c"}, own.At("Environment", "Variables"))
	functions := template.Functions()
	require.Len(t, functions, 3)
	assert.Equal(t, "9s", functions[0].Timeout.String())
	assert.Equal(t, "3s", functions[2].Timeout.String(), "Globals are those of SAM")
}

// A text that names a function names no other one.
func TestAFunctionIsKnownByWhatNamesIt(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"!Ref Pay": "Pay", "!GetAtt Pay.Arn": "Pay", `!Sub "${Pay.Alias}"`: "Pay", `!Ref PayAliaslive`: "Pay", "!Ref Live": "Pay", "!Ref One": "Pay",
		"pay": "Pay", "arn:aws:lambda:eu-central-1:123456789012:function:pay": "Pay", "arn:aws:lambda:eu-central-1:123456789012:function:pay:live": "Pay",
		"payments": "Payments", "arn:aws:lambda:eu-central-1:123456789012:function:pay2": "", "!Ref Loop": "", "!Ref Nobody": "",
	} {
		template, err := read(t, `
Resources:
  Pay: {Type: AWS::Serverless::Function, Properties: {FunctionName: pay}}
  Payments: {Type: AWS::Lambda::Function, Properties: {FunctionName: payments}}
  Nameless: {Type: AWS::Lambda::Function}
  Live: {Type: AWS::Lambda::Alias, Properties: {FunctionName: !GetAtt Pay.Arn}}
  One: {Type: AWS::Lambda::Version, Properties: {FunctionName: pay}}
  Loop: {Type: AWS::Lambda::Version, Properties: {FunctionName: !Ref Loop}}
  Url: {Type: AWS::Lambda::Url, Properties: {TargetFunctionArn: `+target+`}}
`, nil)
		require.NoError(t, err)
		routes := template.Routes()
		require.Len(t, routes, 1, target)
		assert.Equal(t, want, routes[0].Function, target)
	}
}
