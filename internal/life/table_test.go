package life_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/store"
)

var update = flag.Bool("update", false, "write the table into doc.go, and the records into testdata")

var (
	now     = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	ended   = now.Add(-time.Minute)
	lease   = now.Add(2 * time.Minute)
	again   = life.Policy{Retention: time.Hour, UnknownRetention: 30 * 24 * time.Hour}
	refuses = with(func(p *life.Policy) { p.RefuseCrashed = true })
	asks    = with(func(p *life.Policy) { p.RefuseCrashed, p.Resolves = true, true })
	asking  = with(func(p *life.Policy) { p.Asks = true })
)

func with(change func(*life.Policy)) life.Policy {
	p := again
	change(&p)
	return p
}

const key = "charge#1"

var mine, theirs = "1:" + strings.Repeat("A", 43), "1:B" + strings.Repeat("A", 42)

// record is one in progress, whose lease has ended.
func record(changes ...func(*store.Record)) store.Record {
	r := store.Record{
		Key: key, Status: store.StatusInProgress, Owner: "first", Lease: ended, Expiry: now.Add(time.Hour), Attempt: 1,
		Fingerprint: mine,
	}
	for _, change := range changes {
		change(&r)
	}
	return r
}

func runs(r *store.Record)     { r.Lease = lease }
func watched(r *store.Record)  { r.Attention, r.AttentionAt = store.AttentionOf(key), ended }
func givenUp(r *store.Record)  { r.Attention, r.AttentionAt = store.GivenUpOf(key), ended }
func unmarked(r *store.Record) { r.Unmarked = true }
func notDue(r *store.Record)   { r.Attention, r.AttentionAt = store.AttentionOf(key), lease }
func owned(r *store.Record)    { r.Owner = "second" }
func another(r *store.Record)  { r.Fingerprint = theirs }
func expired(r *store.Record)  { r.Expiry = ended }
func foreign(r *store.Record)  { r.Owner, r.Attempt = "", 0 }
func because(reason string) func(*store.Record) {
	return func(r *store.Record) { r.Reason = reason }
}

func unseen(names ...string) func(*store.Record) {
	return func(r *store.Record) { r.StepNames = names }
}

func step(kind store.StepKind) func(*store.Record) {
	return func(r *store.Record) { r.Steps, r.StepWrites = map[string]store.Step{"a": {Kind: kind}}, 1 }
}

func unknown(r *store.Record) {
	r.Status, r.Reason, r.Lease = store.StatusUnknown, store.ReasonUncertain, time.Time{}
	watched(r)
}

func completed(r *store.Record) {
	r.Status, r.Lease, r.Seal = store.StatusCompleted, time.Time{}, "first.x"
}

// met are the records that somebody meets. Neighbours that share a name mean the same to everybody.
func met() []named {
	return []named{
		{"none, or expired", store.Record{}},
		{"none, or expired", record(unknown, expired)},
		{"runs, or is asked about", record(runs, watched)},
		{"runs, or is asked about", record(runs, watched, because(store.ReasonUncertain))},
		{"runs, with attention", record(runs, notDue)},
		{"runs, and calls this one", record(runs, watched, func(r *store.Record) { r.Owner = "caller" })},
		{"is its own claim", record(runs, watched, owned)},
		{"crashed, no steps marked", record(unmarked)},
		{"crashed, no steps marked", record(unmarked, step(store.StepValue))},
		{"crashed, with attention", record(watched)},
		{"crashed, Powertools'", record(foreign)},
		{"crashed, all steps ended", record(watched, step(store.StepValue))},
		{"crashed, a step has begun", record(watched, step(store.StepStarted))},
		{"crashed, one step unmarked", record(watched, step(store.StepValue), unseen("b"))},
		{"released, without steps", record(because(store.ReasonReleased))},
		{"released, without steps", record(because(store.ReasonReleased), watched)},
		{"released, with steps", record(because(store.ReasonReleased), step(store.StepValue), watched)},
		{"the same, client retries", record(because(store.ReasonReleased), step(store.StepValue), notDue)},
		{"the same, question died", record(because(store.ReasonAsked), step(store.StepValue), watched)},
		{"UNKNOWN", record(unknown)},
		{"UNKNOWN, given up", record(unknown, givenUp)},
		{"UNKNOWN, question crashed", record(because(store.ReasonUncertain), watched)},
		{"the same, given up", record(because(store.ReasonUncertain), givenUp)},
		{"completed, by whomever", record(completed)},
		{"completed, by whomever", record(completed, func(r *store.Record) { r.Owner = "caller" })},
		{"completed, by whomever", record(completed, owned)},
		{"another request: runs", record(runs, another)},
		{"another request: completed", record(completed, another)},
		{"another algorithm", record(completed, func(r *store.Record) { r.Fingerprint = "0:other" })},
		{"another status", record(notDue, func(r *store.Record) { r.Status = "PAUSED" })},
	}
}

