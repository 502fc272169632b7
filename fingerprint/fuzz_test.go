package fingerprint_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// What every document has to satisfy: it is accepted exactly if the oracle accepts it, and its
// canonical form means the same, is the canonical form of itself, and is not too long. The larger
// inputs are left to the fuzzer of the parser: the oracle is slow.
func FuzzCanonical(f *testing.F) {
	f.Fuzz(func(t *testing.T, doc []byte) {
		form, err := fingerprint.Canonical(nil, doc)
		want, ok := any(nil), false
		if len(doc) < 4096 {
			want, ok = understand(doc)
			require.Equal(t, ok, err == nil, "accepted by the oracle: %v, error: %v", ok, err)
		}
		if err != nil {
			offset := offsetOf(t, err)
			require.GreaterOrEqual(t, offset, 0)
			require.LessOrEqual(t, offset, len(doc))
			return
		}
		require.LessOrEqual(t, len(form), 6*len(doc))
		again, err := fingerprint.Canonical(nil, form)
		require.NoError(t, err)
		require.Equal(t, string(form), string(again))
		if ok {
			got, ok := understand(form)
			require.True(t, ok)
			require.True(t, reflect.DeepEqual(want, got), "%q became %q", doc, form)
		}
	})
}

// Two numbers have one form exactly if the oracle finds them equal.
func FuzzNumber(f *testing.F) {
	f.Fuzz(func(t *testing.T, x, y string) {
		if len(x) > 2048 || len(y) > 2048 {
			t.Skip("too long for the oracle")
		}
		formX, errX := fingerprint.Canonical(nil, []byte(x))
		formY, errY := fingerprint.Canonical(nil, []byte(y))
		if errX != nil || errY != nil {
			return
		}
		meaningX, ok := understand([]byte(x))
		require.True(t, ok, x)
		meaningY, ok := understand([]byte(y))
		require.True(t, ok, y)
		require.Equal(t, reflect.DeepEqual(meaningX, meaningY), bytes.Equal(formX, formY), "%q and %q", x, y)
	})
}

func FuzzVersionOf(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		version, ok := fingerprint.VersionOf(text)
		if !ok {
			require.Empty(t, version)
			return
		}
		require.Regexp(t, `^(1|1h):[A-Za-z0-9_-]{43}$`, text)
		require.Equal(t, version, text[:len(text)-44])
	})
}

// A hash is as it was after each error, whatever the document.
func FuzzHashJSON(f *testing.F) {
	f.Fuzz(func(t *testing.T, doc []byte) {
		h := fingerprint.New("fuzz")
		before := h.Sum()
		form, want := fingerprint.Canonical(nil, doc)
		err := h.JSON(doc)
		require.Equal(t, want, err)
		if err != nil {
			var syntax *fingerprint.SyntaxError
			require.ErrorAs(t, err, &syntax)
			require.Equal(t, before, h.Sum())
			return
		}
		ofForm := fingerprint.New("fuzz")
		require.NoError(t, ofForm.JSON(form))
		require.Equal(t, ofForm.Sum(), h.Sum(), "the document and its canonical form are one value")
		require.LessOrEqual(t, len(fingerprint.Digested(t, doc)), len(doc), "%q", doc)
		again, err := fingerprint.Canonical(nil, fingerprint.Digested(t, doc))
		require.NoError(t, err)
		require.Equal(t, string(form), string(again))
	})
}
