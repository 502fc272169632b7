package observe_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/fingerprint"
)

//go:embed testdata/emf.schema.json
var emfSchema []byte

// violations says what is wrong with a line: by the schema, and by the rules that a schema cannot
// express.
func violations(line []byte, now time.Time) []string {
	if len(line) > 256<<10 {
		return []string{"it is longer than an event of CloudWatch Logs, 256 KB"}
	}
	text, ended := bytes.CutSuffix(line, []byte("\n"))
	if !ended || bytes.ContainsAny(text, "\r\n") {
		return []string{"it is not one line"}
	}
	if _, err := fingerprint.Canonical(nil, text); err != nil {
		return []string{err.Error()} // no JSON, not valid UTF-8, or a member that is there twice
	}
	document := decoded(text)
	found := (&schemaChecker{}).check(decoded(emfSchema), document, "line").violations
	if found != nil {
		return found
	}
	return targetViolations(document.(map[string]any), now)
}

// decoded keeps numbers as they are written.
func decoded(text []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		panic(err)
	}
	return v
}

// targetViolations is about the members that dimensions and metrics refer to.
func targetViolations(document map[string]any, now time.Time) []string {
	var found []string
	addf := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	aws := document["_aws"].(map[string]any)
	stamp, _ := aws["Timestamp"].(json.Number).Int64()
	if at := time.UnixMilli(stamp); at.Before(now.AddDate(0, 0, -14)) || at.After(now.Add(2*time.Hour)) {
		addf("Timestamp %v is not within two weeks before and two hours after %v", at, now)
	}
	value := regexp.MustCompile(`^[ -~]+$`)
	for _, d := range aws["CloudWatchMetrics"].([]any) {
		directive := d.(map[string]any)
		for _, set := range directive["Dimensions"].([]any) {
			for _, name := range set.([]any) {
				text, isString := document[name.(string)].(string)
				if !isString || !value.MatchString(text) || len(text) > 1024 || strings.TrimSpace(text) == "" {
					addf("dimension %s has the value %#v", name, document[name.(string)])
				}
			}
		}
		for _, m := range directive["Metrics"].([]any) {
			name := m.(map[string]any)["Name"].(string)
			if _, isNumber := document[name].(json.Number); !isNumber {
				addf("metric %s has the value %#v", name, document[name])
			}
		}
	}
	return found
}

// schemaChecker knows the keywords of JSON Schema that the schema uses, and refuses others.
type schemaChecker struct{ violations []string }

func (c *schemaChecker) addf(format string, args ...any) {
	c.violations = append(c.violations, fmt.Sprintf(format, args...))
}

func (c *schemaChecker) check(schema, v any, at string) *schemaChecker {
	for keyword, want := range schema.(map[string]any) {
		switch keyword {
		case "$schema", "title":
		case "type":
			if !hasType(v, want.(string)) {
				c.addf("%s is no %s", at, want)
			}
		case "enum":
			if !slices.Contains(want.([]any), v) {
				c.addf("%s is %v, none of %v", at, v, want)
			}
		case "required", "properties", "additionalProperties":
			if object, ok := v.(map[string]any); ok {
				c.checkMembers(schema.(map[string]any), keyword, object, at)
			}
		case "items", "minItems", "maxItems", "uniqueItems":
			if array, ok := v.([]any); ok {
				c.checkItems(keyword, want, array, at)
			}
		case "minLength", "maxLength", "pattern":
			if text, ok := v.(string); ok {
				c.checkText(keyword, want, text, at)
			}
		case "minimum":
			if n, ok := v.(json.Number); ok && floatOf(n) < floatOf(want) {
				c.addf("%s is less than %v", at, want)
			}
		default:
			panic("the checker does not know the keyword " + keyword)
		}
	}
	return c
}

func (c *schemaChecker) checkMembers(schema map[string]any, keyword string, object map[string]any, at string) {
	properties := schema["properties"].(map[string]any)
	switch keyword {
	case "required":
		for _, name := range schema[keyword].([]any) {
			if _, ok := object[name.(string)]; !ok {
				c.addf("%s has no %s", at, name)
			}
		}
	case "properties":
		for name, property := range properties {
			if v, ok := object[name]; ok {
				c.check(property, v, at+"."+name)
			}
		}
	default: // additionalProperties, which are false
		for name := range object {
			if _, ok := properties[name]; !ok {
				c.addf("%s has the member %s", at, name)
			}
		}
	}
}

func (c *schemaChecker) checkItems(keyword string, want any, array []any, at string) {
	switch keyword {
	case "items":
		for i, v := range array {
			c.check(want, v, fmt.Sprintf("%s[%d]", at, i))
		}
	case "minItems":
		if float64(len(array)) < floatOf(want) {
			c.addf("%s has less than %v items", at, want)
		}
	case "maxItems":
		if float64(len(array)) > floatOf(want) {
			c.addf("%s has more than %v items", at, want)
		}
	default: // uniqueItems
		for i := range array {
			for j := range i {
				if reflect.DeepEqual(array[i], array[j]) {
					c.addf("%s has %v twice", at, array[i])
				}
			}
		}
	}
}

func (c *schemaChecker) checkText(keyword string, want any, text, at string) {
	switch keyword {
	case "minLength":
		if float64(len([]rune(text))) < floatOf(want) {
			c.addf("%s is shorter than %v", at, want)
		}
	case "maxLength":
		if float64(len([]rune(text))) > floatOf(want) {
			c.addf("%s is longer than %v", at, want)
		}
	default: // pattern
		if !regexp.MustCompile(want.(string)).MatchString(text) {
			c.addf("%s is %q, which does not match %v", at, text, want)
		}
	}
}

