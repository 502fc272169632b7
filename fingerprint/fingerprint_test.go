package fingerprint_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent/fingerprint"
)

var secret = []byte("0123456789abcdef0123456789abcdef")

// What version 1 computes is stored in records: these texts must never change.
func TestVersion1NeverChanges(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		add          func(t *testing.T, h *fingerprint.Hash)
		plain, keyed string
	}{
		"no field": {
			add:   func(*testing.T, *fingerprint.Hash) {},
			plain: "1:jRmeNyVPDcxJH6lGKtTWzG1ZUZ0Q2H0nuVzBtmf83KA",
			keyed: "1h:a83xRvBlgI1SYp4EAT4sJrgB9Rt8It_I34OR4PXRFxE",
		},
		"empty field": {
			add:   func(_ *testing.T, h *fingerprint.Hash) { h.Bytes(nil) },
			plain: "1:40BdcslnKMHnQvvYzpZRzNTIQJ-scOmuobXvLtlwogQ",
			keyed: "1h:pz-wFDRR5NeUUeCGAk6PbBbQ2F_DzIK02SFsO_rZe7I",
		},
		"request": {
			add: func(t *testing.T, h *fingerprint.Hash) {
				h.String("POST")
				h.String("/charges")
				h.Bytes([]byte{0, 0xff})
				require.NoError(t, h.JSON([]byte(`{"currency":"EUR","amount":12.50,"note":"\u00e9\u0001"}`)))
				value := map[string]any{"n": json.Number("9007199254740993"), "html": "<&>", "f": 0.1}
				require.NoError(t, h.Value(value))
			},
			plain: "1:O1DOj0ETohO9qxzSHemXGnuyQWxC8fZMKhMHHdCZdag",
			keyed: "1h:N31lBezlWJTRTqNk9atmqEyLBWgX3FDhy_-BlXAMh-E",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain, keyed := fingerprint.New("golden"), fingerprint.NewKeyed(secret, "golden")
			tc.add(t, plain)
			tc.add(t, keyed)
			require.Equal(t, tc.plain, plain.Text())
			require.Equal(t, tc.keyed, keyed.Text())
		})
	}
}

