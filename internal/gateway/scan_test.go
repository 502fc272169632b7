package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// eventReader reads the events of one type as they were sent, and decoded and encoded.
type eventReader struct {
	scan   func(payload []byte, r *Request) bool
	decode func(payload []byte) (*Request, error)
}

func readerOf[In, Out any](t testing.TB) eventReader {
	t.Helper()
	f, ok := familyOf[In, Out]("Idempotency-Key", "X-Sent-At", "X-Client-Tags", "Accept")
	require.True(t, ok)
	return eventReader{
		scan: func(payload []byte, r *Request) bool { return f.Scan(payload, r) },
		decode: func(payload []byte) (*Request, error) {
			var in In
			// As in Lambda, what follows the event does not count.
			var r Request
			if err := json.NewDecoder(bytes.NewReader(payload)).Decode(&in); err != nil {
				return &r, err
			}
			reads(f, &in, &r)
			return &r, nil
		},
	}
}

// eventReaders are those of all families, by the names that golden events begin with.
func eventReaders(t testing.TB) map[string]eventReader {
	t.Helper()
	return map[string]eventReader{
		"v2":  readerOf[*requestV2, responseV2](t),
		"v1":  readerOf[requestV1, *responseV1](t),
		"url": readerOf[requestURL, responseURL](t),
		"alb": readerOf[albRequest, albResponse](t),
	}
}

// settle takes the difference between nothing and something empty out of a request, because no
// request is told by it.
func (r *Request) settle() {
	e := &r.event
	if len(e.body) == 0 {
		e.body = nil
	}
	for i, h := range e.headers {
		e.headers[i] = header{}
		if len(h.values) > 0 {
			e.headers[i].values = slices.Clone(h.values)
		}
	}
	e.headers, e.room = slices.Clone(e.headers), [7]header{}
	if len(e.query) == 0 {
		e.query = nil
	}
	multi := map[string][]string{}
	for name, values := range e.multiQuery {
		multi[name] = append([]string{}, values...)
	}
	e.multiQuery = multi
}

// agrees checks that a scanned request is what the decoder makes of it, unless the decoder refuses
// it: then the handler does not run. It reports whether it was scanned at all.
func (r eventReader) agrees(t testing.TB, payload []byte) bool {
	t.Helper()
	// What was there before does not count.
	scanned := Request{Route: "before", Refusal: errUnread, event: event{hasMulti: true, body: []byte("before")}}
	given := slices.Clone(payload)
	if !r.scan(given, &scanned) {
		return false
	}
	clear(given) // the request has to have copies
	decoded, err := r.decode(payload)
	if err != nil {
		return true
	}
	scanned.settle()
	decoded.settle()
	if !assert.ObjectsAreEqual(*decoded, scanned) {
		assert.Equal(t, *decoded, scanned, "%q", payload)
		t.FailNow()
	}
	return true
}

// TestWhatIsNoEventIsRefused: also where nobody looks at what Scan reports.
func TestWhatIsNoEventIsRefused(t *testing.T) {
	t.Parallel()
	f, ok := familyOf[requestV2, responseV2]()
	require.True(t, ok)
	for _, payload := range []string{"[]", `{"requestContext":{"http":{"method":"POST"`, ""} {
		var r Request
		assert.False(t, f.Scan([]byte(payload), &r), payload)
		assert.Equal(t, errUnread, r.Refusal, payload)
	}
}

// Events are the events in the files of a pattern, minified, by the names of the files.
func Events(t testing.TB, pattern string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := map[string][]byte{}
	for _, file := range files {
		payload, err := os.ReadFile(file)
		require.NoError(t, err)
		var short bytes.Buffer
		require.NoError(t, json.Compact(&short, payload))
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = short.Bytes()
	}
	return all
}

// goldenEvents are the events in testdata and those of the example.
func goldenEvents(t testing.TB) map[string][]byte {
	t.Helper()
	all := Events(t, "testdata/events/*.json")
	for name, payload := range Events(t, "../../examples/*/events/*.json") {
		all["v2-example-"+name] = payload
	}
	return all
}

