package powertools

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"

	"github.com/go-idempotent/idempotent/internal/jsontext"
)

// java has JsonNode.toString of Jackson, with the digits that a JDK gives to doubles.
func java(digits func(f float64) (decimal, error)) *Codec {
	return &Codec{
		comma: ",", colon: ":",
		escapes:  jsontext.Escapes{Upper: true},
		whole:    true,
		integers: true,
		digits:   digits,
		doubles:  javaDoubles,
		// isMissingIdemPotencyKey: null, and an array or object that has nothing but null. Java
		// 1.15.0 does not look into arrays, and goes on and hashes unless it is told to throw.
		nothing: isNull, digest: bigInteger, hashes: javaNames, raw: true,
	}
}

// bigInteger is String.format("%032x", …), which drops zeros that lead more than 32 digits.
func bigInteger(sum []byte) string {
	return fmt.Sprintf("%032x", new(big.Int).SetBytes(sum))
}

// javaDoubles spells as Double.toString.
var javaDoubles = notation{least: -3, most: 7, fraction: 1, scientific: 1, exponent: "E%d"}

// anyDigits are those of every JDK. It refuses a double that JDK 18 and JDK 19 print differently.
func anyDigits(f float64) (decimal, error) {
	old, _ := oldDigits(f)
	now, err := newDigits(f)
	if string(javaDoubles.append(nil, old)) != string(javaDoubles.append(nil, now)) {
		err = ErrJDK
	}
	return now, err
}

// newDigits chooses as the documentation of Double.toString says since JDK 19: the fewest digits
// that identify the double, but of two digits at least the nearest.
func newDigits(f float64) (decimal, error) {
	d := shortest(f, -1)
	if len(d.digits) > 1 {
		return d, nil
	}
	two := shortest(f, 1)
	value, _ := strconv.ParseFloat("0."+two.digits+"e"+strconv.Itoa(two.point), 64) // +Inf is a value
	if two.digits[1] == '0' || value != math.Abs(f) {
		return d, nil
	}
	return two, nil
}

// oldDigits chooses as FloatingDecimal did up to JDK 18. The digits identify the double, but they
// are not always the fewest nor the nearest. It generates digits until what is left is less than
// half a unit in the last place of the double (Steele and White 1990, free format); what is special
// is where it starts and when it stops.
func oldDigits(f float64) (decimal, error) {
	fraction, exponent := math.Frexp(math.Abs(f))
	exponent--
	significand := uint64(fraction * (1 << 53)) // the double is significand × 2^(exponent-52)
	width := 53 + min(0, exponent+1022)         // fewer than 53 bits if it is subnormal
	digits, point, ok := integerDigits(significand, exponent, width)
	if !ok {
		digits, point = newGenerator(significand, exponent, width).generate()
	}
	return decimal{math.Signbit(f), digits, point}, nil
}

// integerDigits writes integers below 2^63. Beyond 53 bits it drops as many digits as the zero bits
// behind stand for.
func integerDigits(significand uint64, exponent, width int) (digits string, point int, ok bool) {
	fractionBits := 53 - bits.TrailingZeros64(significand) - exponent - 1
	if exponent > 62 || fractionBits > 0 {
		return "", 0, false
	}
	n := significand >> max(0, 52-exponent) << max(0, exponent-52)
	dropped := 0
	if zeros := exponent - width - 1; zeros > 0 {
		dropped = int(float64(zeros) * math.Log10(2))
	}
	unit := uint64(math.Pow10(dropped))
	whole := strconv.FormatUint((n+unit/2)/unit, 10)
	return whole[:1] + strings.TrimRight(whole[1:], "0"), len(whole) + dropped, true
}

// A generator holds rest/unit, the part of the number that is not written yet, in units of the next
// digit, and half/unit, half a unit in the last place of the double.
type generator struct {
	rest, unit, half *big.Int
	power            int // of ten that the next digit stands for
	// size is the length of the integers that FloatingDecimal does this in: 32, 64, or 0 for as
	// long as needed. The shorter ones overflow, and that decides some last digits.
	size uint
}

