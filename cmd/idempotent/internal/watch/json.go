package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/observe"
)

// document is a line of JSON: one of observe.EMF, or one that slog.JSONHandler made of a record of observe.Slog.
type document struct {
	// What both have. Outcome is of a delivery.
	Outcome    text `json:"outcome"`
	Settlement text `json:"settlement"`
	Reason     text `json:"reason"`

	// What the lines of EMF have.
	AWS              json.RawMessage `json:"_aws"`
	Operation        text            `json:"Operation"`
	Outbox           text            `json:"Outbox"`
	RecordKey        text            `json:"recordKey"`
	StoreFailure     text            `json:"storeFailure"`
	Handle           float64         `json:"handleMilliseconds"`
	ClaimLatency     float64         `json:"ClaimLatency"`
	BecameUnknown    float64         `json:"BecameUnknown"`
	Takeover         float64         `json:"Takeover"`
	StoreError       float64         `json:"StoreError"`
	LeaseLost        float64         `json:"LeaseLost"`
	CompletionFailed float64         `json:"CompletionFailed"`
	FailedRetry      float64         `json:"FailedRetry"`
	StepsLost        float64         `json:"StepsLost"`
	CommitsFailed    float64         `json:"CommitsFailed"`
	// Committed keeps the metric from being taken for the commits of a log, whose name differs in case alone.
	Committed text `json:"Commits"`

	// What records of a log have. Handlers for Lambda call the message so.
	Msg          text           `json:"msg"`
	Message      text           `json:"message"`
	OfOperation  text           `json:"operation"`
	OfOutbox     text           `json:"outbox"`
	Record       text           `json:"record"`
	Recovered    bool           `json:"recovered"`
	Claim        duration       `json:"claim"`
	HandleTook   duration       `json:"handle"`
	Error        text           `json:"error"`
	StoreErrText text           `json:"store_error"`
	Steps        map[string]end `json:"steps"`
	Commits      map[string]end `json:"commits"`
}

// end is what a step or a commit ended with.
type end struct {
	End string `json:"end"`
}

// text is a string. Whatever else a line has there is none, and no reason to refuse the line: it may be somebody else's.
type text string

func (t *text) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '"' {
		*t = ""
		return nil
	}
	return json.Unmarshal(raw, (*string)(t))
}

// duration is in nanoseconds, as slog.JSONHandler writes it, or a text, as some handlers do.
type duration time.Duration

func (d *duration) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		parsed, err := time.ParseDuration(strings.Trim(string(raw), `"`))
		*d = duration(parsed)
		return err
	}
	return json.Unmarshal(raw, (*int64)(d))
}

// fromJSON reads a line that ends with an object of JSON, whatever is in front of it.
func fromJSON(text []byte) (l line, ok bool) {
	at := bytes.IndexByte(text, '{')
	if at < 0 {
		return line{}, false
	}
	object := text[at:]
	var d document
	if err := json.Unmarshal(object, &d); err != nil {
		// What it is about has been read, if it is JSON at all.
		_, isJSON := errors.AsType[*json.UnmarshalTypeError](err)
		if isJSON && d.ours() || !isJSON && looksOurs(object) {
			return line{kind: broken}, true
		}
		return line{}, false
	}
	switch {
	case len(d.AWS) > 0:
		l = d.metrics(object)
	case slices.Contains(messages, d.message()):
		l = d.log(object)
	default:
		return line{}, false
	}
	return checked(l), true
}

func (d *document) message() string {
	if d.Msg != "" {
		return string(d.Msg)
	}
	return string(d.Message)
}

// ours reports whether observe wrote the line, or something very like it.
func (d *document) ours() bool {
	return len(d.AWS) > 0 && (d.Operation != "" && d.Outcome != "") || d.message() == messageDelivery ||
		slices.Contains(messages, d.message()) && (d.OfOperation != "" || d.OfOutbox != "")
}

// looksOurs reports whether a text that is no JSON may be one of observe that was cut off.
func looksOurs(object []byte) bool {
	return bytes.HasPrefix(object, []byte(`{"_aws":`)) && bytes.Contains(object, []byte(`"Idempotent"`)) ||
		bytes.Contains(object, []byte(`"msg":"idempotency"`)) || bytes.Contains(object, []byte(`"message":"idempotency"`))
}

// metrics reads a line of EMF. Those of other programs have other metrics.
func (d *document) metrics(object []byte) line {
	switch {
	case d.Operation != "" && d.Outcome != "":
		return d.deliveryMetrics()
	case d.Operation != "" || d.Outbox != "":
		return d.summaryMetrics(object)
	default:
		return line{kind: foreign}
	}
}

