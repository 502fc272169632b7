package idempotent

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/internal/gateway"
	"github.com/go-idempotent/idempotent/internal/numbers"
	"github.com/go-idempotent/idempotent/jmespath"
	"github.com/go-idempotent/idempotent/store"
)

// keys finds the key, the fingerprint and the tenant of an event.
type keys struct {
	operation string
	// optionalKey lets events without a key run unprotected. exactNames: see [WithExactNames].
	optionalKey, exactNames bool
	digestKey               []byte
	// At most one of key and keyPath is set, and at most one of fingerprint and fingerprintPath.
	// The functions get pointers to In.
	key                      func(in any) (string, error)
	fingerprint              func(in any) (any, error)
	tenant                   func(ctx context.Context, in any) (string, error)
	keyPath, fingerprintPath *jmespath.Expression
	records                  sharedRecords

	// selects, selectsFingerprint: an option finds the key, and what the fingerprint covers.
	// exactNumbers: a type of the handler keeps decimals as they are.
	selects, selectsFingerprint, exactNumbers bool
	// numbers are the places of In where a value has several spellings, nil for none.
	numbers *numbers.Places
	// newHash begins a digest, keyed if there is a digestKey.
	newHash func(purpose string) *fingerprint.Hash
}

// selected returns the key that an option finds, empty if the event has none and needs none. If
// another program shares the records, it is the whole record key.
func (k *keys) selected(src *source, needed bool) (string, error) {
	key, err := k.find(src)
	if key == "" && err == nil {
		err = k.missing(k.place(), needed)
	}
	return key, err
}

func (k *keys) find(src *source) (string, error) {
	if k.key != nil {
		return k.keyOf(src)
	}
	payload, err := src.json()
	if err != nil {
		return "", err
	}
	if k.keyPath == nil { // the whole event is the key, which only shared records allow
		return k.shared(sourceKeyPath, payload, k.records.key)
	}
	selection, err := k.keyPath.Search(k.numbers.Read(payload))
	if err != nil {
		return "", k.unsearchable(err)
	}
	switch selection.Presence() {
	case jmespath.Missing:
		return "", nil
	case jmespath.Partial:
		// also where no key is needed: half a key is a mistake, not a choice
		return "", k.missing(k.place()+", of which a part is missing", true)
	case jmespath.Present:
	}
	if k.records != nil {
		return k.shared(sourceKeyPath, selection.JSON(), k.records.key)
	}
	if k.roundsNumber(k.keyPath, selection.JSON()) {
		return "", k.invalid(k.place(), reasonInexact, nil)
	}
	key, err := k.canonical(selection.JSON())
	if err != nil {
		return "", k.invalid(k.place(), "has no canonical form", err)
	}
	return string(key), nil
}

// roundsNumber reports whether a selection has a number that the handler would read as another one.
// No type says how it reads a text that the path decodes.
func (k *keys) roundsNumber(path *jmespath.Expression, selection []byte) bool {
	typed := k.exactNumbers && !strings.Contains(path.String(), "powertools_json")
	return k.records == nil && numbers.HasInexact(selection, typed)
}

func (k *keys) unsearchable(err error) error {
	text, isText := errors.AsType[*fingerprint.SyntaxError](err)
	if !isText {
		return k.invalid(sourceEvent, "has no key: "+err.Error(), err)
	}
	problem := fmt.Sprintf("no JSON: %s at offset %d", text.Reason, text.Offset)
	if _, inside := errors.AsType[*jmespath.Error](err); inside {
		return k.invalid(k.place(), "decodes a text that is "+problem, err)
	}
	return k.invalid(sourceEvent, "is "+problem, err)
}

const reasonInexact = "has a number that a float changes, so that the handler reads another one: send fewer digits, " +
	"or the number as a string"

func (k *keys) canonical(doc []byte) ([]byte, error) {
	if k.exactNames {
		return fingerprint.Canonical(nil, doc)
	}
	return fingerprint.CanonicalFolding(nil, doc)
}

func (k *keys) keyOf(src *source) (string, error) {
	in, err := src.event()
	if err != nil {
		return "", err
	}
	key, err := k.key(in)
	if err != nil {
		return "", k.invalid(sourceEvent, "was refused by the function of WithKey"+typeOf(err), err)
	}
	return key, nil
}

func (k *keys) missing(source string, needed bool) error {
	if !needed {
		return nil
	}
	return &Error{Kind: ErrMissingKey, Operation: k.operation, Field: source}
}

func (k *keys) place() string {
	if k.keyPath == nil {
		return sourceEvent
	}
	return selectedBy(sourceKeyPath, k.keyPath)
}

// selectedBy names a selection by its expression, which is nothing of the event.
func selectedBy(source string, path *jmespath.Expression) string {
	const longest = 200
	expression := path.String()
	if len(expression) > longest {
		return fmt.Sprintf("%s %q...", source, expression[:longest])
	}
	return fmt.Sprintf("%s %q", source, expression)
}