func newGenerator(significand uint64, exponent, width int) *generator {
	power := estimate(significand, exponent)
	zeros := bits.TrailingZeros64(significand)
	length := 53 - zeros
	fractionBits := max(0, length-exponent-1)

	rest5, unit5 := max(0, -power), max(0, power)
	rest2 := rest5 + fractionBits + exponent
	unit2 := unit5 + fractionBits
	half2 := rest2 - width
	if length == 1 {
		half2-- // below a power of two, doubles are twice as dense
	}
	rest2 -= length - 1
	common := min(rest2, unit2, half2)
	rest2, unit2, half2 = rest2-common, unit2-common, half2-common
	g := &generator{
		rest: product(significand>>zeros, rest5, rest2), unit: product(1, unit5, unit2),
		half: product(1, rest5, half2), power: power,
	}
	switch longest := max(length+rest2+bitsOf5(rest5), unit2+1+bitsOf5(unit5+1)); {
	case longest < 32:
		g.size = 32
	case longest < 64:
		g.size = 64
	}
	return g
}

// estimate approximates the power of ten of the first digit by a tangent to the logarithm at 1.5.
// It may be one too large. The conversions keep each step a double on processors that fuse
// multiplication and addition.
func estimate(significand uint64, exponent int) int {
	mantissa := float64(significand) / (1 << 52)
	slope := float64((mantissa - 1.5) * 0.289529654)
	return int(math.Floor(slope + 0.176091259 + float64(float64(exponent)*0.301029995663981)))
}

// bitsOf5 is the length of 5^n, as FloatingDecimal tabulates it; beyond its table it takes three
// bits a factor.
func bitsOf5(n int) int {
	switch {
	case n == 0:
		return 0
	case n < 27:
		return product(1, n, 0).BitLen()
	}
	return 3 * n
}

// product returns n × 5^fives × 2^twos.
func product(n uint64, fives, twos int) *big.Int {
	power := new(big.Int).Exp(big.NewInt(5), big.NewInt(int64(fives)), nil)
	return power.Lsh(power.Mul(power, new(big.Int).SetUint64(n)), uint(twos))
}

// generate writes digits until the rest is below half a unit in the last place (low), or within
// half a unit of the next digit (high), and rounds the last one.
func (g *generator) generate() (digits string, point int) {
	ten, next := big.NewInt(10), new(big.Int).Mul(g.unit, big.NewInt(10))
	var out []byte
	step := func() (digit byte, low, high bool) {
		q, r := new(big.Int).QuoRem(g.rest, g.unit, new(big.Int))
		g.rest = r.Mul(r, ten)
		g.half = g.wrap(g.half.Mul(g.half, ten))
		above := g.wrap(new(big.Int).Add(g.rest, g.half))
		return byte(q.Uint64()), g.rest.Cmp(g.half) < 0, above.Cmp(next) > 0
	}
	digit, low, high := step()
	power := g.power
	if digit == 0 && !high {
		power-- // the estimate was too large
	} else {
		out = append(out, '0'+digit)
	}
	if power < -3 || power >= 8 {
		low, high = false, false // the scientific form needs a second digit
	}
	for !low && !high {
		digit, low, high = step()
		out = append(out, '0'+digit)
		if g.half.Sign() <= 0 {
			low, high = true, true // it has overflown, so it is larger than the rest
		}
	}
	half := new(big.Int).Lsh(g.rest, 1).Cmp(next) // if both digits identify the double, the rest decides
	if high && (!low || half > 0 || half == 0 && digit%2 == 1) {
		sum := jsontext.Increment(string(out))
		return sum[:len(out)], power + 1 + len(sum) - len(out)
	}
	return string(out), power + 1
}

// wrap returns what is left of an integer in as many bits as there are.
func (g *generator) wrap(n *big.Int) *big.Int {
	if g.size == 0 || n.BitLen() < int(g.size) {
		return n
	}
	full := new(big.Int).Lsh(big.NewInt(1), g.size)
	if n.Mod(n, full); n.Bit(int(g.size)-1) == 1 {
		n.Sub(n, full)
	}
	return n
}
