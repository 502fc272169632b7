package dynamo

// Actions returns the IAM actions that a function needs on the table of its records, in order, and
// no others. Allow them for keys of its operation only: the condition key dynamodb:LeadingKeys is
// like "<operation>#*".
//
// BatchGetItem and BatchWriteItem serve results larger than the inline limit. A handler that
// commits needs the actions of what it writes, too, each on its own table, see [Commit].
func Actions() []string {
	return []string{
		"dynamodb:BatchGetItem",
		"dynamodb:BatchWriteItem",
		"dynamodb:DeleteItem",
		"dynamodb:GetItem",
		"dynamodb:PutItem",
		"dynamodb:UpdateItem",
	}
}
