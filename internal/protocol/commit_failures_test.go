package protocol_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

func commitKinds() []column {
	return []column{
		{name: "the record; the next delivery"},
		{name: "with `Unrepeatable`", opts: []idempotent.Option{unrepeatable()}},
	}
}

// Who commits, by the number of the charge in the answer: the first delivery, the next one,
// somebody else, or nobody: that is an answer of the handler without rows.
const (
	byFirst int64 = iota + 1
	byNext
	byOther
	byNobody
)

// rowOf is the row that goes with an answer.
func rowOf(by int64) string { return fmt.Sprint("row ", by) }

// commitFailure is a row of the table: what goes wrong with the commit of the first delivery.
type commitFailure struct {
	name string
	// turns are what its attempts meet. From attempt number downAt on nothing else of the store
	// answers; 0 for never.
	turns  []turn
	downAt int
	// before happens when the handler is about to commit. inside happens when its commit has come
	// back, behind when the delivery has ended, beside when the next one has begun.
	before                 func(s *commitStory)
	inside, behind, beside func(s *commitStory)
	// then is what the handler does when its commit has come back; nil returns that.
	then func(ctx context.Context, err error) (receipt, error)
	// wrong makes the call wrong. kills is true if the process dies of it.
	wrong, kills bool
}

// down is a store of which nothing answers from an attempt on: it has no more turns than lost ones.
func down(first ...turn) []turn { return append(first, manyTurns(losesRequest)...) }

func commitFailures() []commitFailure {
	answers := func(context.Context, error) (receipt, error) { return receipt{byNobody, 5}, nil }
	late := func(s *commitStory) { s.first.arrive(s.t) }
	again := func(s *commitStory) { // a copy that arrives, and is then delayed once more
		all := slices.Clone(s.first.late)
		late(s)
		s.first.late = all
	}
	takenOver := func(change func(r *store.Record)) func(s *commitStory) {
		return func(s *commitStory) { s.shop.takeOver(change) }
	}
	return []commitFailure{
		{name: "nothing goes wrong"},
		{name: "the process dies before the transaction is applied", turns: down(), downAt: 1, kills: true},
		{name: "it dies after the transaction was applied", turns: down(losesReply), downAt: 2, kills: true},
		{
			name: "it dies, and the transaction arrives before the next delivery", turns: down(delays), downAt: 1,
			kills: true, behind: late,
		},
		{
			name: "it dies, and the transaction arrives when the next delivery has taken over", turns: down(delays),
			downAt: 1, kills: true, beside: late,
		},
		{name: "a request is lost", turns: []turn{losesRequest}},
		{name: "a reply is lost", turns: []turn{losesReply}},
		{name: "a request is late, and is sent again", turns: []turn{delays}, inside: again, behind: late},
		{
			name:  "another writer is at work (a conflict), or there is no capacity, and it passes",
			turns: []turn{conflicts, conflicts, conflicts},
		},
		{name: "a conflict that lasts until time is up", turns: manyTurns(conflicts)},
		{name: "DynamoDB rejects it: no permission, no such table, not valid", turns: []turn{rejects}},
		{
			name: "no transaction is answered, all are late, and the record can be reached", turns: manyTurns(delays),
			inside: again, behind: late,
		},
		{name: "nothing is answered any more, and the transaction was not applied", turns: down(), downAt: 1},
		{name: "nothing is answered any more, and the transaction was applied", turns: down(losesReply), downAt: 2},
		{
			name:  "nothing is answered until `Commit` returns, and the transaction arrives after that",
			turns: down(delays), downAt: 1,
			inside: func(s *commitStory) { s.isDown = false }, behind: late,
		},
		{name: "a condition of yours does not hold, and the handler answers", turns: []turn{declines}, then: answers},
		{name: "a condition of yours does not hold, and the handler returns the error", turns: []turn{declines}},
		{
			name: "a condition of yours does not hold, and the handler commits something else", turns: []turn{declines},
			then: func(ctx context.Context, _ error) (receipt, error) {
				return commit(ctx, receipt{byFirst, 6}, rowOf(byFirst))
			},
		},
		{
			name:  "a condition of yours does not hold, a request of the same commit is late, and the handler answers",
			turns: []turn{delays, declines}, inside: again, behind: late, then: answers,
		},
		{
			name: "the same, and the record cannot be reached", turns: append([]turn{delays, declines}, down()...),
			downAt: 2, beside: late,
		},
		{
			name:  "a condition of yours does not hold, and then the process dies",
			turns: append([]turn{declines}, down()...), downAt: 2, kills: true,
			inside: func(s *commitStory) { s.isDown = true },
		},
		{name: "somebody else has taken the request over", before: takenOver(func(*store.Record) {})},
		{name: "somebody else has taken it over, and has answered", before: takenOver(func(r *store.Record) {
			completed(r, fmt.Sprintf(`{"charge":%d,"amount":5}`, byOther))
		})},
		{name: "behind the commit, the handler returns another answer", then: answers},
		{
			name: "behind the commit, the handler returns an error",
			then: func(context.Context, error) (receipt, error) { return receipt{}, errCard },
		},
		{
			name: "behind the commit, the handler panics",
			then: func(context.Context, error) (receipt, error) { panic("behind") },
		},
		{name: "the commit has failed, and the handler answers all the same", turns: []turn{rejects}, then: answers},
		{name: "the call is wrong, and the handler answers", wrong: true, then: answers},
	}
}

