package idempotent

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/internal/powertools"
)

// PowertoolsLanguage is a language that AWS Powertools exists for. Powertools writes different records in each of them.
type PowertoolsLanguage string

// The languages of [Powertools].
const (
	PowertoolsPython     PowertoolsLanguage = "python"
	PowertoolsTypeScript PowertoolsLanguage = "typescript"
	// PowertoolsJava takes functions on any JDK, and refuses the few numbers that JDK 18 and 19 print differently.
	PowertoolsJava   PowertoolsLanguage = "java"
	PowertoolsJava17 PowertoolsLanguage = "java17" // on a JDK up to 18
	PowertoolsJava21 PowertoolsLanguage = "java21" // on a JDK from 19
)

const optionPowertools = "WithPowertools"

// maxPrefix keeps keys with the longest digest (SHA-512 in hexadecimal) within the 1,024 bytes of a DynamoDB sort key.
const maxPrefix = 1024 - len("#") - 128

// Powertools names the records of AWS Powertools that a handler shares, see [WithPowertools].
type Powertools struct {
	// Language is the one whose records they are. It has no default.
	Language PowertoolsLanguage
	// Function is the name of the function in the keys of the other program, if that program sets no prefix: module and
	// qualified name in Python ("app.handler"), the method in Java. Keys begin with the environment variable
	// AWS_LAMBDA_FUNCTION_NAME, a dot and this name. In TypeScript leave it empty, unless the other program gives its
	// store a function name.
	Function string
	// Prefix is the whole prefix of the other program (key_prefix, keyPrefix), if it sets one, instead of
	// Function. At most 895 bytes.
	Prefix string
	// Hash is the hash function that the other program sets (hash_function, hashFunction), as it spells it. Empty means its
	// default, MD5.
	Hash string
	// AllCallers says that all callers of an HTTP handler share its keys. The keys of Powertools hold no caller, so whoever sends the key of
	// somebody else gets their answer. Without it Wrap refuses an HTTP handler whose path does not select who calls, such as
	// requestContext.authorizer.principalId.
	AllCallers bool
}

// WithPowertools makes the handler share its records with a function under AWS Powertools for Lambda in another
// language, during a migration. Keys, fingerprints and results are then those of that language, on the same table. The
// key comes from [WithKeyPath] (event_key_jmespath); without it the whole event is the key, as in Powertools. The
// fingerprint comes from [WithFingerprintPath] (payload_validation_jmespath); without it there is none, also on HTTP
// handlers. [WithOperation] names the handler in events and errors only, and defaults to the function's name.
//
// Expressions are names, indexes, multi-selects and the powertools_ functions, which every language reads alike. Wrap refuses
// every other operator and function, and names it. Every event needs its key unless [WithOptionalKey] is given, on HTTP handlers with every
// method.
//
// The protocol is still that of this module. But the other side does not keep to it, so some guarantees are lost.
// docs/powertools.md says which, and how to move over without a second execution. In short:
//
//   - Keys hold neither tenant nor route. The path must select what tells callers apart, or Powertools.AllCallers says that all share
//     them; Wrap asks for one of the two on an HTTP handler. [WithTenant] is refused.
//   - MD5, and the number rules of some languages, let different requests share a key.
//   - Their writes are unconditional: an execution of theirs that outlives its lease replaces what was stored
//     meanwhile.
//   - They execute again after a crash, whatever the policy here.
//   - A result stays inside the record. If it does not fit (400 KB with the record), or if the language could not read
//     it, the record becomes UNKNOWN. It also becomes UNKNOWN after a [Terminal] error, which their readers would take for
//     a result.
func WithPowertools(p Powertools) Option {
	return optionFunc(func(c *config) error {
		c.allCallers = p.AllCallers
		codec, err := powertools.New(powertools.Language(p.Language), p.Hash)
		prefix, prefixErr := p.prefix()
		// Programs that do not call WithPowertools are 0.3 MB smaller, because nothing but this function value refers
		// to the codecs, and the linker leaves them out.
		c.shared = func(out reflect.Type, problems *problems) sharedRecords {
			checkShared(c, problems)
			if err != nil {
				return nil
			}
			problems.addError(naming(optionPowertools, readsAlike(codec, c.keyPath)))
			problems.addError(naming(optionPowertools, readsAlike(codec, c.fingerprintPath)))
			return newPowertoolsRecords(codec, prefix, out)
		}
		return joinProblems(naming(optionPowertools, err), prefixErr)
	})
}

// checkCallers asks for a choice where callers of an HTTP handler would share keys unasked. Without a path the whole event is the key, and
// with it who calls.
func (c *config) checkCallers(p *problems) {
	if c.shared == nil || c.allCallers || c.keyPath == nil {
		return
	}
	path := c.keyPath.String()
	if strings.Contains(path, "requestContext") && (strings.Contains(path, "authorizer") || strings.Contains(path, "identity")) {
		return
	}
	p.addf("%s: keys of Powertools hold no caller, so that one caller can get the answer of another: let the path of WithKeyPath select who "+
		"calls, such as requestContext.authorizer.principalId, or say with Powertools.AllCallers that all callers share keys", optionPowertools)
}

// prefix returns what record keys begin with. Each language has its own default name for a function without a name.
func (p Powertools) prefix() (string, error) {
	switch {
	case p.Prefix != "" && p.Function != "":
		return "", fmt.Errorf("%s: Prefix and Function contradict each other: a key has one prefix", optionPowertools)
	case p.Prefix == "" && p.Function == "" && p.Language != PowertoolsTypeScript:
		return "", fmt.Errorf("%s: Function, or Prefix: keys of %s begin with one of them", optionPowertools, p.Language)
	}
	prefix := p.Prefix
	if p.Language == PowertoolsTypeScript {
		prefix = strings.TrimSpace(prefix)
	}
	if prefix == "" {
		prefix = p.functionPrefix(os.Getenv("AWS_LAMBDA_FUNCTION_NAME"))
	}
	if len(prefix) > maxPrefix || !utf8.ValidString(prefix) {
		return "", fmt.Errorf("%s: a prefix of %d bytes is not UTF-8 of at most %d", optionPowertools, len(prefix), maxPrefix)
	}
	return prefix, nil
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

// checkShared finds the options that contradict keys and fingerprints of another program.
func checkShared(c *config, p *problems) {
	const theirs = "keys and fingerprints are those of the other program"
	for _, contradiction := range []struct {
		given          bool
		option, reason string
	}{
		{c.user.key != nil, "WithKey", theirs},
		{c.user.fingerprint != nil, optionFingerprint, theirs},
		{c.user.tenant != nil, optionTenant, theirs},
		{c.digestKey != nil, "WithDigestKey", theirs},
		{c.http.RequireTenant, "WithHTTP: RequireTenant", theirs},
		{len(c.http.FingerprintHeaders) > 0, "WithHTTP: FingerprintHeaders", theirs},
		{c.requireKeySet, "WithHTTP: RequireKey", "every method needs its key, or none does with WithOptionalKey"},
	} {
		if contradiction.given {
			p.addf("%s and %s contradict each other: %s", optionPowertools, contradiction.option, contradiction.reason)
		}
	}
}
