package observe_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// directive is what a line says of its metrics.
type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []struct {
		Name, Unit        string
		StorageResolution int
	}
}

// violations says what is wrong with a line, by the limits of the format and of the API of
// CloudWatch.
func violations(line []byte, now time.Time) (found []string) {
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
	var members map[string]json.RawMessage
	var aws struct {
		Timestamp         int64
		CloudWatchMetrics []directive
	}
	if err := json.Unmarshal(text, &members); err != nil {
		return []string{err.Error()}
	}
	strict := json.NewDecoder(bytes.NewReader(members["_aws"]))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&aws); err != nil {
		return []string{"_aws: " + err.Error()}
	}
	unless := func(good bool, format string, args ...any) {
		if !good {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	at := time.UnixMilli(aws.Timestamp)
	unless(!at.Before(now.AddDate(0, 0, -14)) && !at.After(now.Add(2*time.Hour)),
		"Timestamp %v is not within two weeks before and two hours after %v", at, now)
	unless(len(aws.CloudWatchMetrics) > 0, "there is no directive")
	for _, d := range aws.CloudWatchMetrics {
		d.check(members, unless)
	}
	return found
}

func (d directive) check(members map[string]json.RawMessage, unless func(good bool, format string, args ...any)) {
	named := func(what, name string, most int) {
		unless(regexp.MustCompile(`^[!-9;-~][ -~]*$`).MatchString(name) && len(name) <= most, "%s %.300q", what, name)
	}
	once := func(what string, of []string) {
		unless(len(slices.Compact(slices.Sorted(slices.Values(of)))) == len(of), "%s %v has one twice", what, of)
	}
	named("Namespace", d.Namespace, 255)
	unless(len(d.Dimensions) > 0, "there are no Dimensions")
	for _, set := range d.Dimensions {
		unless(len(set) <= 30, "more than 30 dimensions")
		once("dimensions", set)
		for _, name := range set {
			named("name of a dimension", name, 250)
			var value string
			err := json.Unmarshal(members[name], &value)
			unless(err == nil && regexp.MustCompile(`^[ -~]*[!-~][ -~]*$`).MatchString(value) && len(value) <= 1024,
				"dimension %s has the value %s", name, members[name])
		}
	}
	unless(len(d.Metrics) > 0 && len(d.Metrics) <= 100, "%d metrics", len(d.Metrics))
	var names []string
	for _, m := range d.Metrics {
		names = append(names, m.Name)
		named("name of a metric", m.Name, 255)
		unless(m.Unit == "" || slices.Contains(units, m.Unit), "no such unit: %s", m.Unit)
		unless(slices.Contains([]int{0, 1, 60}, m.StorageResolution), "StorageResolution %d", m.StorageResolution)
		var value float64
		unless(json.Unmarshal(members[m.Name], &value) == nil, "metric %s has the value %s", m.Name, members[m.Name])
	}
	once("metrics", names)
}

// units are those of CloudWatch that are no rates.
var units = []string{
	"Seconds", "Microseconds", "Milliseconds", "Bytes", "Kilobytes", "Megabytes", "Gigabytes", "Terabytes", "Bits",
	"Kilobits", "Megabits", "Gigabits", "Terabits", "Percent", "Count", "None",
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
		"member twice":         {`"Created":1`, `"Created":1,"Created":2`, "duplicate"},
		"no metadata":          {"_aws", "aws", "_aws: EOF"},
		"no timestamp":         {`"Timestamp":1700000000000,`, "", "two weeks"},
		"timestamp in seconds": {"1700000000000", "1700000000", "two weeks"},
		"unknown metadata":     {`"Timestamp"`, `"Time":1,"Timestamp"`, `unknown field "Time"`},
		"no directive": {
			`[{"Namespace":"Idempotent","Dimensions":[["Operation"]],"Metrics":[{"Name":"Created","Unit":"Count"}]}]`,
			"[]", "there is no directive",
		},
		"no namespace":    {`"Namespace":"Idempotent",`, "", `Namespace ""`},
		"long namespace":  {"Idempotent", strings.Repeat("x", 256), "Namespace"},
		"no dimensions":   {`"Dimensions":[["Operation"]],`, "", "no Dimensions"},
		"flat dimensions": {`[["Operation"]]`, `["Operation"]`, " of type []string"},
		"too many dimensions": {
			`["Operation"]`,
			`[` + many(31, func(i int) string { return fmt.Sprintf(`"D%d"`, i) }) + `]`, "more than 30",
		},
		"long dimension name": {`["Operation"]`, `["` + strings.Repeat("x", 251) + `"]`, "name of a dimension"},
		"dimension twice":     {`["Operation"]`, `["Operation","Operation"]`, "twice"},
		"dimension without":   {`"Operation":"charge",`, "", "dimension Operation"},
		"blank dimension":     {`"charge"`, `"  "`, "dimension Operation"},
		"long dimension":      {`"charge"`, `"` + strings.Repeat("x", 1025) + `"`, "dimension Operation"},
		"foreign dimension":   {`"charge"`, `"größe"`, "dimension Operation"},
		"too many metrics": {
			`{"Name":"Created","Unit":"Count"}`,
			many(101, func(i int) string { return fmt.Sprintf(`{"Name":"M%d"}`, i) }), "101 metrics",
		},
		"metric without a name": {`"Name":"Created",`, "", `name of a metric ""`},
		"metric twice": {
			`[{"Name":"Created","Unit":"Count"}`,
			`[{"Name":"Created","Unit":"Count"},{"Name":"Created","Unit":"Count"}`, "twice",
		},
		"no such unit":       {`"Count"`, `"count"`, "no such unit"},
		"no such resolution": {`"Unit":"Count"`, `"StorageResolution":10`, "StorageResolution 10"},
		"other member":       {`"Unit":"Count"`, `"Value":1`, `unknown field "Value"`},
		"metric without":     {`,"Created":1`, "", "metric Created"},
	} {
		require.Contains(t, good, tc.old, name)
		found := violations([]byte(strings.Replace(good, tc.old, tc.with, 1)), now)
		require.NotEmpty(t, found, name)
		assert.Contains(t, strings.Join(found, "; "), tc.want, name)
	}
}
