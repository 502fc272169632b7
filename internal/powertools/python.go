package powertools

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/internal/jsontext"
)

// python has json.dumps(…, sort_keys=True) with its default separators and escapes, and the
// repr of a float (PyOS_double_to_string, format r).
func python() *Codec {
	return &Codec{
		comma: ", ", colon: ": ",
		escapes:  jsontext.Escapes{ASCII: true},
		arrange:  byCodePoint,
		integers: true,
		digits:   fewest,
		doubles:  notation{least: -4, most: 16, fraction: 1, exponent: "e%+03d"},
		// IdempotencyPersistenceLayer.is_missing_idempotency_key: None, an empty text, and a list
		// or dict without any value but None.
		nothing: isNull, digest: hex.EncodeToString, hashes: openSSLNames,
	}
}

// byCodePoint sorts names as Python compares str. That is the order of bytes in UTF-8, surrogates
// included.
func byCodePoint(members []member, _ bool) ([]member, error) {
	sorted := slices.Clone(members)
	slices.SortFunc(sorted, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return sorted, nil
}
