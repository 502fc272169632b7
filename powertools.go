package idempotent

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/internal/powertools"
	"github.com/go-idempotent/idempotent/jmespath"
)

// PowertoolsLanguage is a language that AWS Powertools exists for. Each writes records of its own kind.
type PowertoolsLanguage string

// The languages of [Powertools].
const (
	PowertoolsPython     PowertoolsLanguage = "python"
	PowertoolsTypeScript PowertoolsLanguage = "typescript"
	// PowertoolsJava takes functions on any JDK, and refuses the few numbers that JDK 18 and 19 print differently.
	PowertoolsJava   PowertoolsLanguage = "java"
	PowertoolsJava17 PowertoolsLanguage = "java17" // on a JDK up to 18
	PowertoolsJava21 PowertoolsLanguage = "java21" // on a JDK from 19
	PowertoolsDotNet PowertoolsLanguage = "dotnet"
)

const optionPowertools = "WithPowertools"

// maxPrefix keeps keys with the longest digest (SHA-512 in hexadecimal) within the 1,024 bytes of a DynamoDB sort key.
const maxPrefix = 1024 - len("#") - 128

// Powertools names the records of AWS Powertools that a handler shares, see [WithPowertools].
type Powertools struct {
	// Language is the one whose records they are. It has no default.
	Language PowertoolsLanguage
	// Function is what the other program calls the function in its keys, unless it sets a prefix: module and qualified name
	// in Python ("app.handler"), the method in Java and .NET. The environment variable AWS_LAMBDA_FUNCTION_NAME and a dot
	// come before it. In TypeScript it is empty, unless the store was given a function name.
	Function string
	// Prefix is the whole prefix of the other program (key_prefix, keyPrefix, KeyPrefix), and replaces Function. At most 895
	// bytes.
	Prefix string
	// Hash is the hash function that the other program sets (hash_function, hashFunction), as it spells it. Empty means its
	// default, MD5.
	Hash string
}

// WithPowertools makes the handler share its records with a function under AWS Powertools for Lambda in another language,
// for the time of a migration: keys, fingerprints and results are then those of that language, on the same table. The key
// comes from [WithKeyPath] (event_key_jmespath; without it the whole event counts, as there), the fingerprint from
// [WithFingerprintPath] (payload_validation_jmespath); without that there is none, on HTTP handlers neither.
// [WithOperation] names the handler in events and errors only, and defaults to the function's name.
//
// The protocol stays that of this module. What it cannot give any more, because the other side does not keep to it, and
// how to move over without a second execution, is in docs/powertools.md. In short:
//
//   - Keys hold neither tenant nor route. The path must select what tells callers apart, and [WithTenant] is refused.
//   - MD5, and the number rules of some languages, let different requests share a key.
//   - Their writes are unconditional: an execution of theirs that outlives its lease replaces what was stored meanwhile.
//   - They execute again after a crash, whatever the policy here.
//   - A result stays inside the record. One that does not fit (400 KB with the record) or that the language could not read
//     makes the outcome UNKNOWN, and so does a [Terminal] error, which their readers would take for a result.
func WithPowertools(p Powertools) Option {
	return optionFunc(func(c *config) error {
		c.powertools = &powertoolsMode{Powertools: p}
		return c.powertools.use(powertools.New(powertools.Language(p.Language), p.Hash))
	})
}

// powertoolsCodec is what handlers need of a [powertools.Codec]. An interface, and no call of powertools.New outside of
// WithPowertools, lets the linker leave the codecs out of all functions that do without: 0.3 MB.
type powertoolsCodec interface {
	Key(prefix string, selected []byte) (string, error)
	Digest(selected []byte) (string, error)
	Missing(selected []byte) bool
	EncodeData(result []byte) (powertools.Data, error)
	DecodeData(d powertools.Data) ([]byte, error)
	Compile(expression string, opts ...jmespath.Option) (*jmespath.Expression, error)
	StringResults() powertoolsCodec
}

