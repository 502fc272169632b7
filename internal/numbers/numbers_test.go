package numbers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent/internal/numbers"
)

// A float keeps a number if it is written as that number again, however it was spelled.
func TestNumbersThatAFloatKeeps(t *testing.T) {
	t.Parallel()
	for text, kept := range map[string]struct{ single, double bool }{
		"0": {true, true}, "-0.0": {true, true}, "42.0": {true, true}, "-12.5": {true, true},
		"0.1": {true, true}, "0.10": {true, true}, "1e-1": {true, true}, "100e-3": {true, true},
		"0.000e5": {true, true}, "0e99999999999999999999": {true, true}, "1e23": {true, true},
		"16777217":              {false, true},
		"9007199254740992":      {false, true}, // written with fewer digits as the smaller one
		"9007199254740993":      {false, false},
		"0.1000000000000000055": {false, false},
		"42.000000000000000001": {false, false},
		"5E-324":                {false, true}, // the least of all, and not as it is spelled mostly
		"4.9e-324":              {false, false},
		"1e-400":                {false, false}, // which becomes 0
		"1e39":                  {false, true},
		"1e400":                 {false, false},
		"":                      {false, false}, "0x10": {false, false}, "1_0": {false, false},
	} {
		assert.Equal(t, kept.single, numbers.FloatKeeps(text, 32), "float32: %s", text)
		assert.Equal(t, kept.double, numbers.FloatKeeps(text, 64), "float64: %s", text)
	}
}
