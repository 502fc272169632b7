package operate

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// Act says who changes a record and why. Both are stored in the record and come back in the
// [Entry].
type Act struct {
	_ struct{} // literals name their fields: more may come

	// By is who: a name or an address, 1 to 256 bytes of printable text.
	By string
	// Why is the reason, such as a ticket and what was found: 1 to 512 bytes of printable text. It
	// is no place for secrets.
	Why string
	// Operation, unless empty, is the operation that the record has to belong to; of another one it
	// is refused.
	Operation string
	// DryRun does everything but the change: it checks the input, reads the record again, and
	// returns the entry with a preview.
	DryRun bool
}

// Action is what is done to a record.
type Action string

// The actions.
const (
	ActionExecuted    Action = "settle as executed"
	ActionNotExecuted Action = "settle as not executed"
	ActionFailed      Action = "settle as failed"
	ActionRelease     Action = "release"
	ActionDelete      Action = "delete"
	// ActionStepExecuted and ActionStepFailed are about one step.
	ActionStepExecuted Action = "settle a step as executed"
	ActionStepFailed   Action = "settle a step as failed"
)

// Verdict is what is known of an execution whose record is settled: [Executed], [NotExecuted] or
// [Failed], or, of one of its steps, [StepExecuted] or [StepFailed]. The zero value is none.
type Verdict struct {
	action Action
	// step is the name of the step that the verdict is about, if it is about one.
	step   string
	result []byte
	// response says that the result has to be a response of a gateway.
	response bool
	// errorType and message are those of a failure.
	errorType, message string
}

// Executed says that the execution had its effect, and that this is its result: what the handler
// would have returned, as JSON. A record does not tell what its handler returns, so the form is not
// checked. If it is another one, requests get an error, and only [Operator.Delete] ends that; then
// the effect may repeat. For an HTTP handler use [Responded], which checks the form.
func Executed(result []byte) Verdict {
	return Verdict{action: ActionExecuted, result: bytes.Clone(result)}
}

// Responded is [Executed] of an HTTP handler, whose result is the whole response in the form of its
// gateway: {"statusCode":201,"headers":{"content-type":"application/json"},"body":"{}"}. The status
// is from 200 to 499, and one that a handler stores by itself: not 401, 403, 408, 409, 423, 425 or
// 429. headers, multiValueHeaders, cookies, body and isBase64Encoded may be left out. A handler
// that stores others (idempotent.WithStoreIf) takes them from [Executed].
func Responded(response []byte) Verdict {
	return Verdict{action: ActionExecuted, result: bytes.Clone(response), response: true}
}

// NotExecuted says that the execution had no effect and will have none, but for the steps whose end
// is recorded. The next request executes. It gets those, and every other step runs, also one that
// may have begun: its start mark is removed.
func NotExecuted() Verdict { return Verdict{action: ActionNotExecuted} }

// Failed says that the execution failed for good, without an effect that counts. Requests get an
// error of this type and with this message, as if the handler had returned it marked with
// idempotent.Terminal. A gateway answers an error of its function with a 502: to let clients of an
// HTTP handler know what failed, use [Responded] with a response that says so.
func Failed(errorType, message string) Verdict {
	// The form in which Lambda reports errors, and in which a handler stores them.
	text, _ := json.Marshal(struct { //nolint:errchkjson // two texts
		Type    string `json:"errorType"`
		Message string `json:"errorMessage"`
	}{errorType, message})
	return Verdict{action: ActionFailed, result: text, errorType: errorType, message: message}
}