// commitStory is one row in one column: a delivery in which something goes wrong, and the next one.
type commitStory struct {
	t       *testing.T
	failure commitFailure
	kind    column
	shop    *shop
	// first is the store of the first delivery, next that of the next one.
	first, next *till
	isDown      bool
	// commitErr is what the first commit returned, ran how often the handler of the next delivery
	// ran.
	commitErr error
	ran       int
}

// deliverFirst is the delivery with the failure.
func (s *commitStory) deliverFirst() (receipt, error) {
	f := s.failure
	s.shop, s.first = newTillOn(s.t, memory.New(), func(calls.Call) calls.Fault {
		if s.isDown {
			return calls.HangBefore
		}
		return calls.Pass
	}, f.turns, s.kind.opts...)
	s.first.before = func(n int) { s.isDown = s.isDown || f.downAt != 0 && n > f.downAt || f.downAt == 1 }
	if f.downAt > 1 {
		s.first.swaps = func(next store.Record) { // what follows the attempt, and is no attempt
			s.isDown = s.isDown || next.Status == store.StatusInProgress
		}
	}
	s.shop.do = func(ctx context.Context, o order) (receipt, error) {
		s.happens(f.before)
		var out receipt
		if f.wrong {
			_, s.commitErr = commit(ctx, "of another type", rowOf(byFirst))
		} else {
			out, s.commitErr = commit(ctx, receipt{byFirst, o.Amount}, rowOf(byFirst))
		}
		s.happens(f.inside)
		if f.then != nil {
			return f.then(ctx, s.commitErr)
		}
		return out, s.commitErr
	}
	return s.shop.handle(5)
}

func (s *commitStory) happens(what func(*commitStory)) {
	if what != nil {
		what(s)
	}
}

// deliverNext is a delivery without a failure.
func (s *commitStory) deliverNext() (receipt, error) {
	var next *shop
	next, s.next = newTillOn(s.t, s.shop.inner, nil, nil, s.kind.opts...)
	next.do = func(ctx context.Context, o order) (receipt, error) {
		s.ran++
		s.happens(s.failure.beside)
		return commit(ctx, receipt{byNext, o.Amount}, rowOf(byNext))
	}
	return next.handle(5)
}

// play tells the cells: what the client gets, what is left of the record, what the next delivery
// does, and how often the row of the first one was written.
func (s *commitStory) play() (client, left, next, rows string) {
	s.t.Helper()
	client = s.clientInWords(s.deliverFirst())
	s.isDown = false
	left = s.leftInWords()
	s.happens(s.failure.behind)
	time.Sleep(leaseOfCrashes)
	next = s.nextInWords(s.deliverNext())
	s.checkRows()
	s.checkReport()
	return client, left, next, s.rowsInWords()
}

// checkRows holds the rows to the record: they are those of its answer, once, and no attempt that
// comes again changes that.
func (s *commitStory) checkRows() {
	s.t.Helper()
	for _, l := range []*till{s.first, s.next} {
		l.swaps, l.late = nil, slices.Clone(l.attempts)
		assert.Zero(s.t, l.arrive(s.t), "what was sent arrives once more")
	}
	held, found := s.shop.record()
	var want []string
	for _, by := range []int64{byFirst, byNext} {
		if found && held.Status == store.StatusCompleted &&
			strings.Contains(string(held.Result), fmt.Sprintf(`"charge":%d`, by)) {
			want = append(want, rowOf(by))
		}
	}
	assert.ElementsMatch(s.t, want, slices.Concat(s.first.written, s.next.written),
		"I9: the rows are those of the record's answer")
}

