package observe

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-idempotent/idempotent"
)

// All returns an observer that hands every event to each of the observers, in their order, say metrics and a log:
//
//	idempotent.WithObserver(observe.All(observe.EMF(os.Stdout), observe.Slog(nil)))
//
// It is safe for concurrent use if they are. A nil observer panics with an [*idempotent.ConfigError].
func All(observers ...func(context.Context, idempotent.Event)) func(context.Context, idempotent.Event) {
	observers = slices.Clone(observers) // the caller may go on using the slice
	var problems []string
	for i, o := range observers {
		if o == nil {
			problems = append(problems, fmt.Sprintf("observe.All: observer %d is nil", i+1))
		}
	}
	if problems != nil {
		panic(&idempotent.ConfigError{Problems: problems})
	}
	return func(ctx context.Context, e idempotent.Event) {
		for _, observe := range observers {
			observe(ctx, e)
		}
	}
}
