package watch

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Read hands each line of r to take until r ends. Of a line that is longer than a megabyte take gets the beginning. An object of JSON that is
// spread over lines, as aws logs tail --format json does, is one line. Take must not keep the bytes.
func Read(r io.Reader, take func(line []byte, long bool)) error {
	in := bufio.NewReaderSize(r, 64<<10)
	j := joiner{take: take}
	var kept []byte
	long := false
	for {
		part, err := in.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		if more || len(kept) > 0 || long {
			room := maxLine - len(kept)
			long = long || len(part) > room
			kept = append(kept, part[:min(len(part), room)]...)
			part = kept
		}
		if more {
			continue
		}
		if len(part) > 0 {
			j.line(bytes.TrimRight(part, "\r\n"), long)
		}
		kept, long = kept[:0], false
		if cap(kept) > maxLine/4 {
			kept = nil
		}
		switch {
		case errors.Is(err, io.EOF):
			j.flush()
			return nil
		case err != nil:
			return err
		}
	}
}

// joiner makes one line of an object that begins with a line "{", goes on with indented lines, and ends with a line "}".
type joiner struct {
	take  func(line []byte, long bool)
	open  bool
	parts []byte
}

func (j *joiner) line(text []byte, long bool) {
	switch {
	case j.open && !long && len(text) > 0 && (text[0] == ' ' || text[0] == '\t') && len(j.parts)+len(text) < maxLine:
		j.parts = append(append(j.parts, '\n'), text...)
	case j.open && string(text) == "}":
		j.parts = append(append(j.parts, '\n'), text...)
		j.flush()
	case string(text) == "{":
		j.flush()
		j.open, j.parts = true, append(j.parts[:0], text...)
	default:
		j.flush()
		j.take(text, long)
	}
}

// flush hands over what was begun, also if its end has not come.
func (j *joiner) flush() {
	if j.open {
		j.open = false
		j.take(j.parts, false)
	}
}