func (d *document) deliveryMetrics() line {
	l := line{
		kind: counted, form: ofEMF, subject: string(d.Operation), outcome: string(d.Outcome), record: string(d.RecordKey), reason: string(d.Reason),
		claim: milliseconds(d.ClaimLatency), handle: milliseconds(d.Handle),
	}
	l.count(outcomeName(l.outcome), 1)
	for _, m := range [...]measure{
		{becameUnknown, d.BecameUnknown},
		{storeError, d.StoreError},
		{leaseLost, d.LeaseLost},
		{completionFailed, d.CompletionFailed},
		{takeover, d.Takeover},
		{failedRetry, d.FailedRetry},
		{stepsLost, d.StepsLost},
		{commitsFailed, d.CommitsFailed},
	} {
		if m.value != 0 {
			l.counts = append(l.counts, m)
		}
	}
	if d.StoreError > 0 {
		l.failure = string(d.StoreFailure)
	}
	return l
}

// milliseconds is exact to the microsecond, as the lines are.
func milliseconds(v float64) time.Duration {
	if !(v >= 0 && v <= maxValue) {
		return -1
	}
	return time.Duration(v*1000+0.5) * time.Microsecond
}

// summarized are the metrics about many things at once, by name.
var summarized = func() map[string]topic {
	all := make(map[string]topic)
	for about, metrics := range map[topic][]observe.Metric{
		batches: observe.BatchMetrics(), outboxes: observe.OutboxMetrics(), openRecords: observe.AttentionMetrics(),
	} {
		for _, m := range metrics {
			all[m.Name] = about
		}
	}
	delete(all, messageLatency)
	return all
}()

// levels are metrics of what is there now.
var levels = []string{"PendingMessages", "OldestMessage", "ParkedMessages", "OpenAttention", "OldestAttention", "ParkedAttention"}

const messageLatency = "MessageLatency"

// families are the beginnings of the names of further counts: whatever a reconciliation or a sweep did.
var families = map[string]topic{"Reconcile": reconciliations, "Sweep": sweeps}

// topicOf says what a metric is about. It is nothing if the metric is none about many things.
func topicOf(name string) (about topic, is bool) {
	if about, is = summarized[name]; is {
		return about, true
	}
	for family, about := range families {
		if strings.HasPrefix(name, family) && len(name) <= 64 && isName(name, false) {
			return about, true
		}
	}
	return 0, false
}

// summaryMetrics reads the line about an invocation that worked on many things.
func (d *document) summaryMetrics(object []byte) line {
	l := line{kind: foreign, form: ofEMF, subject: string(d.Operation)}
	if l.subject == "" {
		l.subject, l.outbox = string(d.Outbox), true
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return line{kind: broken}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		about, is := topicOf(name)
		if !is || len(l.counts) == maxNames {
			continue
		}
		var value float64
		if json.Unmarshal(members[name], &value) != nil {
			return line{kind: broken}
		}
		l.kind, l.topic = counted, about
		if slices.Contains(levels, name) {
			l.levels = append(l.levels, measure{name, value})
		} else if value != 0 {
			l.counts = append(l.counts, measure{name, value})
		}
	}
	if _, is := members[messageLatency]; is {
		l.kind, l.topic = counted, outboxes
	}
	return l
}

// log reads a record of a log.
func (d *document) log(object []byte) line {
	if d.message() != messageDelivery {
		return summaryOf(d.message(), membersOf(object))
	}
	if d.OfOperation == "" || d.Outcome == "" {
		return line{kind: broken}
	}
	l := line{
		kind: counted, form: ofSlog, subject: string(d.OfOperation), outcome: string(d.Outcome), record: string(d.Record), reason: string(d.Reason),
		claim: time.Duration(d.Claim), handle: time.Duration(d.HandleTook),
	}
	l.delivered(string(d.Settlement), d.Recovered, string(d.StoreErrText))
	ends := func(of map[string]end) (all []string) {
		for _, e := range of {
			all = append(all, e.End)
		}
		return all
	}
	l.ended(ends(d.Steps), ends(d.Commits))
	l.failed(string(d.Error), string(d.StoreErrText))
	return l
}

// ended counts the ends of steps and commits that somebody has to know of.
func (l *line) ended(steps, commits []string) {
	lost, failed := 0, 0
	for _, end := range steps {
		if end == "lost" {
			lost++
		}
	}
	for _, end := range commits {
		if end != "committed" && end != "declined" {
			failed++
		}
	}
	if failed == 0 && l.outcome == "commit failed" {
		failed = 1
	}
	l.count(stepsLost, float64(lost))
	l.count(commitsFailed, float64(failed))
}

// failed keeps why the store failed.
func (l *line) failed(err, storeErr string) {
	if !slices.ContainsFunc(l.counts, func(m measure) bool { return m.name == storeError }) {
		return
	}
	l.failure = storeErr
	if l.failure == "" {
		l.failure = err
	}
}

// membersOf are the members of an object of JSON, as attributes has them.
func membersOf(object []byte) map[string]string {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(object, &all) // it was read before
	members := make(map[string]string, len(all))
	for name, raw := range all {
		switch raw[0] {
		case '{':
			for inner, value := range membersOf(raw) {
				members[name+"."+inner] = value
			}
		case '"':
			var value text
			_ = json.Unmarshal(raw, &value)
			members[name] = string(value)
		default:
			members[name] = string(raw)
		}
	}
	return members
}
