package outboxsqs

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/go-idempotent/idempotent/outbox"
)

// The names of the attributes that are not those of a message.
const (
	attributeKey    = "Idempotency-Key"
	attributeTopic  = "topic"
	attributeTenant = "tenant"
)

// The limits of SQS:
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html
const (
	maxAttributes = 10
	maxName       = 256
	maxGroup      = 128
)

// attributesOf returns the message attributes of a message. An error says which SQS does not take,
// and never its value.
func attributesOf(m outbox.Message) (map[string]types.MessageAttributeValue, error) {
	all := make(map[string]types.MessageAttributeValue, len(m.Attributes)+3)
	for _, own := range [...]struct{ name, value string }{
		{attributeKey, m.ID},
		{attributeTopic, m.Topic},
		{attributeTenant, m.Tenant},
	} {
		if own.name == attributeTenant && own.value == "" {
			continue
		}
		if problem := unusable(own.value); problem != "" {
			return nil, fmt.Errorf("the attribute %s of the message %s", own.name, problem)
		}
		all[own.name] = textOf(own.value)
	}
	if own, sum := len(all), len(all)+len(m.Attributes); sum > maxAttributes {
		return nil, fmt.Errorf("the message has %d attributes, and with the %d that every message has that is %d, "+
			"more than the %d that SQS takes",
			len(m.Attributes), own, sum, maxAttributes)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Attributes)) {
		value := m.Attributes[name]
		problem := unusable(value)
		if problem != "" {
			problem = "has a value that " + problem
		}
		switch {
		case !isName(name):
			problem = "has a name that SQS does not take"
		case slices.Contains([]string{attributeKey, attributeTopic, attributeTenant}, name):
			problem = "has the name of one that every message has"
		}
		if problem != "" {
			return nil, fmt.Errorf("the attribute %q of the message %s", name, problem)
		}
		all[name] = textOf(value)
	}
	return all, nil
}

func textOf(s string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(s)}
}

var attributeName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// isName reports whether SQS takes the name of an attribute.
func isName(s string) bool {
	lower := strings.ToLower(s)
	return attributeName.MatchString(s) && len(s) <= maxName && !strings.HasPrefix(lower, "aws.") &&
		!strings.HasPrefix(lower, "amazon.")
}

// unusable says why SQS does not take the value of an attribute, empty if it does.
func unusable(value string) string {
	switch {
	case value == "":
		return "is empty"
	case strings.ContainsFunc(value, refused):
		return "has a character that SQS does not take"
	default:
		return ""
	}
}

// refused reports whether a text of SQS cannot have a character. It has those of XML 1.0.
func refused(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\uFFFE' || r == '\uFFFF'
}

// escape spells the two characters that JSON takes and SQS does not in a way that both take. In
// JSON they only occur within strings.
var escape = strings.NewReplacer("\uFFFE", `\ufffe`, "\uFFFF", `\uffff`)

func bodyOf(m outbox.Message) string { return escape.Replace(string(m.Body)) }

// isGroup reports whether SQS takes a message group.
func isGroup(s string) bool {
	return len(s) <= maxGroup && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

var traceHeader = regexp.MustCompile(
	`^([A-Za-z]+=[!-:<-~]*;)*Root=1-[0-9a-f]{8}-[0-9a-f]{24}(;[A-Za-z]+=[!-:<-~]*)*;?$`)

// isTrace reports whether a text is a trace header as X-Ray writes it. SQS refuses a message with
// another one, and a message does not fail because of its trace.
func isTrace(s string) bool { return traceHeader.MatchString(s) }
