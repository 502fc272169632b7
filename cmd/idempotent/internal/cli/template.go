package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/doctor"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/sam"
)

// planned are the flags about a template.
type planned struct {
	template, build      string
	parameters, binaries []string
}

func (p *planned) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.template, "template", "", "look at the template in this `file` instead, without AWS")
	f.StringArrayVar(&p.parameters, "parameter", nil, "a parameter of the template, `name=value`; may be repeated")
	f.StringVar(&p.build, "build-dir", "", "the `folder` that sam build has written; by default .aws-sam/build beside the template")
	f.StringArrayVar(&p.binaries, "binary", nil, "the program of a function, or a folder or an archive with it, `function=path`; may be repeated")
}

// given reports whether there is a flag that only a template gives a meaning to.
func (p *planned) given() bool { return p.build != "" || len(p.parameters) > 0 || len(p.binaries) > 0 }

// review looks at a template.
func (a *app) review(p planned, deployed bool) error {
	switch {
	case p.template == "":
		return usagef("--parameter, --binary and --build-dir are about a template: add --template")
	case deployed:
		return usagef("--template looks at a file, and --function, --operation and --outbox at AWS: leave out one or the other")
	}
	parameters, err := pairs("--parameter", p.parameters)
	if err != nil {
		return err
	}
	binaries, err := pairs("--binary", p.binaries)
	if err != nil {
		return err
	}
	plan := &doctor.Plan{Template: p.template, Parameters: parameters, Build: p.build, Binaries: binaries}
	findings, err := plan.Examine()
	if problem, is := errors.AsType[*sam.ParameterError](err); is {
		return usagef("--parameter: %v", problem)
	}
	if problem, is := errors.AsType[*doctor.UnknownFunctionError](err); is {
		return usagef("--binary: %v", problem)
	}
	if err != nil {
		return err
	}
	return a.diagnosis(findings)
}

// pairs are the names and values of a flag.
func pairs(flag string, given []string) (map[string]string, error) {
	values := make(map[string]string, len(given))
	for _, pair := range given {
		name, value, isPair := strings.Cut(pair, "=")
		if !isPair || name == "" {
			return nil, usagef("%s %q is not name=value", flag, pair)
		}
		values[name] = value
	}
	return values, nil
}
