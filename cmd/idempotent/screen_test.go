package main_test

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// screen is a terminal that knows what the program may tell one, and refuses everything else.
type screen struct {
	columns, lines int
	// other is true while another screen than the first is shown, hidden while the cursor is, cutting while long lines are cut.
	other, hidden, cutting bool
	frames                 int

	rows        [][]rune
	first       [][]rune // of the first screen, while another is shown
	row, column int
	left        []byte
}

func newScreen(columns, lines int) *screen {
	s := &screen{}
	s.resize(columns, lines)
	return s
}

// resize forgets what is on the screen: terminals differ in what they keep.
func (s *screen) resize(columns, lines int) {
	s.columns, s.lines, s.row, s.column = columns, lines, 0, 0
	s.rows = make([][]rune, lines)
}

func (s *screen) text() string {
	var b strings.Builder
	for _, row := range s.rows {
		b.WriteString(strings.TrimRight(string(row), " ") + "\n")
	}
	return b.String()
}

// write shows what was printed, as far as it is complete.
func (s *screen) write(p []byte) error {
	s.left = append(s.left, p...)
	for len(s.left) > 0 {
		n, err := s.step(s.left)
		if err != nil || n == 0 {
			return err
		}
		s.left = s.left[n:]
	}
	return nil
}

// step shows one character, or does what one sequence says. It takes nothing if the rest has not come.
func (s *screen) step(p []byte) (n int, err error) {
	switch p[0] {
	case '\x1b':
		return s.sequence(p)
	case '\r':
		s.column = 0
		return 1, nil
	case '\n':
		s.newLine()
		return 1, nil
	}
	if !utf8.FullRune(p) {
		return 0, nil
	}
	r, n := utf8.DecodeRune(p)
	if r == utf8.RuneError && n == 1 || !unicode.IsPrint(r) || r > '~' && r != '…' {
		return 0, fmt.Errorf("%q was printed in %q", r, p[:min(len(p), 40)])
	}
	s.put(r)
	return n, nil
}

func (s *screen) newLine() {
	if s.row++; s.row >= s.lines {
		s.row = s.lines - 1
		s.rows = append(s.rows[1:], nil)
	}
}

func (s *screen) put(r rune) {
	if s.column >= s.columns {
		if s.cutting {
			s.column = s.columns - 1
		} else {
			s.column = 0
			s.newLine()
		}
	}
	row := s.rows[s.row]
	for len(row) <= s.column {
		row = append(row, ' ')
	}
	row[s.column] = r
	s.rows[s.row] = row
	s.column++
}

// sequences are those that the program may use.
func (s *screen) sequence(p []byte) (n int, err error) {
	for sequence, do := range map[string]func(){
		"\x1b[?1049h": func() { s.other, s.first = true, s.rows; s.resize(s.columns, s.lines) },
		"\x1b[?1049l": func() {
			first := s.first
			s.resize(s.columns, s.lines)
			for i := range min(len(first), s.lines) {
				s.rows[i] = first[i]
			}
			s.other = false
		},
		"\x1b[?25l": func() { s.hidden = true },
		"\x1b[?25h": func() { s.hidden = false },
		"\x1b[?7l":  func() { s.cutting = true },
		"\x1b[?7h":  func() { s.cutting = false; s.frames++ },
		"\x1b[H":    func() { s.row, s.column = 0, 0 },
		"\x1b[K":    func() { s.rows[s.row] = s.rows[s.row][:min(len(s.rows[s.row]), s.column)] },
		"\x1b[J": func() {
			for i := s.row + 1; i < s.lines; i++ {
				s.rows[i] = nil
			}
			s.rows[s.row] = s.rows[s.row][:min(len(s.rows[s.row]), s.column)]
		},
		"\x1b[0m": func() {}, "\x1b[2m": func() {}, "\x1b[31m": func() {}, "\x1b[32m": func() {}, "\x1b[33m": func() {},
	} {
		switch {
		case strings.HasPrefix(string(p), sequence):
			do()
			return len(sequence), nil
		case strings.HasPrefix(sequence, string(p)):
			n = -1
		}
	}
	if n < 0 {
		return 0, nil
	}
	return 0, fmt.Errorf("%q steers the terminal", p[:min(len(p), 40)])
}
