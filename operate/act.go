package operate

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// Act says who changes a record and why. Both are stored in the record and are in the [Entry].
type Act struct {
	_ struct{} // literals name their fields: more may come

	// By is who: a name or an address, 1 to 256 bytes of printable text.
	By string
	// Why is the reason, such as a ticket: 1 to 512 bytes of printable text, and no secrets.
	Why string
	// Operation, unless empty, is the only one whose records are changed.
	Operation string
	// DryRun changes nothing: it checks the input and the record, and adds a preview to the entry.
	DryRun bool
}

// Action is what is done to a record.
type Action string

// The actions.
const (
	ActionExecuted     Action = "settle as executed"
	ActionNotExecuted  Action = "settle as not executed"
	ActionFailed       Action = "settle as failed"
	ActionRelease      Action = "release"
	ActionDelete       Action = "delete"
	ActionStepExecuted Action = "settle a step as executed"
	ActionStepFailed   Action = "settle a step as failed"
)

// Verdict is what is known of an execution whose record is settled: [Executed], [NotExecuted] or
// [Failed], or, of one of its steps, [StepExecuted] or [StepFailed]. The zero value is none.
type Verdict struct {
	action Action
	step   string // that the verdict is about, if it is about one
	result []byte
	// response says that the result has to be a response of a gateway.
	response           bool
	errorType, message string // of a failure
}

// Executed says that the execution had its effect, and that this is its result: what the handler
// would have returned, as JSON. Nothing in a record tells the form. If it is a wrong one, requests
// get an error, and only [Operator.Delete] ends that; then the effect may repeat. For an HTTP
// handler use [Responded], which checks the form.
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
// is recorded. The next request gets those, and runs every other step, even if it may have begun.
func NotExecuted() Verdict { return Verdict{action: ActionNotExecuted} }

// Failed says that the execution failed for good, without an effect that counts. Requests get an
// error of this type and with this message, as if the handler had returned it marked with
// idempotent.Terminal. A gateway makes a 502 of it: to tell clients of an HTTP handler what failed,
// use [Responded].
func Failed(errorType, message string) Verdict {
	// Lambda reports errors in this form, and a handler stores them so.
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
	// Step is what the verdict was about, empty if it was the whole record.
	Step string `json:"step,omitempty"`
	// ResultDigest is the SHA-256 of the result that the verdict gave, in hexadecimal.
	ResultDigest string `json:"result_sha256,omitempty"`
	// Before and After are the record around the change; After is nil if it was deleted.
	Before Snapshot  `json:"before"`
	After  *Snapshot `json:"after,omitempty"`
	// DryRun: nothing was changed. Preview says what the change does, and what requests then get.
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
	// Tries is how often a reconciliation has asked without an answer. GivenUp: it asks no more.
	Tries     int       `json:"tries,omitempty"`
	GivenUp   bool      `json:"given_up,omitempty"`
	SettledBy string    `json:"settled_by,omitempty"`
	SettledAt time.Time `json:"settled_at,omitzero"`
	// ResultBytes is the size of a result that is kept in the record.
	ResultBytes int    `json:"result_bytes,omitempty"`
	Steps       []Step `json:"steps,omitempty"`
}

// Settle says what became of the execution of a record.
//
//   - [Executed] and [Failed] complete a record that is UNKNOWN, crashed or released: requests get
//     the result, or the error, until the record expires. Its steps are dropped.
//   - [NotExecuted] releases a record that is UNKNOWN or crashed, or released with an open step:
//     the next request executes, whatever the effects of its handler. A request with another
//     content is a mismatch. Steps whose end is recorded are kept until the record is completed or
//     deleted; start marks that are open are removed.
//   - [StepExecuted] and [StepFailed] record the end of one open step of a record that is UNKNOWN,
//     crashed or released, and release it. All other steps stay as they are: an execution that
//     meets an open one does not run it.
//
// A record that is released with steps keeps its attention, due after [store.ReleasedWait].
//
// Errors: [ErrInput], [ErrChanged], [ErrLive], [ErrState], [ErrStep], each as an [*Error];
// [ErrOtherOperation]; [ErrForeign] if AWS Powertools wrote the record, and for Executed and Failed
// also if it shares the record; [ErrOutcomeUnknown] if the change may have been applied; those of
// the store, wrapped. The entry counts only without an error.
func (o *Operator) Settle(ctx context.Context, s Shown, v Verdict, a Act) (Entry, error) {
	return o.change(ctx, s, v, a)
}

// Release lets the next request execute, without a verdict on what the execution before did: its
// effect may repeat. It does to the same records what [NotExecuted] does; only the [Entry] tells
// the two apart. Errors are those of Settle.
func (o *Operator) Release(ctx context.Context, s Shown, a Act) (Entry, error) {
	return o.change(ctx, s, Verdict{action: ActionRelease}, a)
}

// Delete removes the record with its steps, and forgets a stored answer: the next request executes
// as if the key were new. A record that is in progress, or [StateOther], is refused. The entry is
// its only trace. Errors are those of Settle.
func (o *Operator) Delete(ctx context.Context, s Shown, a Act) (Entry, error) {
	return o.change(ctx, s, Verdict{action: ActionDelete}, a)
}
