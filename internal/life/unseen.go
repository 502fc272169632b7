package life

import (
	"slices"

	"github.com/go-idempotent/idempotent/store"
)

// Unseen says which steps may have begun without a start mark, of those that the record does not
// have. The zero value is none. Nobody changes the names.
type Unseen struct {
	// Any says that each step may, except Names. Else only Names may. They are in ascending order.
	Any   bool
	Names []string
}

// unseenOf is what a record says.
func unseenOf(r store.Record) Unseen { return Unseen{Any: r.Unmarked, Names: r.StepNames} }

// into is a record that says it.
func (u Unseen) into(r store.Record) store.Record {
	r.Unmarked, r.StepNames = u.Any, u.Names
	return r
}

// Some reports whether any step may have begun unseen.
func (u Unseen) Some() bool { return u.Any || len(u.Names) > 0 }

// May reports whether the step may have begun unseen.
func (u Unseen) May(name string) bool { return u.Any != slices.Contains(u.Names, name) }

// With says of one step whether it may have begun unseen.
func (u Unseen) With(name string, may bool) Unseen {
	if u.May(name) == may {
		return u
	}
	names := slices.Clone(u.Names)
	if i, listed := slices.BinarySearch(names, name); listed {
		names = slices.Delete(names, i, i+1)
	} else {
		names = slices.Insert(names, i, name)
	}
	if len(names) == 0 {
		names = nil
	}
	return Unseen{Any: u.Any, Names: names}
}

// claimed is what remains unseen if an execution dies that marks these steps, in ascending order,
// and may run any other.
func (u Unseen) claimed(marks []string) Unseen {
	var sure []string
	for _, name := range marks {
		if !u.May(name) {
			sure = append(sure, name)
		}
	}
	return Unseen{Any: true, Names: sure}
}