// The members may be in any order, with white space between them, and more may follow the event.
func TestScannedGoldenEventIsTheDecodedOne(t *testing.T) {
	t.Parallel()
	readers := eventReaders(t)
	for name, payload := range goldenEvents(t) {
		kind, _, _ := strings.Cut(name, "-")
		for other, r := range readers {
			t.Logf("%s as %s: %t", name, other, r.agrees(t, payload))
		}
		var long bytes.Buffer
		require.NoError(t, json.Indent(&long, payload, " \r", "\t "))
		usual := [][]byte{payload, long.Bytes(), Reversed(t, payload)}
		for _, behind := range []string{" ", "\n", "{", "nonsense", "\x00", "\xff"} {
			usual = append(usual, slices.Concat([]byte(" \n"), payload, []byte(behind)))
		}
		for _, spelled := range usual {
			assert.True(t, readers[kind].agrees(t, spelled), "%s was not scanned: %q", name, spelled)
		}
		for i := range payload {
			require.False(t, readers[kind].agrees(t, payload[:i]), "%s, cut off", name)
		}
	}
}

// Reversed is a JSON text with the members of all objects the other way round.
func Reversed(t require.TestingT, value []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(value))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return value
	}
	var members []string
	for d.More() {
		name, err := d.Token()
		require.NoError(t, err)
		var member json.RawMessage
		require.NoError(t, d.Decode(&member))
		members = append(members, strconv.Quote(name.(string))+":"+string(Reversed(t, member)))
	}
	slices.Reverse(members)
	return []byte("{" + strings.Join(members, ",") + "}")
}

func TestScannedMutantOfAnEventIsTheDecodedOne(t *testing.T) {
	t.Parallel()
	readers := eventReaders(t)
	goldens := goldenEvents(t)
	for kind, names := range map[string][]string{
		"v2":  {"v2-full", "v2-jwt", "v2-lambda-principal", "v2-iam-cognito"},
		"v1":  {"v1-proxy", "v1-cognito", "v1-api-key"},
		"url": {"url-iam"},
		"alb": {"alb-single", "alb-multi-query"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			known := map[string]bool{}
			for _, name := range names {
				scanned, all := 0, 0
				require.NotEmpty(t, goldens[name])
				mutants(t, goldens[name], known, func(mutant []byte) {
					all++
					if readers[kind].agrees(t, mutant) {
						scanned++
					}
				})
				t.Logf("%s: %d of %d scanned", name, scanned, all)
				assert.Greater(t, scanned, all/20)
			}
		})
	}
}

// FuzzScannedEvent: whatever arrives, what was scanned is what the decoder would have made of it.
func FuzzScannedEvent(f *testing.F) {
	readers := eventReaders(f)
	for _, payload := range goldenEvents(f) {
		f.Add(payload)
	}
	for _, value := range valuesForSpots {
		f.Add([]byte(`{"headers":` + value + `,"requestContext":{"authorizer":` + value +
			`},"queryStringParameters":` + value + `}`))
	}
	kinds := slices.Sorted(maps.Keys(readers))
	f.Fuzz(func(t *testing.T, payload []byte) {
		for _, kind := range kinds {
			readers[kind].agrees(t, payload)
		}
	})
}

// What the decoder has rules of its own for, is left to it. Each case has something that a careless
// reader takes.
func TestUnusualEventsAreLeftToTheDecoder(t *testing.T) {
	t.Parallel()
	reader := eventReaders(t)["v1"]
	for payload, usual := range map[string]bool{
		`{"httpMethod":"POST","path":"/a"}`:                                              true,
		`{"httpMethod":"POST","path":"/a","path":"/b"}`:                                  false,
		`{"httpMethod":"POST","path":"/a","Path":"/b"}`:                                  false,
		`{"httpMethod":"POST","path":"/a","p\u0061th":"/b"}`:                             false,
		`{"httpMethod":"POST","p\u0061th":"/b"}`:                                         false,
		`{"httpMethod":"POST","path":7}`:                                                 false,
		`{"httpMethod":"POST","path":"\ud800\u0041\n"}`:                                  true,
		"{\"httpMethod\":\"POST\",\"path\":\"\xff\"}":                                    true,
		"{\"path\":\"/a\x01\"}":                                                          false,
		"{\"body\":\"a\nb\"}":                                                            false,
		"{\"other\":\"a\tb\"}":                                                           false,
		`nothing`:                                                                        false,
		`null`:                                                                           true,
		`{"headers":{"accept":"a","Accept":"b"}}`:                                        false,
		`{"headers":{"accept":"a"},"multiValueHeaders":{"accept":["b","a"]}}`:            true,
		`{"multiValueHeaders":{"accept":["b","a"]},"headers":{"accept":"a"}}`:            true,
		`{"multiValueHeaders":{"accept":[]},"headers":{"accept":"a"}}`:                   true,
		`{"multiValueHeaders":{"accept":["a"],"accept":[]},"headers":{"accept":"b"}}`:    false,
		`{"requestContext":{"authorizer":{"principalId":9007199254740993}}}`:             false,
		`{"requestContext":{"authorizer":{"principalId":7,"claims":{"a":{"sub":"x"}}}}}`: true,
		`{"requestContext":{"authorizer":{"tier":"x","tier":null}}}`:                     false,
		`{"requestContext":{"authorizer":{"claims":{"sub":"x"},"scopes":null}}}`:         true,
		`{"requestContext":{"authorizer":null},"body":"a\"b\\c\/d\u00e9"}`:               true,
		`{"path":"/a"`: false,
		`{"path":"/a]`: false,
	} {
		assert.Equal(t, usual, reader.agrees(t, []byte(payload)), payload)
	}
}

