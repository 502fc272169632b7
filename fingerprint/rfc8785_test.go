package fingerprint_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	jsoncanonicalizer "github.com/cyberphone/json-canonicalization/go/src/webpki.org/jsoncanonicalizer"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// vectors returns the directory of the test vectors that the authors of RFC 8785 publish, in the
// module cache.
func vectors(t *testing.T) string {
	const module = "github.com/cyberphone/json-canonicalization"
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	require.NoError(t, err, "the vectors of RFC 8785 are found by the go command")
	require.NotEmpty(t, out, "module %s is not in the module cache: go mod download", module)
	return filepath.Join(strings.TrimSpace(string(out)), "testdata")
}

func TestRFC8785Vectors(t *testing.T) {
	t.Parallel()
	dir := vectors(t)
	inputs, err := filepath.Glob(filepath.Join(dir, "input", "*.json"))
	require.NoError(t, err)
	require.Len(t, inputs, 6)
	for _, input := range inputs {
		name := strings.TrimSuffix(filepath.Base(input), ".json")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := os.ReadFile(input)
			require.NoError(t, err)
			want, err := os.ReadFile(filepath.Join(dir, "output", name+".json"))
			require.NoError(t, err)
			wantHex, err := os.ReadFile(filepath.Join(dir, "outhex", name+".txt"))
			require.NoError(t, err)

			// A number that has more digits than its double keeps them here.
			got := canonical(t, strings.ReplaceAll(string(doc), "333333333.33333329", "333333333.3333333"))
			require.Equal(t, string(want), got)
			require.Equal(t, strings.Fields(string(wantHex)), strings.Fields(spacedHex(got)))
		})
	}
}

func spacedHex(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteString(hex.EncodeToString([]byte{s[i]}) + " ")
	}
	return b.String()
}

// The vectors come with digests of a sequence of doubles and their ECMAScript notation, one
// "hexadecimal bits,notation" per line.
func TestRFC8785NumberSequence(t *testing.T) {
	t.Parallel()
	digests := map[int]string{
		1_000:     "be18b62b6f69cdab33a7e0dae0d9cfa869fda80ddc712221570f9f40a5878687",
		10_000:    "b9f7a8e75ef22a835685a52ccba7f7d6bdc99e34b010992cbc5864cd12be6892",
		100_000:   "22776e6d4b49fa294a0d0f349268e5c28808fe7e0cb2bcbe28f63894e494d4c7",
		1_000_000: "49415fee2c56c77864931bd3624faad425c3c577d6d74e89a83bc725506dad16",
	}
	next := numberSequence(t, vectors(t))
	lines := sha256.New()
	var number, line []byte
	for n := 1; n <= 1_000_000; n++ {
		f := next()
		number = strconv.AppendFloat(number[:0], f, 'e', -1, 64)
		line = strconv.AppendUint(line[:0], math.Float64bits(f), 16)
		line = append(line, ',')
		var err error
		line, err = fingerprint.Canonical(line, number)
		require.NoError(t, err)
		lines.Write(append(line, '\n'))
		if want, ok := digests[n]; ok {
			require.Equal(t, want, hex.EncodeToString(lines.Sum(nil)), "the first %d lines", n)
		}
	}
}

// numberSequence follows the description in the README of the vectors: a list of edge cases, which
// it reads there, 2000 doubles from the smallest normal one, then the finite ones other than 0 in
// the chain of SHA-256 digests that begins with 32 zero bytes.
func numberSequence(t *testing.T, dir string) func() float64 {
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	_, list, ok := strings.Cut(string(readme), "staticU64s = new BigUint64Array([")
	require.True(t, ok, "list of edge cases")
	list, _, _ = strings.Cut(list, "]")
	var doubles []float64
	for _, digits := range regexp.MustCompile(`0x([0-9a-f]{16})n`).FindAllStringSubmatch(list, -1) {
		bits, err := strconv.ParseUint(digits[1], 16, 64)
		require.NoError(t, err)
		doubles = append(doubles, math.Float64frombits(bits))
	}
	for i := range uint64(2000) {
		doubles = append(doubles, math.Float64frombits(0x0010000000000000+i))
	}
	var block [sha256.Size]byte
	return func() float64 {
		for len(doubles) == 0 {
			block = sha256.Sum256(block[:])
			for i := 0; i < len(block); i += 8 {
				f := math.Float64frombits(binary.LittleEndian.Uint64(block[i:]))
				if f != 0 && !math.IsInf(f, 0) && !math.IsNaN(f) {
					doubles = append(doubles, f)
				}
			}
		}
		f := doubles[0]
		doubles = doubles[1:]
		return f
	}
}

// Documents of any shape agree with the implementation that the authors of the RFC publish, but for
// its numbers, which are doubles.
func TestCanonicalAgreesWithReference(t *testing.T) {
	t.Parallel()
	reference := func(t *rapid.T, doc string) string {
		form, err := jsoncanonicalizer.Transform([]byte(doc))
		require.NoError(t, err)
		return string(form)
	}
	rapid.Check(t, func(t *rapid.T) {
		doc := spell(t, []any{drawDeep(t, drawValue(t, 4, 40))})
		want := reference(t, doc)
		require.Equal(t, want, canonical(t, want), "document %q", doc)
		require.Equal(t, want, reference(t, canonical(t, doc)), "document %q", doc)
	})
}
