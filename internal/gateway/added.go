package gateway

import (
	"time"

	"github.com/go-idempotent/idempotent/internal/httpfield"
)

// Announcement is what an answer says about itself.
type Announcement struct {
	// Expires is until when the answer is replayed. Zero means that it is not stored.
	Expires time.Time
	// Replayed says that the answer is a replay.
	Replayed bool
}

// maxAdded is how many headers an announcement has: the mark of a replay, and the expiry.
const maxAdded = 2

// addedHeader is the expiry if it has a time, and the mark of a replay if not. Nothing in either has to be escaped in JSON.
type addedHeader struct {
	name    string
	expires time.Time
}

// replayMark is the value of the header that marks a replay.
const replayMark = "true"

func (h addedHeader) value() string {
	if h.expires.IsZero() {
		return replayMark
	}
	return h.expires.UTC().Format(httpfield.Date)
}

func (h addedHeader) appendTo(dst []byte, multi bool) []byte {
	dst = append(append(append(dst, '"'), h.name...), `":`...)
	if multi {
		dst = append(dst, '[')
	}
	dst = append(dst, '"')
	if h.expires.IsZero() {
		dst = append(dst, replayMark...)
	} else {
		dst = h.expires.UTC().AppendFormat(dst, httpfield.Date)
	}
	dst = append(dst, '"')
	if multi {
		dst = append(dst, ']')
	}
	return dst
}
