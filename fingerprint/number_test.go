package fingerprint_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// Each row is one number: all its spellings have the first as canonical form, and no other row has
// it.
var spellings = [][]string{
	{
		"0", "-0", "0.0", "-0.0", "0e0", "0E+99", "0e-99", "-0.000e5", "0e999999999999999999999",
		"-0.0e-999999999999999999999",
	},
	{
		"1", "1.0", "1e0", "1E0", "1e+0", "1e-0", "10e-1", "0.1e1", "0.001e3", "1000e-3", "1.000",
		"1e00000000000000000000000",
	},
	{"-1", "-1.0", "-1e0", "-10e-1"},
	{"10", "1e1", "1E+1", "1e01", "10.0", "100e-1"},
	{"0.1", "1e-1", "0.10", "10e-2", "0.01e1"},
	{"0.10000000000000000001", "10000000000000000001e-20"},
	{"0.2"},
	{"0.1000000000000000055511151231257827021181583404541015625"}, // the double nearest to 0.1
	{"12.5", "1.25e1", "125e-1", "12.50", "0.125e2"},
	{"9007199254740991"},
	{"9007199254740992", "9007199254740992.0", "9.007199254740992e15"},
	{"9007199254740993", "9007199254740993.0", "9.007199254740993e15"},
	{"18446744073709551615"},
	{"18446744073709551616"},
	{"100000000000000000000", "1e20", "1E+20", "0.1e21"},
	{"123456789012345678901", "1.23456789012345678901e20"},
	{"123456789012345678901.5", "1234567890123456789015e-1"},
	{"999999999999999999999"},
	{"999999999999999999999.9"},
	{"1e+21", "1e21", "1000000000000000000000", "10e20"},
	{"1.5e+21", "1500000000000000000000"},
	{"1.234567890123456789012e+21", "1234567890123456789012"},
	{"1.0000000000000000000001e+21", "1000000000000000000000.1"},
	{"-1.2e+30", "-12e29", "-1200000000000000000000000000000"},
	{"0.000001", "1e-6", "0.1e-5", "0.0000010"},
	{"0.00000123", "1.23e-6"},
	{"1e-7", "0.0000001", "10e-8"},
	{"1.23e-7", "0.000000123"},
	{"-1.5e-7", "-15e-8"},
	{"5e-324"},
	{"4.9e-324"},
	{"1e-400", "0.1e-399"},
	{"1e+400", "1E400", "10e399"},
	{
		"1e+1000000000000000", "1e1000000000000000", "10e999999999999999", "0.1e1000000000000001",
		"0.00001e1000000000000005",
	},
	{"1e-1000000000000000", "0.1e-999999999999999", "10000e-1000000000000004"},
	{"9.9e+1000000000000000", "99e999999999999999"},
}

func TestSpellingsOfNumbers(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, row := range spellings {
		require.False(t, seen[row[0]], "%s is two numbers", row[0])
		seen[row[0]] = true
		for _, spelling := range row {
			require.Equal(t, row[0], canonical(t, spelling), "spelled %s", spelling)
		}
	}
}

func TestHostileNumbers(t *testing.T) {
	t.Parallel()
	const million = 1_000_000
	zeros, nines := strings.Repeat("0", million), strings.Repeat("9", million)
	for name, tc := range map[string]struct{ in, want string }{
		"long integer":              {nines, "9." + nines[1:] + "e+999999"},
		"power of ten":              {"1" + zeros, "1e+1000000"},
		"long fraction":             {"0." + nines, "0." + nines},
		"small":                     {"0." + zeros + "1", "1e-1000001"},
		"zeros behind the point":    {"1." + zeros, "1"},
		"digit after many zeros":    {"1." + zeros + "1", "1." + zeros + "1"},
		"long zero":                 {"0." + zeros, "0"},
		"long zero, long exponent":  {"-0." + zeros + "e" + nines, "0"},
		"zeros before the exponent": {"1e" + zeros + "5", "100000"},
		"exponent makes up for it":  {"0." + zeros + "1e1000001", "1"},
		"and the other way":         {"1" + zeros + "e-1000000", "1"},
		"also beyond the limit":     {"0." + zeros + "1e1000000001000001", "1e+1000000000000000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireSame(t, tc.want, canonical(t, tc.in))
			requireSame(t, tc.want, canonical(t, tc.want))
		})
	}
	for name, number := range map[string]string{
		"long exponent": "1e" + nines, "long negative exponent": "1e-" + nines, "long both": nines + "e" + nines,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := fingerprint.Canonical(nil, []byte(number))
			require.Equal(t, 0, offsetOf(t, err))
		})
	}
}
