package execution

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// SameAnswer reports whether two JSON texts say the same. A list or an object without content,
// null, and a member that is not there are one: whatever stands between the handler and its commit
// may make a list out of none.
func SameAnswer(a, b []byte) bool {
	first, errFirst := valueOf(a)
	second, errSecond := valueOf(b)
	return errFirst == nil && errSecond == nil && reflect.DeepEqual(first, second)
}

// valueOf decodes a text, without what stands for nothing. Numbers keep their digits.
func valueOf(text []byte) (v any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&v)
	return substance(v), err
}

// substance is a value without members that stand for nothing, and nil if nothing is left. The
// items of a list keep their places.
func substance(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if v[name] = substance(member); v[name] == nil {
				delete(v, name)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = substance(v[i])
		}
		if len(v) == 0 {
			return nil
		}
	}
	return v
}
