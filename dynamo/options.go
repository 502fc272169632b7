package dynamo

import (
	"fmt"
	"reflect"
	"regexp"

	"github.com/go-idempotent/idempotent"
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
	attr        attributes
	problems    []string
}

// WithInlineLimit sets the size in bytes up to which a result is kept in the record itself; a larger one goes to parts,
// see the package documentation. The default is 4096, by which a duplicate costs at most 5 write units; 0 keeps no result
// in the record; at most 393216 (384 KB) are possible.
//
// A result that the record's commit does not cover is always kept in the record: parts cannot be verified without it. So
// is one of another layout than [idempotent.LayoutNative].
func WithInlineLimit(bytes int) Option {
	return func(c *config) {
		if bytes < 0 || bytes > maxInlineLimit {
			c.problemf("WithInlineLimit: %d is not between 0 and %d bytes", bytes, maxInlineLimit)
			return
		}
		c.inlineLimit = bytes
	}
}

func configure(client Client, table string, opts []Option) config {
	c := config{inlineLimit: defaultInlineLimit, attr: defaultAttributes()}
	if isNil(client) {
		c.problemf("dynamo.New: the client is nil")
	}
	if !tableName.MatchString(table) {
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
		panic(&idempotent.ConfigError{Problems: c.problems})
	}
}

func (c *config) problemf(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// tableName accepts what DynamoDB does, see
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html#DDB-PutItem-request-TableName.
var tableName = regexp.MustCompile(`^([a-zA-Z0-9_.-]{3,255}|arn:[a-z0-9-]+:dynamodb:[a-z0-9-]+:[0-9]{12}:table/[a-zA-Z0-9_.-]{3,255})$`)

// isNil also finds a nil pointer in a non-nil interface, which would only fail in the first request.
func isNil(client Client) bool {
	if client == nil {
		return true
	}
	v := reflect.ValueOf(client)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
