package streams

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// filter is the pattern of a filter: an object of objects, with a rule {"exists": true} or false at
// each leaf. The other rules of
// https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html#filtering-syntax are
// refused.
type filter map[string]any

func parseFilter(text string) (f filter, err error) {
	if text == "" {
		return f, nil
	}
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return nil, fmt.Errorf("streams: the filter is no JSON object: %w", err)
	}
	_, err = f.takes(nil)
	return f, err
}

// takes reports whether every rule holds for a record, or a part of one. It fails if a rule is not
// known. Only a leaf exists: where there is an object, no value does, see
// https://docs.aws.amazon.com/lambda/latest/dg/with-ddb-filtering.html.
func (f filter) takes(record map[string]any) (holds bool, err error) {
	holds = true
	for name, at := range f {
		value, there := record[name]
		inner, isObject := value.(map[string]any)
		if deeper, is := at.(map[string]any); is {
			within, err := filter(deeper).takes(inner)
			if err != nil {
				return false, err
			}
			holds = holds && within
			continue
		}
		wanted := reflect.DeepEqual(at, exists(true))
		if !wanted && !reflect.DeepEqual(at, exists(false)) {
			return false, fmt.Errorf("streams: the filter has a rule at %q that is not known here", name)
		}
		holds = holds && wanted == (there && !isObject)
	}
	return holds, nil
}

// exists is a rule.
func exists(wanted bool) any { return []any{map[string]any{"exists": wanted}} }
