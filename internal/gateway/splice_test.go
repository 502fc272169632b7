package gateway

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// sample is a response of any family, and how it is to be answered.
type sample struct {
	StatusCode        int
	StatusDescription string
	Headers           map[string]string
	MultiValueHeaders map[string][]string
	Body              string
	IsBase64Encoded   bool
	Cookies           []string

	in       headerMap
	expires  time.Time
	replayed bool
}

// answerOf is a sample as a handler returns it, by value or by pointer.
func answerOf[Out any](s sample) (out Out) {
	to := reflect.ValueOf(&out).Elem()
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	for i := range to.NumField() {
		to.Field(i).Set(reflect.ValueOf(s).FieldByName(to.Type().Field(i).Name))
	}
	return out
}

// splicer is a family.
type splicer struct {
	name   string
	encode func(s sample) []byte
	// splice is what the family makes of a text, and announce the same the long way, nil if the
	// text is no response.
	splice   func(s sample, text []byte) ([]byte, bool)
	announce func(s sample, text []byte) []byte
	// again is a text after it was decoded and encoded.
	again func(text []byte) []byte
}

func splicers() []splicer {
	return []splicer{
		splicerOf[requestV1, responseV1]("V1"),
		splicerOf[requestV2, responseV2]("V2"),
		splicerOf[requestV2, *responseV2]("*V2"),
		splicerOf[requestURL, responseURL]("URL"),
		splicerOf[albRequest, albResponse]("ALB"),
	}
}

func splicerOf[In, Out any](name string) splicer {
	family, _ := familyOf[In, Out]()
	again := func(text []byte, change func(Out) Out) []byte {
		var out Out
		if json.Unmarshal(text, &out) != nil {
			return nil
		}
		return encoded(change(out))
	}
	return splicer{
		name:   name,
		encode: func(s sample) []byte { return encoded(answerOf[Out](s)) },
		splice: func(s sample, text []byte) ([]byte, bool) {
			return family.Splice(text, Announcement{Expires: s.expires, Replayed: s.replayed})
		},
		announce: func(s sample, text []byte) []byte {
			return again(text, func(out Out) Out {
				answer, _ := family.Announce(&Request{answerIn: s.in}, out,
					Announcement{Expires: s.expires, Replayed: s.replayed})
				return answer.(Out)
			})
		},
		again: func(text []byte) []byte { return again(text, func(out Out) Out { return out }) },
	}
}

// encoded is the JSON of a response as it goes to the gateway and into a record.
func encoded(out any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(out); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// spliceable reports whether the answer of a response can be spliced.
func (s sample) spliceable(f splicer) bool {
	added := s.replayed || !s.expires.IsZero()
	return f.name != "ALB" && added && len(strconv.Itoa(s.StatusCode)) == 3
}

// vouched reports whether the caller of Splice vouches for the text of a response.
func (s sample) vouched() bool {
	names := slices.AppendSeq(slices.Collect(maps.Keys(s.Headers)), maps.Keys(s.MultiValueHeaders))
	return !slices.ContainsFunc(names, owns)
}

// assertSpliced checks a response of valid UTF-8 in one family.
func assertSpliced(t require.TestingT, f splicer, s sample) {
	if !s.vouched() {
		return
	}
	text := slices.Grow(f.encode(s), maxAnnounced)
	before := bytes.Clone(text)
	got, ok := f.splice(s, text)
	require.Equal(t, s.spliceable(f), ok, "%s: %s for %+v", f.name, text, s)
	if ok {
		require.Equal(t, string(f.announce(s, before)), string(f.again(got)), "%s: %+v", f.name, s)
	} else {
		require.Equal(t, string(before), string(text), "the text stays as it is")
	}
}

// answered calls with every way in which s can be answered.
func (s sample) answered(family string, call func(sample)) {
	maps := []headerMap{eitherMap}
	if family == "ALB" {
		maps = []headerMap{eitherMap, singleMap, multiMap}
	}
	for _, s.in = range maps {
		for _, s.expires = range []time.Time{{}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))} {
			for _, s.replayed = range []bool{false, true} {
				call(s)
			}
		}
	}
}