// checkReport holds what the observer was told of the first commit to what the handler got, and the
// attempts of a commit to each other.
func (s *commitStory) checkReport() {
	s.t.Helper()
	token := map[string]string{}
	for _, a := range s.first.attempts {
		result := string(a.Next.Result)
		assert.Equal(s.t, cmp.Or(token[result], a.Token), a.Token, "who sends a commit again sends the same")
		token[result] = a.Token
	}
	if s.failure.kills {
		return
	}
	told := s.shop.event().Commits[0]
	assert.Equal(s.t, s.commitErr, told.Err)
	assert.Equal(s.t, 1, told.Items)
	if s.failure.then == nil {
		assert.Equal(s.t, len(s.first.attempts), told.Tries)
	}
	for end, err := range map[report.CommitEnd]error{
		report.CommitDone: nil, report.CommitDeclined: store.ErrWritesRefused,
		report.CommitRefused: idempotent.ErrCommitRefused, report.CommitLeaseLost: idempotent.ErrLeaseLost,
		report.CommitNotDone: idempotent.ErrCommitFailed,
	} {
		assert.Equal(s.t, errors.Is(s.commitErr, err), end == told.End, "%v ends as %s", s.commitErr, told.End)
	}
}

func (s *commitStory) rowsInWords() string {
	if len(s.first.written) == 0 {
		return "none"
	}
	return "written"
}

func (s *commitStory) clientInWords(out receipt, err error) string {
	s.t.Helper()
	answeredAnyway := errors.Is(err, idempotent.ErrCommitFailed) && err != s.commitErr
	switch {
	case s.failure.kills:
		return "–"
	case answeredAnyway:
		return "`ErrCommitFailed`"
	case errors.Is(err, idempotent.ErrSuperseded):
		return "`ErrSuperseded`"
	case err != nil:
		require.Equal(s.t, s.commitErr, err)
		return "the error"
	case out.Charge == byFirst:
		return "the committed answer"
	case out.Charge == byOther:
		return "their answer"
	default:
		return "the handler's answer"
	}
}

func (s *commitStory) leftInWords() string {
	held, found := s.shop.record()
	switch {
	case !found || held.Reason == store.ReasonReleased:
		return "released"
	case held.Status == store.StatusUnknown:
		return unknownNext
	case held.Status == store.StatusCompleted:
		return "completed"
	default:
		return "in progress"
	}
}

func (s *commitStory) nextInWords(out receipt, err error) string {
	s.t.Helper()
	switch {
	case errors.Is(err, idempotent.ErrUnknownOutcome):
		return unknownNext
	case err != nil:
		s.t.Errorf("the next delivery: %v", err)
		return "?"
	case s.ran == 0:
		return "replays"
	case out.Charge == byNext:
		return "executes"
	default:
		s.t.Errorf("the next delivery executed, and answers %v", out)
		return "?"
	}
}

// commitErrInWords is what the handler got.
func (s *commitStory) commitErrInWords() string {
	switch {
	case s.failure.kills && s.commitErr != nil && s.failure.inside == nil:
		return "–"
	case s.commitErr == nil:
		return "the answer"
	case errors.Is(s.commitErr, store.ErrWritesRefused):
		return "`*ConditionError`"
	}
	for sentinel, name := range map[error]string{
		idempotent.ErrCommitRefused: "ErrCommitRefused", idempotent.ErrCommitFailed: "ErrCommitFailed",
		idempotent.ErrLeaseLost: "ErrLeaseLost",
	} {
		if errors.Is(s.commitErr, sentinel) {
			return "`" + name + "`"
		}
	}
	s.t.Errorf("Commit returned %v", s.commitErr)
	return "?"
}

// TestTheTableOfWhatHappensToCommits: what becomes of rows and answer in each failure is what the
// page says.
func TestTheTableOfWhatHappensToCommits(t *testing.T) {
	table := failureTable{file: "commits.md", mark: "failures of commits"}
	names, said := make([]string, 0), map[string]string{}
	for _, f := range commitFailures() {
		names = append(names, f.name)
	}
	table.play(t, []string{"`Commit` returns", "the client gets", "the rows"}, names, commitKinds(),
		func(t *testing.T, failure, column int) (told, cell string) {
			// turns are used up
			s := &commitStory{t: t, failure: commitFailures()[failure], kind: commitKinds()[column]}
			client, left, next, rows := s.play()
			told = strings.Join([]string{s.commitErrInWords(), client, rows}, " | ")
			said[s.failure.name] = cmp.Or(said[s.failure.name], told)
			assert.Equal(t, said[s.failure.name], told, "it is the same in every column")
			if left == unknownNext && next == unknownNext {
				return told, unknownNext
			}
			return told, left + "; " + next
		})
}
