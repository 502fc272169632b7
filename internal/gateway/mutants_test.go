package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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
