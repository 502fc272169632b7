package powertools

import (
	"math"
	"math/big"
	"strconv"

	"github.com/go-idempotent/idempotent/jmespath"
)

// sum adds from the left, each step rounded.
func sum(numbers []float64) float64 {
	total := 0.0
	for _, f := range numbers {
		total += f
	}
	return total
}

// average of nothing is no number.
func average(numbers []float64) float64 { return sum(numbers) / float64(len(numbers)) }

// javaScriptAverage refuses the average of nothing.
func javaScriptAverage(argument jmespath.Value) (jmespath.Value, error) {
	if written, err := numbers(argument); err == nil && len(written) == 0 {
		return jmespath.Value{}, ErrNoAverage
	}
	return onDoubles(average)(argument)
}

// sign is -1 of a number that is written with a minus.
func sign(f float64) float64 { return math.Copysign(1, f) }

// onDouble is a function of a double that returns a double.
func onDouble(f func(float64) float64) func(jmespath.Value) (jmespath.Value, error) {
	return func(argument jmespath.Value) (jmespath.Value, error) {
		if argument.Kind() != jmespath.Number {
			return jmespath.Value{}, jmespath.ErrInvalidType
		}
		x, err := double(exactInteger(string(argument.JSON())))
		if err != nil {
			return jmespath.Value{}, err
		}
		return float(f(x))
	}
}

// onDoubles is a function of an array of doubles that returns a double, or null for none.
func onDoubles(f func([]float64) float64) func(jmespath.Value) (jmespath.Value, error) {
	return func(argument jmespath.Value) (jmespath.Value, error) {
		written, err := numbers(argument)
		if err != nil {
			return jmespath.Value{}, err
		}
		all := make([]float64, len(written))
		for i, w := range written {
			if all[i], err = double(exactInteger(w)); err != nil {
				return jmespath.Value{}, err
			}
		}
		return float(f(all))
	}
}

// numbers returns the elements of an array of numbers, as they are written.
func numbers(argument jmespath.Value) ([]string, error) {
	v, err := valueOf(argument)
	if err != nil {
		return nil, err
	}
	if v.kind != array {
		return nil, jmespath.ErrInvalidType
	}
	written := make([]string, len(v.elements))
	for i, e := range v.elements {
		if e.kind != number {
			return nil, jmespath.ErrInvalidType
		}
		written[i] = e.text
	}
	return written, nil
}

// float makes a number whose spelling shows that it is a double.
func float(f float64) (jmespath.Value, error) {
	switch {
	case math.IsNaN(f):
		return jmespath.Value{}, nil
	case math.IsInf(f, 0):
		return jmespath.Value{}, ErrOverflow
	}
	return jmespath.Parse(strconv.AppendFloat(nil, f, 'e', -1, 64))
}

func integer(n int) (jmespath.Value, error) {
	return jmespath.Parse(strconv.AppendInt(nil, int64(n), 10))
}

// pythonInteger is math.ceil or math.floor, which return int.
func pythonInteger(f func(float64) float64) func(jmespath.Value) (jmespath.Value, error) {
	return func(argument jmespath.Value) (jmespath.Value, error) {
		if argument.Kind() != jmespath.Number {
			return jmespath.Value{}, jmespath.ErrInvalidType
		}
		written := string(argument.JSON())
		if isInteger(written) {
			return argument, nil
		}
		x, err := double(written)
		if err != nil {
			return jmespath.Value{}, err
		}
		whole, _ := big.NewFloat(f(x)).Int(nil)
		return jmespath.Parse(whole.Append(nil, 10))
	}
}

// pythonSum is sum, which adds int exactly.
func pythonSum(argument jmespath.Value) (jmespath.Value, error) {
	written, err := numbers(argument)
	if err != nil {
		return jmespath.Value{}, err
	}
	if total, ok := exactSum(written); ok {
		return jmespath.Parse(total.Append(nil, 10))
	}
	total, err := plainSum(written)
	if err != nil {
		return jmespath.Value{}, err
	}
	return float(total)
}

// pythonAverage is sum(…) / len(…).
func pythonAverage(argument jmespath.Value) (jmespath.Value, error) {
	written, err := numbers(argument)
	if err != nil || len(written) == 0 {
		return jmespath.Value{}, err
	}
	n := len(written)
	if total, ok := exactSum(written); ok {
		quotient, _ := new(big.Rat).SetFrac(total, big.NewInt(int64(n))).Float64()
		return float(quotient)
	}
	total, err := plainSum(written)
	if err != nil {
		return jmespath.Value{}, err
	}
	return float(total / float64(n))
}

// exactSum adds integers, and is not ok if there is another number.
func exactSum(written []string) (total *big.Int, ok bool) {
	total = new(big.Int)
	for _, w := range written {
		n, isInt := new(big.Int).SetString(w, 10)
		if !isInt {
			return nil, false
		}
		total.Add(total, n)
	}
	return total, true
}

// plainSum adds doubles. Python 3.12 and later compensate for rounding, so it refuses a sum that needs any.
func plainSum(written []string) (float64, error) {
	total := 0.0
	for _, w := range written {
		f, err := double(w)
		if err != nil {
			return 0, err
		}
		// The error of an addition is a double (Knuth, The Art of Computer Programming, volume 2, section 4.2.2).
		next := total + f
		rest := next - total
		if (total-(next-rest))+(f-rest) != 0 || isInteger(w) && !isExact(w, f) {
			return 0, ErrFloatSum
		}
		total = next
	}
	return total, nil
}

// isExact reports whether an integer is a double.
func isExact(written string, f float64) bool {
	n, _ := new(big.Int).SetString(written, 10)
	whole, _ := big.NewFloat(f).Int(nil)
	return n.Cmp(whole) == 0
}

// toNumber reads numbers out of text, as far as all languages read them equally: in the spelling of JSON, with its
// white space around it.
func toNumber(read func(string) (jmespath.Value, error)) func(jmespath.Value) (jmespath.Value, error) {
	return func(argument jmespath.Value) (jmespath.Value, error) {
		switch argument.Kind() {
		case jmespath.Number:
			return argument, nil
		case jmespath.String:
			content, _ := argument.Text()
			v, _, err := parse([]byte(content))
			if err != nil || v.kind != number {
				return jmespath.Value{}, ErrNumberText
			}
			return read(v.text)
		case jmespath.Null, jmespath.Boolean, jmespath.Array, jmespath.Object:
		}
		return jmespath.Value{}, nil
	}
}

func asParsed(written string) (jmespath.Value, error) { return jmespath.Parse([]byte(written)) }

// asLong is to_number of jmespath-java: a double, and a long if it is whole.
func asLong(written string) (jmespath.Value, error) {
	f, err := double(written)
	if err != nil {
		return jmespath.Value{}, err
	}
	switch {
	case f != math.Trunc(f):
		return float(f)
	case math.Abs(f) >= 1<<63:
		return jmespath.Value{}, ErrNumberText
	}
	return jmespath.Parse(strconv.AppendInt(nil, int64(f), 10))
}
