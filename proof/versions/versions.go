// Package versions lets this version of the library, the one before steps and the one before commits share a table: its tests run them
// in processes of their own, have each meet the records of the other, and hold docs/versions.md to what happens.
//
// The versions before are in testdata/before.zip and testdata/steps.zip: the Go files, without tests, of what a handler and an operator
// need. peer/ is one program that is built once with this library and, with the tags before and steps, with those. So nothing is fetched,
// and the history of the repository is not needed. Where it is there, a test compares the archives with it; -archive writes them.
//
// A peer is told on its standard input, line by line, what to do: an [Ask]. It says what happens on its standard output, in lines
// of [Said], and ends each Ask with one that is Done.
package versions

import "time"

// Ask is one delivery, or what an operator does.
type Ask struct {
	Table, Key string
	// Ahead is how far the clock of the delivery is ahead of the real one.
	Ahead time.Duration
	// Refuse is the crash policy Refuse, Wait waits for a running execution, and Powertools shares the records of AWS
	// Powertools for Python.
	Refuse, Wait, Powertools bool
	// Steps has the handler take its effects as steps. The version before knows none.
	Steps bool
	// Commits, unless empty, is a table: the handler commits its answer with a row in it. The versions before know no commits.
	Commits string
	// Answer is how large the answer is: Small, or as the constants say.
	Answer Answer
	// Effects are what the handler does, in this order. Then it comes to its End.
	Effects []Effect
	End     End
	// Settle has an operator settle the record of the delivery as not executed, instead of delivering it.
	Settle bool
}

// Answer is how an answer fits into its record.
type Answer string

// The answers.
const (
	// Small is kept as it is.
	Small Answer = ""
	// Compressed is kept with the record once it is compressed, InParts beside it.
	Compressed Answer = "compressed"
	InParts    Answer = "in parts"
)

// Effect is one effect of a handler.
type Effect struct {
	Name string
	// AtMostOnce is for a step: it has a start mark, and no resolver.
	AtMostOnce bool
	End        End
}

// End is how an effect, or the handler, ends. The empty one is well.
type End string

// The other ends.
const (
	Fails     End = "fails"
	Uncertain End = "uncertain"
	// Dies: the process ends, like one that Lambda kills.
	Dies End = "dies"
	// Holds: it says so, waits for a line, and ends well. HoldsAndFails fails then.
	Holds         End = "holds"
	HoldsAndFails End = "holds and fails"
)

// Said is one line of a peer.
type Said struct {
	// Effect is the name of an effect that happens.
	Effect string `json:",omitempty"`
	// Holds is true if the peer waits for a line.
	Holds bool `json:",omitempty"`
	// Done ends an Ask. The rest is about that: what the handler returned, by the name of the effect; else the name of a sentinel error of
	// the library, or "its own" error of the handler; and how the library settled the record.
	Done       bool              `json:",omitempty"`
	Returned   map[string]string `json:",omitempty"`
	Err        string            `json:",omitempty"`
	Settlement string            `json:",omitempty"`
}