// spot is a value in an event, and its name if it is that of a member.
type spot struct {
	start, name, value, end int    // offsets; start and name are equal if there is no name
	under                   string // the names of what it stands in
}

// spots finds all values in text, which begins at base and stands under these names.
func spots(t testing.TB, text []byte, base int, under string) (all []spot) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	begin, err := d.Token()
	require.NoError(t, err)
	if _, ok := begin.(json.Delim); !ok {
		return nil
	}
	for d.More() {
		s, inside := spot{under: under}, under+"."
		nameLength := 0
		if begin == json.Delim('{') {
			name, err := d.Token()
			require.NoError(t, err)
			nameLength = len(strconv.Quote(name.(string)))
			inside += name.(string)
			s.name = base + int(d.InputOffset())
		}
		var value json.RawMessage
		require.NoError(t, d.Decode(&value))
		s.end = base + int(d.InputOffset())
		s.value = s.end - len(value)
		if nameLength == 0 {
			s.name = s.value
		}
		s.start = s.name - nameLength
		all = append(all, s)
		all = append(all, spots(t, value, s.value, inside)...)
	}
	return all
}

// valuesForSpots are JSON values of all kinds, and what is none.
var valuesForSpots = []string{
	"null", "true", "false", "0", "-0", "7", "-7", "1.5", "7.0", "1e2", "1E400", "-1e-400", "999999999999999",
	"9007199254740993",
	"12345678901234567890", "1" + strings.Repeat("0", 400), `""`, `"x"`, `"X-Y"`, `"a\"b\\c\/d\b\f\n\r\t"`,
	`"\u0041\u00e9\u20ac"`,
	`"\ud83d\ude00"`, `"\uD83D\uDE00\u0000"`, `"\ud800"`, `"\udc00x"`, `"\ud800\ud800"`, `"\ud800\n"`, `"\ud83d\u0041"`,
	`"é€😀"`, "\"\xff\"", "\"a\xed\xa0\x80\"",
	"\"\ufffd\"", "\"\x01\"", "\"\n\"", "\"\x7f\"", `"\x"`, `"\u12"`, `"\u12g4"`, `"\`, `"open`, `"\"`, "[]", "[null]",
	`["a"]`, `["a","b"]`, `["a",null]`, `["a",1]`,
	`["\ud800"]`, "[1]", "[[]]", "[true,]", "[,]", "[1 2]", "[", "]", "{}", "{", `{"a":null}`, `{"a":"b"}`,
	`{"a":"b","a":"c"}`, `{"a":1}`, `{"a":["b"]}`,
	`{"a":["b"],"a":["c"]}`, `{"a":[null]}`, `{"a":[1]}`, `{"\u0061":"b","a":"c"}`, `{"":""}`, `{"a"}`, `{"a":}`,
	`{"a":1,}`, `{a:1}`, `{"a" "b"}`, `{1:2}`, `{"a":"b"]`, `["a"}`,
	`{"iss":"i","sub":"s"}`, `{"iss":"i","sub":"s","sub":"t"}`, `{"sub":null}`, `{"s\u0075b":"s"}`, `{"Sub":"s"}`,
	`{"sub":7}`, `{"claims":{"sub":"s"}}`,
	`{"claims":{"sub":"s"},"claims":null}`, `{"claims":["sub"],"principalId":"p"}`, `{"principalId":7}`,
	`{"principalId":7.5}`, `{"principalId":-0}`, `{"principalId":1e3}`,
	`{"principalId":[7]}`, `{"principalId":7,"principalId":"p"}`, `{"principalId":"p","principalId":7}`,
	`{"deep":{"principalId":"p","sub":"s","claims":{"sub":"s"}}}`,
	`{"idempotency-key":"k"}`, `{"Idempotency-Key":"k","IDEMPOTENCY-KEY":"l"}`,
	`{"idempotency-key":"k","idempotency-key":"l"}`, `{"idempotency-key":null}`,
	`{"Idempotency-\u004bey":"k"}`, "{\"idempotency-\u212aey\":\"k\"}", "{\"\u0130dempotency-key\":\"k\"}",
	`{"idempotency-key":["k"]}`, `{"idempotency-key":["k","l"]}`,
	`{"idempotency-key":[]}`, `{"idempotency-key":[null]}`, `{"idempotency-key":["k"],"idempotency-key":["l"]}`,
	`{"Idempotency-Key":["k"],"idempotency-key":["l"]}`,
	`{"x-forwarded-for":[]}`, `{"X-Forwarded-For":"a","X-Amzn-Trace-Id":"b"}`, `{"x-amzn-trace-id":["b","c"]}`,
	"{\"x-\xff\":\"a\"}", `{"a%62":"1","ab":"2","c":""}`, `{"a%62":["1"],"ab":["2"]}`,
	strings.Repeat("[", 31) + strings.Repeat("]", 31), strings.Repeat("[", 40) + strings.Repeat("]", 40),
	strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40),
	strings.Repeat("[", 10001) + strings.Repeat("]", 10001),
	"tru", "nul", "falsy", "nulll", "truetrue", "NaN", "Infinity", "01", "-", "-a", "+1", ".5", "1.", "1.e1", "1e",
	"1e+", "0x1", "1_0", "'a'", "//", "", ",", ":", `"a":"b"`,
}

