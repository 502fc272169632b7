package idempotent

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/jmespath"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// Option configures [Wrap]. Wrap applies its options in order: a later one replaces an earlier one of the same name.
// After Wrap has returned, nothing reads an option again.
type Option interface{ apply(c *config) error }

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

// config is what the options fill in. Wrap makes a handler of it, and the handler does not keep it.
type config struct {
	store       store.Store
	operation   string
	retention   time.Duration
	timing      Timing
	wait        time.Duration
	crash       CrashPolicy
	onError     ErrorPolicy
	effects     Effects
	optionalKey bool
	disabled    bool
	now         func() time.Time
	observe     func(context.Context, report.Delivery)
	trace       func(context.Context, report.Delivery) Trace
	http        HTTP

	// user holds the functions that options were given. given are the types of these functions by the names of the options: Wrap checks
	// that they fit the handler.
	user  functions
	given map[string]reflect.Type

	keyPath, fingerprintPath *jmespath.Expression
	partialKey               bool

	exactNames, withoutFingerprint bool
	digestKey                      []byte
	maxResult                      int // in bytes, 0 for no limit

	// shared makes records as another program writes them, for a handler whose results have the type out. It is nil for
	// records of this module's own.
	shared func(out reflect.Type, p *problems) sharedRecords

	records sharedRecords // what shared made
	// allCallers: whoever calls shares the keys of that program.
	allCallers bool

	// These options were given, with a valid value or not.
	operationSet, keyPathSet, crashSet, disabledSet, httpSet, requireKeySet bool

	// marker is [marker], which is linked in because it is stored here. Nothing reads it.
	marker string
}

// disabledVariable is the switch of AWS Powertools, with its spellings of true and false.
const disabledVariable = "POWERTOOLS_IDEMPOTENCY_DISABLED"

func disabledByEnvironment() (bool, error) {
	value := os.Getenv(disabledVariable)
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "1", "y", "yes", "t", "true", "on":
		return true, nil
	case "", "0", "n", "no", "f", "false", "off":
		return false, nil
	default:
		return false, fmt.Errorf("%s: %q is neither true nor false", disabledVariable, value)
	}
}

// maxOperation keeps record keys and the keys of parts within the 1,024 bytes of a DynamoDB sort key.
const maxOperation = 255

var operationPattern = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

func validOperation(name string) bool {
	return len(name) <= maxOperation && operationPattern.MatchString(name)
}
