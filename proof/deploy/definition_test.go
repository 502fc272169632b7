// Package deploy tests that what deploys the library agrees with the library: the templates of SAM,
// the module of Terraform, and the snippets of docs/deploy.md have the table of
// dynamo.TableDefinition and the actions of dynamo.Actions, and functions may do what their code
// calls.
package deploy_test

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/outbox"
)

// definition is a table with one index, in the words that every tool has for it.
type definition struct {
	BillingMode, Key, TimeToLive, Stream string
	// Attributes are the types of what is a key of the table or of its index, in the order of the
	// definition.
	Attributes []attribute
	Index      index
}

type attribute struct{ Name, Type string }

type index struct {
	Name, Hash, Range, Projection string
	Includes                      []string
}

// records is the table of the records, and messages that of an outbox, as the library defines them.
func records() definition {
	return of(dynamo.TableDefinition("idempotency"), dynamo.TimeToLiveDefinition("idempotency"))
}

func messages() definition {
	return of(outbox.TableDefinition("outbox"), outbox.TimeToLiveDefinition("outbox"))
}

func of(in *dynamodb.CreateTableInput, ttl *dynamodb.UpdateTimeToLiveInput) definition {
	i := in.GlobalSecondaryIndexes[0]
	d := definition{
		BillingMode: string(in.BillingMode), TimeToLive: *ttl.TimeToLiveSpecification.AttributeName,
		Key: keys(in.KeySchema)[0],
		Index: index{
			Name: *i.IndexName, Hash: keys(i.KeySchema)[0], Range: keys(i.KeySchema)[1],
			Projection: string(i.Projection.ProjectionType), Includes: i.Projection.NonKeyAttributes,
		},
	}
	for _, a := range in.AttributeDefinitions {
		d.Attributes = append(d.Attributes, attribute{*a.AttributeName, string(a.AttributeType)})
	}
	if in.StreamSpecification != nil {
		d.Stream = string(in.StreamSpecification.StreamViewType)
	}
	return d
}

// keys are the names of the partition key and of the sort key, which is empty if there is none.
func keys(schema []types.KeySchemaElement) (names [2]string) {
	for _, k := range schema {
		if k.KeyType == types.KeyTypeHash {
			names[0] = *k.AttributeName
		} else {
			names[1] = *k.AttributeName
		}
	}
	return names
}
