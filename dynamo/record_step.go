package dynamo

import (
	"bytes"
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/store"
)

// A step of a record is one attribute: the prefix of steps, "step:", and the name of the step. Its
// value is of type S, or B if it is not UTF-8. It has fields, each ended by one space, and then its
// content up to the end of the value:
//
//	started <seal>                           a start mark, or any step without a result
//	value <seal> plain <result>              a result as it is
//	value <seal> parts <count>:<size>        a result in parts, as the attribute parts has it
//	value <seal> parts <count>:<size> gzip   a compressed one
//
// The first field is the [store.StepKind]: started, value or failure. In a seal a space is %20, and
// a percent sign %25. A later version adds kinds and places; what this version does not know is
// unreadable for it.
//
// The attribute steps, of type N, counts the writes that changed such attributes.
const (
	placePlain = "plain"
	placeParts = "parts"

	longestList   = len("100:39321600 gzip")
	maxStepWrites = math.MaxInt32
	// stepPartsOutlive is how long the parts of steps stay after the expiry that their record had
	// then. It may become UNKNOWN, for 30 days, and be resumed after that.
	stepPartsOutlive = 60 * 24 * time.Hour
)

var (
	escapeSeal   = strings.NewReplacer("%", "%25", " ", "%20")
	unescapeSeal = strings.NewReplacer("%25", "%", "%20", " ")
)

// stepChange is the attribute of a step that a write changes.
type stepChange struct {
	name   string
	value  types.AttributeValue // nil removes it
	starts bool                 // a start mark, which no other step of that name may precede
}

// placeSteps decides how the steps that next changes are kept, in the order of their names, and
// writes the parts that they need. It reports whether there are any.
func (s *Store) placeSteps(ctx context.Context, op string, seen, next store.Record) ([]stepChange, bool, error) {
	if len(next.Steps) == 0 {
		return nil, false, nil
	}
	names := make([]string, 0, len(next.Steps))
	for name, step := range next.Steps {
		if len(step.Result) > maxResult {
			return nil, false, tooLargeResult(op, len(step.Result))
		}
		names = append(names, name)
	}
	slices.Sort(names)
	parts, room := false, s.stepRoom(seen.Steps, next.Steps)
	changes := make([]stepChange, 0, len(next.Steps))
	for _, name := range names {
		step := next.Steps[name]
		change := stepChange{name: name, starts: step.Kind == store.StepStarted}
		if step.Kind != "" {
			room -= len(stepPrefix) + len(name)
			text, inParts, err := s.placeStep(ctx, op, next, step, room)
			if err != nil {
				return nil, false, err
			}
			room -= len(text)
			parts = parts || inParts
			change.value = inline(text).data
		}
		changes = append(changes, change)
	}
	return changes, parts, nil
}

// placeStep returns the text of a step. A result that has no room in the record, in bytes, is
// written to parts, unless its seal does not cover it: nobody could verify them.
func (s *Store) placeStep(
	ctx context.Context, op string, r store.Record, step store.Step, room int,
) (text string, parts bool, err error) {
	text = stepText(step)
	if len(text) <= room || step.Parts != "" || len(step.Result) == 0 || !step.Sealed() {
		return text, false, nil
	}
	of := r.OfStep(step)
	c, err := s.keep(ctx, op, &of, stepPartsOutlive, 0)
	if err != nil {
		return "", false, err
	}
	if step.Parts = c.parts; c.encoding != "" {
		step.Parts += gzipParts
	}
	return stepText(step), true, nil
}

// stepRoom returns how many bytes of a record are left for the steps that a write changes. Who has
// seen the others as their owner need not know which are in parts: those that alone have no room.
func (s *Store) stepRoom(seen, changes map[string]store.Step) int {
	room := s.inlineLimit
	for name, step := range seen {
		if _, changed := changes[name]; changed {
			continue
		}
		weight := len(step.Kind) + len(step.Seal) + len(placePlain) + 3 + len(step.Parts) + len(step.Result)
		if weight > s.inlineLimit {
			weight += longestList - len(step.Result)
		}
		room -= len(stepPrefix) + len(name) + weight
	}
	return room
}

