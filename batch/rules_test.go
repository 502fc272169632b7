package batch_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// check notes that a rule of I12, see docs/guarantees.md, does not hold. A rule says what is wrong,
// and "" if nothing is.
func (w *world) check(rule, wrong string) {
	if wrong != "" && w.broken == nil {
		w.sayf("%s", wrong)
		w.broken = fmt.Errorf("%s: %s", rule, wrong)
	}
}

func when(is bool, format string, args ...any) string {
	if !is {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func answerNamesRecords(i *invocation) string {
	if i.stream() && len(i.failed) > 1 {
		return "more than one sequence number"
	}
	for n, name := range i.failed {
		if !slices.Contains(i.names, name) || slices.Contains(i.failed[:n], name) {
			return fmt.Sprintf("%q", name)
		}
	}
	return ""
}

func acknowledgedIsDone(i *invocation) string {
	for _, name := range i.names {
		named := slices.Contains(i.failed, name)
		if named && i.stream() {
			return "" // what is behind the checkpoint comes again
		}
		if !named && !i.isDone(name) {
			return name + " is acknowledged"
		}
	}
	return ""
}

// isDone says whether a record need not come again: an execution of it has ended for good, in this
// invocation or as the store says, and the functions of the configuration that are to have it have
// it.
func (i *invocation) isDone(name string) bool {
	s := i.record(name)
	if stored, is := i.results[i.key(name)]; is && stored.of.Amount == s.Amount {
		return i.took[name] || !i.Terminal || stored.ends != failsForEver
	}
	return i.took[name] || i.done[name] // the store could not keep it, which does not undo it
}

func doneIsNotNamed(i *invocation) string {
	for _, name := range i.failed {
		if i.done[name] && i.isDone(name) {
			return name + " is named"
		}
	}
	return ""
}

func groupKeepsItsOrder(i *invocation, name string) string {
	for _, before := range i.Sent {
		if before.Name == name || i.Source == standard {
			break
		}
		if before.group() == name[:1] && !i.source.ended(before.Name) && !i.isDone(before.Name) {
			return fmt.Sprintf("%s runs before %s", name, before.Name)
		}
	}
	return ""
}

func everyRecordEnds(w *world) string {
	for _, s := range w.Sent {
		if !w.source.ended(s.Name) {
			return s.Name + " comes again and again"
		}
	}
	return ""
}

func nothingIsBegunLate(i *invocation, key string) string {
	left := time.Until(i.deadline)
	return when(!i.delivery(key).inside && left < time.Second, "a record begins with %v left", left)
}

func copiesTakeTurns(i *invocation, key string) string {
	return when(i.delivery(key).running, "two copies at once")
}

func runsOnce(i *invocation, name string) string {
	return when(!i.stream() && i.endings[name] != "", "%s runs again", name)
}

func functionGetsItsOwn(i *invocation, at, name string) string {
	key := i.key(name)
	its := i.delivery(key).answered(report.MissingKey, report.Mismatch, report.UnknownOutcome)
	if at == atTerminal {
		its = i.results[key].ends == failsForEver || i.endings[name] == failsForEver
	}
	return when(!its, "%s: %s", at, name)
}

func visibilityIsThatOfTheLease(i *invocation, names []string, after time.Duration) string {
	first := names[0]
	held, _, _ := i.records.Get(context.Background(), i.key(first))
	var with []string
	for n, name := range i.names[slices.Index(i.names, first):] {
		if n == 0 || i.Source == fifo && name[:1] == first[:1] {
			with = append(with, name)
		}
	}
	running := i.delivery(i.key(first)).answered(report.InProgress, report.Superseded)
	least := max(0, time.Until(held.Lease)-time.Second)
	return when(!running || after <= 0 || held.Status == store.StatusInProgress && after < least ||
		!slices.Equal(names, with) || slices.ContainsFunc(names, func(name string) bool { return i.done[name] }),
		"%v come again after %v: executed elsewhere: %v for %v, with those behind: %v", names, after, running, least, with)
}

func oneExecution(i *invocation, name string) string {
	_, stored := i.results[i.key(name)]
	return when(stored, "%s has a result already", name)
}
