package jmespath

import "math/bits"

// maxExponentDigits bounds the exponent of a number, so that adding the number's
// length to it cannot overflow an int64. The largest exponent that anyone means
// is 308, or 6144 for decimals of 128 bits.
const maxExponentDigits = 18

// str checks a string that begins with the quote at i.
func (c *checker) str(i int) int {
	text := c.text
	for i++; i < len(text); {
		i += plainPrefix(text[i:])
		if i == len(text) {
			break
		}
		switch b := text[i]; {
		case b == '"':
			return i + 1
		case b == '\\':
			if i = c.escape(i); i < 0 {
				return i
			}
		case b < ' ':
			return c.fail(i, "control character in a string")
		default:
			i++
		}
	}
	return c.fail(i, "unexpected end of a string")
}

// plainPrefix returns a number of bytes at the beginning of text that need no look
// in a string: no quote, no backslash, no control character. It takes eight at a
// time, most of an event being strings, and stops before the last seven.
func plainPrefix(text string) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for i := 0; i+8 <= len(text); i += 8 {
		b := text[i : i+8]
		word := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		quote, backslash := word^ones*'"', word^ones*'\\'
		// The top bit of a byte x is set in (x - n) &^ x if x < n, and the lowest
		// such byte is always a true one.
		found := (word - ones*' ') &^ word
		found |= (quote - ones) &^ quote
		found |= (backslash - ones) &^ backslash
		if found &= tops; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	return len(text) &^ 7
}

// escape checks the escape sequence that begins with the backslash at i, or two
// of them if they are a surrogate pair.
func (c *checker) escape(i int) int {
	if i+1 >= len(c.text) {
		return c.fail(i, "unexpected end of a string")
	}
	switch c.text[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		unit, ok := codeUnit(c.text, i)
		switch {
		case !ok:
			return c.fail(i, "escape sequence needs four hexadecimal digits")
		case isLow(unit):
			return c.fail(i, "lone surrogate")
		case isHigh(unit):
			if low, ok := codeUnit(c.text, i+6); !ok || !isLow(low) {
				return c.fail(i, "lone surrogate")
			}
			return i + 12
		}
		return i + 6
	}
	return c.fail(i, "unknown escape sequence")
}

// number checks a number that begins at i.
func (c *checker) number(i int) int {
	if c.at(i, '-') {
		i++
	}
	start := i
	if i = c.digits(i); i == start {
		return c.fail(i, "not a JSON value")
	}
	if i-start > 1 && c.text[start] == '0' {
		return c.fail(start, "number with a leading zero")
	}
	if c.at(i, '.') {
		start = i + 1
		if i = c.digits(start); i == start {
			return c.fail(i, "number without digits behind the point")
		}
	}
	if c.at(i, 'e') || c.at(i, 'E') {
		return c.exponent(i + 1)
	}
	return i
}

func (c *checker) exponent(i int) int {
	if c.at(i, '+') || c.at(i, '-') {
		i++
	}
	end := c.digits(i)
	if end == i {
		return c.fail(i, "number without digits in its exponent")
	}
	start := i
	for c.at(i, '0') {
		i++
	}
	if end-i > maxExponentDigits {
		return c.fail(start, "number with too long an exponent")
	}
	return end
}

func (c *checker) digits(i int) int {
	for i < len(c.text) && isDigit(c.text[i]) {
		i++
	}
	return i
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }
