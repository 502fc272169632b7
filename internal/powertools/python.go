package powertools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/internal/jsontext"
)

// pythonStyle is json.dumps(…, sort_keys=True) with its default separators and escapes.
var pythonStyle = style{
	comma: ", ", colon: ": ",
	escapes: jsontext.Escapes{ASCII: true},
	arrange: byCodePoint,
	integer: true,
	double:  pythonFloat,
}

// byCodePoint sorts names as Python compares str. That is the order of bytes in UTF-8, surrogates
// included.
func byCodePoint(members []member) ([]member, error) {
	sorted := slices.Clone(members)
	slices.SortFunc(sorted, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return sorted, nil
}

// pythonFloat is the repr: without exponent from 1e-4 to below 1e16, and else with two digits of
// exponent at least (PyOS_double_to_string, format r).
func pythonFloat(dst []byte, f float64) ([]byte, error) {
	d := shortest(f, -1)
	if -4 < d.point && d.point <= 16 {
		return d.plain(dst, 1), nil
	}
	return fmt.Appendf(d.scientific(dst, 0, 'e'), "%+03d", d.point-1), nil
}

// pythonMissing is IdempotencyPersistenceLayer.is_missing_idempotency_key: None, an empty text, and
// a list or dict without any value but None.
func pythonMissing(v value) bool {
	return v.kind == null || v.kind == text && v.text == "" || v.holdsOnly(isNull)
}
