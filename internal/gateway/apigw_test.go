package gateway_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFieldsThatTheTypesDoNotKnowDoNotCount(t *testing.T) {
	t.Parallel()
	a := familyOf("v2-jwt").open(t)
	a.gets(load[requestV2](t, "v2-jwt"), "201")
	a.gets(edited(t, "v2-jwt", `newInNextYear={"a":[1]}`, `requestContext.also="new"`), "201 replayed")
}

// All ways in which two maps can have a header are in request_test.go.
func TestKeyInBothHeaderMapsOfARESTEvent(t *testing.T) {
	t.Parallel()
	name, lower := "Idempotency-Key", "idempotency-key"
	none, one, two := map[string][]string(nil), map[string][]string{name: {"k"}}, map[string][]string{name: {"k", "k"}}
	cases := map[string]struct {
		single map[string]string
		multi  map[string][]string
		status int // 0: the key is k
	}{
		"both":                      {map[string]string{name: "k"}, one, 0},
		"only multi":                {nil, one, 0},
		"single beside other multi": {map[string]string{name: "k"}, map[string][]string{"Accept": {"a"}}, 0},
		"sent twice":                {map[string]string{name: "k"}, two, 400},
		"two spellings":             {map[string]string{name: "k", lower: "k"}, none, 400},
		"nowhere":                   {nil, nil, 400},
		"empty":                     {map[string]string{name: ""}, map[string][]string{name: {""}}, 400},
	}
	for _, keys := range [][]string{{"k", "k"}, {"k", "l"}, {"k,k"}, {""}, {"k", ""}} {
		e := ask{}.albMulti()
		e.MultiValueHeaders["idempotency-key"] = keys
		id, r := familyOf("alb-multi").identify(t.Context(), t, e)
		assert.Empty(t, id.key)
		assertProblem(t, r, 400, "invalid-key")
	}
	want := identified(t, ask{key: "k"}.v1())
	for label, c := range cases {
		e := ask{}.v1()
		delete(e.Headers, "content-type")
		e.Headers, e.MultiValueHeaders = c.single, c.multi
		for range 20 { // maps are ranged over in random order
			id, r := identify(t, e)
			if c.status == 0 {
				require.Equal(t, want.key, id.key, label)
			} else {
				require.Equal(t, c.status, r.Status, label)
				require.Empty(t, id.key, label)
			}
		}
	}
}
