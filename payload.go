package idempotent

import (
	"reflect"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/internal/gateway"
)

// payloadOf returns a function that adds to a fingerprint what all deliveries of an event have in common: the whole event, if its
// type is the user's own; the payload, if it is a message of a queue or a stream. It returns nil, and adds a problem, for any other type of package
// events: those carry request ids and times.
func payloadOf(in reflect.Type, exact bool, p *problems) func(h *fingerprint.Hash, src *source) error {
	if add := recordPayload(in); add != nil {
		return func(h *fingerprint.Hash, src *source) error {
			in, err := src.event()
			if err != nil {
				return err
			}
			h.String("record")
			payload := payloadHash{Hash: h, exact: exact}
			add(&payload, in)
			return payload.err
		}
	}
	if named := foreignEvent(in, map[reflect.Type]bool{}); named != nil {
		p.addf("WithFingerprint or WithFingerprintPath: choose what tells two requests in %v apart: the whole event "+
			"does not, because %v holds ids or times that differ between deliveries", in, named)
		return nil
	}
	return func(h *fingerprint.Hash, src *source) error {
		payload, err := src.json()
		if err != nil {
			return err
		}
		h.String("event")
		gateway.DigestJSON(h, payload, exact)
		return nil
	}
}

// foreignEvent returns the type of package events that a type is, embeds, points to, or has as its elements. It returns nil if there
// is none. Types may embed themselves: seen are those that are not looked at again.
func foreignEvent(t reflect.Type, seen map[reflect.Type]bool) reflect.Type {
	if seen[t] {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return foreignEvent(t.Elem(), seen)
	case reflect.Struct:
	default:
		return nil
	}
	if t.PkgPath() == reflect.TypeFor[events.SQSMessage]().PkgPath() {
		return t
	}
	for f := range t.Fields() {
		if f.Anonymous {
			if named := foreignEvent(f.Type, seen); named != nil {
				return named
			}
		}
	}
	return nil
}

// recordPayload returns what adds the payload of a record to a fingerprint, nil if the type in is no such record.
func recordPayload(in reflect.Type) func(h *payloadHash, in any) {
	for _, add := range []func(h *payloadHash, in any){
		payloadFrom(in, (*payloadHash).sqs),
		payloadFrom(in, (*payloadHash).sns),
		payloadFrom(in, func(h *payloadHash, r events.SNSEventRecord) { h.sns(r.SNS) }),
		payloadFrom(in, (*payloadHash).kinesis),
		payloadFrom(in, func(h *payloadHash, r events.KinesisEventRecord) { h.kinesis(r.Kinesis) }),
		payloadFrom(in, (*payloadHash).stream),
		payloadFrom(in, func(h *payloadHash, r events.DynamoDBEventRecord) { h.change(r) }),
		payloadFrom(in, (*payloadHash).eventBridge),
	} {
		if add != nil {
			return add
		}
	}
	return nil
}

// payloadFrom makes add a function of a pointer to In if In is T or *T. A nil pointer has no payload.
func payloadFrom[T any](in reflect.Type, add func(h *payloadHash, r T)) func(h *payloadHash, in any) {
	switch in {
	case reflect.TypeFor[*T]():
		return func(h *payloadHash, in any) {
			if r := *in.(**T); r != nil { //nolint:forcetypeassert // just checked
				add(h, *r)
			}
		}
	case reflect.TypeFor[T]():
		return func(h *payloadHash, in any) { add(h, *in.(*T)) } //nolint:forcetypeassert // just checked
	default:
		return nil
	}
}

// payloadHash adds the payloads of records to a fingerprint. Digests are stored: what is added here, and in which order, must
// never change.
type payloadHash struct {
	*fingerprint.Hash

	exact bool
	err   error
}

func (h *payloadHash) text(s string) { gateway.DigestJSON(h.Hash, []byte(s), h.exact) }

func (h *payloadHash) value(v any) {
	if err := h.Value(v); err != nil && h.err == nil {
		h.err = err
	}
}

// sqs leaves out ids, receipt handles and counts, and the attributes that carry the context of a trace.
func (h *payloadHash) sqs(m events.SQSMessage) {
	h.String("sqs")
	h.text(m.Body)
	attributes := make(map[string]any, len(m.MessageAttributes))
	for name, a := range m.MessageAttributes {
		if !tracing[name] {
			attributes[name] = a
		}
	}
	h.value(attributes)
}

func (h *payloadHash) sns(m events.SNSEntity) {
	h.String("sns")
	h.String(m.TopicArn)
	h.String(m.Subject)
	h.text(m.Message)
	attributes := make(map[string]any, len(m.MessageAttributes))
	for name, a := range m.MessageAttributes {
		if !tracing[name] {
			attributes[name] = a
		}
	}
	h.value(attributes)
}

func (h *payloadHash) kinesis(r events.KinesisRecord) {
	h.String("kinesis")
	h.String(r.PartitionKey)
	gateway.DigestJSON(h.Hash, r.Data, h.exact)
}

func (h *payloadHash) change(r events.DynamoDBEventRecord) {
	h.String(r.EventName)
	h.stream(r.Change)
}

func (h *payloadHash) stream(r events.DynamoDBStreamRecord) {
	h.String("stream")
	h.value([]any{r.Keys, r.OldImage, r.NewImage})
}

func (h *payloadHash) eventBridge(e events.EventBridgeEvent) {
	h.String("eventbridge")
	h.String(e.Source)
	h.String(e.DetailType)
	gateway.DigestJSON(h.Hash, e.Detail, h.exact)
}

// tracing has the attributes by which tracers pass on the context of a trace. It differs each time a producer sends a message.
var tracing = map[string]bool{
	"traceparent": true, "tracestate": true, "baggage": true, "b3": true, "AWSTraceHeader": true, "X-Amzn-Trace-Id": true,
}
