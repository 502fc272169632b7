// Command sweep is a Lambda function for a schedule. It goes through a table of idempotency records, for what no request meets: executions that
// crashed and that nobody retries, and work that has stopped between two steps; and it deletes what has expired where a table has no time to
// live. A table that it cannot read in the time of one invocation takes several: each goes on where the one before has ended.
//
// Build it for the runtime provided.al2023 with
//
//	GOOS=linux go build -tags lambda.norpc -o bootstrap ./examples/sweep
//
// Its environment:
//
//	IDEMPOTENCY_TABLE          the DynamoDB table of the idempotency records, required
//	REFUSE                     the operations, with commas between them, whose handlers refuse crashed executions or have a resolver: what
//	                           lapsed of them becomes UNKNOWN
//	GRACE                      for how long a lease has ended before its record counts as lapsed, 15m by default
//	READ_RATE, WRITE_RATE      how many units per second are used, 25 and 10 by default
//	DELETE_EXPIRED             true deletes records and parts of results that have expired, for a table without time to live; false by
//	                           default
//	DELETE_MESSAGES_OF         a DynamoDB table of messages, of which those are deleted that are done and have expired; none by default
//	DRY_RUN                    true only counts
//	AWS_ENDPOINT_URL_DYNAMODB  another endpoint, for example DynamoDB Local
//
// The event means nothing. Logs and metrics go to standard output, from where CloudWatch takes them. Give it a timeout of a minute or more, and no
// more than one invocation at a time. It needs dynamodb:Scan, GetItem, PutItem and UpdateItem on the table of the records, dynamodb:DeleteItem if it
// deletes, and dynamodb:Scan and DeleteItem on that of the messages.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/examples/internal/environment"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/operate/operateobserve"
	"github.com/go-idempotent/idempotent/outbox"
)

func main() { environment.StartWithoutRecords("sweep", newHandler) }

func newHandler(_ context.Context, base environment.Base) (lambda.Handler, error) {
	table, err := environment.Table("IDEMPOTENCY_TABLE", "the idempotency records")
	if err != nil {
		return nil, err
	}
	c, deletes, err := configured(os.Getenv)
	if err != nil {
		return nil, err
	}
	client := base.DynamoDB()
	records := dynamo.New(client, table)
	if deletes {
		c.Expired = append(c.Expired, records)
	}
	if messages := os.Getenv("DELETE_MESSAGES_OF"); messages != "" {
		c.Expired = append(c.Expired, outbox.NewCleaner(client, messages))
	}
	c.Observe = operateobserve.Both(operateobserve.SweepEMF(os.Stdout), operateobserve.SweepSlog(nil))
	return lambda.NewHandler(operate.Sweep(records, c).Run), nil
}

// configured reads how to sweep, and whether what has expired is deleted.
func configured(getenv func(string) string) (c operate.SweepConfig, deletes bool, err error) {
	if c.Policies, err = refusing(getenv("REFUSE")); err != nil {
		return c, false, err
	}
	if c.Grace, err = read(getenv, "GRACE", time.ParseDuration); err != nil {
		return c, false, err
	}
	rate := func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }
	if c.Rate, err = read(getenv, "READ_RATE", rate); err != nil {
		return c, false, err
	}
	if c.WriteRate, err = read(getenv, "WRITE_RATE", rate); err != nil {
		return c, false, err
	}
	if c.DryRun, err = read(getenv, "DRY_RUN", strconv.ParseBool); err != nil {
		return c, false, err
	}
	deletes, err = read(getenv, "DELETE_EXPIRED", strconv.ParseBool)
	return c, deletes, err
}

// refusing are the policies of the operations in a list.
func refusing(list string) (map[string]idempotent.CrashPolicy, error) {
	policies := make(map[string]idempotent.CrashPolicy)
	if list == "" {
		return policies, nil
	}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			return nil, fmt.Errorf("REFUSE=%q has an empty name", list)
		}
		policies[name] = idempotent.Refuse
	}
	return policies, nil
}

// read reads a variable. One that is not set means the default.
func read[V any](getenv func(string) string, variable string, parse func(string) (V, error)) (v V, err error) {
	text := getenv(variable)
	if text == "" {
		return v, nil
	}
	if v, err = parse(text); err != nil {
		return v, fmt.Errorf("%s=%q: %w", variable, text, err)
	}
	return v, nil
}
