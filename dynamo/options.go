package dynamo

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/go-idempotent/idempotent/store"
)

const (
	defaultInlineLimit = 4 << 10
	// maxInlineLimit leaves 16 KB of DynamoDB's 400 KB for the key and the other attributes of an item.
	maxInlineLimit = 384 << 10
)

// Option adjusts a [Store].
type Option func(*config)

type config struct {
	inlineLimit int
	compression bool
	attr        attributes
	problems    []string
}

// WithInlineLimit sets the size in bytes up to which a result is kept in the record itself, after compression; a larger one
// goes to parts, see the package documentation. The default is 4096, by which a duplicate costs at most 5 write units;
// 0 keeps no result in the record; at most 393216 (384 KB) are possible. docs/cost.md says what other limits cost.
//
// It is also the size up to which all steps of a record together are kept in it, with their names and seals: a step for whose result
// there is no room any more goes to parts.
//
// A result that the record's commit does not cover is always kept in the record: parts cannot be verified without it. So
// is one of another layout than [store.LayoutNative].
func WithInlineLimit(bytes int) Option {
	return func(c *config) {
		if bytes < 0 || bytes > maxInlineLimit {
			c.problemf("WithInlineLimit: %d is not between 0 and %d bytes", bytes, maxInlineLimit)
			return
		}
		c.inlineLimit = bytes
	}
}

// WithCompression says whether results are compressed (gzip) where that saves a write unit: by default they are, from about
// 700 bytes on. false keeps them as they are, which the console and other programs can read, for up to seven times the
// write units. Results of another layout than [store.LayoutNative] are never compressed.
//
// It is about writing only. Every store reads what any other one wrote.
func WithCompression(on bool) Option {
	return func(c *config) { c.compression = on }
}

func configure(client Client, table string, opts []Option) config {
	c := config{inlineLimit: defaultInlineLimit, compression: true, attr: defaultAttributes()}
	if isNil(client) {
		c.problemf("dynamo.New: the client is nil")
	}
	if !isTable(table) {
		c.problemf("dynamo.New: table %q is not the name or ARN of a DynamoDB table", table)
	}
	c.apply("dynamo.New", opts)
	return c
}

// shapeOf returns the attributes that the options make.
func shapeOf(opts []Option) attributes {
	c := config{attr: defaultAttributes()}
	c.apply("dynamo", opts)
	return c.attr
}

func (c *config) apply(by string, opts []Option) {
	for i, opt := range opts {
		if opt == nil {
			c.problemf("%s: option %d is nil", by, i+1)
			continue
		}
		opt(c)
	}
	c.checkAttributes()
	if len(c.problems) > 0 {
		panic(&store.ConfigError{Problems: c.problems})
	}
}

func (c *config) problemf(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// isTable accepts what DynamoDB does, see
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html#DDB-PutItem-request-TableName. It is no
// regular expression because compiling that takes longer than all else that a function does to start with this module.
func isTable(name string) bool {
	if arn := strings.Split(name, ":"); len(arn) == 6 {
		table, isTable := strings.CutPrefix(arn[5], "table/")
		return isTable && arn[0] == "arn" && only(lower, arn[1]) && arn[2] == "dynamodb" && only(lower, arn[3]) &&
			len(arn[4]) == 12 && only(digits, arn[4]) && isTableName(table)
	}
	return isTableName(name)
}

func isTableName(s string) bool { return len(s) >= 3 && len(s) <= 255 && only(letters, s) }

const (
	digits  = "0123456789"
	lower   = "abcdefghijklmnopqrstuvwxyz-" + digits
	letters = lower + "ABCDEFGHIJKLMNOPQRSTUVWXYZ_."
)

// only reports whether s is not empty and made of these characters.
func only(characters, s string) bool { return s != "" && strings.Trim(s, characters) == "" }

// isNil also finds a nil pointer in a non-nil interface, which would only fail in the first request.
func isNil(client Client) bool {
	if client == nil {
		return true
	}
	v := reflect.ValueOf(client)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
