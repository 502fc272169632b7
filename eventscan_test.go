package idempotent

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
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// eventReader reads the events of one type in both ways.
type eventReader struct {
	scan   func(payload []byte, e *httpEvent) bool
	decode func(payload []byte) (httpEvent, error)
	// request is what the family makes of what was read.
	request func(*httpRequest)
}

func readerOf[In, Out any](t testing.TB) eventReader {
	t.Helper()
	s := shaped[In, Out](t, WithHTTP(HTTP{
		TimestampHeader: "X-Sent-At", MaxRequestAge: time.Hour, FingerprintHeaders: []string{"X-Client-Tags", "Accept"},
	}))
	require.NotNil(t, s.plan, "%T has no plan", *new(In))
	return eventReader{
		scan: s.plan.scan,
		decode: func(payload []byte) (httpEvent, error) {
			in, err := (&source[In]{payload: payload}).event()
			return s.family.event(in, s.names), err
		},
		request: s.family.request,
	}
}

// eventReaders are those of all families, by the names that golden events begin with.
func eventReaders(t testing.TB) map[string]eventReader {
	t.Helper()
	return map[string]eventReader{
		"v2":  readerOf[*events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse](t),
		"v1":  readerOf[events.APIGatewayProxyRequest, *events.APIGatewayProxyResponse](t),
		"url": readerOf[events.LambdaFunctionURLRequest, events.LambdaFunctionURLResponse](t),
		"alb": readerOf[events.ALBTargetGroupRequest, events.ALBTargetGroupResponse](t),
	}
}

// settled is e without the difference between nothing and something empty, which no request is told by.
func settled(e httpEvent) httpEvent {
	if len(e.body) == 0 {
		e.body = nil
	}
	values := make([][]string, len(e.headers.names))
	for i := range values {
		if len(e.headers.values[i]) > 0 {
			values[i] = slices.Clone(e.headers.values[i])
		}
	}
	e.headers.values, e.room = values, headerRoom{}
	if len(e.query) == 0 {
		e.query = nil
	}
	multi := map[string][]string{}
	for name, values := range e.multiQuery {
		multi[name] = append([]string{}, values...)
	}
	e.multiQuery = multi
	return e
}

// agrees checks that a scanned event is what the decoder would have made of it. It reports whether it was scanned at all.
func (r eventReader) agrees(t testing.TB, payload []byte) bool {
	t.Helper()
	var scanned httpEvent
	given := slices.Clone(payload)
	if !r.scan(given, &scanned) {
		return false
	}
	clear(given) // the event has to have copies
	decoded, err := r.decode(payload)
	if err != nil {
		t.Fatalf("scanned, although the decoder refuses it: %v\n%q", err, payload)
	}
	scanned, decoded = settled(scanned), settled(decoded)
	if !assert.ObjectsAreEqual(decoded, scanned) {
		assert.Equal(t, decoded, scanned, "%q", payload)
		t.FailNow()
	}
	one, other := httpRequest{event: scanned}, httpRequest{event: decoded}
	r.request(&one)
	r.request(&other)
	assert.Equal(t, other, one)
	return true
}

// goldenEvents are the events in testdata and those of the example, minified, by name.
func goldenEvents(t testing.TB) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, pattern := range []string{"testdata/events/*.json", "examples/apigw-charge/events/*.json"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			payload, err := os.ReadFile(file)
			require.NoError(t, err)
			var short bytes.Buffer
			require.NoError(t, json.Compact(&short, payload))
			name := filepath.Base(file)
			if strings.HasPrefix(pattern, "examples") {
				name = "v2-example-" + name
			}
			if name == "v2-example-rest.json" {
				name = "v1-example-rest.json"
			}
			all[name] = short.Bytes()
		}
	}
	return all
}

func TestScannedGoldenEventIsTheDecodedOne(t *testing.T) {
	t.Parallel()
	readers := eventReaders(t)
	for name, payload := range goldenEvents(t) {
		kind, _, _ := strings.Cut(name, "-")
		assert.True(t, readers[kind].agrees(t, payload), "%s was not scanned", name)
		for other, r := range readers {
			t.Logf("%s as %s: %t", name, other, r.agrees(t, payload))
		}
	}
}