func (k *keys) invalid(source, reason string, err error) error {
	return &Error{Kind: ErrInvalidKey, Operation: k.operation, Field: source, Reason: reason, Err: err}
}

func (k *keys) refused(source string, err error) error {
	return &Error{Kind: ErrRefused, Operation: k.operation, Field: source, Err: err}
}

// caller is the zero Caller if neither an HTTP request nor [WithTenant] says who it is.
func (k *keys) caller(ctx context.Context, src *source) (gateway.Caller, error) {
	if k.tenant == nil {
		return src.http.Caller, nil
	}
	tenant, err := k.tenantOf(ctx, src)
	return gateway.CallerOf("tenant", tenant), err
}

// tenantOf fails without a tenant, so that nobody gets into a shared scope by accident.
func (k *keys) tenantOf(ctx context.Context, src *source) (string, error) {
	in, err := src.event()
	if err != nil {
		return "", err
	}
	tenant, err := k.tenant(ctx, in)
	switch {
	case err != nil:
		return "", k.refused(optionTenant, &quietError{err})
	case tenant == "":
		return "", k.refused(optionTenant, errors.New("it returned no tenant"))
	default:
		return tenant, nil
	}
}

// tenantID returns the tenant of an invocation, empty in a function without tenant isolation. Two
// such tenants never share a record, although one caller may act for both.
func tenantID(ctx context.Context) string {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		return lc.TenantID
	}
	return ""
}

func (k *keys) addSelected(h *fingerprint.Hash, src *source) error {
	if k.fingerprintPath == nil {
		in, err := src.event()
		if err != nil {
			return err
		}
		return k.addFingerprintOf(h, in)
	}
	selection, err := k.covered(src)
	if err != nil {
		return err
	}
	h.String("selection")
	add := h.JSONFolding
	if k.exactNames {
		add = h.JSON
	}
	if err := add(selection.JSON()); err != nil {
		return k.invalid(sourceFingerprint, "has no canonical form", err)
	}
	return nil
}

func (k *keys) covered(src *source) (selection jmespath.Value, err error) {
	payload, err := src.json()
	if err != nil {
		return selection, err
	}
	if selection, err = k.fingerprintPath.Search(k.numbers.Read(payload)); err != nil {
		return selection, k.invalid(sourceFingerprint, "fails: "+err.Error(), err)
	}
	if selection.Presence() != jmespath.Present {
		return selection, k.invalid(selectedBy(sourceFingerprint, k.fingerprintPath), "is missing or incomplete", nil)
	}
	if k.roundsNumber(k.fingerprintPath, selection.JSON()) {
		return selection, k.invalid(selectedBy(sourceFingerprint, k.fingerprintPath), reasonInexact, nil)
	}
	return selection, nil
}

func (k *keys) addFingerprintOf(h *fingerprint.Hash, in any) error {
	covered, err := k.fingerprint(in)
	if err != nil {
		return k.refused(optionFingerprint, &quietError{err})
	}
	h.String("value")
	if err := h.Value(covered); err != nil {
		return k.refused(optionFingerprint, err)
	}
	return nil
}

// shared returns what the other program makes of a selection.
func (k *keys) shared(source string, selection []byte, theirs func([]byte) (string, error)) (string, error) {
	if k.folds(selection) {
		return "", k.invalid(source, "has names that differ only in case", nil)
	}
	made, err := theirs(selection)
	if err != nil {
		return "", k.invalid(source, err.Error(), err)
	}
	return made, nil
}

// folds reports whether the handler may read names that another program tells apart as one.
func (k *keys) folds(doc []byte) bool {
	if k.exactNames {
		return false
	}
	_, err := fingerprint.CanonicalFolding(nil, doc)
	if err == nil {
		return false
	}
	_, err = fingerprint.Canonical(nil, doc)
	return err == nil
}

func (k *keys) sharedRequest(key string, src *source) (request, error) {
	req := request{recordKey: key}
	if k.fingerprintPath == nil {
		return req, nil
	}
	selection, err := k.covered(src)
	if err != nil {
		return request{}, err
	}
	req.fingerprint, err = k.shared(sourceFingerprint, selection.JSON(), k.records.fingerprint)
	return req, err
}

func recordKey(operation string, h *fingerprint.Hash) string {
	sum := h.Sum()
	key := make([]byte, 0, 128) // enough for most operations
	key = append(append(key, operation...), '#')
	return string(base64.RawURLEncoding.AppendEncode(key, sum[:]))
}

// sharedRecords are those of another program on the same table, see [WithPowertools].
type sharedRecords interface {
	// key returns the record key of a selection, or of the whole event, empty if that has no
	// content. The errors continue a sentence that begins with the selection.
	key(selection []byte) (string, error)
	fingerprint(selection []byte) (string, error)
	// encode returns what the record keeps of a result in JSON, or of a failure.
	encode(result []byte, failure bool) ([]byte, error)
	decode(r store.Record) ([]byte, error)
}
