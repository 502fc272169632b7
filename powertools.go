package idempotent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/internal/gateway"
	"github.com/go-idempotent/idempotent/internal/powertools"
	"github.com/go-idempotent/idempotent/internal/setup"
	"github.com/go-idempotent/idempotent/jmespath"
	"github.com/go-idempotent/idempotent/store"
)

// PowertoolsLanguage is a language of AWS Powertools, which writes different records in each.
type PowertoolsLanguage string

// The languages of [Powertools].
const (
	PowertoolsPython     PowertoolsLanguage = "python"
	PowertoolsTypeScript PowertoolsLanguage = "typescript"
	// PowertoolsJava is any JDK, without the few numbers that JDK 18 and 19 print differently.
	PowertoolsJava   PowertoolsLanguage = "java"
	PowertoolsJava17 PowertoolsLanguage = "java17" // on a JDK up to 18
	PowertoolsJava21 PowertoolsLanguage = "java21" // on a JDK from 19
)

const optionPowertools = "WithPowertools"

// maxPrefix keeps keys with a SHA-512 in hexadecimal within the 1,024 bytes of a DynamoDB sort key.
const maxPrefix = 1024 - len("#") - 128

// Powertools names the records of AWS Powertools that a handler shares, see [WithPowertools].
type Powertools struct {
	// Language is the one whose records they are. It has no default.
	Language PowertoolsLanguage
	// Function is the name of the function in the keys of the other program, if that sets no
	// prefix: module and qualified name in Python ("app.handler"), the method in Java. Keys begin
	// with the environment variable AWS_LAMBDA_FUNCTION_NAME, a dot and this name. In TypeScript
	// leave it empty, unless the other program gives its store a function name.
	Function string
	// Prefix is the whole prefix of the other program (key_prefix, keyPrefix), if it sets one,
	// instead of Function. At most 895 bytes.
	Prefix string
	// Hash is the hash function that the other program sets (hash_function, hashFunction), as it
	// spells it. Empty means its default, MD5.
	Hash string
	// AllCallers says that all callers of an HTTP handler share its keys, so that whoever sends the
	// key of somebody else gets their answer. Without it Wrap refuses a path that does not select
	// who calls, such as requestContext.authorizer.principalId.
	AllCallers bool
}

// WithPowertools makes the handler share its records with a function under AWS Powertools for
// Lambda in another language, during a migration. Keys, fingerprints and results are then those of
// that language, on the same table. The key comes from [WithKeyPath] (event_key_jmespath), else it
// is the whole event. The fingerprint comes from [WithFingerprintPath]
// (payload_validation_jmespath), else there is none, also on HTTP handlers. [WithOperation] names
// the handler in events and errors only, and defaults to the function's name.
//
// Expressions are names, indexes, multi-selects and the powertools_ functions, which every language
// reads alike. Wrap refuses every other operator and function. Every event needs its key unless
// [WithOptionalKey] is given, on HTTP handlers with every method.
//
// The other side does not keep to the protocol of this module, so some guarantees are lost.
// docs/powertools.md says which, and how to move over without a second execution. In short:
//
//   - Keys hold neither tenant nor route, see Powertools.AllCallers. [WithTenant] is refused.
//   - MD5, and the number rules of some languages, let different requests share a key.
//   - Their writes are unconditional: an execution of theirs that outlives its lease replaces what
//     was stored meanwhile.
//   - They execute again after a crash, whatever the policy here.
//   - A result stays inside the record, which becomes UNKNOWN if it does not fit (400 KB with the
//     record), if the language could not read it, and after a [Terminal] error, which their readers
//     would take for a result.
func WithPowertools(p Powertools) Option {
	return optionFunc(func(c *config) {
		c.allCallers = p.AllCallers
		codec, err := powertools.New(powertools.Language(p.Language), p.Hash)
		c.Addf(err != nil, "%s: %v", optionPowertools, err)
		prefix := p.prefix(&c.Problems)
		// Nothing but this function value refers to the codecs, so the linker leaves them, 0.3 MB,
		// out of programs that do not call WithPowertools.
		c.shared = func(out reflect.Type) sharedRecords {
			c.checkShared()
			if err != nil {
				return nil
			}
			for _, path := range []*jmespath.Expression{c.keys.keyPath, c.keys.fingerprintPath} {
				if path != nil {
					err := codec.Allow(path)
					c.Addf(err != nil, "%s: %v", optionPowertools, err)
				}
			}
			java := strings.HasPrefix(string(codec.Language()), string(powertools.Java))
			r := &powertoolsRecords{
				codec: codec, prefix: prefix, out: out, whole: c.keys.keyPath == nil,
				layout: store.LayoutText, rawText: java && out.Kind() == reflect.String,
			}
			if p.Language == PowertoolsTypeScript {
				r.layout = store.LayoutValue
			}
			c.recordsOf, c.settings.Layout = prefix, r.layout
			return r
		}
	})
}

// checkCallers: without a path the whole event is the key, and tells callers apart.
func (c *config) checkCallers() {
	if c.shared == nil || c.allCallers || c.keys.keyPath == nil {
		return
	}
	path := c.keys.keyPath.String()
	if strings.Contains(path, "requestContext") &&
		(strings.Contains(path, "authorizer") || strings.Contains(path, "identity")) {
		return
	}
	c.Addf(true, "%s: keys of Powertools hold no caller, so that one caller can get the answer of another: let the path "+
		"of WithKeyPath select who calls, such as requestContext.authorizer.principalId, or say with "+
		"Powertools.AllCallers that all callers share keys", optionPowertools)
}