func TestScannedEventMayHaveWhiteSpaceAndMoreBehindIt(t *testing.T) {
	t.Parallel()
	readers := eventReaders(t)
	for name, payload := range goldenEvents(t) {
		kind, _, _ := strings.Cut(name, "-")
		var long bytes.Buffer
		require.NoError(t, json.Indent(&long, payload, " \r", "\t "))
		assert.True(t, readers[kind].agrees(t, long.Bytes()), name)
		for _, behind := range []string{" ", "\n", "{", "nonsense", "\x00", "\xff"} {
			assert.True(t, readers[kind].agrees(t, slices.Concat([]byte(" \n"), payload, []byte(behind))), name)
		}
		for i := range payload {
			require.False(t, readers[kind].agrees(t, payload[:i]), "%s, cut off", name)
		}
	}
}

func TestScannedEventMayHaveItsMembersInAnyOrder(t *testing.T) {
	t.Parallel()
	readers := eventReaders(t)
	for name, payload := range goldenEvents(t) {
		kind, _, _ := strings.Cut(name, "-")
		assert.True(t, readers[kind].agrees(t, reversed(t, payload)), name)
	}
}

// reversed is a JSON text with the members of all objects the other way round.
func reversed(t testing.TB, value []byte) []byte {
	t.Helper()
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
		members = append(members, strconv.Quote(name.(string))+":"+string(reversed(t, member)))
	}
	slices.Reverse(members)
	return []byte("{" + strings.Join(members, ",") + "}")
}

// spot is a value in an event, and its name if it is that of a member.
type spot struct{ start, name, value, end int } // offsets; start and name are equal if there is no name

// spots finds all values in text, which begins at base.
func spots(t testing.TB, text []byte, base int) (all []spot) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	begin, err := d.Token()
	require.NoError(t, err)
	if _, ok := begin.(json.Delim); !ok {
		return nil
	}
	for d.More() {
		var s spot
		nameLength := 0
		if begin == json.Delim('{') {
			name, err := d.Token()
			require.NoError(t, err)
			nameLength = len(strconv.Quote(name.(string)))
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
		all = append(all, spots(t, value, s.value)...)
	}
	return all
}

// valuesForSpots are JSON values of all kinds, and what is none.
var valuesForSpots = []string{
	"null", "true", "false", "0", "-0", "7", "-7", "1.5", "7.0", "1e2", "1E400", "-1e-400", "999999999999999", "9007199254740993",
	"12345678901234567890", "1" + strings.Repeat("0", 400), `""`, `"x"`, `"X-Y"`, `"a\"b\\c\/d\b\f\n\r\t"`, `"\u0041\u00e9\u20ac"`,
	`"\ud83d\ude00"`, `"\uD83D\uDE00\u0000"`, `"\ud800"`, `"\udc00x"`, `"\ud800\ud800"`, `"\ud800\n"`, `"\ud83d\u0041"`, `"é€😀"`, "\"\xff\"", "\"a\xed\xa0\x80\"",
	"\"\ufffd\"", "\"\x01\"", "\"\n\"", "\"\x7f\"", `"\x"`, `"\u12"`, `"\u12g4"`, `"\`, `"open`, `"\"`, "[]", "[null]", `["a"]`, `["a","b"]`, `["a",null]`, `["a",1]`,
	`["\ud800"]`, "[1]", "[[]]", "[true,]", "[,]", "[1 2]", "[", "]", "{}", "{", `{"a":null}`, `{"a":"b"}`, `{"a":"b","a":"c"}`, `{"a":1}`, `{"a":["b"]}`,
	`{"a":["b"],"a":["c"]}`, `{"a":[null]}`, `{"a":[1]}`, `{"\u0061":"b","a":"c"}`, `{"":""}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{"a" "b"}`, `{1:2}`, `{"a":"b"]`, `["a"}`,
	`{"iss":"i","sub":"s"}`, `{"iss":"i","sub":"s","sub":"t"}`, `{"sub":null}`, `{"s\u0075b":"s"}`, `{"Sub":"s"}`, `{"sub":7}`, `{"claims":{"sub":"s"}}`,
	`{"claims":{"sub":"s"},"claims":null}`, `{"claims":["sub"],"principalId":"p"}`, `{"principalId":7}`, `{"principalId":7.5}`, `{"principalId":-0}`, `{"principalId":1e3}`,
	`{"principalId":[7]}`, `{"principalId":7,"principalId":"p"}`, `{"principalId":"p","principalId":7}`, `{"deep":{"principalId":"p","sub":"s","claims":{"sub":"s"}}}`,
	`{"idempotency-key":"k"}`, `{"Idempotency-Key":"k","IDEMPOTENCY-KEY":"l"}`, `{"idempotency-key":"k","idempotency-key":"l"}`, `{"idempotency-key":null}`,
	`{"Idempotency-\u004bey":"k"}`, "{\"idempotency-\u212aey\":\"k\"}", "{\"\u0130dempotency-key\":\"k\"}", `{"idempotency-key":["k"]}`, `{"idempotency-key":["k","l"]}`,
	`{"idempotency-key":[]}`, `{"idempotency-key":[null]}`, `{"idempotency-key":["k"],"idempotency-key":["l"]}`, `{"Idempotency-Key":["k"],"idempotency-key":["l"]}`,
	`{"x-forwarded-for":[]}`, `{"X-Forwarded-For":"a","X-Amzn-Trace-Id":"b"}`, `{"x-amzn-trace-id":["b","c"]}`, "{\"x-\xff\":\"a\"}", `{"a%62":"1","ab":"2","c":""}`, `{"a%62":["1"],"ab":["2"]}`,
	strings.Repeat("[", 31) + strings.Repeat("]", 31), strings.Repeat("[", 40) + strings.Repeat("]", 40), strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40),
	strings.Repeat("[", 10001) + strings.Repeat("]", 10001),
	"tru", "nul", "falsy", "nulll", "truetrue", "NaN", "Infinity", "01", "-", "-a", "+1", ".5", "1.", "1.e1", "1e", "1e+", "0x1", "1_0", "'a'", "//", "", ",", ":", `"a":"b"`,
}

