package streams_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each record of the stream has one attribute, "text", apart from the parts of every record.
func TestFiltersDecideWhatIsHandedOver(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rules string // of the text
		want  []string
	}{
		"equal":                  {`["two"]`, []string{"two"}},
		"one of several":         {`["two","Three"]`, []string{"two Three"}},
		"exists":                 {`[{"exists":true}]`, []string{"one two Three"}},
		"does not exist":         {`[{"exists":false}]`, nil},
		"prefix":                 {`[{"prefix":"t"}]`, []string{"two"}},
		"suffix":                 {`[{"suffix":"e"}]`, []string{"one Three"}},
		"whatever case":          {`[{"equals-ignore-case":"three"}]`, []string{"Three"}},
		"anything but one":       {`[{"anything-but":"one"}]`, []string{"two Three"}},
		"anything but several":   {`[{"anything-but":["one","two"]}]`, []string{"Three"}},
		"a number is no text":    {`[1]`, nil},
		"null is no text":        {`[null]`, nil},
		"a rule among several":   {`[{"prefix":"o"},"two"]`, []string{"one two"}},
		"a text is not its case": {`["three"]`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, s := &function{}, one(0)
			s.add(0, "one", "two", "Three")
			p := pump(s, f)
			p.Filters = []string{`{"dynamodb":{"NewImage":{"text":{"S":` + tc.rules + `}}}}`}
			assert.Equal(t, tc.want, pumped(t, p, f))
		})
	}
}

func TestPatternsLookAtTheWholeRecord(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		filters []string
		want    []string
	}{
		"all fields of a pattern":    {[]string{`{"eventName":["INSERT"],"dynamodb":{"SequenceNumber":["2"]}}`}, []string{"2"}},
		"a field that does not fit":  {[]string{`{"eventName":["MODIFY"],"dynamodb":{"SequenceNumber":["2"]}}`}, nil},
		"one of several patterns":    {[]string{`{"eventName":["MODIFY"]}`, `{"dynamodb":{"SequenceNumber":["3"]}}`}, []string{"3"}},
		"an attribute that is not":   {[]string{`{"dynamodb":{"NewImage":{"tries":{"N":[{"exists":false}]}}}}`}, []string{"1 2 3"}},
		"an image that is not":       {[]string{`{"dynamodb":{"OldImage":{"tries":{"N":[{"exists":false}]}}}}`}, []string{"1 2 3"}},
		"what is not does not exist": {[]string{`{"dynamodb":{"OldImage":{"text":{"S":[{"exists":true}]}}}}`}, nil},
		"an object does not exist":   {[]string{`{"dynamodb":{"NewImage":{"text":[{"exists":true}]}}}`}, nil},
		"or is said not to":          {[]string{`{"dynamodb":{"NewImage":{"text":[{"exists":false}]}}}`}, []string{"1 2 3"}},
		"a number":                   {[]string{`{"dynamodb":{"SizeBytes":[0.0]}}`}, []string{"1 2 3"}},
		"another number":             {[]string{`{"dynamodb":{"SizeBytes":[1]}}`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &function{}
			p := pump(one(3), f)
			p.Filters = tc.filters
			assert.Equal(t, tc.want, pumped(t, p, f))
		})
	}
}

func TestWhatIsFilteredIsHandled(t *testing.T) {
	t.Parallel()
	f, s := &function{}, one(250)
	p := pump(s, f)
	p.Filters = []string{`{"dynamodb":{"SequenceNumber":[{"suffix":"50"}]}}`}
	assert.Equal(t, []string{"50 150 250"}, pumped(t, p, f), "a batch is made of what passes")
}

func TestAPatternThatIsNoneSaysWhy(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		``:                                   "no JSON object",
		`{}`:                                 "an object is empty",
		`{"a":{"b":{}}}`:                     "an object is empty",
		`{} {}`:                              "more than one",
		`{"a":"b"}`:                          "neither an object nor an array",
		`{"a":[]}`:                           "no rules",
		`{"a":[[1]]}`:                        "an array",
		`{"a":[{}]}`:                         "one operator",
		`{"a":[{"exists":1}]}`:               "true or false",
		`{"a":[{"prefix":1}]}`:               "a text is needed",
		`{"a":[{"numeric":["=",1]}]}`:        `"numeric" is not known`,
		`{"a":[{"anything-but":{"x":"y"}}]}`: "texts and numbers",
		`{"a":[{"anything-but":[[1]]}]}`:     "an array",
	} {
		t.Run(pattern, func(t *testing.T) {
			t.Parallel()
			p := pump(one(0), &function{})
			p.Filters = []string{`{"a":[1]}`, pattern}
			err := p.Run(t.Context())
			require.ErrorContains(t, err, "filter 2")
			require.ErrorContains(t, err, want)
		})
	}
	p := pump(one(0), &function{})
	p.Filters = make([]string, 11)
	require.ErrorContains(t, p.Run(t.Context()), "more than 10")
}
