package interop

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"
)

// results are results that every side can keep.
func results() []string {
	return []string{
		`{"statusCode":200,"headers":{"Content-Type":"application/json"},"body":"{\"ok\": true}","isBase64Encoded":false}`,
		`"hello"`, `""`, `"{\"a\": 1}"`, `"42"`, `"null"`, `"say \"hi\" \\ /"`, `"é日😀\u2028\u007f\u0000<>&'"`,
		`0`, `1`, `-1`, `1.5`, `100`, `0.1`, `1e-7`, `9007199254740991`,
		`true`, `false`, `null`, `{}`, `[]`, `{"b":1,"a":"x","B":2.5}`, `{"a":null,"b":[null]}`,
		`{"z":[{"y":1,"x":2},[],{}],"A":null,"a":{"b":[1,2,"3",true]}}`, `[1,"1",1.5,false,null,{"k":[]},""]`,
	}
}

// everyResult replays results of every kind. AWS Powertools for Python replays what Python takes
// for false as null.
func everyResult(s *stage) {
	for i, result := range results() {
		s.Event = event(fmt.Sprint(i), 10)
		s.first.executes(s.ask, result)
		want := result
		if s.second.name == "python" && slices.Contains([]string{`""`, `0`, `false`, `{}`, `[]`}, result) {
			want = `null`
		}
		s.second.replays(s.ask, want)
	}
}

// keyEvents are events whose keys have rules of their own in some language, with the path that
// selects the key.
func keyEvents() map[string]string {
	return map[string]string{
		`{"id":"é日😀"}`:                        "id",
		`{"id":"<&>\u2028\u007f\u0001\"\\/"}`: "id",
		`{"id":9007199254740991}`:             "id",
		`{"id":1.5}`:                          "id",
		`{"id":1.0}`:                          "id",
		`{"id":100000000000000000000}`:        "id",
		`{"id":1e21}`:                         "id",
		`{"id":1e-7}`:                         "id",
		`{"id":0}`:                            "id",
		`{"id":true}`:                         "id",
		`{"id":{"b":1,"a":[1,2,{"d":1,"c":2}],"B":3,"10":1,"9":2}}`: "id",
		`{"id":["b","a",1]}`:                              "id",
		`{"a":"x","b":7}`:                                 "[a, b]",
		`{"a":"x","b":7,"c":1}`:                           "{first: a, second: b}",
		`{"body":"{\"user\":\"u-1\",\"amount\":42.50}"}`:  "powertools_json(body).[user, amount]",
		`{"body":"{\"user\":\"u-1\",\"amount\":42.50} "}`: "powertools_json(body)",
		`{"body":"eyJ1c2VyIjoidS0xIn0="}`:                 "powertools_json(powertools_base64(body)).user",
		`{"headers":{"Idempotency-Key":"8e03978e"}}`:      `headers."Idempotency-Key"`,
		`{"whole":"event","n":[1,2.5,null],"z":{}}`:       "",
	}
}

// everyKey finds the record of an event under the key that the other side made of it.
func everyKey(s *stage) {
	for event, path := range keyEvents() {
		s.Event, s.KeyPath = json.RawMessage(event), path
		got := s.first.begin(s.ask)
		require.True(s.T, got.Entered, "%s: %s %s", event, got.Error, got.Cause)
		s.first.ends(told{Return: json.RawMessage(`1`)})
		s.second.replays(s.ask, `1`)
	}
}
