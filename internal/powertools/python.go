package powertools

import (
	"slices"
	"strconv"
	"strings"
)

// pythonStyle is json.dumps(…, sort_keys=True) with its default separators and escapes.
var pythonStyle = style{
	comma: ", ", colon: ": ",
	arrange: byCodePoint,
	number:  pythonNumber,
	text:    withSurrogates(&escapes{hex: lowerHex, ascii: true}),
}

// byCodePoint sorts names as Python compares str. That is the order of bytes in UTF-8, surrogates
// included.
func byCodePoint(members []member) ([]member, error) {
	sorted := slices.Clone(members)
	slices.SortFunc(sorted, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return sorted, nil
}

// pythonNumber writes int exactly and float by its repr.
func pythonNumber(dst []byte, written string) ([]byte, error) {
	if isInteger(written) {
		return append(dst, exactInteger(written)...), nil
	}
	f, err := double(written)
	if err != nil {
		return nil, err
	}
	return appendPythonFloat(dst, f), nil
}

// appendPythonFloat writes without exponent from 1e-4 to below 1e16, and else with two digits of
// exponent at least (PyOS_double_to_string, format r).
func appendPythonFloat(dst []byte, f float64) []byte {
	d := shortest(f, -1)
	if -4 < d.point && d.point <= 16 {
		return d.plain(dst, 1)
	}
	dst = d.scientific(dst, 0, 'e')
	e, sign := d.point-1, byte('+')
	if e < 0 {
		e, sign = -e, '-'
	}
	if dst = append(dst, sign); e < 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, int64(e), 10)
}

// exactInteger drops the sign of -0, the only spelling of an integer that has another.
func exactInteger(written string) string {
	if written == "-0" {
		return "0"
	}
	return written
}

// pythonMissing is IdempotencyPersistenceLayer.is_missing_idempotency_key: None, an empty text, and
// a list or dict without any value but None.
func pythonMissing(v value) bool {
	return v.kind == null || v.kind == text && v.text == "" || v.isContainer() && v.all(isNull)
}
