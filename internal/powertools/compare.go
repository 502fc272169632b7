package powertools

import (
	"cmp"
	"math/big"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/jmespath"
)

// Every language decides comparisons, and the order for sorting, by its own types.

func truth(b bool) (jmespath.Value, error) {
	if b {
		return jmespath.Parse([]byte(trueWord))
	}
	return jmespath.Parse([]byte("false"))
}

// ordered is "left operator right" of operands that compare like that.
func ordered(operator string, compared int) (jmespath.Value, error) {
	switch operator {
	case "<":
		return truth(compared < 0)
	case "<=":
		return truth(compared <= 0)
	case ">":
		return truth(compared > 0)
	default:
		return truth(compared >= 0)
	}
}

// comparison makes the operators of a language. Operands without an order compare to null.
func comparison(
	equal equality, rank func(left, right value) (compared int, hasOrder bool, err error),
) func(operator string, left, right jmespath.Value) (jmespath.Value, error) {
	return func(operator string, left, right jmespath.Value) (jmespath.Value, error) {
		l, r, err := valuesOf(left, right)
		if err != nil {
			return jmespath.Value{}, err
		}
		if operator == "==" || operator == "!=" {
			same, err := equal(l, r)
			if err != nil {
				return jmespath.Value{}, err
			}
			return truth(same == (operator == "=="))
		}
		compared, hasOrder, err := rank(l, r)
		if err != nil || !hasOrder {
			return jmespath.Value{}, err
		}
		return ordered(operator, compared)
	}
}

// numbersRank compares operands of < and the like where only numbers have an order.
func numbersRank(numbers func(left, right string) (int, error)) func(left, right value) (int, bool, error) {
	return func(left, right value) (int, bool, error) {
		if left.kind != number || right.kind != number {
			return 0, false, nil
		}
		compared, err := numbers(left.text, right.text)
		return compared, true, err
	}
}

func valuesOf(left, right jmespath.Value) (l, r value, err error) {
	if l, err = valueOf(left); err == nil {
		r, err = valueOf(right)
	}
	return l, r, err
}

// An equality decides whether two values are equal.
type equality func(left, right value) (bool, error)

// deep extends an equality of scalars to arrays and objects.
func (e equality) deep(left, right value) (bool, error) {
	switch {
	case left.kind == array && right.kind == array:
		return e.arrays(left.elements, right.elements)
	case left.kind == object && right.kind == object:
		return e.objects(left.members, right.members)
	case left.isContainer() || right.isContainer():
		return false, nil
	}
	return e(left, right)
}

