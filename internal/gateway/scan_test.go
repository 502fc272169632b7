package gateway

import (
	"bytes"
	"encoding/json"
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
		scan: func(payload []byte, r *Request) bool { return f.Scan(payload, false, r) },
		decode: func(payload []byte) (*Request, error) {
			var in In
			// As in Lambda, what follows the event does not count.
			var r Request
			if err := json.NewDecoder(bytes.NewReader(payload)).Decode(&in); err != nil {
				return &r, err
			}
			reads(f, in, &r)
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
	e.headers, e.room = slices.Clone(e.headers), [8]header{}
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
	scanned := Request{Route: "before", Refusal: errNoMethod, event: event{hasMulti: true, body: []byte("before")}}
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
	for _, encoded := range []bool{false, true} {
		for _, payload := range []string{"[]", `{"requestContext":{"http":{"method":"POST"`, ""} {
			var r Request
			assert.False(t, f.Scan([]byte(payload), encoded, &r), payload)
			assert.Equal(t, errUnread, r.Refusal, payload)
		}
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
