package streams

import (
	"fmt"
	"reflect"
)

// takes reports whether every rule of a filter holds for a record, or a part of one. A filter is an
// object of objects, with a rule {"exists": true} or false at each leaf. It fails if there is one
// of the other rules of
// https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html#filtering-syntax.
// Only a leaf exists: where there is an object, no value does, see
// https://docs.aws.amazon.com/lambda/latest/dg/with-ddb-filtering.html.
func takes(filter, record object) (holds bool, err error) {
	holds = true
	for name, at := range filter {
		value, there := record[name]
		inner, isObject := value.(object)
		within := false
		switch deeper, is := at.(object); {
		case is:
			within, err = takes(deeper, inner)
		case reflect.DeepEqual(at, exists(true)):
			within = there && !isObject
		case reflect.DeepEqual(at, exists(false)):
			within = !there || isObject
		default:
			err = fmt.Errorf("streams: the filter has a rule at %q that is not known here", name)
		}
		if err != nil {
			return false, err
		}
		holds = holds && within
	}
	return holds, nil
}

// exists is a rule.
func exists(wanted bool) any { return []any{object{"exists": wanted}} }