func (e equality) arrays(left, right []value) (bool, error) {
	if len(left) != len(right) {
		return false, nil
	}
	for i := range left {
		if same, err := e.deep(left[i], right[i]); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

func (e equality) objects(left, right []member) (bool, error) {
	if len(left) != len(right) {
		return false, nil
	}
	byName := func(a, b member) int { return strings.Compare(a.name, b.name) }
	left, right = slices.SortedFunc(slices.Values(left), byName), slices.SortedFunc(slices.Values(right), byName)
	for i := range left {
		if left[i].name != right[i].name {
			return false, nil
		}
	}
	for i := range left {
		if same, err := e.deep(left[i].value, right[i].value); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

// Python.

// pythonRank compares operands of < and the like: numbers and texts, of which Python cannot compare one with the other.
func pythonRank(left, right value) (compared int, hasOrder bool, err error) {
	switch {
	case left.kind == number && right.kind == number:
		compared, err := pythonNumbers(left.text, right.text)
		return compared, true, err
	case left.kind == text && right.kind == text:
		return strings.Compare(left.text, right.text), true, nil // code points have the order of UTF-8
	case (left.kind == number || left.kind == text) && (right.kind == number || right.kind == text):
		return 0, false, jmespath.ErrInvalidType
	}
	return 0, false, nil
}

// pythonOrder is the order of int, float and str.
func pythonOrder(left, right jmespath.Value) (int, error) {
	l, r, err := valuesOf(left, right)
	if err != nil {
		return 0, err
	}
	if l.kind == text {
		return strings.Compare(l.text, r.text), nil
	}
	return pythonNumbers(l.text, r.text)
}

// pythonEqual is _equals of jmespath.py: Python's own ==, to which True is 1 and False is 0, except that these are unequal
// if they are the operands themselves.
func pythonEqual(left, right value) (bool, error) {
	if left.kind != right.kind && (left.kind == boolean || right.kind == boolean) {
		return false, nil
	}
	return equality(pythonScalars).deep(left, right)
}

func pythonScalars(left, right value) (bool, error) {
	left, right = pythonNumeral(left), pythonNumeral(right)
	switch {
	case left.kind != right.kind:
		return false, nil
	case left.kind == number:
		compared, err := pythonNumbers(left.text, right.text)
		return compared == 0, err
	}
	return left.text == right.text, nil
}

// pythonNumeral returns the number that a boolean is.
func pythonNumeral(v value) value {
	if v.kind != boolean {
		return v
	}
	if v.text == trueWord {
		return value{kind: number, text: "1"}
	}
	return value{kind: number, text: "0"}
}

// pythonNumbers compares by the exact values of int and float.
func pythonNumbers(left, right string) (int, error) {
	l, err := pythonValue(left)
	if err != nil {
		return 0, err
	}
	r, err := pythonValue(right)
	if err != nil {
		return 0, err
	}
	return l.Cmp(r), nil
}

func pythonValue(written string) (*big.Float, error) {
	if isInteger(written) {
		n, _ := new(big.Int).SetString(written, 10)
		return new(big.Float).SetInt(n), nil // as precise as n needs
	}
	f, err := double(written)
	return big.NewFloat(f), err
}

// pythonContains is the operator in.
func pythonContains(arguments []jmespath.Value) (jmespath.Value, error) {
	subject, wanted, err := valuesOf(arguments[0], arguments[1])
	if err != nil {
		return jmespath.Value{}, err
	}
	switch {
	case subject.kind == text && wanted.kind == text:
		return truth(strings.Contains(subject.text, wanted.text))
	case subject.kind != array:
		return jmespath.Value{}, jmespath.ErrInvalidType
	}
	for _, element := range subject.elements {
		if same, err := equality(pythonScalars).deep(element, wanted); err != nil || same {
			return found(same, err)
		}
	}
	return truth(false)
}

func found(same bool, err error) (jmespath.Value, error) {
	if err != nil {
		return jmespath.Value{}, err
	}
	return truth(same)
}

// JavaScript.

func javaScriptOrder(left, right string) (int, error) {
	l, r, err := doubles(left, right)
	return cmp.Compare(l, r), err
}

func doubles(left, right string) (l, r float64, err error) {
	if l, err = double(left); err == nil {
		r, err = double(right)
	}
	return l, r, err
}

// javaScriptEqual is isStrictEqual. A member named __proto__ is refused: it is compared with what an object inherits.
func javaScriptEqual(left, right value) (bool, error) {
	for _, v := range []value{left, right} {
		if _, err := javaScriptStyle.write(nil, v); err != nil {
			return false, err
		}
	}
	return equality(javaScriptScalars).deep(left, right)
}

func javaScriptScalars(left, right value) (bool, error) {
	switch {
	case left.kind != right.kind:
		return false, nil
	case left.kind == number:
		compared, err := javaScriptOrder(left.text, right.text)
		return compared == 0, err
	}
	return left.text == right.text, nil
}

// javaScriptContains is includes, of a string or of an array.
func javaScriptContains(arguments []jmespath.Value) (jmespath.Value, error) {
	subject, wanted, err := valuesOf(arguments[0], arguments[1])
	if err != nil {
		return jmespath.Value{}, err
	}
	switch subject.kind {
	case text:
		part, err := javaScriptText(wanted)
		if err != nil {
			return jmespath.Value{}, err
		}
		return truth(strings.Contains(subject.text, part))
	case array:
	default:
		return jmespath.Value{}, jmespath.ErrInvalidType
	}
	for _, element := range subject.elements {
		same, err := javaScriptEqual(element, wanted)
		if same && wanted.isContainer() {
			err = ErrIdentity
		}
		if err != nil || same {
			return found(same, err)
		}
	}
	return truth(false)
}

// javaScriptText is String.
func javaScriptText(v value) (string, error) {
	switch v.kind {
	case null:
		return "null", nil
	case boolean, text:
		return v.text, nil
	case number:
		written, err := javaScriptNumber(nil, v.text)
		return string(written), err
	case array:
	case object:
		return "[object Object]", nil
	}
	parts := make([]string, len(v.elements))
	for i, e := range v.elements {
		if e.kind == null {
			continue
		}
		part, err := javaScriptText(e)
		if err != nil {
			return "", err
		}
		parts[i] = part
	}
	return strings.Join(parts, ","), nil
}

// Java.

// javaEqual is BaseRuntime.compare of jmespath-java: numbers as doubles, of which -0.0 is less than 0.0.
func javaEqual(left, right value) (bool, error) { return equality(javaScalars).deep(left, right) }

func javaScalars(left, right value) (bool, error) {
	switch {
	case left.kind != right.kind:
		return false, nil
	case left.kind == number:
		compared, err := javaOrder(left.text, right.text)
		return compared == 0, err
	}
	return left.text == right.text, nil
}

// javaOrder is Double.compare.
func javaOrder(left, right string) (int, error) {
	l, r, err := doubles(exactInteger(left), exactInteger(right))
	if l == 0 && r == 0 {
		return cmp.Compare(sign(l), sign(r)), err
	}
	return cmp.Compare(l, r), err
}

// orderUTF16 is the order of numbers, and of texts by their units in UTF-16.
func orderUTF16(numbers func(left, right string) (int, error)) func(left, right jmespath.Value) (int, error) {
	return func(left, right jmespath.Value) (int, error) {
		l, r, err := valuesOf(left, right)
		if err != nil {
			return 0, err
		}
		if l.kind == text {
			return slices.Compare(units(l.text), units(r.text)), nil
		}
		return numbers(l.text, r.text)
	}
}