// spellings are other ways to write a name.
func spellings(name string) []string {
	all := []string{
		strings.ToUpper(name), strings.ToLower(name), strings.ToUpper(name[:1]) + name[1:],
		fmt.Sprintf(`\u%04x%s`, name[0], name[1:]),
		strings.NewReplacer("k", "\u212a", "K", "\u212a", "s", "\u017f", "S", "\u017f").Replace(name), name + "x",
		name + "\xff", "x" + name[1:], `\ud800` + name, name + `\q`,
		name + "\n", name + `\u0000`, "",
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == name })
}

// mutants calls try with events that differ from payload in one place. What stands in known was
// tried in another event, and is not tried again.
func mutants(t testing.TB, payload []byte, known map[string]bool, try func(mutant []byte)) {
	t.Helper()
	for _, s := range spots(t, payload, 0, "") {
		member := s.under + string(payload[s.start:s.end])
		if known[member] {
			continue
		}
		known[member] = true
		before, name := string(payload[:s.start]), string(payload[s.start:s.name])
		value, after := string(payload[s.value:s.end]), string(payload[s.end:])
		colon := ""
		if name != "" {
			colon = ":"
		}
		render := func(name, value string) { try([]byte(before + name + value + after)) }
		for _, other := range append([]string{value}, valuesForSpots...) {
			render(name+colon, other)
			if name != "" {
				render(name+colon, value+","+name+":"+other)
				render(name+colon, other+","+name+":"+value)
			}
		}
		render(name+colon, " \t\r\n"+value+" \t\r\n")
		render(name+" "+colon+"\v", value)
		render(name+colon, value+" "+value)
		render(name+colon, value+after[:1])
		if name == "" {
			continue
		}
		render(name, value)
		for _, spelling := range spellings(name[1 : len(name)-1]) {
			render(`"`+spelling+`":`, value)
			render(`"`+spelling+`":`, value+","+name+":"+value)
			render(name+colon, value+`,"`+spelling+`":"twice"`)
			render(name+colon, value+`,"`+spelling+`":null`)
		}
	}
}
