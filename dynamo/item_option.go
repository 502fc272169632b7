package dynamo

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ItemOption adds a condition, or what a condition or an update refers to, to an [Item].
type ItemOption func(*itemMaker)

// IfAbsent is the condition that there is no item, or that it lacks this attribute. Name the partition key to write an item only once.
// The name is taken as it is: reserved words and names with dots are fine.
func IfAbsent(attribute string) ItemOption {
	return func(m *itemMaker) { m.requireAttribute("IfAbsent", "attribute_not_exists", attribute) }
}

// IfPresent is the condition that there is an item and that it has this attribute.
func IfPresent(attribute string) ItemOption {
	return func(m *itemMaker) { m.requireAttribute("IfPresent", "attribute_exists", attribute) }
}

// If is a condition expression, such as "stock >= :n". Several conditions of one item must all hold.
//
// See https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html.
func If(condition string) ItemOption {
	return func(m *itemMaker) {
		if strings.TrimSpace(condition) == "" {
			m.problemf("If: the condition is empty")
			return
		}
		m.conditions = append(m.conditions, itemCondition{expression: condition})
	}
}

// Values are what the expressions of the item refer to by names such as ":n", each as attributevalue.Marshal takes it.
func Values(values map[string]any) ItemOption {
	return func(m *itemMaker) {
		for name, v := range values {
			if !isReference(name, ':') {
				m.problemf("Values: %q is no name of a value, such as %q", name, ":n")
				continue
			}
			value := m.value("Values: "+name, v)
			if before, is := m.values[name]; is && !reflect.DeepEqual(before, value) {
				m.problemf("Values: %s has two values", name)
			}
			m.values[name] = value
		}
	}
}

// Names are the attributes that the expressions of the item refer to by names such as "#s".
func Names(names map[string]string) ItemOption {
	return func(m *itemMaker) {
		for name, attribute := range names {
			switch before, is := m.names[name]; {
			case !isReference(name, '#'):
				m.problemf("Names: %q is no name that stands for an attribute, such as %q", name, "#s")
			case attribute == "":
				m.problemf("Names: %s stands for an attribute without a name", name)
			case is && before != attribute:
				m.problemf("Names: %s stands for two attributes, %q and %q", name, before, attribute)
			default:
				m.names[name] = attribute
			}
		}
	}
}

// KeyedBy names the attributes of the key of the table: the partition key, and the sort key where it has one. Only a [Put] has a use for
// them, which writes a whole item: with them a [Commit] finds two writes of one item before it sends anything. Without them DynamoDB does.
func KeyedBy(attributes ...string) ItemOption {
	return func(m *itemMaker) {
		if len(attributes) == 0 || len(attributes) > 2 || slices.Contains(attributes, "") {
			m.problemf("KeyedBy: %q are no names of a partition key, or of it and a sort key", attributes)
			return
		}
		m.key = slices.Clone(attributes)
	}
}

// ReturnOld asks for the item as it is, if a condition on it does not hold, see [RefusedItem].
func ReturnOld() ItemOption {
	return func(m *itemMaker) { m.returns = types.ReturnValuesOnConditionCheckFailureAllOld }
}

// itemMaker is what options have said of an item.
type itemMaker struct {
	conditions []itemCondition
	names      map[string]string
	values     item
	returns    types.ReturnValuesOnConditionCheckFailure
	key        []string
	problems   sentences
}

// itemCondition is an expression, or a function of an attribute.
type itemCondition struct{ expression, function, attribute string }

func newItemMaker(opts []ItemOption) *itemMaker {
	m := &itemMaker{names: make(map[string]string), values: make(item)}
	for i, opt := range opts {
		if opt == nil {
			m.problemf("option %d is nil", i+1)
			continue
		}
		opt(m)
	}
	return m
}

func (m *itemMaker) problemf(format string, args ...any) {
	m.problems = append(m.problems, fmt.Sprintf(format, args...))
}

func (m *itemMaker) requireAttribute(option, function, attribute string) {
	if attribute == "" {
		m.problemf("%s: the name of the attribute is empty", option)
		return
	}
	m.conditions = append(m.conditions, itemCondition{function: function, attribute: attribute})
}

// isReference reports whether a name begins as those do by which expressions refer to something.
func isReference(name string, first byte) bool { return len(name) > 1 && name[0] == first }

// expressions returns the condition of an item, and what it and the update refer to; each nil if there is none.
func (m *itemMaker) expressions(update string) (condition *string, names map[string]string, values item) {
	texts := make([]string, len(m.conditions))
	for i, c := range m.conditions {
		switch {
		case c.expression == "":
			texts[i] = c.function + "(" + m.refer(c.attribute, update) + ")"
		case len(m.conditions) > 1:
			texts[i] = inParentheses(c.expression)
		default:
			texts[i] = c.expression
		}
	}
	if len(texts) > 0 {
		condition = aws.String(strings.Join(texts, " AND "))
	}
	if update == "" && len(texts) == 0 && len(m.names)+len(m.values) > 0 {
		m.problemf("there are Values or Names, but no expression that refers to them")
	}
	if len(m.names) > 0 {
		names = m.names
	}
	if len(m.values) > 0 {
		values = m.values
	}
	return condition, names, values
}

// refer returns a name for an attribute that means nothing else in the expressions of the item.
func (m *itemMaker) refer(attribute, update string) string {
	for n := 1; ; n++ {
		ref := "#attribute" + strconv.Itoa(n)
		stands, taken := m.names[ref]
		if taken && stands == attribute {
			return ref
		}
		if !taken && !m.mentions(ref, update) {
			m.names[ref] = attribute
			return ref
		}
	}
}

// mentions reports whether an expression of the user may have this name in it.
func (m *itemMaker) mentions(ref, update string) bool {
	return strings.Contains(update, ref) ||
		slices.ContainsFunc(m.conditions, func(c itemCondition) bool { return strings.Contains(c.expression, ref) })
}

// inParentheses puts an expression into parentheses, unless it is in some already: DynamoDB rejects two pairs around the same.
func inParentheses(expression string) string {
	expression = strings.TrimSpace(expression)
	depth := 0
	for i, c := range expression {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			if i > 0 && i == len(expression)-1 {
				return expression
			}
			break
		}
	}
	return "(" + expression + ")"
}
