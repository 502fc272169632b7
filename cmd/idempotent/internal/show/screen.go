package show

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Screen redraws a terminal in place. What was on it comes back at the end. It is not safe for concurrent use.
type Screen struct {
	Printer

	begun bool
}

// What a terminal is told: to show another screen and to hide the cursor, and back.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
	// Lines that are too long are cut, and not continued on the next one, while this is so.
	withoutWrap, withWrap = "\x1b[?7l", "\x1b[?7h"
)

// Draw shows these lines, each cut to the width. Their cells stand one after the other. What is no printable character is escaped.
func (s *Screen) Draw(lines [][]Cell, width int) error {
	var b strings.Builder
	if !s.begun {
		b.WriteString(enterScreen)
		s.begun = true
	}
	b.WriteString(withoutWrap + home)
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(clearLine) // before the text: behind it stands the last column
		s.fit(&b, line, width)
	}
	b.WriteString(clearBelow + withWrap)
	_, err := io.WriteString(s.Out, b.String())
	return err
}

func (s *Screen) fit(b *strings.Builder, line []Cell, width int) {
	for _, c := range line {
		text := Printable(c.Text)
		if n := utf8.RuneCountInString(text); n > width {
			text = string([]rune(text)[:max(width, 0)])
		}
		width -= utf8.RuneCountInString(text)
		b.WriteString(s.paint(text, c.Colour))
	}
}

// End brings back what was on the terminal. It does nothing if nothing was drawn.
func (s *Screen) End() error {
	if !s.begun {
		return nil
	}
	s.begun = false
	_, err := io.WriteString(s.Out, leaveScreen)
	return err
}
