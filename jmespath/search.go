package jmespath

// The work of a search is counted in bytes read and written. Every byte of the
// document allows for workPerByte of them, so that the time is linear in its size
// whatever the expression, and workBase lets small documents be searched by large
// expressions. An evaluated node counts as workPerNode bytes.
const (
	workBase    = 16 << 20
	workPerByte = 128
	workPerNode = 8
)

// A search is one evaluation of an expression. Its methods evaluate the nodes of
// the expression and count the work: whoever reads all of a value calls spend
// first, and so does whoever makes one that can be more than twice as long as what
// has been read for it.
type search struct {
	work     int64 // left
	unpacked int   // left
	dialect  *Dialect

	folding bool // see Expression.Folding
	// missed has what was not found although another spelling of it is there.
	missed misses
	// alternatives are the misses in front of every "||" whose right side is being
	// evaluated, outermost first.
	alternatives []misses
}

func newSearch(document Value, maxUnpacked int) *search {
	s := &search{work: workBase, unpacked: maxUnpacked}
	s.earn(len(document.text))
	return s
}

// earn allows for the work that a document of that many bytes may take.
func (s *search) earn(bytes int) { s.work += workPerByte * int64(bytes) }

// spend takes work off the budget. The error is ErrLimit.
func (s *search) spend(bytes int) error {
	if s.work -= int64(bytes); s.work < 0 {
		return fail(ErrLimit, "the evaluation takes too much work")
	}
	return nil
}

func (s *search) eval(n node, on Value) (Value, error) {
	if err := s.spend(workPerNode); err != nil {
		return Value{}, err
	}
	return n.eval(s, on)
}
