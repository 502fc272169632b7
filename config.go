package idempotent

import (
	"context"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/internal/setup"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// Option configures [Wrap]. Wrap applies its options in order: a later one replaces an earlier one
// of the same name. After Wrap has returned, nothing reads an option again.
type Option interface {
	apply(c *config, p *setup.Problems)
}

type optionFunc func(*config, *setup.Problems)

func (f optionFunc) apply(c *config, p *setup.Problems) { f(c, p) }

// config is what the options fill in. Wrap makes a handler of it, and the handler does not keep it.
type config struct {
	keyOptions

	store     store.Store
	retention time.Duration
	timing    Timing
	wait      time.Duration
	effects   Effects
	disabled  bool
	now       func() time.Time
	observe   func(context.Context, report.Delivery)
	trace     func(context.Context, report.Delivery) Trace
	http      HTTP
	storeIf   func(out any) bool
	resolver  func(ctx context.Context, x Execution, in any) (found, error)

	// given are the types of the functions that options were given, by the names of the options:
	// Wrap checks that they fit the handler.
	given map[string]reflect.Type

	// shared makes records as another program writes them, for a handler whose results have the
	// type out. It is nil for records of this module's own. allCallers: whoever calls shares the
	// keys of that program.
	shared     func(out reflect.Type, p *setup.Problems) sharedRecords
	allCallers bool

	problems setup.Problems

	// These options were given, with a valid value or not.
	operationSet, keyPathSet, disabledSet, httpSet, requireKeySet bool

	// marker is [marker], which is linked in because it is stored here. Nothing reads it.
	marker string
}

// as returns a value that is a T, or the zero value for none.
func as[T any](v any) T {
	t, _ := v.(T)
	return t
}

// disabledVariable is the switch of AWS Powertools, with its spellings of true and false.
const disabledVariable = "POWERTOOLS_IDEMPOTENCY_DISABLED"

func disabledByEnvironment(p *setup.Problems) bool {
	value := os.Getenv(disabledVariable)
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "1", "y", "yes", "t", "true", "on":
		return true
	case "", "0", "n", "no", "f", "false", "off":
	default:
		p.Addf(true, "%s: %q is neither true nor false", disabledVariable, value)
	}
	return false
}

// maxOperation keeps record keys and the keys of parts within the 1,024 bytes of a DynamoDB sort
// key.
const maxOperation = 255

const operationCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

func validOperation(name string) bool {
	return name != "" && len(name) <= maxOperation && strings.Trim(name, operationCharacters) == ""
}

// ConfigError reports everything that is wrong with a configuration. There is one type of it in the
// module, that of package store, so that [errors.As] finds each.
type ConfigError = store.ConfigError

func atLeast(p *setup.Problems, option string, d, least time.Duration) {
	p.Addf(d < least, "%s: %v is less than %v", option, d, least)
}

// userFunc makes an option whose value is a function. A nil function is a configuration error and
// not the default.
func userFunc(option string, f any, set func(*config)) Option {
	return optionFunc(func(c *config, p *setup.Problems) {
		set(c)
		c.given[option] = reflect.TypeOf(f)
		if reflect.ValueOf(f).IsNil() {
			p.Addf(true, "%s: the function is nil", option)
		}
	})
}