func hasType(v any, want string) bool {
	switch v := v.(type) {
	case map[string]any:
		return want == "object"
	case []any:
		return want == "array"
	case string:
		return want == "string"
	case json.Number:
		return want == "integer" && !strings.ContainsAny(v.String(), ".eE")
	default:
		return false
	}
}

func floatOf(v any) float64 {
	f, err := v.(json.Number).Float64()
	if err != nil {
		panic(err)
	}
	return f
}

// What CloudWatch would refuse or ignore, the checker must find: otherwise it proves nothing.
func TestCheckerFindsWhatTheFormatForbids(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_700_000_000_000)
	const good = `{"_aws":{"Timestamp":1700000000000,"CloudWatchMetrics":[{"Namespace":"Idempotent",` +
		`"Dimensions":[["Operation"]],"Metrics":[{"Name":"Created","Unit":"Count"}]}]},"Operation":"charge","Created":1}` + "\n"
	require.Empty(t, violations([]byte(good), now))
	many := func(n int, item func(i int) string) string {
		items := make([]string, n)
		for i := range items {
			items[i] = item(i)
		}
		return strings.Join(items, ",")
	}
	for name, tc := range map[string]struct{ old, with, want string }{
		"no newline": {"\n", "", "one line"},
		"two lines":  {`,"Operation"`, "\n" + `,"Operation"`, "one line"},
		"too long": {`"Operation":"charge"`, `"Operation":"charge","x":"` + strings.Repeat("x", 256<<10) +
			`"`, "256 KB"},
		"cut off":              {"1}\n", "1\n", "end of the document"},
		"member twice":         {`"Created":1`, `"Created":1,"Created":2`, "duplicate"},
		"no metadata":          {"_aws", "aws", "no _aws"},
		"no timestamp":         {`"Timestamp":1700000000000,`, "", "no Timestamp"},
		"timestamp as text":    {"1700000000000", `"1700000000000"`, "no integer"},
		"fractional timestamp": {"1700000000000", "1700000000000.5", "no integer"},
		"timestamp in seconds": {"1700000000000", "1700000000", "two weeks"},
		"timestamp ahead":      {"1700000000000", "1700007200001", "two hours"},
		"unknown metadata":     {`"Timestamp"`, `"Time":1,"Timestamp"`, "has the member Time"},
		"no directive": {
			`[{"Namespace":"Idempotent","Dimensions":[["Operation"]],"Metrics":[{"Name":"Created","Unit":"Count"}]}]`,
			"[]", "less than 1",
		},
		"no namespace":         {`"Namespace":"Idempotent",`, "", "no Namespace"},
		"empty namespace":      {`"Idempotent"`, `""`, "shorter than 1"},
		"long namespace":       {"Idempotent", strings.Repeat("x", 256), "longer than 255"},
		"namespace of another": {"Idempotent", ":x", "does not match"},
		"no dimensions":        {`"Dimensions":[["Operation"]],`, "", "no Dimensions"},
		"no dimension set":     {`[["Operation"]]`, "[]", "less than 1"},
		"flat dimensions":      {`[["Operation"]]`, `["Operation"]`, "no array"},
		"too many dimensions": {
			`["Operation"]`,
			`[` + many(31, func(i int) string { return fmt.Sprintf(`"D%d"`, i) }) + `]`, "more than 30",
		},
		"long dimension name":   {`["Operation"]`, `["` + strings.Repeat("x", 251) + `"]`, "longer than 250"},
		"dimension twice":       {`["Operation"]`, `["Operation","Operation"]`, "twice"},
		"dimension without":     {`"Operation":"charge",`, "", "dimension Operation"},
		"number as a dimension": {`"charge"`, "7", "dimension Operation"},
		"empty dimension":       {`"charge"`, `""`, "dimension Operation"},
		"blank dimension":       {`"charge"`, `"  "`, "dimension Operation"},
		"long dimension":        {`"charge"`, `"` + strings.Repeat("x", 1025) + `"`, "dimension Operation"},
		"foreign dimension":     {`"charge"`, `"größe"`, "dimension Operation"},
		"no metrics":            {`{"Name":"Created","Unit":"Count"}`, "", "less than 1"},
		"too many metrics": {
			`{"Name":"Created","Unit":"Count"}`,
			many(101, func(i int) string { return fmt.Sprintf(`{"Name":"M%d"}`, i) }), "more than 100",
		},
		"metric without a name": {`"Name":"Created",`, "", "no Name"},
		"metric twice": {
			`[{"Name":"Created","Unit":"Count"}`,
			`[{"Name":"Created","Unit":"Count"},{"Name":"Created","Unit":"Count"}`, "twice",
		},
		"no such unit":       {`"Count"`, `"count"`, "none of"},
		"no such resolution": {`"Unit":"Count"`, `"StorageResolution":10`, "none of"},
		"other member":       {`"Unit":"Count"`, `"Value":1`, "has the member Value"},
		"metric without":     {`,"Created":1`, "", "metric Created"},
		"text as a metric":   {`"Created":1`, `"Created":"1"`, "metric Created"},
	} {
		require.Contains(t, good, tc.old, name)
		found := violations([]byte(strings.Replace(good, tc.old, tc.with, 1)), now)
		require.NotEmpty(t, found, name)
		assert.Contains(t, strings.Join(found, "; "), tc.want, name)
	}
}
