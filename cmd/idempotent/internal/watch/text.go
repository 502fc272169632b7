package watch

import (
	"bytes"
	"maps"
	"slices"
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
		all[m] = []string{"msg=" + quoted + " ", "INFO " + m + " ", "WARN " + m + " ", "ERROR " + m + " "}
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
	switch {
	case members["operation"] == "" && members["outbox"] == "":
		return line{}, false // a message of somebody else that happens to be the same word
	case !fine:
		return line{kind: broken}, true
	case message == messages[0]:
		return checked(deliveryText(members)), true
	default:
		return checked(summaryText(message, members)), true
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
	l.delivered(members["settlement"], members["recovered"] == "true", members["store_error"])
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

func took(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	return time.ParseDuration(text)
}

func summaryText(message string, members map[string]string) line {
	names := translated[message]
	if names == nil {
		return line{kind: detailed}
	}
	l := line{kind: counted, form: ofSlog, subject: members["operation"]}
	if l.subject == "" {
		l.subject, l.outbox = members["outbox"], true
	}
	var numbers []float64
	for _, name := range append(slices.Sorted(maps.Keys(names)), "left.pending", "left.parked") {
		text, is := members[name]
		value, err := strconv.ParseFloat(text, 64)
		switch {
		case !is:
		case name == attributeError:
			l.countIf(true, names[name])
		case err != nil:
			return line{kind: broken}
		case names[name] == "":
			numbers = append(numbers, value)
		default:
			l.counts = append(l.counts, measure{names[name], value})
		}
	}
	if oldest, err := took(members["left.oldest"]); len(numbers) == 2 && err == nil {
		l.left(numbers[0], oldest, numbers[1])
	}
	return l
}
