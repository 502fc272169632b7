package stack_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/stack"
)

const (
	file      = "../../template.yaml"
	stackName = "idempotent"
	// operation is the function's name in a stack of that name.
	operation = stackName + "-charge"
	// ordering is the name of the function that takes orders.
	ordering = stackName + "-orders"
	// attending is the name of the function that counts what is open.
	attending = stackName + "-attention"
	// relaying and draining are the names of the functions that deliver messages.
	relaying = stackName + "-relay"
	draining = stackName + "-drain"
	// shipping is the name of the function that ships orders.
	shipping = stackName + "-shipping"
)

// deployed is the stack that parameters make of the template.
func deployed(t *testing.T, parameters map[string]string) *stack.Stack {
	t.Helper()
	template, err := stack.Read(file)
	require.NoError(t, err)
	s, err := template.Stack(stackName, parameters)
	require.NoError(t, err)
	return s
}

// shipSecret is the ARN of a secret with the URL of the service that ships.
const shipSecret = "arn:aws:secretsmanager:us-east-1:123456789012:secret:ship-AbCdEf"

// mailSecret is the ARN of a secret with the URL of the mail.
const mailSecret = "arn:aws:secretsmanager:us-east-1:123456789012:secret:mail-AbCdEf"

// stripeSecret is the ARN of a secret with the signing secret of a webhook.
const stripeSecret = "arn:aws:secretsmanager:us-east-1:123456789012:secret:stripe-AbCdEf"

// variants are stacks that together have every resource of the template.
var variants = map[string]map[string]string{
	"defaults": nil,
	"tokens":   {"Authorization": "JWT", "JwtIssuer": "https://issuer.example", "JwtAudience": "client"},
	"signed": {
		"Authorization": "AWS_IAM", "PaymentsUrl": "https://payments.example", "ReservedConcurrency": "-1",
		"AlarmTopicArn": "arn:aws:sns:us-east-1:123456789012:alarms", "DeletionProtection": "false",
		"KmsKeyArn": "arn:aws:kms:us-east-1:123456789012:key/1", "Architecture": "x86_64",
	},
	"secret": {
		"Authorization": "AWS_IAM", "PaymentsSecretArn": "arn:aws:secretsmanager:us-east-1:123456789012:secret:payments-AbCdEf",
		"KmsKeyArn": "arn:aws:kms:us-east-1:123456789012:key/1",
	},
	"REST": {"ApiType": "REST", "Authorization": "AWS_IAM"},
	"reconciled": {
		"Authorization": "AWS_IAM", "PaymentsSecretArn": "arn:aws:secretsmanager:us-east-1:123456789012:secret:payments-AbCdEf",
		"Reconcile": "true", "Sweep": "true", "StripeSigningSecretArn": stripeSecret, "StripeLivemode": "true",
		"KmsKeyArn": "arn:aws:kms:us-east-1:123456789012:key/1", "AlarmTopicArn": "arn:aws:sns:us-east-1:123456789012:alarms",
	},
	"orders": {
		"Orders": "true", "Authorization": "JWT", "JwtIssuer": "https://issuer.example", "JwtAudience": "client",
		"StockUrl": "https://stock.example", "MailUrl": "https://mail.example",
		"PaymentsSecretArn": "arn:aws:secretsmanager:us-east-1:123456789012:secret:payments-AbCdEf",
		"KmsKeyArn":         "arn:aws:kms:us-east-1:123456789012:key/1", "AlarmTopicArn": "arn:aws:sns:us-east-1:123456789012:alarms",
	},
	"orders with a secret": {
		"Orders": "true", "Authorization": "AWS_IAM", "PaymentsUrl": "https://payments.example",
		"MailSecretArn": mailSecret,
		"KmsKeyArn":     "arn:aws:kms:us-east-1:123456789012:key/1",
	},
	"shipping": {
		"Orders": "true", "ShippingQueue": "standard", "Authorization": "AWS_IAM", "ShipUrl": "https://ship.example",
		"KmsKeyArn": "arn:aws:kms:us-east-1:123456789012:key/1", "AlarmTopicArn": "arn:aws:sns:us-east-1:123456789012:alarms",
	},
	"shipping in order": {
		"Orders": "true", "ShippingQueue": "fifo", "Authorization": "AWS_IAM", "ShipSecretArn": shipSecret,
		"KmsKeyArn": "arn:aws:kms:us-east-1:123456789012:key/1",
	},
}

// hasOrders reports whether a variant has the function of the orders, and what belongs to it.
func hasOrders(variant string) bool { return variants[variant]["Orders"] == "true" }

// hasShipping reports whether a variant has the queue of the orders, and what belongs to it.
func hasShipping(variant string) bool { return variants[variant]["ShippingQueue"] != "" }

// recorder notes the calls of a client, what they are about, and the partition keys in them.
type recorder struct {
	mu         sync.Mutex
	operations []string
	accesses   []access
	keys       []string
}

// access is a call and the resource of the template that it is about: the table or its index.
type access struct{ call, resource string }

// accessOf is what a call needs to be allowed.
func accessOf(call string, in any) access {
	var index *string
	switch in := in.(type) {
	case *dynamodb.QueryInput:
		index = in.IndexName
	case *dynamodb.ScanInput:
		index = in.IndexName
	}
	if index == nil {
		return access{call, onlyTable}
	}
	return access{call, onlyTable + "/index/" + *index}
}

// onlyTable is the resource of calls about the table, ordersTable and outboxTable those of the other two.
const (
	onlyTable   = "${Table.Arn}"
	ordersTable = "${OrdersTable.Arn}"
	outboxTable = "${OutboxTable.Arn}"
)

func (r *recorder) observe(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("Recorder", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			r.note(awsmiddleware.GetOperationName(ctx), in.Parameters)
			return next.HandleInitialize(ctx, in)
		}), middleware.After)
	})
}

func (r *recorder) note(operation string, in any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.operations = append(r.operations, operation)
	r.accesses = append(r.accesses, accessOf(operation, in))
	r.keys = append(r.keys, partitionKeys(in)...)
}

// accessed is what the calls since the last question needed, each once.
func (r *recorder) accessed() map[access]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[access]bool{}
	for _, a := range r.accesses {
		all[a] = true
	}
	r.accesses = nil
	return all
}

// called are the names of the calls, each once, in order.
func (r *recorder) called() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := slices.Clone(r.operations)
	slices.Sort(names)
	return slices.Compact(names)
}

// partitionKeys are those that a call is about; of a call that is not known it is one that no policy allows.
func partitionKeys(in any) (keys []string) {
	add := func(items ...map[string]types.AttributeValue) {
		for _, it := range items {
			id, ok := it["id"].(*types.AttributeValueMemberS)
			if !ok {
				id = &types.AttributeValueMemberS{Value: "(no id)"}
			}
			keys = append(keys, id.Value)
		}
	}
	switch in := in.(type) {
	case *dynamodb.PutItemInput:
		add(in.Item)
	case *dynamodb.UpdateItemInput:
		add(in.Key)
	case *dynamodb.DeleteItemInput:
		add(in.Key)
	case *dynamodb.GetItemInput:
		add(in.Key)
	case *dynamodb.BatchGetItemInput:
		for _, of := range in.RequestItems {
			add(of.Keys...)
		}
	case *dynamodb.BatchWriteItemInput:
		for _, writes := range in.RequestItems {
			for _, w := range writes {
				if w.PutRequest != nil {
					add(w.PutRequest.Item)
				} else {
					add(w.DeleteRequest.Key)
				}
			}
		}
	default:
		keys = []string{"(no key)"}
	}
	return keys
}
