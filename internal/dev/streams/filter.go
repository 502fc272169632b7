package streams

import (
	"encoding/json"
	"fmt"
)

// filter is the pattern of a filter: an object of objects, with a rule {"exists": true} or false at
// each leaf. The other rules of
// https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html#filtering-syntax are
// refused.
type filter map[string]any

func parseFilter(text string) (f filter, err error) {
	if text == "" {
		return filter{}, nil
	}
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return nil, fmt.Errorf("streams: the filter is no JSON object: %w", err)
	}
	return f, check(f)
}

func check(pattern map[string]any) error {
	for name, at := range pattern {
		if deeper, is := at.(map[string]any); is {
			if err := check(deeper); err != nil {
				return err
			}
		} else if _, is := exists(at); !is {
			return fmt.Errorf("streams: the filter has a rule at %q that is not known here", name)
		}
	}
	return nil
}

// exists reports what a rule wants, and whether it is one.
func exists(rules any) (wanted, is bool) {
	if list, isList := rules.([]any); isList && len(list) == 1 {
		rule, _ := list[0].(map[string]any)
		wanted, is = rule["exists"].(bool)
	}
	return wanted, is
}

// takes reports whether every rule holds for a record.
func (f filter) takes(record []byte) bool {
	var v map[string]any
	return len(f) == 0 || json.Unmarshal(record, &v) == nil && holds(f, v)
}

// holds reports it for a part of a record. Only a leaf exists: where there is an object, no value
// does, see https://docs.aws.amazon.com/lambda/latest/dg/with-ddb-filtering.html.
func holds(pattern, record map[string]any) bool {
	for name, at := range pattern {
		inner, _ := record[name].(map[string]any)
		if deeper, is := at.(map[string]any); is {
			if !holds(deeper, inner) {
				return false
			}
			continue
		}
		_, there := record[name]
		if wanted, _ := exists(at); wanted != (there && inner == nil) {
			return false
		}
	}
	return true
}
