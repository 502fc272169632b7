package dynamo

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// FuzzValue: what has a canonical form keeps it as a value.
func FuzzValue(f *testing.F) {
	for _, text := range []string{
		`null`, `true`, `0`, `-1.50`, `1e400`, `9007199254740993`, `""`, `"\u0000\ud83d\ude00<&>"`, `[]`,
		`{}`, `[[[null]]]`,
		`{"b":1,"a":{"":[1,"1",{"é":"日本"}]}}`, `"2026-01-01"`, `{"a":1,"a":2}`, `"\ud800"`, `01`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		canonical, err := fingerprint.Canonical(nil, text)
		if err != nil {
			t.Skip("no canonical form")
		}
		v, err := valueOf(canonical)
		require.NoError(t, err)
		got, err := textOf(v)
		require.NoError(t, err)
		require.Equal(t, string(canonical), string(got))
	})
}