type named struct {
	name string
	store.Record
}

func claimant(p life.Policy) life.Claimant {
	return life.Claimant{
		Policy: p, Key: key, Fingerprint: mine, Owner: "second", Lease: lease,
		Callers: []string{"caller"},
	}
}

// says is a judgement of a delivery in words, or of a reconciliation, which asks.
func says(j life.Judgement, asks bool) string {
	words := map[life.Verdict]string{
		life.Begin: "claims", life.TakeOver: "takes over", life.Refuse: "makes UNKNOWN", life.Ours: "ours",
		life.Twice: "wrapped twice", life.Replay: "replays",
		life.Busy: "in progress", life.Uncertain: "unknown", life.Mismatch: "mismatch", life.Unreadable: "unreadable",
		life.Closed: "nothing",
	}[j.Verdict]
	if asks && j.Verdict == life.TakeOver {
		words = "asks"
	}
	switch {
	case j.Verdict == life.TakeOver && j.Next.Reason == store.ReasonAsked:
		words += ", again"
	case j.Verdict == life.TakeOver && j.Next.Reason != "":
		words += ", open"
	}
	if j.Verdict == life.TakeOver && j.Seen.StepWrites != store.AnyStepWrites {
		words += ", as seen"
	}
	switch {
	case j.Next.GivenUp():
		words += " ‡"
	case j.Next.Attention != "":
		words += " †"
	}
	return words
}

// becomes is a record in words.
func becomes(r store.Record) string {
	words := string(r.Status)
	if r.Reason != "" {
		words += " " + r.Reason
	}
	words += map[string]string{"second": ", ours", "first": ", its owner's"}[r.Owner]
	if r.Owner != "second" && r.Owner != "first" {
		words += ", nobody's"
	}
	switch {
	case r.Status != store.StatusInProgress || r.Lease.IsZero():
	case r.Lease.After(now):
		words += fmt.Sprintf(", lease in %s", short(r.Lease.Sub(now)))
	default:
		words += ", lease ended"
	}
	if r.Attention != "" {
		words += ", attention " + map[bool]string{true: "given up ", false: ""}[r.GivenUp()] + due(r.AttentionAt)
	}
	words += fmt.Sprintf(", expires in %s", short(r.Expiry.Sub(now)))
	if r.Unmarked {
		words += ", steps unseen"
	}
	for _, m := range life.StoryOf(r) {
		words += ", tells: " + strings.TrimSpace(m.What+" "+m.Detail)
	}
	return words
}

func due(at time.Time) string {
	if !at.After(now) {
		return "now"
	}
	return "in " + short(at.Sub(now))
}

func short(d time.Duration) string {
	return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
}

// listed is how a record is listed for those who settle it, empty if it is not.
func listed(r store.Record) (word string) {
	if life.MayRun(r, now) {
		word = "may run"
	}
	if life.Waits(r, now) {
		word += "waits"
	}
	if life.WaitsLater(r, now) {
		word += "waits later"
	}
	return word
}

// claimed is a claim of what is held, with the words for it.
type claimed struct {
	words string
	life.Policy
	held store.Record
}

// followers are the records that may follow a claim.
func followers(t *testing.T, of claimed) []named {
	t.Helper()
	c := claimant(of.Policy)
	j := c.Meets(of.held, now)
	ours, left := j.Next, life.Left{Derived: []string{"charge"}}
	kept := left
	kept.Keeps = true
	renewed, stepped := ours, c.Stepped(ours, ours.Lease, "a", store.Step{Kind: store.StepValue}, now)
	renewed.Lease = now.Add(3 * time.Minute)
	require.Equal(t, becomes(renewed), becomes(c.Renewed(ours, renewed.Lease, now)))
	require.Equal(t, becomes(ours), becomes(stepped))
	all := []named{
		{"claim", ours},
		{"result", c.Completed(ours, "", []byte(`1`), now)},
		{"unknown outcome", c.EndsUnknown(ours, j.Before, life.Ended{Reason: store.ReasonError}, now)},
		{"release with steps", c.Released(ours, kept, now)},
		{"release without", c.Released(ours, left, now)},
		{"no answer", c.PutBack(ours, j.Before, 1, life.Ended{}, now)},
	}
	if of.held.Key != "" {
		all = append(all, named{"undo", life.TakenBack(j.Seen, now)})
	}
	return all
}

