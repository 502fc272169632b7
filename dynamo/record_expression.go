package dynamo

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/store"
)

// expression collects the condition and the changes of one write with the names and values they
// refer to. DynamoDB rejects names and values that are not referred to.
type expression struct {
	condition           []byte
	sets, removes, adds []byte // the clauses of an update
	names               map[string]string
	values              item
}

func newExpression() *expression {
	return &expression{names: make(map[string]string), values: make(item)}
}

// claimable is the condition of a claim, [store.Record.Claimable]. Expiries are whole seconds and
// leases whole milliseconds, so now rounded down decides like now itself.
func (e *expression) claimable(a *attributes, now time.Time) (condition string) {
	e.use(a.id, a.status, a.expiration, a.lease)
	e.values[":in_progress"] = textValue(string(store.StatusInProgress))
	e.values[":now"] = numberValue(now.Unix())
	e.values[":now_ms"] = numberValue(now.UnixMilli())
	return "attribute_not_exists(#id) OR (#expiration <= :now AND " +
		"(#status <> :in_progress OR attribute_not_exists(#lease) OR #lease <= :now_ms))"
}

// sameAs is the condition that the held record is the one that was seen, see [store.Store].
func (e *expression) sameAs(a *attributes, seen store.Record) {
	e.use(a.status)
	e.values[":seen_status"] = textValue(string(seen.Status))
	e.and("#status = :seen_status")
	e.same(a.owner, ":seen_owner", textOrNone(seen.Owner))
	if seen.Owner == "" {
		// The expiry was rounded up to the second when it was read.
		e.use(a.expiration)
		e.values[":seen_expiration"] = numberValue(seen.Expiry.Unix())
		e.values[":second_before"] = numberValue(seen.Expiry.Unix() - 1)
		e.and("#expiration > :second_before AND #expiration <= :seen_expiration")
	}
	if seen.Owner == "" || !seen.Lease.IsZero() {
		e.same(a.lease, ":seen_lease", says(&seen.Lease).value())
	}
	if seen.Status == store.StatusInProgress { // it may have been released since, or taken up again
		e.same(a.reason, ":seen_reason", textOrNone(seen.Reason))
	}
	if seen.Status != store.StatusCompleted && seen.StepWrites != store.AnyStepWrites {
		e.same(a.steps, ":seen_steps", says(&seen.StepWrites).value())
	}
}

// same adds to the condition that an attribute still is what was seen, or that there is none.
func (e *expression) same(at attribute, ref string, seen types.AttributeValue) {
	e.use(at)
	if seen == nil {
		e.and("attribute_not_exists(", at.ref, ")")
		return
	}
	e.values[ref] = seen
	e.and(at.ref, " = ", ref)
}

// neverShorter adds the condition that a lease does not move back, [store.Record.Shortens].
func (e *expression) neverShorter(a *attributes, seen, next store.Record) {
	renews := seen.Owner != "" && seen.Owner == next.Owner && next.Status == store.StatusInProgress
	if !renews || next.Lease.IsZero() || !seen.Lease.IsZero() && !next.Lease.Before(seen.Lease) {
		return // no renewal, or the lease that was seen decides
	}
	e.use(a.lease)
	e.values[a.lease.value] = numberValue(next.Lease.UnixMilli())
	e.and("(attribute_not_exists(#lease) OR #lease <= ", a.lease.value, ")")
}

// setFields changes what differs between seen and next. A zero lease of next keeps the held one.
func (e *expression) setFields(a *attributes, seen, next *store.Record) {
	had, has := a.fields(seen), a.fields(next)
	for i, f := range has {
		if now := says(f.of); !now.same(says(had[i].of)) && (f.at != &a.lease || now.is) {
			e.set(*f.at, now.value())
		}
	}
}

// setContent replaces the result, wherever the old one was kept, and its reason and layout, unless
// setFields does. What the new one does not need goes even if it was not seen: a leftover that
// reading hides must not count again under a new commit. The layout that was seen may not be in the
// record: reading may have inferred it.
func (e *expression) setContent(a *attributes, c content, seen, next store.Record) {
	e.set(a.data, c.data)
	e.set(a.parts, textOrNone(c.parts))
	e.set(a.encoding, textOrNone(c.encoding))
	if next.Reason == seen.Reason {
		e.set(a.reason, textOrNone(next.Reason))
	}
	if next.Layout == seen.Layout && next.Layout != "" {
		e.set(a.layout, textValue(string(next.Layout)))
	}
}

func (e *expression) set(at attribute, v types.AttributeValue) {
	e.use(at)
	if v == nil {
		e.removes = listed(e.removes, " REMOVE ", ", ", at.ref)
		return
	}
	e.values[at.value] = v
	e.sets = listed(e.sets, " SET ", ", ", at.ref, " = ", at.value)
}

func (e *expression) count(at attribute) {
	e.use(at)
	e.values[at.value] = numberValue(1)
	e.adds = listed(e.adds, " ADD ", ", ", at.ref, " ", at.value)
}

func (e *expression) use(ats ...attribute) {
	for _, at := range ats {
		e.names[at.ref] = at.name
	}
}

// and adds to the condition what these texts make together.
func (e *expression) and(texts ...string) { e.condition = listed(e.condition, "", " AND ", texts...) }

// listed appends what these texts make together to what a clause, which begins so, lists already.
func listed(clause []byte, begin, separator string, texts ...string) []byte {
	if clause == nil {
		clause, separator = make([]byte, 0, 176), begin
	}
	clause = append(clause, separator...)
	for _, text := range texts {
		clause = append(clause, text...)
	}
	return clause
}

// update returns the update expression, nil if there is nothing to change.
func (e *expression) update() *string {
	return optional(strings.TrimSpace(string(append(append(e.sets, e.removes...), e.adds...))))
}
