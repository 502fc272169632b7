package doctor

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// The checks of a stream that calls the function. See https://docs.aws.amazon.com/lambda/latest/dg/kinesis-on-failure-destination.html and
// https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html.
const (
	checkRetries     = "stream: retries"
	checkDestination = "stream: on-failure destination"
	checkBisect      = "stream: bisect on error"
)

// unlimited is the setting of the retries, and of the age of records, that sets no limit. It is the default of both.
const unlimited = -1

func (s source) stream() []Finding { return []Finding{s.retries(), s.destination(), s.bisect()} }

// retries looks whether a record that always fails holds up its shard for as long as the stream keeps it. Either limit ends that.
func (s source) retries() Finding {
	attempts, age := orUnlimited(s.mapping.MaximumRetryAttempts), orUnlimited(s.mapping.MaximumRecordAgeInSeconds)
	switch {
	case attempts != unlimited:
		return s.found(checkRetries, OK, fmt.Sprintf("%d at most", attempts))
	case age != unlimited:
		return s.found(checkRetries, OK, "until a record is "+seconds(time.Duration(age)*time.Second)+" old")
	default:
		return s.found(checkRetries, Warning,
			"neither MaximumRetryAttempts nor MaximumRecordAgeInSeconds is set: a record that always fails holds up its shard until the stream forgets it")
	}
}

func orUnlimited(n *int32) int32 {
	if n == nil {
		return unlimited
	}
	return *n
}

func (s source) destination() Finding {
	if to := s.mapping.DestinationConfig; to == nil || to.OnFailure == nil || aws.ToString(to.OnFailure.Destination) == "" {
		return s.found(checkDestination, Warning, "there is none: nothing tells which records were given up")
	}
	return s.found(checkDestination, OK, "")
}

func (s source) bisect() Finding {
	if !aws.ToBool(s.mapping.BisectBatchOnFunctionError) && aws.ToInt32(s.mapping.BatchSize) != 1 {
		return s.found(checkBisect, Warning, "off: a record that ends the process or outlasts the timeout takes the records of its batch with it")
	}
	return s.found(checkBisect, OK, "")
}
