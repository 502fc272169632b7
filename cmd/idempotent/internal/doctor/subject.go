package doctor

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/artifact"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/sam"
)

// subject is a function of a template, with what is known of its program.
type subject struct {
	sam.Function

	says exemptions
	// wraps and seen say whether the program wraps, and whether one was seen. Where none was, unseen says why.
	wraps, seen bool
	path        string
	library     string
	unseen      string
	problems    []Finding
}

// protects reports whether the function wraps, as far as its program or its template tells.
func (s *subject) protects() bool { return s.wraps || !s.seen && s.says.wraps != "" }

// look finds out what there is to know of a function.
func (e *examination) look(f sam.Function) *subject {
	s := &subject{Function: f}
	s.says, s.problems = exemptionsOf(f.ID, f.Metadata)
	p, err := e.program(f)
	switch {
	case err == nil:
		s.seen, s.wraps, s.path, s.library = true, p.Wraps, p.Path, p.Library
	case errors.Is(err, artifact.ErrNone):
		s.unseen = howToBuild(f)
	default:
		s.unseen = err.Error()
	}
	if s.seen && !s.wraps && s.says.wraps != "" {
		s.problems = append(s.problems, s.finding(checkMetadata, Problem, "its Metadata says that it wraps, but "+s.path+" does not"))
	}
	if s.wraps && s.says.all != "" {
		s.problems = append(s.problems, s.finding(checkMetadata, Warning, "its Metadata exempts it, and it wraps: there is no need for that"))
	}
	return s
}

func (s *subject) finding(check string, r Result, detail string) Finding {
	return Finding{check, r, s.ID + ": " + detail}
}

// program looks where a program may be: where it is said to be, where SAM builds it, and where the template has it.
func (e *examination) program(f sam.Function) (artifact.Program, error) {
	if path, given := e.binaries[f.ID]; given {
		p, err := artifact.Find(path)
		if errors.Is(err, artifact.ErrNone) {
			return p, fmt.Errorf("there is nothing at %s", path)
		}
		return p, err
	}
	if p, err := artifact.Find(filepath.Join(e.build, f.ID)); !errors.Is(err, artifact.ErrNone) {
		return p, err
	}
	if f.Code == "" || f.Source() {
		return artifact.Program{}, artifact.ErrNone
	}
	return artifact.Find(filepath.Join(e.Folder, f.Code))
}

// compiled are the runtimes of programs.
var compiled = []string{"", "provided", "provided.al2", "provided.al2023", "go1.x"}

// howToBuild says why there is no program, and what to do about it.
func howToBuild(f sam.Function) string {
	switch {
	case f.Image():
		return fmt.Sprintf("it is an image: name the program in it with --binary %s=PATH, or say in its Metadata that it wraps", f.ID)
	case !slices.Contains(compiled, f.Runtime):
		return fmt.Sprintf("its runtime is %s: say in its Metadata what protects it", f.Runtime)
	case f.Code == "":
		return fmt.Sprintf("its code is not here: name the program with --binary %s=PATH", f.ID)
	default:
		return fmt.Sprintf("it is not built: run sam build first, or name the program with --binary %s=PATH", f.ID)
	}
}

// not says of a program that it does not wrap.
func (s *subject) not() string {
	with := "has nothing of the library in it"
	if s.library != "" {
		with = "has the library in it, " + strings.TrimSpace("version "+s.library) + ", and does not call Wrap"
	}
	return fmt.Sprintf("%s does not wrap: %s %s", s.ID, s.path, with)
}