func TestSplicedResponsesAreThoseOfADecodedResponse(t *testing.T) {
	t.Parallel()
	headers := []map[string]string{
		nil,
		{},
		{"X": "1"},
		{"": ""},
		{"a\"b": "1", "<a&b>": "1", "schlüssel \\": "\\\u2028\u0000\t\"\U0001F600"},
		{"Idempotency-Key-Expirer": "1", "Idempotent-Replaye": "3", "Idempotent-Replayed2": "4", "z": "5"},
		{"Idempotency-\u212aey-Expires": "1", "Idempotency-Key-Expire\u017f": "2"},
	}
	multi := []map[string][]string{
		nil, {}, {"A": {"1", "2"}, "X-None": {}, "X-Nil": nil, "Z": {"", "]", `"]`, `\`, "}"}},
	}
	bodies := []string{
		"", "x", `{"id":1}`, `"}`, `\`, "<&>\u2028\u0000\U0001F600", `","cookies":null}`,
		`,"isBase64Encoded":true}`, "AAEC/w==",
	}
	cookies := [][]string{nil, {}, {"a=1"}, {"a=1; Path=/", `b="2"`, "]}"}, {""}}
	descriptions := []string{"", "200 OK", `","headers":{"x":"y"},"body":"`, "\\"}
	for _, f := range splicers() {
		for i, status := range []int{0, 1, 99, 100, 200, 599, 999, 1000, -200} {
			for j, body := range bodies {
				for k, cookie := range cookies {
					for _, description := range descriptions {
						s := sample{
							StatusCode: status, StatusDescription: description, Body: body, Cookies: cookie,
							Headers: headers[(i+j+k)%len(headers)], MultiValueHeaders: multi[(i+k)%len(multi)],
						}
						for _, s.IsBase64Encoded = range []bool{false, true} {
							s.answered(f.name, func(s sample) { assertSpliced(t, f, s) })
						}
					}
				}
			}
		}
	}
}

func TestSplicedResponseIsThatOfADecodedOneWhateverIsInIt(t *testing.T) {
	t.Parallel()
	name := rapid.OneOf(
		rapid.StringMatching(`[A-Za-z-]{0,12}`), rapid.String(),
		rapid.SampledFrom([]string{
			"Idempotent-Replayed", "idempotency-key-expires", "Idempotency-Key", "Idempotent-S",
		}),
	)
	single := rapid.OneOf(rapid.Just(map[string]string(nil)), rapid.MapOfN(name, rapid.String(), 0, 6))
	multi := rapid.OneOf(rapid.Just(map[string][]string(nil)),
		rapid.MapOfN(name, rapid.SliceOfN(rapid.String(), 0, 3), 0, 6))
	all := splicers()
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(all).Draw(t, "family")
		s := sample{
			StatusCode:        rapid.OneOf(rapid.IntRange(200, 599), rapid.Int()).Draw(t, "status"),
			StatusDescription: rapid.String().Draw(t, "description"),
			Headers:           single.Draw(t, "headers"),
			MultiValueHeaders: multi.Draw(t, "multi"),
			Body:              rapid.String().Draw(t, "body"),
			IsBase64Encoded:   rapid.Bool().Draw(t, "base64"),
			Cookies:           rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "cookies"),
			replayed:          rapid.Bool().Draw(t, "replayed"),
		}
		if f.name == "ALB" {
			s.in = rapid.SampledFrom([]headerMap{singleMap, multiMap}).Draw(t, "map")
		}
		if rapid.Bool().Draw(t, "expires") {
			s.expires = time.Unix(rapid.Int64Range(0, 1<<38).Draw(t, "at"), 0)
		}
		assertSpliced(t, f, s)
	})
}

// What is no UTF-8 has another spelling in JSON once it was decoded. Spliced, a replay spells it as
// the first answer did.
func TestSplicedTextThatIsNoUTF8StaysAsItWasEncoded(t *testing.T) {
	t.Parallel()
	body, err := json.Marshal("a\xffb") // releases of Go spell it differently
	require.NoError(t, err)
	for _, f := range splicers()[:4] {
		s := sample{StatusCode: 200, Headers: map[string]string{"X": "\xff", "Y": "2"}, Body: "a\xffb", replayed: true}
		text := f.encode(s)
		got, ok := f.splice(s, text)
		require.True(t, ok)
		assert.Contains(t, string(got), `"body":`+string(body))
		assert.Equal(t, string(text), strings.Replace(string(got), `"Idempotent-Replayed":"true",`, "", 1))
		assert.JSONEq(t, string(f.announce(s, text)), string(got))
	}
}

func TestATextBecomesTheAnswerWhereThereIsRoom(t *testing.T) {
	t.Parallel()
	for _, f := range splicers()[:4] {
		for _, headers := range []map[string]string{nil, {}, {"X": "1"}} {
			s := sample{StatusCode: 200, Headers: headers, Body: strings.Repeat("b", small), replayed: true}
			s.expires = time.Unix(1, 0)
			text := f.encode(s)
			want := f.announce(s, text)
			tight, roomy := slices.Clip(bytes.Clone(text)), append(make([]byte, 0, Room(len(text))), text...)
			for what, given := range map[string][]byte{"tight": tight, "roomy": roomy} {
				got, ok := f.splice(s, given)
				require.True(t, ok)
				assert.Equal(t, string(want), string(f.again(got)), "%s, %s", f.name, what)
				assert.Equal(t, what == "roomy", &given[0] == &got[0], "%s, %s", f.name, what)
			}
			assert.Equal(t, text, tight)
		}
	}
}

func TestSplicingGivesUpOnATextOfAnotherForm(t *testing.T) {
	t.Parallel()
	const v2 = `{"statusCode":200,"headers":null,"multiValueHeaders":null,"body":"","cookies":null}`
	const v1 = `{"statusCode":200,"headers":null,"multiValueHeaders":null,"body":""}`
	const alb = `{"statusCode":200,"statusDescription":"","headers":null,"multiValueHeaders":null,"isBase64Encoded":false}`
	const url = `{"statusCode":200,"headers":null,"body":"","isBase64Encoded":false,"cookies":null}`
	for name, others := range map[string][]string{
		"V2": {v1, alb}, "V1": {v2, url, alb}, "URL": {v1, alb},
		"ALB": {v1, v2, url, alb},
	} {
		for _, text := range append(others,
			``, `null`, `[]`, `{}`, " "+v2, v2+" ", `{"statusCode": 200,`+v2[18:], strings.Replace(v2, "200", "20", 1),
			strings.Replace(v2, "200", "2000", 1), strings.Replace(v2, "null", "[]", 1),
			strings.Replace(v2, "null", "1", 1), strings.Replace(v2, "statusCode", "statusText", 1),
			`{"headers":null,"statusCode":200,"multiValueHeaders":null,"body":"","cookies":null}`,
			`{"statusCode":200,"multiValueHeaders":null,"body":"","cookies":null}`,
		) {
			f := splicers()[slices.IndexFunc(splicers(), func(f splicer) bool { return f.name == name })]
			_, ok := f.splice(sample{replayed: true}, []byte(text))
			assert.False(t, ok, "%s: %s", name, text)
		}
	}
}
