package powertools

// javaStyle is JsonNode.toString of Jackson. The digits of doubles are those of the JDK.
func javaStyle(j jdk) *style {
	return &style{
		comma: ",", colon: ":",
		arrange: asSent,
		number:  j.number,
		text:    withoutSurrogates(&escapes{hex: upperHex}),
	}
}

// number writes IntNode, LongNode and BigIntegerNode exactly, and DoubleNode by Double.toString.
func (j jdk) number(dst []byte, written string) ([]byte, error) {
	if isInteger(written) {
		return append(dst, exactInteger(written)...), nil
	}
	f, err := double(written)
	if err != nil {
		return nil, err
	}
	return j.appendDouble(dst, f)
}

// hashJava is the toString of BasePersistenceStore.generateHash: the content of a text, and else
// its JSON.
func hashJava(s *style, v value) ([]byte, error) {
	if v.kind != text {
		return s.write(nil, v)
	}
	if hasSurrogate(v.text) {
		return nil, ErrSurrogate
	}
	return []byte(v.text), nil
}

// javaMissing is isMissingIdemPotencyKey: null, and an array or object that has nothing but null.
// Java 1.15.0 checks the same, but goes on and hashes unless it is told to throw; it does not look
// into arrays.
func javaMissing(v value) bool { return isNull(v) || v.isContainer() && v.all(isNull) }
