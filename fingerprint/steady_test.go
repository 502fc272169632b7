package fingerprint_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/fingerprint"
)

var update = flag.Bool("update", false, "write the golden file")

type (
	textKey    string // a string with MarshalText
	numberKey  int    // an integer with MarshalText
	pairKey    struct{ A, B string }
	appendKey  string
	appends    struct{ A string }
	appendsToo struct{ A string }
	streams    struct{ A string }
	pointers   struct{ A string }
	own        struct{ A string }
	inner      struct {
		A int `json:"a"`
		B *inner
	}
	wrapped struct{ Names map[textKey]int }
	outer   struct {
		inner

		C []byte
		D float64        `json:",string"`
		E map[string]any `json:"e,omitempty"`
		F time.Time      `json:"f,omitzero"`
		G textKey
		h map[textKey]int
		I map[textKey]int `json:"-"`
	}
)

func (k textKey) MarshalText() ([]byte, error)           { return []byte("key " + string(k)), nil }
func (k numberKey) MarshalText() ([]byte, error)         { return fmt.Appendf(nil, "number %d", int(k)), nil }
func (k pairKey) MarshalText() ([]byte, error)           { return []byte(k.A + "/" + k.B), nil }
func (k appendKey) AppendText(to []byte) ([]byte, error) { return append(to, k...), nil }
func (a appends) AppendText(to []byte) ([]byte, error)   { return append(to, a.A...), nil }
func (a appendsToo) AppendText(to []byte) ([]byte, error) {
	return append(to, a.A...), nil
}
func (a appendsToo) MarshalText() ([]byte, error) { return a.AppendText(nil) }
func (streams) MarshalJSONTo(*json.Encoder) error { return nil }
func (p *pointers) MarshalText() ([]byte, error)  { return []byte("pointer to " + p.A), nil }
func (o own) MarshalJSON() ([]byte, error)        { return json.Marshal(map[string]string{"own": o.A}) }

const noUTF8 = "a\xffb\xed\xa0\x80c\xc0\x80"

// TestDigestsOfValuesAreThoseOfEveryRelease compares with a golden file, which was written once.
func TestDigestsOfValuesAreThoseOfEveryRelease(t *testing.T) {
	t.Parallel()
	values := map[string]any{
		"nil":                     nil,
		"text that is no UTF-8":   noUTF8,
		"name that is no UTF-8":   map[string]int{noUTF8: 1},
		"key that is no UTF-8":    map[pairKey]int{{noUTF8, ""}: 1},
		"method of no UTF-8":      pairKey{noUTF8, "b"},
		"controls and HTML":       "\x00\b\x7f<>&\u2028\u2029\U0001F600",
		"keys of integers":        map[int]bool{10: true, 9: false},
		"keys with text":          map[pairKey]int{{"b", "c"}: 1, {"a", "d"}: 2},
		"keys of numbers as text": map[numberKey]int{2: 1, 1: 2},
		"keys of json.Number":     map[json.Number]int{"1.0": 1},
		"keys of a library":       map[netip.Addr]int{netip.IPv6Loopback(): 1},
		"values with text":        []textKey{"a"},
		"both texts":              []appendsToo{{"x"}},
		"by pointer":              []pointers{{"a"}},
		"by value":                map[string]pointers{"p": {"a"}},
		"MarshalJSON":             []any{own{"<"}, &own{"a"}},
		"numbers": []float64{
			0, math.Copysign(0, -1), 1e20, 1e21, 1e-6, 1e-7,
			math.MaxFloat64, 5e-324, 0.1,
		},
		"short numbers": []float32{0.1, 1e21, 1e-7, 16777216},
		"exact numbers": []any{
			json.Number("1E+400"), big.NewInt(1 << 62), json.Number("-0"),
			uint64(math.MaxUint64),
		},
		"bytes":          [][]byte{[]byte("a\xff"), nil, {}},
		"array of bytes": [2]byte{1, 2},
		"times":          []time.Time{time.Unix(1e9, 5).UTC(), time.Unix(0, 0).In(time.FixedZone("", 3600))},
		"raw":            json.RawMessage(` {"b" : 1.0, "a":"\u0041\/"} `),
		"nothing":        []any{[]int(nil), map[string]int(nil), (*int)(nil), []int{}, struct{}{}},
		"struct": outer{
			inner: inner{1, &inner{A: 2}}, C: []byte{1}, D: 1.5,
			E: map[string]any{"x": outer{}}, G: "g", h: nil,
		},
		"pointer to it": &outer{I: map[textKey]int{"not": 1}, h: map[textKey]int{"encoded": 1}},
	}
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(values)) {
		h := fingerprint.New("golden")
		require.NoError(t, h.Value(values[name]), name)
		fmt.Fprintf(&lines, "%s: %s\n", name, h.Text())
	}
	golden := filepath.Join("testdata", "values.golden")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(lines.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), lines.String())
}

// TestValuesThatReleasesEncodeDifferentlyAreRefused has no digest of what one release of Go encodes
// in another way than the next one.
func TestValuesThatReleasesEncodeDifferentlyAreRefused(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{
		"strings with MarshalText as keys": map[textKey]int{"a": 1},
		"strings with AppendText as keys":  map[appendKey]int{"a": 1},
		"an empty map of such keys":        map[textKey]int{},
		"any keys":                         map[any]int{"a": 1},
		"numbers as keys":                  map[float64]int{1: 1},
		"booleans as keys":                 map[bool]int{true: 1},
		"appended text as keys":            map[appends]int{{"a"}: 1},
		"AppendText":                       appends{"a"},
		"MarshalJSONTo":                    streams{"a"},
		"deep":                             []any{map[string]any{"x": &struct{ Y [1]map[textKey]int }{}}},
		"in an embedded struct":            struct{ wrapped }{},
		"a field that is embedded by its tag": struct {
			A inner `json:",embed"`
		}{},
		"a field with a format": struct {
			A time.Time `json:",format:RFC3339"`
		}{},
		"a name that is ignored": struct {
			A int `json:"a\tb"`
		}{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := fingerprint.New("p")
			require.Error(t, h.Value(v))
			require.Equal(t, digest("p"), h.Text())
		})
	}
}