// table is what the documentation of the package has to say.
func table(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	line := func(format string, cells ...any) {
		fmt.Fprintf(&b, "//\t%s\n", strings.TrimRight(fmt.Sprintf(format, cells...), " "))
	}
	const columns = "%-26s %-15s %-21s %-18s %-15s %-15s %s"
	b.WriteString("// Somebody meets a record.\n//\n")
	line("%-26s a delivery, whose handler %-30s a reconciliation of one that    a list of", "", "")
	line(columns, "the record", "executes again", "refuses crashes", "has a resolver", "executes again", "does not",
		"what waits")
	var above []any
	for _, r := range met() {
		cells := []any{r.name}
		var asked []string
		for _, p := range []life.Policy{again, refuses, asks} {
			c := claimant(p)
			cells = append(cells, says(c.Meets(r.Record, now), false))
			c.Asks, c.Fingerprint = true, ""
			asked = append(asked, says(c.Meets(r.Record, now), true))
		}
		require.Equal(t, asked[1], asked[2], r.name)
		cells = append(cells, asked[0], asked[1], listed(r.Record))
		if above != nil && above[0] == r.name {
			require.Equal(t, above, cells)
			continue
		}
		line(columns, cells...)
		above = cells
	}
	b.WriteString("//\n// † with attention ‡ given up, as before. " +
		"A list does not read the record of what may run.\n")
	return b.String()
}

