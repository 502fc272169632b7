package jmespath

// builtins are the functions of the JMESPath specification, section Built-in
// Functions, and those of AWS Powertools.
var builtins = map[string]function{
	"abs":         {parameters: []types{typeNumber}, body: abs},
	"avg":         {parameters: []types{typeNumbers}, body: avg},
	"ceil":        {parameters: []types{typeNumber}, body: ceil},
	"contains":    {parameters: []types{typeArray | typeString, typeAny}, body: contains},
	"ends_with":   {parameters: []types{typeString, typeString}, body: endsWith},
	"floor":       {parameters: []types{typeNumber}, body: floor},
	"join":        {parameters: []types{typeString, typeStrings}, body: join},
	"keys":        {parameters: []types{typeObject}, body: keys},
	"length":      {parameters: []types{typeString | typeArray | typeObject}, body: length},
	"map":         {parameters: []types{typeExpression, typeArray}, body: mapEach},
	"max":         {parameters: []types{typeNumbers | typeStrings}, body: greatest},
	"max_by":      {parameters: []types{typeArray, typeExpression}, body: greatest},
	"merge":       {parameters: []types{typeObject}, further: typeObject, body: merge},
	"min":         {parameters: []types{typeNumbers | typeStrings}, body: least},
	"min_by":      {parameters: []types{typeArray, typeExpression}, body: least},
	"not_null":    {parameters: []types{typeAny}, further: typeAny, body: notNull},
	"reverse":     {parameters: []types{typeString | typeArray}, body: reverse},
	"sort":        {parameters: []types{typeNumbers | typeStrings}, body: sorted},
	"sort_by":     {parameters: []types{typeArray, typeExpression}, body: sorted},
	"starts_with": {parameters: []types{typeString, typeString}, body: startsWith},
	"sum":         {parameters: []types{typeNumbers}, body: sum},
	"to_array":    {parameters: []types{typeAny}, body: toArray},
	"to_number":   {parameters: []types{typeAny}, body: toNumber},
	"to_string":   {parameters: []types{typeAny}, body: toString},
	"type":        {parameters: []types{typeAny}, body: typeOf},
	"values":      {parameters: []types{typeObject}, body: values},

	"powertools_json":        {parameters: []types{typeString}, body: powertoolsJSON},
	"powertools_base64":      {parameters: []types{typeString}, body: powertoolsBase64},
	"powertools_base64_gzip": {parameters: []types{typeString}, body: powertoolsBase64Gzip},
}
