package jmespath

// maxGrowth is how many bytes one evaluation may make, beside perByte for each byte of the payload.
// The largest event of AWS Lambda has 6 MB (AWS Lambda quotas, synchronous invocation).
const (
	maxGrowth = 16 << 20
	perByte   = 4
)

// A search is one evaluation of an expression.
type search struct {
	growth  int  // bytes that may still be made
	folding bool // see Expression.Folding
}

func newSearch(document Value) *search {
	return &search{growth: maxGrowth + perByte*len(document.text)}
}

// grow takes bytes that are about to be made off the bound. The error is of the kind errLimit.
func (s *search) grow(bytes int) error {
	if s.growth -= bytes; s.growth < 0 {
		return fail(errLimit, "the evaluation makes too much of the payload")
	}
	return nil
}
