package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/sam"
)

// alarm is one that there has to be: docs/observability.md and docs/runbook.md say why.
type alarm struct {
	// namespace is empty for that of the library, which may have another name.
	namespace, metric, dimension string
	// silent is what nobody notices without it.
	silent string
}

// ofLambda is the namespace of the metrics that Lambda writes, and operationDimension the dimension of those of the library.
const (
	ofLambda           = "AWS/Lambda"
	operationDimension = "Operation"
	functionDimension  = "FunctionName"
)

// wrapping are the alarms on each function that wraps.
var wrapping = []alarm{
	{"", "BecameUnknown", operationDimension, "a record may be left that nobody may execute again until somebody settles it"},
	{"", "OpenAttention", operationDimension, "records may wait for somebody whose clients have given up"},
	{"", "StoreError", operationDimension, "the table may refuse, and nothing executes meanwhile"},
	{"", "Takeover", operationDimension, "executions may die, and be executed again"},
	{"", "Unreadable", operationDimension, "somebody else may write to the table"},
	{ofLambda, "Errors", functionDimension, "it may panic, time out or fail"},
	{ofLambda, "Throttles", functionDimension, "requests may be refused for lack of concurrency"},
}

// The alarms on what calls a function.
var (
	ofQueue   = []alarm{{"AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName", "messages may wait until the queue forgets them"}}
	ofFailure = []alarm{{"AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", "messages may be given up"}}
	ofStream  = []alarm{{ofLambda, "IteratorAge", functionDimension, "a record that always fails may hold up its shard"}}
)

// ofOutbox are the alarms on the table of an outbox.
var ofOutbox = []alarm{
	{"", "OldestMessage", "Outbox", "messages may wait, and nobody delivers them"},
	{"", "ParkedMessages", "Outbox", "messages may be parked, and nobody delivers them any more"},
}

// watched is what alarms have to be about.
type watched struct {
	// who is what a finding is said of.
	who    string
	is     func(named string) bool
	alarms []alarm
	exempt func(metric string) (why string, exempt bool)
}

// alarms looks for an alarm on each metric that says that somebody has to do something.
func (e *examination) alarms() []Finding {
	all, findings := exemptionsOf("the template", e.Metadata)
	for _, s := range e.functions {
		if !s.protects() {
			if !s.seen && s.says.all == "" {
				findings = append(findings, s.finding(checkAlarms, NotChecked, "nobody knows whether it wraps"))
			}
			continue
		}
		findings = append(findings, e.missing(&all, s.watched(wrapping))...)
	}
	for _, m := range e.sources {
		for _, w := range e.calling(m) {
			findings = append(findings, e.missing(&all, w)...)
		}
	}
	for _, table := range e.Of("AWS::DynamoDB::Table") {
		if !isOutbox(table) {
			continue
		}
		of, problems := exemptionsOf(table.ID, table.Metadata)
		findings = append(findings, problems...)
		findings = append(findings, e.missing(&all, watched{table.ID, table.Is, ofOutbox, of.alarm})...)
	}
	return once(findings)
}

// once are findings without those that were there before: two streams call one function, two queues have one dead-letter queue.
func once(findings []Finding) []Finding {
	unique := []Finding{}
	for _, f := range findings {
		if !slices.Contains(unique, f) {
			unique = append(unique, f)
		}
	}
	return unique
}

func (x *exemptions) alarm(metric string) (why string, exempt bool) {
	return x.named("alarm", x.alarms, metric)
}

func (s *subject) watched(alarms []alarm) watched {
	is := func(named string) bool { return s.Is(named) || s.says.operation != "" && named == s.says.operation }
	return watched{s.ID, is, alarms, s.says.alarm}
}

// calling is what has to be watched of a queue or a stream that calls a function of the template.
func (e *examination) calling(m sam.Source) []watched {
	s := e.subject(m.Function)
	switch {
	case s == nil:
		return nil
	case m.Service == serviceKinesis || m.Service == serviceDynamoDB:
		return []watched{s.watched(ofStream)}
	case m.Queue == nil:
		return nil
	}
	found := []watched{{m.Queue.ID, m.Queue.Is, ofQueue, s.says.alarm}}
	failures := m.Queue.Text("RedrivePolicy", "deadLetterTargetArn")
	for _, q := range e.Of("AWS::SQS::Queue") {
		if failures != "" && q.Is(failures) {
			found = append(found, watched{q.ID, q.Is, ofFailure, s.says.alarm})
		}
	}
	return found
}

// isOutbox reports whether a table has the index of an outbox.
func isOutbox(table sam.Resource) bool {
	indexes, _ := table.At("GlobalSecondaryIndexes").([]any)
	return slices.ContainsFunc(indexes, func(index any) bool {
		return strings.Contains(fmt.Sprint(index), "outbox_due")
	})
}

// missing are the alarms that there are not, or one finding that says that none is missing.
func (e *examination) missing(all *exemptions, w watched) []Finding {
	findings := []Finding{}
	watched := []string{}
	for _, a := range w.alarms {
		if slices.ContainsFunc(e.alarmed, func(m sam.Metric) bool { return a.watches(m, w.is) }) {
			watched = append(watched, a.metric)
			continue
		}
		why, exempt := w.exempt(a.metric)
		if !exempt {
			why, exempt = all.alarm(a.metric)
		}
		if exempt {
			findings = append(findings, Finding{checkAlarms, OK, fmt.Sprintf("%s: %s is exempt: %s", w.who, a.metric, why)})
			continue
		}
		findings = append(findings, Finding{checkAlarms, Warning, fmt.Sprintf("%s: there is no alarm on %s: %s, and nobody notices", w.who, a.metric, a.silent)})
	}
	if len(watched) > 0 {
		findings = append(findings, Finding{checkAlarms, OK, w.who + ": " + strings.Join(watched, ", ")})
	}
	return findings
}

// watches reports whether a metric of an alarm is this one, of what is meant. A metric of Lambda without dimensions is that of all functions; those of the
// library are never without. A query that names no dimension is of all that there are.
func (a alarm) watches(m sam.Metric, is func(string) bool) bool {
	ofLibrary := a.namespace == "" && !strings.HasPrefix(m.Namespace, "AWS/")
	if m.Name != a.metric || m.Namespace != a.namespace && !ofLibrary {
		return false
	}
	if of, given := m.Dimensions[a.dimension]; given {
		return is(of)
	}
	return (m.Query || a.namespace == ofLambda) && !slices.ContainsFunc(m.Excluded[a.dimension], is)
}
