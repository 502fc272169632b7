package idempotent

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// ConfigError reports everything that is wrong with a configuration. There is one type of it in the module, that of package store, so that
// [errors.As] finds each.
type ConfigError = store.ConfigError

// problems collects what is wrong with a configuration.
type problems []string

func (p *problems) addf(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

func (p *problems) addError(err error) {
	several, ok := errors.AsType[*ConfigError](err)
	switch {
	case err == nil:
	case ok:
		*p = append(*p, several.Problems...)
	default:
		*p = append(*p, err.Error())
	}
}

func (p *problems) panicIfAny() {
	if len(*p) > 0 {
		panic(&ConfigError{Problems: *p})
	}
}

func atLeast(option, field string, d, least time.Duration) error {
	if d >= least {
		return nil
	}
	if field != "" {
		option += ": " + field
	}
	return fmt.Errorf("%s: %v is less than %v", option, d, least)
}

// naming puts the option in front of an error.
func naming(option string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", option, err)
}

// joinProblems makes one error of all errors that are not nil. It returns nil if there is none.
func joinProblems(errs ...error) error {
	var p problems
	for _, err := range errs {
		p.addError(err)
	}
	return p.err()
}

func atLeastBytes(option string, size, least int) error {
	if size >= least {
		return nil
	}
	return fmt.Errorf("%s: %d bytes are less than %d", option, size, least)
}

// err returns one error of all, nil if there is none.
func (p *problems) err() error {
	if len(*p) == 0 {
		return nil
	}
	return &ConfigError{Problems: *p}
}
