package streams

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// maxFilters is how many a mapping can have, with an increased quota, see
// https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html.
const maxFilters = 10

// pattern is the pattern of a filter. A record passes if every field of the pattern matches, and a field matches if one of its rules does,
// see https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html#filtering-syntax.
type pattern []field

// field are the rules for what is at a path.
type field struct {
	path  []string
	rules []rule
}

func parseFilters(filters []string) ([]pattern, error) {
	if len(filters) > maxFilters {
		return nil, fmt.Errorf("%d filters are more than %d", len(filters), maxFilters)
	}
	patterns := make([]pattern, 0, len(filters))
	for i, text := range filters {
		p, err := parsePattern(text)
		if err != nil {
			return nil, fmt.Errorf("filter %d: %w", i+1, err)
		}
		patterns = append(patterns, p)
	}
	return patterns, nil
}

func parsePattern(text string) (pattern, error) {
	var top map[string]any
	if err := decode([]byte(text), &top); err != nil {
		return nil, fmt.Errorf("the pattern is no JSON object: %w", err)
	}
	return fieldsOf(nil, top)
}

// fieldsOf are the fields of an object of a pattern.
func fieldsOf(path []string, object map[string]any) (all pattern, err error) {
	if len(object) == 0 {
		return nil, fmt.Errorf("%q: an object is empty", path)
	}
	for name, v := range object {
		at := slices.Concat(path, []string{name})
		var fields []field
		switch v := v.(type) {
		case map[string]any:
			fields, err = fieldsOf(at, v)
		case []any:
			fields, err = fieldOf(at, v)
		default:
			err = fmt.Errorf("%q: the value is neither an object nor an array of rules", at)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, fields...)
	}
	return all, nil
}

func fieldOf(path []string, rules []any) ([]field, error) {
	parsed, err := parseRules(rules)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", path, err)
	}
	return []field{{path, parsed}}, nil
}

// anyMatches reports whether one of the patterns takes a record, or there are none: one filter of several is enough, see
// https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html.
func anyMatches(patterns []pattern, text []byte) (bool, error) {
	if len(patterns) == 0 {
		return true, nil
	}
	var record any
	if err := decode(text, &record); err != nil {
		return false, fmt.Errorf("streams: decode a record: %w", err)
	}
	for _, p := range patterns {
		if p.matches(record) {
			return true, nil
		}
	}
	return false, nil
}

func (p pattern) matches(record any) bool {
	for _, f := range p {
		if !f.matches(record) {
			return false
		}
	}
	return true
}

func (f field) matches(record any) bool {
	values := leaves(record, f.path)
	for _, r := range f.rules {
		if r(values) {
			return true
		}
	}
	return false
}

// leaves are the values at a path that are neither objects nor arrays. Those of an array count one by one.
func leaves(v any, path []string) (all []any) {
	switch v := v.(type) {
	case []any:
		for _, member := range v {
			all = append(all, leaves(member, path)...)
		}
		return all
	case map[string]any:
		if len(path) == 0 {
			return nil
		}
		member, there := v[path[0]]
		if !there {
			return nil
		}
		return leaves(member, path[1:])
	default:
		if len(path) > 0 {
			return nil
		}
		return []any{v}
	}
}

// decode keeps numbers as they are written.
func decode(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(to); err != nil {
		return err
	}
	if d.More() {
		return errors.New("there is more than one value")
	}
	return nil
}