func stepText(step store.Step) string {
	seal := escapeSeal.Replace(step.Seal)
	switch {
	case step.Parts != "":
		return string(step.Kind) + " " + seal + " " + placeParts + " " + step.Parts
	case len(step.Result) > 0:
		return string(step.Kind) + " " + seal + " " + placePlain + " " + string(step.Result)
	default:
		return string(step.Kind) + " " + seal
	}
}

func (a *attributes) encodeSteps(it item, r store.Record, changes []stepChange) {
	for _, c := range changes {
		if c.value != nil {
			it[stepPrefix+c.name] = c.value
		}
	}
	if r.Status != store.StatusCompleted && r.StepWrites > 0 {
		it[a.steps.name] = numberValue(int64(r.StepWrites))
	}
}

// step returns the attribute of the n-th step of an expression.
func (a *attributes) step(n int, name string) attribute {
	number := strconv.Itoa(n)
	return attribute{name: stepPrefix + name, ref: "#step" + number, value: ":step" + number}
}

// setSteps changes steps and counts the write. A completion drops all that were seen, and their
// count where there may be one. A completed record has none, or some that nobody sees.
func (e *expression) setSteps(a *attributes, seen, next store.Record, changes []stepChange) {
	switch {
	case next.Status != store.StatusCompleted:
		for n, c := range changes {
			at := a.step(n, c.name)
			if c.starts {
				e.and("attribute_not_exists(", at.ref, ")")
			}
			e.set(at, c.value)
		}
		if len(changes) > 0 {
			e.count(a.steps)
		}
	case seen.Status != store.StatusCompleted:
		for n, name := range slices.Sorted(maps.Keys(seen.Steps)) {
			e.set(a.step(n, name), nil)
		}
		if seen.StepWrites != 0 {
			e.set(a.steps, nil)
		}
	}
}

// steps reads the steps of a record. Of a completed one there are none: what an older version, or
// AWS Powertools, has left of them when it completed the record means nothing any more.
func (d *decoder) steps(a *attributes, r *store.Record) {
	if r.Status == store.StatusCompleted {
		return
	}
	r.StepWrites = int(d.whole(a.steps, maxStepWrites))
	for attributeName, v := range d.it {
		name, is := strings.CutPrefix(attributeName, stepPrefix)
		if !is || name == "" {
			continue
		}
		if r.Steps == nil {
			r.Steps = make(map[string]store.Step)
		}
		r.Steps[name] = d.step(attribute{name: attributeName}, v)
	}
}

func (d *decoder) step(at attribute, v types.AttributeValue) (step store.Step) {
	var text []byte
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		text = []byte(v.Value)
	case *types.AttributeValueMemberB:
		text = v.Value
	default:
		d.fail(at, "has type "+typeName(v)+", not S or B")
		return step
	}
	kind, rest, _ := bytes.Cut(text, []byte(" "))
	seal, rest, placed := bytes.Cut(rest, []byte(" "))
	step.Kind, step.Seal = store.StepKind(kind), unescapeSeal.Replace(string(seal))
	switch step.Kind {
	case store.StepStarted, store.StepValue, store.StepFailure:
	default:
		d.fail(at, "is no step that this version knows")
		return step
	}
	if len(kind) == len(text) {
		d.fail(at, "is a step without a seal")
	}
	if placed {
		d.stepContent(at, &step, rest)
	}
	return step
}

func (d *decoder) stepContent(at attribute, step *store.Step, text []byte) {
	place, content, _ := bytes.Cut(text, []byte(" "))
	switch string(place) {
	case placePlain:
		step.Result = content
	case placeParts:
		list, _ := splitParts(string(content))
		if _, ok := parsePartList(list); !ok {
			d.fail(at, "is a step whose list of parts is malformed")
		}
		step.Parts = string(content)
	default:
		d.fail(at, "is a step whose result is where this version does not look")
	}
}
