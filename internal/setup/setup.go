// Package setup collects what is wrong with a configuration, for the constructors that name all of
// it at once.
package setup

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"

	"github.com/go-idempotent/idempotent/store"
)

// Problems are what is wrong with what a constructor was given, whose name each begins with. Those
// of the zero value begin with nothing.
type Problems struct {
	of  string
	all []string
}

// Of returns the problems of a constructor, none yet.
func Of(constructor string) *Problems { return &Problems{of: constructor + ": "} }

// Addf adds a problem, if there is one.
func (p *Problems) Addf(is bool, format string, args ...any) {
	if is {
		p.all = append(p.all, p.of+fmt.Sprintf(format, args...))
	}
}

// Add adds those of an error, as they are.
func (p *Problems) Add(wrong *store.ConfigError) { p.all = append(p.all, wrong.Problems...) }

// Err returns a [*store.ConfigError] of all, nil if there is none.
func (p *Problems) Err() error {
	if len(p.all) == 0 {
		return nil
	}
	return &store.ConfigError{Problems: p.all}
}

// Panic panics with [Problems.Err] if there is a problem.
func (p *Problems) Panic() {
	if err := p.Err(); err != nil {
		panic(err)
	}
}

// One returns the configuration of a variadic parameter: its zero value if there is none.
func One[C any](p *Problems, given []C) (c C) {
	name, _, _ := strings.Cut(reflect.TypeFor[C]().Name(), "[")
	p.Addf(len(given) > 1, "there are %d values of %s, and one counts", len(given), name)
	if len(given) > 0 {
		c = given[0]
	}
	return c
}

// IsNil also finds a nil pointer, function, map, slice or channel in a non-nil interface, which
// would only fail in the first request.
func IsNil(v any) bool {
	switch value := reflect.ValueOf(v); value.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
		return value.IsNil()
	default:
		return false
	}
}

// Queue adds what is wrong with a queue of SQS, and reports whether it is a FIFO queue.
func (p *Problems) Queue(client any, queueURL string) (fifo bool) {
	p.Addf(IsNil(client), "the client is nil")
	u, err := url.Parse(queueURL)
	is := err == nil && u.Hostname() != "" && strings.Trim(u.Path, "/") != "" &&
		(u.Scheme == "https" || u.Scheme == "http")
	p.Addf(!is, "the URL of the queue is not one of the form https://sqs.<Region>.amazonaws.com/<account>/<name>; "+
		"a name or an ARN is none")
	return is && strings.HasSuffix(u.Path, ".fifo")
}
