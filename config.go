package idempotent

import (
	"cmp"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/internal/setup"
	"github.com/go-idempotent/idempotent/store"
)

// Option configures [Wrap]. A later one replaces an earlier one of the same name. After Wrap has
// returned, nothing reads an option again.
type Option interface {
	apply(c *config)
}

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

// config is what the options fill in: the handler, and what only Wrap has to know.
type config struct {
	*wrapped
	setup.Problems

	http HTTP
	// given are the types of the functions that options were given, by the names of the options.
	given map[string]reflect.Type

	// shared makes records as another program writes them, nil for records of this module's own.
	// allCallers: whoever calls shares the keys of that program.
	shared     func(out reflect.Type) sharedRecords
	allCallers bool

	// These options were given, with a valid value or not.
	operationSet, keyPathSet, disabledSet, httpSet, requireKeySet bool

	// marker is [marker], which is linked in because it is stored here. Nothing reads it.
	marker string
}

// Effects says what repeating the effects of a handler would do, see [WithEffects].
type Effects int

const (
	// Cautious is the default, and what AWS Powertools does: a request whose execution crashed or
	// failed is executed again, and one whose execution succeeded never is.
	Cautious Effects = iota
	// Repeatable effects do no harm if they are repeated, because each downstream takes the
	// [DerivedKey] and recognises it.
	Repeatable
	// Unrepeatable effects must never be repeated unasked: after a crash or a failure the record
	// becomes UNKNOWN, and nobody executes again until it is settled. A handler with steps must
	// have no effect outside of them, and every [Step] writes a start mark. The next delivery
	// resumes a crashed execution whose recorded steps tell all that it began. One without recorded
	// steps, or with one begun and not recorded, becomes UNKNOWN.
	Unrepeatable
)

// Timing groups the durations of one invocation. A zero field means its default.
type Timing struct {
	// Lease is how long a claim is protected if the invocation's context has no deadline, or one
	// more than 15 minutes away, or if the process runs several invocations at once, as Lambda
	// Managed Instances do. It is renewed while the handler runs, until 15 minutes after the
	// deadline. With any other deadline the lease ends Margin after it, and is renewed for 15
	// minutes more if the handler overruns it. Default 30 s, at least 1 s.
	Lease time.Duration
	// Margin is how long the lease outlives the invocation's deadline, to cover a late kill and
	// clock skew between machines. Default 2 s, at most a third of Lease.
	Margin time.Duration
	// Reserve is how long before the invocation's deadline the handler's context ends, so that its
	// result can still be stored; never more than a tenth of the time that is left. Default 500 ms.
	Reserve time.Duration
	// ClaimBudget is the longest time that a claim takes, with its retries and its undo; then the
	// caller is told that the store is down. The settlement after the handler may take as long, and
	// a second more for each 512 KB of the result. Reading a large stored result may take until the
	// deadline, at most 30 s. Default 3 s, at least 100 ms.
	ClaimBudget time.Duration
	// UnknownRetention is how long an UNKNOWN record is kept to be settled. Default 30 days.
	UnknownRetention time.Duration
}

func (t Timing) withDefaults() Timing {
	return Timing{
		Lease:            cmp.Or(t.Lease, protocol.DefaultLease),
		Margin:           cmp.Or(t.Margin, protocol.DefaultMargin),
		Reserve:          cmp.Or(t.Reserve, protocol.DefaultReserve),
		ClaimBudget:      cmp.Or(t.ClaimBudget, protocol.DefaultClaimBudget),
		UnknownRetention: cmp.Or(t.UnknownRetention, protocol.DefaultUnknownRetention),
	}
}

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

// maxOperation keeps record keys, also of parts, within the 1,024 bytes of a DynamoDB sort key.
const maxOperation = 255

const operationCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

func validOperation(name string) bool {
	return name != "" && len(name) <= maxOperation && strings.Trim(name, operationCharacters) == ""
}

// ConfigError reports everything that is wrong with a configuration. It is that of package store,
// so that [errors.As] finds each of the module.
type ConfigError = store.ConfigError

func atLeast(p *setup.Problems, option string, d, least time.Duration) {
	p.Addf(d < least, "%s: %v is less than %v", option, d, least)
}

// userFunc makes an option whose value is a function. A nil one is an error and not the default.
func userFunc(option string, f any, set func(*config)) Option {
	return optionFunc(func(c *config) {
		set(c)
		c.given[option] = reflect.TypeOf(f)
		c.Addf(reflect.ValueOf(f).IsNil(), "%s: the function is nil", option)
	})
}