func (p Powertools) prefix(wrong *setup.Problems) string {
	wrong.Addf(p.Prefix != "" && p.Function != "",
		"%s: Prefix and Function contradict each other: a key has one prefix", optionPowertools)
	wrong.Addf(p.Prefix == "" && p.Function == "" && p.Language != PowertoolsTypeScript,
		"%s: Function, or Prefix: keys of %s begin with one of them", optionPowertools, p.Language)
	prefix := p.Prefix
	if p.Language == PowertoolsTypeScript {
		prefix = strings.TrimSpace(prefix)
	}
	if prefix == "" {
		prefix = p.functionPrefix(os.Getenv("AWS_LAMBDA_FUNCTION_NAME"))
	}
	wrong.Addf(len(prefix) > maxPrefix || !utf8.ValidString(prefix),
		"%s: a prefix of %d bytes is not UTF-8 of at most %d", optionPowertools, len(prefix), maxPrefix)
	return prefix
}

func (p Powertools) functionPrefix(function string) string {
	switch {
	case p.Language == PowertoolsTypeScript && p.Function == "":
		return function
	case function == "" && p.Language == PowertoolsPython:
		function = "test-func"
	case function == "" && p.Language != PowertoolsTypeScript:
		function = "testFunction"
	}
	return function + "." + p.Function
}

func (c *config) checkShared() {
	const theirs = "keys and fingerprints are those of the other program"
	for _, contradiction := range []struct {
		given          bool
		option, reason string
	}{
		{c.keys.key != nil, "WithKey", theirs},
		{c.keys.fingerprint != nil, optionFingerprint, theirs},
		{c.keys.tenant != nil, optionTenant, theirs},
		{c.keys.digestKey != nil, "WithDigestKey", theirs},
		{c.http.RequireTenant, "WithHTTP: RequireTenant", theirs},
		{len(c.http.FingerprintHeaders) > 0, "WithHTTP: FingerprintHeaders", theirs},
		{c.requireKeySet, "WithHTTP: RequireKey", "every method needs its key, or none does with WithOptionalKey"},
	} {
		c.Addf(contradiction.given, "%s and %s contradict each other: %s", optionPowertools, contradiction.option,
			contradiction.reason)
	}
}

type powertoolsRecords struct {
	codec  *powertools.Codec
	prefix string
	// whole: the whole event is the key. rawText: results are strings of Java, kept without quotes.
	whole, rawText bool
	out            reflect.Type // of results
	layout         store.Layout
}

func (r *powertoolsRecords) key(selection []byte) (string, error) {
	if r.whole && r.codec.Missing(selection) {
		return "", nil
	}
	digest, err := r.codec.Digest(selection)
	if err != nil {
		return "", fmt.Errorf("has no key of %s: %w", r.codec.Language(), err)
	}
	return r.prefix + "#" + digest, nil
}

func (r *powertoolsRecords) fingerprint(selection []byte) (string, error) {
	digest, err := r.codec.Digest(selection)
	if err != nil {
		err = fmt.Errorf("has no digest of %s: %w", r.codec.Language(), err)
	}
	return digest, err
}

func (r *powertoolsRecords) encode(result []byte, failure bool) ([]byte, error) {
	if failure {
		return nil, errors.New("AWS Powertools cannot tell a stored error from a result")
	}
	data, err := r.codec.EncodeData(result, r.rawText)
	switch {
	case err != nil:
		return nil, err
	case r.rawText:
		return data, nil
	case r.layout == store.LayoutValue:
		return fingerprint.Canonical(nil, data)
	default:
		return result, nil // JSON is JSON: a replay here is what the first caller got, byte for byte
	}
}

func (r *powertoolsRecords) decode(held store.Record) (result []byte, err error) {
	if held.Seal != "" && !r.rawText {
		return held.Result, nil
	}
	kept, value := held.Result, held.Layout == store.LayoutValue
	if kept != nil && !value && r.layout == store.LayoutValue { // a text of theirs is a string
		value = true
		kept, err = encodeJSON(string(kept))
	}
	if err == nil {
		result, err = r.codec.DecodeData(kept, value, r.rawText)
	}
	if err != nil {
		return nil, err
	}
	return r.withStatus(result)
}

// withStatus gives a result of another program its status, as the gateway does. One of payload
// format 2.0 without a status, also of a function URL, is the JSON body of a response with status
// 200. See
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html.
func (r *powertoolsRecords) withStatus(result []byte) ([]byte, error) {
	optional := false
	switch gateway.ElemOf(r.out) {
	case reflect.TypeFor[events.APIGatewayV2HTTPResponse](), reflect.TypeFor[events.LambdaFunctionURLResponse]():
		optional = true
	case reflect.TypeFor[events.APIGatewayProxyResponse](), reflect.TypeFor[events.ALBTargetGroupResponse]():
	default:
		return result, nil // it is no response
	}
	var response struct {
		StatusCode json.RawMessage `json:"statusCode"`
	}
	err := json.Unmarshal(result, &response)
	switch {
	case err == nil && response.StatusCode != nil:
		return result, nil
	case !optional:
		return nil, errors.New("it is no response with a status")
	default:
		return encodeJSON(map[string]any{
			"statusCode": 200, "headers": map[string]string{"content-type": "application/json"}, "body": string(result),
		})
	}
}
