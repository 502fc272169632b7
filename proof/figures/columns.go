package main

import (
	"go/scanner"
	"go/token"
	"strings"
	"unicode/utf8"
)

const (
	commentEnds = 100
	codeEnds    = 120
	tab         = 4
	// longText is the length from which one literal may make a line longer: cutting it hides what
	// is sent or printed.
	longText = 40
)

// tooLong finds what is too long in the text of a Go file, by line.
func tooLong(text string) map[int]string {
	free, found := texts(text), map[int]string{}
	output := false
	for i, line := range strings.Split(text, "\n") {
		n, ends := i+1, utf8.RuneCountInString(line)+(tab-1)*strings.Count(line, "\t")
		trimmed := strings.TrimSpace(line)
		comment := strings.HasPrefix(trimmed, "//")
		output = comment && (output || trimmed == "// Output:")
		switch {
		case free[n], output, strings.Contains(line, "//nolint:"), strings.HasPrefix(line, "//go:"):
		case comment && (strings.Contains(line, "://") || strings.HasPrefix(trimmed, "//\t")):
		case comment && ends > commentEnds:
			found[n] = "a comment ends after column 100"
		case ends > codeEnds:
			found[n] = "code ends after column 120"
		}
	}
	return found
}

// texts returns the lines that belong to a text of several lines, and those with a long literal.
func texts(text string) map[int]bool {
	lines, file := map[int]bool{}, token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, 0)
	for pos, kind, literal := s.Scan(); kind != token.EOF; pos, kind, literal = s.Scan() {
		first, more := file.Position(pos).Line, strings.Count(literal, "\n")
		for n := first; kind == token.STRING && n <= first+more; n++ {
			lines[n] = lines[n] || more > 0 || len(literal) > longText
		}
	}
	return lines
}
