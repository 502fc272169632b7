package powertools

import (
	"bufio"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
)

// testdata/doubletostring.txt was printed by the two JDKs: all powers of ten and two in steps,
// subnormal numbers, large integers, doubles on which they differ, and some for which the integers
// of FloatingDecimal overflow.
func TestDoublesPrintAsTheJDKPrintsThem(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/doubletostring.txt")
	require.NoError(t, err)
	defer file.Close()
	lines, differ := 0, 0
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		fields := strings.Fields(scanner.Text())
		if fields[0] == "#" {
			continue
		}
		lines++
		bits, err := strconv.ParseUint(fields[0], 16, 64)
		require.NoError(t, err)
		f := math.Float64frombits(bits)
		requireDouble(t, oldDigits, f, fields[1])
		requireDouble(t, newDigits, f, fields[2])
		if fields[1] == fields[2] {
			requireDouble(t, anyDigits, f, fields[1])
			continue
		}
		differ++
		_, err = anyDigits(f)
		require.ErrorIs(t, err, ErrJDK, fields[0])
	}
	require.Equal(t, 773, lines)
	require.Greater(t, differ, 100)
}

func requireDouble(t *testing.T, digits func(float64) (decimal, error), f float64, want string) {
	t.Helper()
	got, err := digits(f)
	require.NoError(t, err, want)
	require.Equal(t, "behind "+want, string(javaDoubles.append([]byte("behind "), got)))
}

// Halfway cases of String.prototype.toLowerCase, as Node.js 20 answers them.
func TestLowerCaseIsThatOfJavaScript(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"ABC_z9": "abc_z9", "É日😀": "é日😀", "İ": "i̇", "ẞ": "ß", "K": "k", "Ǆǅ": "ǆǆ", "𐐀": "𐐨",
		"Σ": "σ", "ΑΣ": "ας", "ΑΣΑ": "ασα", "ΣΑ": "σα", "Α.Σ": "α.ς", "Α Σ": "α σ", "ΑΣ.Α": "ασ.α", "ΑΣ Α": "ας α",
		"Α\u0301Σ\u0301": "α\u0301ς\u0301", "1Σ": "1σ", "ΣΣ": "σς", "aʰΣ": "aʰς", "ʰΣ": "ʰσ",
	} {
		require.Equal(t, want, string(utf16.Decode(lowerCase(in))), in)
	}
	require.Equal(t, []uint16{'a', 0xD800, 'σ'}, lowerCase("A\xed\xa0\x80Σ"), "half of a surrogate pair has no case")
	require.Equal(t, []uint16{'a', 'ς', 0xD800}, lowerCase("AΣ\xed\xa0\x80"))
}
