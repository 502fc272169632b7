package jmespath

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/internal/jsontext"
)

// A token of the grammar. Its kind is the spelling of an operator, or one of the constants below.
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

// A lexer splits an expression into tokens. What is wrong with it panics with an *Error, see
// caught.
type lexer struct {
	text string
	at   int
}

func tokenize(expression string) (tokens []token) {
	if len(expression) > maxLength {
		panic(compileError(errLimit, maxLength, "expression is too long"))
	}
	for at, r := range expression {
		if r == utf8.RuneError && !strings.HasPrefix(expression[at:], string(utf8.RuneError)) {
			panic(syntaxError(at, "invalid UTF-8"))
		}
	}
	l := lexer{text: expression}
	for {
		l.at = jsontext.Space(l.text, l.at)
		start := l.at
		if start == len(l.text) {
			return append(tokens, token{kind: tokenEnd, offset: start})
		}
		next := l.next()
		next.offset = start
		tokens = append(tokens, next)
	}
}

func syntaxError(offset int, detail string) *Error { return compileError(errSyntax, offset, detail) }

func (l *lexer) next() token {
	start := l.at
	switch b := l.text[start]; {
	case b == '"', b == '\'', b == '`':
		return l.delimited(b)
	case b == '-', isDigit(b):
		return token{kind: tokenNumber, number: l.number()}
	case isWord(b):
		for l.at < len(l.text) && isWord(l.text[l.at]) {
			l.at++
		}
		return token{kind: tokenIdentifier, text: l.text[start:l.at]}
	}
	for _, operator := range operators {
		if strings.HasPrefix(l.text[start:], operator) {
			l.at += len(operator)
			return token{kind: operator}
		}
	}
	panic(syntaxError(start, "unexpected character"))
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// isWord reports whether an identifier may have a byte in it.
func isWord(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' || b == '_' || isDigit(b) }

// number reads an index. One that no array can have becomes the nearest that no array can have
// either, so that evaluation may add and subtract.
func (l *lexer) number() int {
	start := l.at
	for l.at++; l.at < len(l.text) && isDigit(l.text[l.at]); {
		l.at++
	}
	n, err := strconv.ParseInt(l.text[start:l.at], 10, 32) // the nearest if it is out of range
	if errors.Is(err, strconv.ErrSyntax) {
		panic(syntaxError(start, "minus sign without digits"))
	}
	return int(max(n, -math.MaxInt32))
}

// delimited reads an identifier in double quotes, which is a JSON string; a string in single
// quotes, where the only escape sequence is that of the quote, and every other backslash stands for
// itself, also where two of them precede the closing quote; or JSON in backticks, or the deprecated
// form of a string there.
func (l *lexer) delimited(delimiter byte) token {
	start := l.at
	raw := l.until(delimiter)
	text := strings.ReplaceAll(raw, `\`+string(delimiter), string(delimiter))
	switch delimiter {
	case '"':
		name, err := parseText(`"` + raw + `"`)
		if err != nil {
			panic(syntaxError(start, "quoted identifier is not a JSON string"))
		}
		return token{kind: tokenQuoted, text: name.str()}
	case '\'':
		return token{kind: tokenRawString, value: stringValue(text)}
	}
	text = strings.TrimLeft(text, " \t\r\n")
	value, err := parseText(text)
	// What begins like an array, an object, a number or a string in quotes is a slip, and not meant
	// as the deprecated form.
	if err != nil && text != "" && strings.IndexByte(`[{"-0123456789`, text[0]) < 0 {
		value, err = parseText(`"` + text + `"`)
	}
	if err != nil {
		panic(syntaxError(start, "literal is not JSON; a string stands in single quotes"))
	}
	return token{kind: tokenLiteral, value: value}
}

// until returns what is between the delimiter at the position and the next one that no backslash
// precedes, and moves behind it.
func (l *lexer) until(delimiter byte) string {
	start := l.at + 1
	for i := start; i < len(l.text); i++ {
		switch l.text[i] {
		case '\\':
			i++
		case delimiter:
			l.at = i + 1
			return l.text[start:i]
		}
	}
	panic(syntaxError(l.at, "missing closing "+string(delimiter)))
}
