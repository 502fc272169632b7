package jmespath

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/internal/jsontext"
)

// A token of the grammar. Its kind is the spelling of an operator, or one of the
// constants below.
type token struct {
	kind   string
	offset int
	text   string // of an identifier, decoded
	value  Value  // of a literal
	number int
}

const (
	tokenEnd        = "end"
	tokenIdentifier = "identifier"
	tokenQuoted     = "quoted identifier"
	tokenLiteral    = "literal"
	tokenRawString  = "raw string"
	tokenNumber     = "number"
)

// operators, each before those that are a prefix of it.
var operators = [...]string{
	"[?", "[]", "[", "]", "{", "}", "(", ")", ".", ",", ":", "@", "*",
	"&&", "&", "||", "|", "==", "!=", "!", "<=", "<", ">=", ">",
}

// A lexer splits an expression into tokens.
type lexer struct {
	text string
	at   int
}

func tokenize(expression string) ([]token, error) {
	if len(expression) > maxLength {
		return nil, compileError(errLimit, maxLength, "expression is too long")
	}
	if at := invalidUTF8(expression); at >= 0 {
		return nil, syntaxError(at, "invalid UTF-8")
	}
	l := lexer{text: expression}
	var tokens []token
	for {
		l.at = jsontext.Space(l.text, l.at)
		if l.at == len(l.text) {
			return append(tokens, token{kind: tokenEnd, offset: l.at}), nil
		}
		next, err := l.next()
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, next)
	}
}

func syntaxError(offset int, detail string) error { return compileError(errSyntax, offset, detail) }

func (l *lexer) next() (token, error) {
	start := l.at
	switch b := l.text[start]; {
	case isIdentifierStart(b):
		l.at = identifierEnd(l.text, start)
		return token{kind: tokenIdentifier, offset: start, text: l.text[start:l.at]}, nil
	case isDigit(b) || b == '-':
		return l.number()
	case b == '"', b == '\'', b == '`':
		return l.delimited(b)
	}
	for _, operator := range operators {
		if strings.HasPrefix(l.text[start:], operator) {
			l.at += len(operator)
			return token{kind: operator, offset: start}, nil
		}
	}
	return token{}, syntaxError(start, "unexpected character")
}

// number reads an index. One that no array can have becomes the nearest number
// that no array can have either, so that evaluation may add and subtract.
func (l *lexer) number() (token, error) {
	start := l.at
	for l.at++; l.at < len(l.text) && isDigit(l.text[l.at]); {
		l.at++
	}
	n, err := strconv.ParseInt(l.text[start:l.at], 10, 32) // the nearest if it is out of range
	if errors.Is(err, strconv.ErrSyntax) {
		return token{}, syntaxError(start, "minus sign without digits")
	}
	return token{kind: tokenNumber, offset: start, number: int(max(n, -math.MaxInt32))}, nil
}

// delimited reads what stands between two delimiters: an identifier in double quotes, which is a
// JSON string; a string in single quotes; or JSON in backticks, or the deprecated form of a string
// there.
//
// In single quotes, the only escape sequence is that of the quote; every other backslash stands for
// itself, also where two of them precede the closing quote.
func (l *lexer) delimited(delimiter byte) (token, error) {
	start := l.at
	raw, err := l.until(delimiter)
	if err != nil {
		return token{}, err
	}
	text := unescapeDelimiter(raw, delimiter)
	switch delimiter {
	case '"':
		name, err := parseText(`"` + raw + `"`)
		if err != nil {
			return token{}, syntaxError(start, "quoted identifier is not a JSON string")
		}
		return token{kind: tokenQuoted, offset: start, text: name.str()}, nil
	case '\'':
		return token{kind: tokenRawString, offset: start, value: stringValue(text)}, nil
	}
	value, err := parseText(text)
	if err != nil && isDeprecatedString(text) {
		value, err = parseText(`"` + strings.TrimLeft(text, " \t\r\n") + `"`)
	}
	if err != nil {
		return token{}, syntaxError(start, "literal is not JSON; a string stands in single quotes")
	}
	return token{kind: tokenLiteral, offset: start, value: value}, nil
}

// isDeprecatedString reports whether a literal that is not JSON can be meant as a
// string without quotes, rather than be a slip in an array, an object, a number or
// a string.
func isDeprecatedString(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	return text != "" && !isDigit(text[0]) && !strings.ContainsRune(`[{"-`, rune(text[0]))
}

// until returns what is between the delimiter at the position and the next one
// that no backslash precedes, and moves behind it.
func (l *lexer) until(delimiter byte) (string, error) {
	start := l.at + 1
	for i := start; i < len(l.text); i++ {
		switch l.text[i] {
		case '\\':
			i++
		case delimiter:
			l.at = i + 1
			return l.text[start:i], nil
		}
	}
	return "", syntaxError(l.at, "missing closing "+string(delimiter))
}

// unescapeDelimiter removes the backslash in front of each delimiter.
func unescapeDelimiter(raw string, delimiter byte) string {
	if strings.IndexByte(raw, delimiter) < 0 {
		return raw
	}
	text := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] == '\\' {
			if i++; raw[i] != delimiter {
				text = append(text, '\\')
			}
		}
		text = append(text, raw[i])
	}
	return string(text)
}

func isIdentifierStart(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_'
}

// identifierEnd returns the position behind the letters, digits and underscores
// that begin at i.
func identifierEnd(text string, i int) int {
	for i < len(text) && (isIdentifierStart(text[i]) || isDigit(text[i])) {
		i++
	}
	return i
}

// invalidUTF8 returns the position of the first byte of a text that is not part of a character, -1
// if there is none.
func invalidUTF8(text string) int {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			return i
		}
	}
	return -1
}
