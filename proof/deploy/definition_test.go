// Package deploy tests that what deploys the library agrees with the library: the templates of SAM,
// the module of Terraform, and the snippets of docs/deploy.md have the table of
// dynamo.TableDefinition and the actions of dynamo.Actions, and functions may do what their code
// calls.
package deploy_test

import (
	"encoding/json"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/outbox"
)

// definition is a table with one index, in the words of DynamoDB, which are those of
// CloudFormation: BillingMode, AttributeDefinitions, KeySchema, GlobalSecondaryIndexes,
// TimeToLiveSpecification and, of one that has it, StreamSpecification.
type definition = map[string]any

// records is the table of the records, and messages that of an outbox, as the library defines them.
func records() definition {
	return of(dynamo.TableDefinition("idempotency"), dynamo.TimeToLiveDefinition("idempotency"))
}

func messages() definition {
	return of(outbox.TableDefinition("outbox"), outbox.TimeToLiveDefinition("outbox"))
}

func of(in *dynamodb.CreateTableInput, ttl *dynamodb.UpdateTimeToLiveInput) (d definition) {
	for _, part := range []any{in, ttl} {
		text, err := json.Marshal(part)
		if err == nil {
			err = json.Unmarshal(text, &d)
		}
		if err != nil {
			panic(err) // inputs have a JSON form
		}
	}
	delete(d, "TableName")
	if stream, is := d["StreamSpecification"].(map[string]any); is {
		delete(stream, "StreamEnabled") // who names its view has one
	}
	return set(d).(definition)
}

// set is a value without members that are null, or empty texts.
func set(value any) any {
	switch value := value.(type) {
	case map[string]any:
		maps.DeleteFunc(value, func(_ string, v any) bool { return v == "" || set(v) == nil })
	case []any:
		for _, element := range value {
			set(element)
		}
	}
	return value
}