// The framing that the package documents, built by other means.
func TestSumIsDigestOfLengthPrefixedFields(t *testing.T) {
	t.Parallel()
	var framed bytes.Buffer
	for _, field := range []string{"purpose", "a", "", strings.Repeat("b", 300), `{"a":1}`} {
		require.NoError(t, binary.Write(&framed, binary.BigEndian, int64(len(field))))
		framed.WriteString(field)
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write(framed.Bytes())
	for _, tc := range []struct {
		hash *fingerprint.Hash
		want [32]byte
	}{
		{fingerprint.New("purpose"), sha256.Sum256(framed.Bytes())},
		{fingerprint.NewKeyed(secret, "purpose"), [32]byte(mac.Sum(nil))},
	} {
		tc.hash.String("a")
		tc.hash.Bytes(nil)
		tc.hash.String(strings.Repeat("b", 300))
		require.NoError(t, tc.hash.JSON([]byte(`{ "a": 1.0 }`)))
		require.Equal(t, tc.want, tc.hash.Sum())
	}
}

func digest(purpose string, fields ...string) string {
	h := fingerprint.New(purpose)
	for _, field := range fields {
		h.String(field)
	}
	return h.Text()
}

func TestDigestsAreEqualIfFieldsAre(t *testing.T) {
	t.Parallel()
	field := rapid.StringOfN(rapid.SampledFrom([]rune("ab\x00\x01")), 0, 3, -1)
	rapid.Check(t, func(t *rapid.T) {
		fields := rapid.SliceOfN(field, 1, 4)
		x, y := fields.Draw(t, "x"), fields.Draw(t, "y")
		require.Equal(t, strings.Join(x, "|") == strings.Join(y, "|"), digest(x[0], x[1:]...) == digest(y[0], y[1:]...))
	})
}

func TestFieldsAreBytesWhateverTheyWereGivenAs(t *testing.T) {
	t.Parallel()
	want := digest("p", `{"a":[1,"<"]}`)
	for name, add := range map[string]func(h *fingerprint.Hash) error{
		"bytes": func(h *fingerprint.Hash) error { h.Bytes([]byte(`{"a":[1,"<"]}`)); return nil },
		"JSON":  func(h *fingerprint.Hash) error { return h.JSON([]byte(`{ "a": [1.0, "\u003c"] }`)) },
		"value": func(h *fingerprint.Hash) error { return h.Value(map[string]any{"a": []any{1, "<"}}) },
		"raw":   func(h *fingerprint.Hash) error { return h.Value(json.RawMessage(`{"a":[10e-1,"<"]}`)) },
	} {
		h := fingerprint.New("p")
		require.NoError(t, add(h), name)
		require.Equal(t, want, h.Text(), name)
	}
	null := fingerprint.New("p")
	require.NoError(t, null.Value(nil))
	require.Equal(t, digest("p", "null"), null.Text())
}

func TestSumDoesNotChangeTheHash(t *testing.T) {
	t.Parallel()
	for _, h := range []*fingerprint.Hash{fingerprint.New("p"), fingerprint.NewKeyed(secret, "p")} {
		h.String("a")
		first := h.Sum()
		require.Equal(t, first, h.Sum())
		text := h.Text()
		require.Equal(t, text, h.Text())
		h.String("b")
		require.NotEqual(t, first, h.Sum())
	}
	h := fingerprint.New("p")
	h.String("a")
	_ = h.Sum()
	h.String("b")
	require.Equal(t, digest("p", "a", "b"), h.Text())
}

func TestResetBeginsAnew(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(purpose string) *fingerprint.Hash{
		"plain": fingerprint.New,
		"keyed": func(purpose string) *fingerprint.Hash { return fingerprint.NewKeyed(secret, purpose) },
	} {
		fresh := begin("q")
		fresh.String("field")
		for _, before := range []string{"", "field", strings.Repeat("x", 4096)} {
			h := begin("p")
			h.String(before)
			text := h.Text()
			h.Reset("q")
			h.String("field")
			require.Equal(t, fresh.Text(), h.Text(), name)
			h.Reset("p")
			h.String(before)
			require.Equal(t, text, h.Text(), name)
		}
	}
}

func TestHashIsUnchangedAfterError(t *testing.T) {
	t.Parallel()
	h := fingerprint.New("p")
	h.String("a")
	var syntax *fingerprint.SyntaxError
	require.ErrorAs(t, h.JSON([]byte(`{"a":1,"a":2}`)), &syntax)
	require.Equal(t, 7, syntax.Offset)
	require.Equal(t, digest("p", "a"), h.Text())

	err := h.Value(json.RawMessage(`{"a":1, "a":2}`))
	require.ErrorAs(t, err, &syntax)
	require.Equal(t, 7, syntax.Offset, "in the encoding")
	require.ErrorContains(t, err, "fingerprint: JSON text, byte 7: duplicate key, in the encoding of ")
	var unsupported *json.UnsupportedTypeError
	require.ErrorAs(t, h.Value(make(chan int)), &unsupported)
	require.ErrorContains(t, h.Value(math.NaN()), "fingerprint: encode float64: ")
	require.Equal(t, digest("p", "a"), h.Text())

	h.String("b")
	require.Equal(t, digest("p", "a", "b"), h.Text())
}

func TestKeyedDigestsDependOnTheKey(t *testing.T) {
	t.Parallel()
	other := bytes.Clone(secret)
	other[31]++
	plain, keyed, otherKey := fingerprint.New("p"), fingerprint.NewKeyed(secret, "p"), fingerprint.NewKeyed(other, "p")
	require.NotEqual(t, plain.Sum(), keyed.Sum())
	require.NotEqual(t, otherKey.Sum(), keyed.Sum())
	require.Equal(t, fingerprint.NewKeyed(secret, "p").Sum(), keyed.Sum())
	require.NotEqual(t, fingerprint.NewKeyed(secret, "q").Sum(), keyed.Sum())
}

func TestShortKeysAreRefused(t *testing.T) {
	t.Parallel()
	for size := range fingerprint.MinKeySize {
		require.PanicsWithValue(t, "fingerprint: key of "+strconv.Itoa(size)+" bytes, want at least 16", func() {
			fingerprint.NewKeyed(secret[:size], "p")
		})
	}
	require.NotPanics(t, func() { fingerprint.NewKeyed(secret[:fingerprint.MinKeySize], "p") })
}

func TestZeroHashPanics(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(h *fingerprint.Hash){
		"Bytes":  func(h *fingerprint.Hash) { h.Bytes(nil) },
		"String": func(h *fingerprint.Hash) { h.String("p") },
		"JSON":   func(h *fingerprint.Hash) { _ = h.JSON([]byte("1")) },
		"Value":  func(h *fingerprint.Hash) { _ = h.Value(1) },
		"Sum":    func(h *fingerprint.Hash) { h.Sum() },
		"Text":   func(h *fingerprint.Hash) { h.Text() },
		"Reset":  func(h *fingerprint.Hash) { h.Reset("p") },
	} {
		require.Panics(t, func() { use(new(fingerprint.Hash)) }, name)
	}
}

func TestVersionOf(t *testing.T) {
	t.Parallel()
	for _, h := range []*fingerprint.Hash{fingerprint.New("p"), fingerprint.New("")} {
		version, ok := fingerprint.VersionOf(h.Text())
		require.True(t, ok)
		require.Equal(t, "1", version)
	}
	version, ok := fingerprint.VersionOf(fingerprint.NewKeyed(secret, "p").Text())
	require.True(t, ok)
	require.Equal(t, "1h", version)

	digest43 := strings.Repeat("A", 43)
	for _, text := range []string{
		"", "1", "1h", "1:", ":" + digest43, "2:" + digest43, "01:" + digest43, " 1:" + digest43, "1H:" + digest43,
		"1h" + digest43,
		"1:1:" + digest43, "1::" + digest43, "1:" + digest43[1:], "1:" + digest43 + "A", "1:" + digest43 + "=",
		"1:" + digest43 + "\n",
		"1:" + digest43[1:] + "\n", "1:\r\n" + digest43, "1:" + digest43[1:] + "+", "1:" + digest43[1:] + "/",
		"1:" + digest43[1:] + "B",
		digest43, "d41d8cd98f00b204e9800998ecf8427e",
	} {
		version, ok := fingerprint.VersionOf(text)
		require.False(t, ok, "%q", text)
		require.Empty(t, version, "%q", text)
	}
}
