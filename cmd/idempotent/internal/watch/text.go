package watch

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// markers are the beginnings of a record, by message, as slog.TextHandler writes them, and as the default handler of package slog does.
var markers = func() map[string][]string {
	all := make(map[string][]string)
	for _, m := range messages {
		quoted := m
		if strings.Contains(m, " ") {
			quoted = strconv.Quote(m)
		}
		all[m] = []string{"msg=" + quoted + " ", "INFO " + m + " ", "WARN " + m + " ", "ERROR " + m + " ", "DEBUG " + m + " "}
	}
	return all
}()

// fromText reads a record of a log that is written as key=value, whatever is in front of it.
func fromText(text []byte) (l line, ok bool) {
	message, from := "", -1
	for _, m := range messages {
		for _, marker := range markers[m] {
			if at := bytes.Index(text, []byte(marker)); at >= 0 && (from < 0 || at < from || at == from && len(m) > len(message)) {
				message, from = m, at+len(marker)
				break
			}
		}
	}
	if from < 0 {
		return line{}, false
	}
	members, fine := attributes(string(text[from:]))
	_, _, ours := subjectOf(message, members)
	switch {
	case !ours:
		return line{}, false
	case !fine:
		return line{kind: broken}, true
	case message == messageDelivery:
		return checked(deliveryText(members)), true
	default:
		return checked(summaryOf(message, members)), true
	}
}

// attributes reads what slog.TextHandler writes. It is not fine if the text ends in the middle of something. Of a group the names are joined
// with a dot.
func attributes(text string) (members map[string]string, fine bool) {
	members = make(map[string]string)
	for text = strings.TrimLeft(text, " "); text != ""; text = strings.TrimLeft(text, " ") {
		var name, value string
		if name, text, fine = word(text, "="); !fine || !strings.HasPrefix(text, "=") {
			return members, false
		}
		if value, text, fine = word(text[1:], " "); !fine {
			return members, false
		}
		members[name] = value
	}
	return members, true
}

// word cuts off a word that ends before one of these bytes, or is quoted.
func word(text, before string) (word, rest string, fine bool) {
	if text != "" && text[0] == '"' {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return "", "", false
		}
		word, err = strconv.Unquote(quoted)
		return word, text[len(quoted):], err == nil
	}
	end := strings.IndexAny(text, before)
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:], true
}

func deliveryText(members map[string]string) line {
	if members["operation"] == "" || members["outcome"] == "" {
		return line{kind: broken}
	}
	claim, err := took(members["claim"])
	handle, err2 := took(members["handle"])
	if err != nil || err2 != nil {
		return line{kind: broken}
	}
	l := line{
		kind: counted, form: ofSlog, subject: members["operation"], outcome: members["outcome"], record: members["record"], reason: members["reason"],
		claim: claim, handle: handle,
	}
	l.delivered(members["settlement"], members["recovered"] == isTrue, members["store_error"])
	ends := func(of string) (all []string) {
		for name, value := range members {
			if strings.HasPrefix(name, of+".") && strings.HasSuffix(name, ".end") {
				all = append(all, value)
			}
		}
		return all
	}
	l.ended(ends("steps"), ends("commits"))
	l.failed(members[attributeError], members["store_error"])
	return l
}

// took reads a duration, of which handlers write the text or the nanoseconds.
func took(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if nanoseconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Duration(nanoseconds), nil
	}
	return time.ParseDuration(text)
}
