package batches_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

// loop is the function of a queue that somebody wrote by hand.
type loop struct {
	handle func(context.Context, events.SQSMessage) (string, error)
	// acknowledges says of an error that its message is not reported.
	acknowledges func(error) bool
	// stops: nothing is begun behind a failure in its group.
	stops bool
	// report makes the identifiers of the answer of those that failed.
	report func([]string) []string
}

func (l *loop) run(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
	var failed []string
	stopped := map[string]bool{}
	for _, m := range event.Records {
		group := m.Attributes["MessageGroupId"]
		if stopped[group] {
			failed = append(failed, m.MessageId)
			continue
		}
		_, err := l.handle(ctx, m)
		if err == nil || l.acknowledges(err) {
			continue
		}
		failed = append(failed, m.MessageId)
		stopped[group] = l.stops && group != ""
	}
	answer := events.SQSEventResponse{}
	for _, id := range l.report(failed) {
		answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: id})
	}
	return answer, nil
}

// The checks see what is wrong with loops in which one thing is wrong, and nothing in one in which nothing is.
func TestTheChecksSeeWhatIsWrong(t *testing.T) {
	t.Parallel()
	same := func(ids []string) []string { return ids }
	for name, tc := range map[string]struct {
		customers int
		plant     func(w *world, l *loop)
		want      string
	}{
		"nothing":         {0, func(*world, *loop) {}, ""},
		"nothing in FIFO": {20, func(*world, *loop) {}, ""},
		"it acknowledges what another invocation executes": {0, func(_ *world, l *loop) {
			l.acknowledges = func(err error) bool { return errors.Is(err, idempotent.ErrInProgress) }
		}, "lost: "},
		"it acknowledges failures": {0, func(_ *world, l *loop) {
			l.acknowledges = func(error) bool { return true }
		}, "lost: "},
		"it goes on behind a failure in a group": {20, func(_ *world, l *loop) { l.stops = false }, "out of order: "},
		"it reports an empty identifier": {0, func(_ *world, l *loop) {
			l.report = func(ids []string) []string { return append(ids, "") }
		}, "moved away, and done: "},
		"it reports only the first failure": {0, func(_ *world, l *loop) {
			l.report = func(ids []string) []string { return ids[:min(1, len(ids))] }
		}, "lost: "},
		"its handler is not protected": {0, func(w *world, l *loop) {
			l.handle = func(ctx context.Context, m events.SQSMessage) (string, error) {
				o, err := orderOf(m)
				if err != nil {
					return "", err
				}
				return w.execute(ctx, o)
			}
		}, "twice: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, q := newWorld(t), newQueue(tc.customers > 0, 20)
				q.orders = orders(400, tc.customers, kinds{7: fails, 8: fails, 29: slow, 31: diesBefore, 37: diesAfter, 57: fails, 71: stuck})
				for i, o := range q.orders {
					send(t, q, "", o, o.ID)
					if i%9 == 0 {
						send(t, q, "", o, o.ID+" again")
					}
				}
				l := &loop{handle: w.handler(memory.New()).Handle, acknowledges: func(error) bool { return false }, stops: true, report: same}
				tc.plant(w, l)
				drain(t, q.pump(w, l.run), 1000*time.Hour)
				dead := q.deadLetters(t)
				problems := w.problems(q.orders, func(o order) bool { return dead[body(o)] != "" })
				if tc.want == "" {
					assert.Empty(t, summary(problems))
					return
				}
				assert.Contains(t, summary(problems), tc.want)
			})
		})
	}
}
