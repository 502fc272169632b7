package streams_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each record of the stream has one attribute, "text", apart from the parts of every record.
func TestTheFilterDecidesWhatIsHandedOver(t *testing.T) {
	t.Parallel()
	for filter, want := range map[string][]string{
		``:                                {"one two"},
		`{"eventName":[{"exists":true}]}`: {"one two"},
		`{"dynamodb":{"NewImage":{"text":{"S":[{"exists":true}]}}}}`:                                  {"one two"},
		`{"dynamodb":{"NewImage":{"text":{"S":[{"exists":true}]},"tries":{"N":[{"exists":false}]}}}}`: {"one two"},
		`{"dynamodb":{"NewImage":{"text":{"S":[{"exists":false}]}}}}`:                                 nil,
		`{"dynamodb":{"NewImage":{"tries":{"N":[{"exists":true}]}}}}`:                                 nil,
		`{"dynamodb":{"NewImage":{"text":[{"exists":true}]}}}`:                                        nil, // no leaf
	} {
		f := &function{}
		p := pump(t, one("one", "two"), f)
		p.Filter = filter
		assert.Equal(t, want, pumped(t, p, f), filter)
	}
}

func TestAFilterThatIsNotUnderstoodEndsThePump(t *testing.T) {
	t.Parallel()
	for filter, says := range map[string]string{
		`[]`: "no JSON object", `{"eventName":["INSERT"]}`: `"eventName"`, `{"dynamodb":{"Keys":1}}`: `"Keys"`,
		`{"eventName":[{"exists":"no"}]}`:                  `"eventName"`,
		`{"eventName":[{"exists":true},{"exists":false}]}`: `"eventName"`,
	} {
		p := pump(t, one("1"), &function{})
		p.Filter = filter
		require.ErrorContains(t, p.Run(t.Context()), says)
	}
}
