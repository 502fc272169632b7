package fingerprint

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The bounds that a document has to keep to, beside [MaxDepth].
const (
	MaxSize     = maxSize
	MaxExponent = maxExponent
)

// Digested is what [Hash.JSON] digests of a document.
func Digested(t *testing.T, doc []byte) []byte {
	t.Helper()
	h := New("")
	start := len(h.fields) + lengthSize
	require.NoError(t, h.JSON(doc))
	return h.fields[start:]
}