type codecOf struct{ *powertools.Codec }

func (c codecOf) StringResults() powertoolsCodec { return codecOf{c.Codec.StringResults()} }

// powertoolsMode is what a handler needs to share records with AWS Powertools.
type powertoolsMode struct {
	Powertools

	codec powertoolsCodec
	// rawText says that results are strings, which Java keeps without quotes.
	rawText bool
	// response is what results have to be.
	response responseRule
}

func (m *powertoolsMode) use(codec *powertools.Codec, err error) error {
	if err == nil {
		m.codec = codecOf{codec}
	}
	return joinProblems(naming(optionPowertools, err), m.checkPrefix())
}

func (m *powertoolsMode) checkPrefix() error {
	switch {
	case m.Prefix != "" && m.Function != "":
		return fmt.Errorf("%s: Prefix and Function contradict each other: a key has one prefix", optionPowertools)
	case m.Prefix == "" && m.Function == "" && m.Language != PowertoolsTypeScript:
		return fmt.Errorf("%s: Function, or Prefix: keys of %s begin with one of them", optionPowertools, m.Language)
	}
	m.Prefix = m.prefix()
	if len(m.Prefix) > maxPrefix || !utf8.ValidString(m.Prefix) {
		return fmt.Errorf("%s: a prefix of %d bytes is not UTF-8 of at most %d", optionPowertools, len(m.Prefix), maxPrefix)
	}
	return nil
}

// prefix is what keys begin with. Each language has its own name for a function without a name.
func (m *powertoolsMode) prefix() string {
	function := os.Getenv("AWS_LAMBDA_FUNCTION_NAME")
	if m.Language == PowertoolsTypeScript {
		m.Prefix = strings.TrimSpace(m.Prefix)
	}
	switch {
	case m.Prefix != "":
		return m.Prefix
	case m.Language == PowertoolsTypeScript && m.Function == "":
		return function
	case function == "" && m.Language == PowertoolsPython:
		function = "test-func"
	case function == "" && m.Language != PowertoolsTypeScript:
		function = "testFunction"
	}
	return function + "." + m.Function
}

// checkPowertools finds what contradicts the mode, and gives the paths the rules of the language.
func (c *config) checkPowertools(p *problems) {
	if c.powertools == nil {
		return
	}
	for _, contradiction := range []struct {
		given  bool
		option string
	}{
		{c.user.key != nil, "WithKey"},
		{c.user.fingerprint != nil, optionFingerprint},
		{c.user.tenant != nil, optionTenant},
		{c.digestKey != nil, "WithDigestKey"},
		{c.http.RequireTenant, "WithHTTP: RequireTenant"},
		{len(c.http.FingerprintHeaders) > 0, "WithHTTP: FingerprintHeaders"},
	} {
		if contradiction.given {
			p.addf("%s and %s contradict each other: keys and fingerprints are those of the other program",
				optionPowertools, contradiction.option)
		}
	}
	if c.powertools.codec == nil {
		return
	}
	c.keyPath = c.powertools.inLanguage(c.keyPath, c.keyPathOptions, p)
	c.fingerprintPath = c.powertools.inLanguage(c.fingerprintPath, c.fingerprintPathOptions, p)
}

// inLanguage is the expression with the functions of the language.
func (m *powertoolsMode) inLanguage(path *jmespath.Expression, opts []jmespath.Option, p *problems) *jmespath.Expression {
	if path == nil {
		return nil
	}
	compiled, err := m.codec.Compile(path.String(), opts...)
	p.addError(naming(optionPowertools, err))
	return compiled
}

// keeps says what kind of result the handler has.
func (m *powertoolsMode) keeps(out reflect.Type) {
	if m == nil || m.codec == nil {
		return
	}
	m.response = responseRuleOf(out)
	if out.Kind() == reflect.String {
		m.codec = m.codec.StringResults()
		m.rawText = strings.HasPrefix(string(m.Language), string(PowertoolsJava))
	}
}