// spellings are other ways to write a name.
func spellings(name string) []string {
	all := []string{
		strings.ToUpper(name), strings.ToLower(name), strings.ToUpper(name[:1]) + name[1:], fmt.Sprintf(`\u%04x%s`, name[0], name[1:]),
		strings.NewReplacer("k", "\u212a", "K", "\u212a", "s", "\u017f", "S", "\u017f").Replace(name), name + "x", name + "\xff", "x" + name[1:], `\ud800` + name, name + `\q`,
		name + "\n", name + `\u0000`, "",
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == name })
}

// mutants calls try with events that differ from payload in one place.
func mutants(t testing.TB, payload []byte, try func(mutant []byte)) {
	t.Helper()
	for _, s := range spots(t, payload, 0) {
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

func TestScannedMutantOfAnEventIsTheDecodedOne(t *testing.T) {
	t.Parallel()
	readers := eventReaders(t)
	goldens := goldenEvents(t)
	for _, name := range []string{
		"v2-full.json", "v2-jwt.json", "v2-lambda-principal.json", "v2-iam-cognito.json", "v1-proxy.json", "v1-cognito.json", "v1-api-key.json",
		"url-iam.json", "alb-single.json", "alb-multi-query.json",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind, _, _ := strings.Cut(name, "-")
			scanned, all := 0, 0
			require.Contains(t, goldens, name)
			mutants(t, goldens[name], func(mutant []byte) {
				all++
				if readers[kind].agrees(t, mutant) {
					scanned++
				}
			})
			t.Logf("%d of %d scanned", scanned, all)
			assert.Greater(t, scanned, all/20)
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
		f.Add([]byte(`{"headers":` + value + `,"requestContext":{"authorizer":` + value + `},"queryStringParameters":` + value + `}`))
	}
	kinds := slices.Sorted(maps.Keys(readers))
	f.Fuzz(func(t *testing.T, payload []byte) {
		for _, kind := range kinds {
			readers[kind].agrees(t, payload)
		}
	})
}

func BenchmarkScan(b *testing.B) {
	r := eventReaders(b)["v2"]
	payload := orderEvent(b, 3<<10)
	for name, read := range map[string]func(){
		"scan":   func() { r.scan(payload, new(httpEvent)) },
		"decode": func() { _, _ = r.decode(payload) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				read()
			}
		})
	}
}