// Entry is what an audit log keeps of a change. It holds no result and no payload.
type Entry struct {
	Time      time.Time `json:"time"`
	By        string    `json:"by"`
	Why       string    `json:"why"`
	Action    Action    `json:"action"`
	RecordKey string    `json:"record_key"`
	// Step is the name of the step that the verdict was about, if it was about one.
	Step string `json:"step,omitempty"`
	// ResultDigest is the SHA-256 of the result that the verdict gave, in hexadecimal, empty if it
	// gave none.
	ResultDigest string `json:"result_sha256,omitempty"`
	// Before and After are the record around the change; After is nil if it was deleted.
	Before Snapshot  `json:"before"`
	After  *Snapshot `json:"after,omitempty"`
	// DryRun is true if nothing was changed. Preview then says, in sentences, what the change would
	// do and what the next request would get.
	DryRun  bool     `json:"dry_run,omitempty"`
	Preview []string `json:"preview,omitempty"`
}

// Snapshot is what an audit log keeps of a record.
type Snapshot struct {
	State       State        `json:"state"`
	Status      store.Status `json:"status"`
	Reason      string       `json:"reason,omitempty"`
	Attempt     int          `json:"attempt,omitempty"`
	CreatedAt   time.Time    `json:"created_at,omitzero"`
	Lease       time.Time    `json:"lease,omitzero"`
	Expiry      time.Time    `json:"expiry"`
	CompletedAt time.Time    `json:"completed_at,omitzero"`
	AttentionAt time.Time    `json:"attention_at,omitzero"`
	// Tries is how often a reconciliation has asked about the record without an answer. GivenUp is
	// true if it does so no more.
	Tries     int       `json:"tries,omitempty"`
	GivenUp   bool      `json:"given_up,omitempty"`
	SettledBy string    `json:"settled_by,omitempty"`
	SettledAt time.Time `json:"settled_at,omitzero"`
	// ResultBytes is the size of a result that is kept in the record.
	ResultBytes int `json:"result_bytes,omitempty"`
	// Steps are the steps, by name, without their results.
	Steps []Step `json:"steps,omitempty"`
}

// Settle says what became of the execution of a record.
//
//   - [Executed] and [Failed] complete a record that is UNKNOWN, crashed or released: requests get
//     the result, or the error, until the record expires. Its steps are dropped.
//   - [NotExecuted] releases a record that is UNKNOWN or crashed: the next request executes,
//     whatever the effects of its handler. A request with another content is a mismatch. Steps
//     whose end is recorded are kept; open start marks are removed. A record that is released
//     already is released again if it has such a mark.
//   - [StepExecuted] and [StepFailed] record the end of one step that is open, of a record that is
//     UNKNOWN, crashed or released, and release it. All other steps stay as they are, also those
//     that are open: an execution that meets one of these does not run it.
//
// A record that is released with steps keeps its attention, and is due after [store.ReleasedWait],
// see [Shown].
//
// Errors: [ErrInput], [ErrChanged], [ErrLive], [ErrState], [ErrStep], each as an [*Error];
// [ErrOtherOperation]; [ErrForeign] if AWS Powertools wrote the record, and for Executed and Failed
// also if it shares the record; [ErrOutcomeUnknown] if the change may have been applied; those of
// the store, wrapped. The entry counts only without an error.
func (o *Operator) Settle(ctx context.Context, s Shown, v Verdict, a Act) (Entry, error) {
	return o.change(ctx, s, v, a)
}

// Release lets the next request execute, without a verdict on what the execution before did: its
// effect may repeat. The record is UNKNOWN or crashed, or released with a step that may have begun,
// and is then kept as released, as by [NotExecuted]; only the [Entry] tells the two apart. Errors
// are those of Settle.
func (o *Operator) Release(ctx context.Context, s Shown, a Act) (Entry, error) {
	return o.change(ctx, s, Verdict{action: ActionRelease}, a)
}

// Delete removes the record, steps included: the next request executes as if the key were new. It
// is how a stored answer is forgotten. A record that is in progress, or [StateOther], is refused.
// The entry is its only trace. Errors are those of Settle.
func (o *Operator) Delete(ctx context.Context, s Shown, a Act) (Entry, error) {
	return o.change(ctx, s, Verdict{action: ActionDelete}, a)
}
