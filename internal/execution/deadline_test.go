package execution

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// contexts are made by a function like context.WithDeadline.
type contexts func(context.Context, time.Time) (context.Context, context.CancelFunc)

// ends are ways in which a context with a deadline in an hour ends; none waits for it.
var ends = map[string]func(ctx context.Context, cancel, parent func()){
	"the deadline":             func(context.Context, func(), func()) { time.Sleep(time.Hour) },
	"just before the deadline": func(context.Context, func(), func()) { time.Sleep(time.Hour - 1) },
	"a cancel":                 func(_ context.Context, cancel, _ func()) { cancel() },
	"the deadline, seen, and a cancel": func(ctx context.Context, cancel, _ func()) {
		time.Sleep(time.Hour + 1)
		_ = ctx.Err()
		cancel()
	},
	"a cancel, then the deadline": func(_ context.Context, cancel, _ func()) {
		cancel()
		time.Sleep(time.Hour)
	},
	"two cancels": func(_ context.Context, cancel, _ func()) {
		cancel()
		cancel()
	},
	"that of the parent": func(_ context.Context, _, parent func()) { parent() },
	"that of the parent, seen, and a cancel": func(ctx context.Context, cancel, parent func()) {
		parent()
		_ = ctx.Err()
		cancel()
	},
	"a cancel, and that of the parent": func(_ context.Context, cancel, parent func()) {
		cancel()
		parent()
	},
}

// looks are what somebody may ask of a context.
var looks = map[string]func(context.Context) any{
	"err":   func(ctx context.Context) any { return ctx.Err() },
	"cause": func(ctx context.Context) any { return context.Cause(ctx) },
	"done": func(ctx context.Context) any {
		select {
		case <-ctx.Done():
			return true
		default:
			return false
		}
	},
	"child": func(ctx context.Context) any {
		child, cancel := context.WithCancel(ctx)
		defer cancel()
		return child.Err()
	},
	"deadline": func(ctx context.Context) any {
		end, ok := ctx.Deadline()
		return [2]any{time.Until(end), ok}
	},
	"value": func(ctx context.Context) any { return ctx.Value(steadyKey{}) },
}

func TestADeadlineIsThatOfTheStandardLibrary(t *testing.T) {
	for how, end := range ends {
		for first, look := range looks {
			for second, again := range looks {
				seen := func(with contexts) (all []any) {
					synctest.Test(t, func(t *testing.T) {
						parent, cancelParent := context.WithCancelCause(Steady(t.Context()))
						ctx, cancel := with(parent, time.Now().Add(time.Hour))
						all = append(all, look(ctx))
						end(ctx, cancel, func() { cancelParent(errors.New("the parent's")) })
						synctest.Wait()
						all = append(all, again(ctx), look(ctx), again(ctx))
						all = append(all, ctx.Err(), context.Cause(ctx), ctx.Err())
						cancel()
					})
					return all
				}
				want, got := seen(context.WithDeadline), seen(WithDeadline)
				assert.Equal(t, want, got, "%s, asked %s and %s", how, first, second)
			}
		}
	}
}

func TestAParentMayEndFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancelParent := context.WithTimeout(t.Context(), time.Minute)
		defer cancelParent()
		ctx, cancel := WithDeadline(parent, time.Now().Add(time.Hour))
		defer cancel()
		end, ok := ctx.Deadline()
		assert.True(t, ok)
		assert.Equal(t, time.Minute, time.Until(end))
		time.Sleep(time.Minute)
		assert.Equal(t, context.DeadlineExceeded, ctx.Err())
	})
}

func TestWhatEndsWithADeadlineNeedsNoGoroutine(t *testing.T) {
	ctx, cancel := WithDeadline(t.Context(), time.Now().Add(time.Hour))
	before := runtime.NumGoroutine()
	var children []<-chan struct{}
	for range 100 {
		child, cancelChild := context.WithCancel(ctx)
		defer cancelChild()
		children = append(children, child.Done())
	}
	assert.Less(t, runtime.NumGoroutine(), before+len(children))
	cancel()
	for _, ended := range children {
		<-ended
	}
}

// Mocks print the arguments of calls, and contexts are among them.
func TestADeadlineIsPrintedAtAnyTime(t *testing.T) {
	for range 100 {
		ctx, cancel := WithDeadline(t.Context(), time.Now().Add(time.Hour))
		printed := make(chan string)
		go func() { printed <- fmt.Sprintf("%v", ctx) }()
		ctx.Done()
		assert.Contains(t, <-printed, "until ")
		cancel()
	}
}

func TestNobodyWhoOnlyAsksSetsATimer(t *testing.T) {
	parent := Steady(t.Context())
	end := time.Now().Add(time.Hour)
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		ctx, cancel := WithDeadline(parent, end)
		if ctx.Err() != nil || ctx.Value(steadyKey{}) == nil {
			t.Error("it has ended")
		}
		cancel()
	}), 2.0) // itself and the function
}
