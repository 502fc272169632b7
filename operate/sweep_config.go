package operate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/store"
)

// The defaults of [SweepConfig].
const (
	DefaultSweepGrace     = 15 * time.Minute
	DefaultSweepRate      = 25
	DefaultSweepWriteRate = 10
)

// SweepConfig adjusts [Sweep]. A zero field means its default.
type SweepConfig struct {
	_ struct{} // literals name their fields: more may come

	// Effects are those of the handlers, by operation: what they have with idempotent.WithEffects. Name
	// those that are unrepeatable; a crash of an operation that is not named executes again. A handler
	// with a resolver takes part as an unrepeatable one: then a reconciliation asks about what crashed.
	Effects map[string]idempotent.Effects
	// Grace is for how long the lease of a record has ended before it counts as lapsed here: the clock of this machine may be ahead by less
	// than this of those of the handlers, and clients get the time to retry. Default [DefaultSweepGrace].
	Grace time.Duration
	// UnknownRetention is for how long a record that becomes UNKNOWN is kept at least. Give it that of the handlers' idempotent.Timing.
	// Default idempotent.DefaultUnknownRetention.
	UnknownRetention time.Duration

	// Rate is how many read units per second are used on average, for pages and for single records together. Default [DefaultSweepRate];
	// infinite for no limit. WriteRate is that of write units, default [DefaultSweepWriteRate]: a record that becomes UNKNOWN counts as two.
	// How far the sweep has come takes one more for each page.
	Rate, WriteRate float64
	// PageSize is how many items one page has at most. Default is what can be looked at in ten seconds, and 1,000 at most. A run has to have the time for
	// one page at least.
	PageSize int

	// DryRun reads and counts everything from the beginning, and writes nothing, also not how far it has come. What it counts as changed
	// or deleted would be.
	DryRun bool
	// Restart begins anew, wherever the last run has ended.
	Restart bool

	// Clock is compared with leases and expiries. Default time.Now.
	Clock func() time.Time
	// Progress, unless nil, gets what was done so far, after each page. Observe, unless nil, gets the report of each run, also of one that
	// fails.
	Progress, Observe func(context.Context, Swept)
}

// checked returns the configuration with its defaults. It panics if something is wrong with it.
func (c SweepConfig) checked(s store.Store) SweepConfig {
	if problems := c.problems(s); len(problems) > 0 {
		panic(&idempotent.ConfigError{Problems: problems})
	}
	c.Effects = maps.Clone(c.Effects)
	c.Grace = cmp.Or(c.Grace, DefaultSweepGrace)
	c.UnknownRetention = cmp.Or(c.UnknownRetention, idempotent.DefaultUnknownRetention)
	c.Rate = cmp.Or(c.Rate, DefaultSweepRate)
	c.WriteRate = cmp.Or(c.WriteRate, DefaultSweepWriteRate)
	c.PageSize = cmp.Or(c.PageSize, int(max(minSweepPage, min(maxSweepPage, sweepPageTime.Seconds()*c.Rate))))
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return c
}

// The bounds of a page: a run that is killed repeats one, and one that has less time than it takes never comes further.
const (
	minSweepPage  = 25
	maxSweepPage  = 1000
	sweepPageTime = 10 * time.Second
)

func (c SweepConfig) problems(s store.Store) (problems []string) {
	addf := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	addf(isNil(s), "operate.Sweep: the store is nil")
	for _, operation := range slices.Sorted(maps.Keys(c.Effects)) {
		p := c.Effects[operation]
		addf(operation == "", "SweepConfig.Effects: an operation is empty")
		addf(operation == SweepOperation, "SweepConfig.Effects: %q is the operation of the sweep itself", operation)
		addf(p < idempotent.Cautious || p > idempotent.Unrepeatable, "SweepConfig.Effects: %d of %q is not Cautious, Repeatable or Unrepeatable", p, operation)
	}
	addf(c.Grace < 0, "SweepConfig.Grace: %s is negative", c.Grace)
	addf(c.UnknownRetention < 0, "SweepConfig.UnknownRetention: %s is negative", c.UnknownRetention)
	addf(c.Rate < 0 || math.IsNaN(c.Rate), "SweepConfig.Rate: %v is no rate", c.Rate)
	addf(c.WriteRate < 0 || math.IsNaN(c.WriteRate), "SweepConfig.WriteRate: %v is no rate", c.WriteRate)
	addf(c.PageSize < 0, "SweepConfig.PageSize: %d is negative", c.PageSize)
	return problems
}

func isNil(v any) bool {
	of := reflect.ValueOf(v)
	return !of.IsValid() || of.Kind() == reflect.Pointer && of.IsNil()
}

// limit is a rate as stores take it: 0 for none.
func limit(rate float64) float64 {
	if math.IsInf(rate, 1) {
		return 0
	}
	return rate
}
