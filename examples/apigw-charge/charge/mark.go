package charge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent"
)

// The members that the function adds to the metadata of a charge. By them an event of the provider finds the record.
const (
	// MemberRecord is the record key.
	MemberRecord = "idempotency_record"
	// MemberCheck is the derived key of [CheckName].
	MemberCheck = "idempotency_check"
)

// Metadata are the two members of a charge, none outside of an execution. The context is that of the handler. Whoever charges another
// amount under the same record key has another check.
func Metadata(ctx context.Context, amount int64, currency string) map[string]string {
	x, protected := idempotent.FromContext(ctx)
	if !protected {
		return nil
	}
	return map[string]string{MemberRecord: x.RecordKey, MemberCheck: idempotent.DerivedKey(ctx, CheckName(amount, currency))}
}

const checkPrefix = "charge of "

// CheckName is the name of the derived key that binds a charge to its amount and currency.
func CheckName(amount int64, currency string) string {
	return fmt.Sprintf("%s%d %s", checkPrefix, amount, strings.ToLower(currency))
}

// IsCheckName reports whether a name is one of [CheckName].
func IsCheckName(name string) bool { return strings.HasPrefix(name, checkPrefix) }

// isMark reports whether a member of metadata belongs to the function.
func isMark(name string) bool { return name == MemberRecord || name == MemberCheck }

// marked adds the two members to the client's metadata, as text. They come last. If the client has sent no metadata the check comes first,
// if it has sent {} the record does: so unmarked tells the two.
func marked(client json.RawMessage, marks map[string]string) json.RawMessage {
	if len(marks) == 0 {
		return client
	}
	names := []string{MemberRecord, MemberCheck}
	if client == nil {
		slices.Reverse(names)
	}
	var members [][]byte
	if inner := within(client); len(inner) > 0 {
		members = append(members, inner)
	}
	for _, name := range names {
		value, _ := json.Marshal(marks[name]) //nolint:errchkjson // a string always has its JSON
		members = append(members, fmt.Appendf(nil, "%q:%s", name, value))
	}
	return objectOf(members)
}

// unmarked takes the two members out again, wherever they are. The others stay as they are written.
func unmarked(metadata json.RawMessage) (json.RawMessage, error) {
	if inner := within(metadata); inner == nil {
		return metadata, nil // it is no object
	}
	d := json.NewDecoder(bytes.NewReader(metadata))
	if _, err := d.Token(); err != nil { // the brace
		return nil, err
	}
	var others [][]byte
	var marks []string
	for d.More() {
		before := d.InputOffset()
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if name, _ := token.(string); isMark(name) {
			marks = append(marks, name)
			continue
		}
		others = append(others, bytes.TrimLeft(metadata[before:d.InputOffset()], ", \t\r\n"))
	}
	switch {
	case len(marks) == 0:
		return metadata, nil
	case len(others) == 0 && marks[0] == MemberCheck:
		return nil, nil
	default:
		return objectOf(others), nil
	}
}

// within is what is between the braces of an object, nil if the text is none.
func within(metadata json.RawMessage) []byte {
	text := bytes.TrimSpace(metadata)
	if len(text) < len("{}") || text[0] != '{' {
		return nil
	}
	return bytes.TrimSpace(text[1 : len(text)-1])
}

// objectOf is the object of these members.
func objectOf(members [][]byte) json.RawMessage {
	return slices.Concat([]byte("{"), bytes.Join(members, []byte(",")), []byte("}"))
}