// records are those that follow, in words.
func records(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	follow := func(event string, r store.Record) { fmt.Fprintf(&b, "\t%-26s %s\n", event, becomes(r)) }
	b.WriteString("A renewal of a claim moves its lease, a step nothing that stands here.\n\n")
	for _, claims := range [][]claimed{
		{{"A claim of a handler that executes again is followed by", again, store.Record{}}},
		{
			{
				"A claim of a handler that refuses crashes, also of what is UNKNOWN (open), is followed by", refuses,
				store.Record{},
			},
			{", open", asks, record(unknown)},
		},
		{
			{"A claim of a reconciliation, also of what was released, is followed by", asking, record(watched)},
			{", released", asking, record(because(store.ReasonReleased), step(store.StepValue), watched)},
		},
	} {
		fmt.Fprintf(&b, "%s\n\n", claims[0].words)
		last := claims[len(claims)-1]
		for i, event := range followers(t, last) {
			above, label := "", event.name
			for _, c := range claims {
				if all := followers(t, c); i < len(all) && becomes(all[i].Record) != above {
					above = becomes(all[i].Record)
					follow(label, all[i].Record)
				}
				label = event.name + last.words
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("A delivery that refuses crashes makes UNKNOWN what\n\n")
	refused := make(map[string]string)
	for _, r := range met() {
		j := claimant(refuses).Meets(r.Record, now)
		if j.Verdict != life.Refuse {
			continue
		}
		words := becomes(j.Next)
		if refused[r.name] == "" {
			follow(r.name, j.Next)
			refused[r.name] = words
		}
		require.Equal(t, refused[r.name], words, r.name)
	}
	b.WriteString("\nA person settles a record that is UNKNOWN, with an open step:\n\n")
	s := life.Settling{By: "dana", Why: "ticket", What: "as said", Now: now, Retention: 24 * time.Hour}
	held := record(unknown, step(store.StepStarted))
	follow("executed", s.Completed(held, "", []byte(`1`)))
	follow("failed", s.Completed(held, store.ReasonTerminal, []byte(`1`)))
	follow("not executed", s.Released(held, "", store.Step{}))
	follow("its step executed", s.Released(held, "a", store.Step{Kind: store.StepValue, Result: []byte(`1`)}))
	return b.String()
}

const (
	tableBegins = "// # The table\n//\n"
	tableEnds   = "package life"
	recordsFile = "testdata/records.txt"
)

// TestTheTableOfThePackageIsWhatItDoes compares doc.go, and the records that follow, with what the
// functions do. Whoever changes one reads both: go test -update.
func TestTheTableOfThePackageIsWhatItDoes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	head, rest, _ := strings.Cut(string(text), tableBegins)
	if *update {
		require.NoError(t, os.WriteFile("doc.go", []byte(head+tableBegins+table(t)+tableEnds+"\n"), 0o644))
		require.NoError(t, os.WriteFile(recordsFile, []byte(records(t)), 0o644))
		return
	}
	was, _, _ := strings.Cut(rest, tableEnds)
	require.Equal(t, was, table(t))
	follow, err := os.ReadFile(recordsFile)
	require.NoError(t, err)
	require.Equal(t, string(follow), records(t))
}

// TestALostReplyIsKnownByWhatTheRecordSays: any other write leaves another token, status or time.
func TestALostReplyIsKnownByWhatTheRecordSays(t *testing.T) {
	t.Parallel()
	next := record(unknown)
	require.True(t, life.Landed(next, next))
	for name, change := range map[string]func(*store.Record){
		"status": func(r *store.Record) { r.Status = store.StatusInProgress },
		"owner":  owned,
		"time":   notDue,
	} {
		require.False(t, life.Landed(record(unknown, change), next), name)
	}
}

// TestWhoMayCompleteInThePlaceOfAnother: an execution that has lost its record to one that crashed.
func TestWhoMayCompleteInThePlaceOfAnother(t *testing.T) {
	t.Parallel()
	c, mine := claimant(again), record(owned)
	require.True(t, c.MayComplete(record(), mine, now))
	for name, held := range map[string]store.Record{
		"another request": record(another), "runs": record(runs),
		"made UNKNOWN after a crash": refuses.Unknown(record(), store.ReasonCrashed, now),
	} {
		require.False(t, c.MayComplete(held, mine, now), name)
	}
	c.Asks = true
	require.False(t, c.MayComplete(record(), mine, now), "a reconciliation")
}

// TestAQuestionForgetsNothing: should it crash, what it was about is there as it was.
func TestAQuestionForgetsNothing(t *testing.T) {
	t.Parallel()
	for _, r := range []store.Record{
		record(because(store.ReasonReleased), step(store.StepValue), watched), record(unknown),
		record(unknown, givenUp),
		record(watched, step(store.StepStarted)),
	} {
		r.Tries, r.Derived, r.Expiry = 3, []string{"charge"}, now.Add(365*24*time.Hour)
		c := claimant(asks)
		c.Asks, c.Fingerprint = true, ""
		next := c.Meets(r, now).Next
		require.Equal(t, 3, next.Tries)
		require.Equal(t, r.Derived, next.Derived)
		require.Equal(t, r.Attention, next.Attention)
		require.Equal(t, next.Lease, next.AttentionAt)
		require.Equal(t, r.Expiry, next.Expiry)
	}
}

// TestWhatStaysUnknownIsListed: also a record that had no attention before.
func TestWhatStaysUnknownIsListed(t *testing.T) {
	t.Parallel()
	r := record(unknown)
	r.Attention, r.AttentionAt = "", time.Time{}
	j := claimant(asks).Meets(r, now)
	ended := asks.EndsUnknown(j.Next, j.Before, life.Ended{Reason: store.ReasonError}, now)
	require.Equal(t, store.AttentionOf(key), ended.Attention)
	require.True(t, life.Waits(ended, now))
}

// TestAStepThatComesToAnUnknownRecordLeavesItsExpiry: whoever settles the record finds both.
func TestAStepThatComesToAnUnknownRecordLeavesItsExpiry(t *testing.T) {
	seen := again.Unknown(record(), store.ReasonCrashed, now)
	seen.Lease = time.Time{}
	got := again.Stepped(seen, lease, "a", store.Step{Kind: store.StepValue}, now.Add(time.Hour))
	require.Equal(t, seen.Expiry.Add(time.Hour), got.Expiry)
	require.Zero(t, got.Lease)
}

// TestWhoJudgesThisPackageDoesNotAskIt: the explorer and the model of stores know nothing of it.
func TestWhoJudgesThisPackageDoesNotAskIt(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"../../proof/explore", "../../storetest"} {
		files, err := filepath.Glob(folder + "/*.go")
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NotContains(t, string(text), `idempotent/internal/life"`, file)
		}
	}
}
