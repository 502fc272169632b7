package dynamo

import "strings"

// multipleOperations is how DynamoDB says that two writes of a transaction are about one item.
const multipleOperations = "Transaction request cannot include multiple operations on one item"

// harmless reports whether a rejection is one of those that quote nothing but names and types: of
// attributes, and what an expression says, which refers to values by names of their own. Others
// quote the values that they are about, such as the bounds of a BETWEEN, a number that is none, and
// the members of a set that are equal.
func harmless(message string) bool {
	return aboutTheKey(message) || aboutAnExpression(message) || begins(message,
		multipleOperations,
		"The provided expression refers to an attribute that does not exist in the item",
		"An operand in the update expression has an incorrect data type",
		"The document path provided in the update expression is invalid for update",
		"One or more parameter values were invalid: Cannot update attribute ",
		"One or more parameter values were invalid: Type mismatch for Index Key ",
		"One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty ",
		"One or more parameter values are not valid. A value specified for a secondary index key is not supported. "+
			"The AttributeValue ",
		"Value provided in ExpressionAttributeNames unused in expressions: ",
		"Value provided in ExpressionAttributeValues unused in expressions: ",
		"ExpressionAttributeNames must not be empty",
		"ExpressionAttributeValues must not be empty",
		"ExpressionAttributeNames contains invalid key: ",
		"ExpressionAttributeValues contains invalid key: ",
	)
}

// aboutAnExpression reports whether a rejection is about the text of an expression.
func aboutAnExpression(message string) bool {
	for _, expression := range []string{"Invalid ConditionExpression: ", "Invalid UpdateExpression: "} {
		if begins(message, expression) {
			_, problem, _ := strings.Cut(message, expression)
			return begins(problem,
				"Syntax error; token: ",
				"Attribute name is a reserved keyword; ",
				"An expression attribute name used in the document path is not defined; ",
				"An expression attribute value used in expression is not defined; ",
				"Incorrect operand type for operator or function; ",
				"Incorrect number of operands for operator or function; ",
				"Operator or function requires a document path; ",
				"Invalid function name; ",
				"The function is not allowed ",
				"The document path ",
				"Two document paths ",
				"The expression has redundant parentheses",
				"The expression can not be empty",
				"The expression contains too many operators",
				`The "SET" section `, `The "REMOVE" section `, `The "ADD" section `, `The "DELETE" section `,
			)
		}
	}
	return false
}
