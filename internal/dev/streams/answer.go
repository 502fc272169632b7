package streams

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// partialError is that of a batch of which the function has named what failed.
type partialError struct{ sequenceNumber string }

func (e *partialError) Error() string {
	return "the function has reported a failure at " + e.sequenceNumber
}

func isPartial(err error) bool {
	_, is := errors.AsType[*partialError](err)
	return is
}

// checkpoint reads the response of a function that reports failures. It returns how many of the records are handled, and an error unless all
// are. The rules are those of https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html:
//
//   - An empty or a null list, and an empty or a null response, are a complete success.
//   - An identifier that is empty, null or has another name is a complete failure. So is one of no record, here, and a response of another
//     shape: the page does not speak of them.
//   - Of several identifiers the one with the lowest sequence number is the checkpoint: what is before it is handled.
func checkpoint(records []Record, response []byte) (handled int, err error) {
	var r struct {
		BatchItemFailures []struct {
			ItemIdentifier string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if len(bytes.TrimSpace(response)) == 0 {
		return len(records), nil
	}
	if err := json.Unmarshal(response, &r); err != nil {
		return 0, fmt.Errorf("the response of the function is none of a batch: %w", err)
	}
	positions := make(map[string]int, len(records))
	for i, record := range records {
		positions[record.SequenceNumber] = i
	}
	lowest := len(records)
	for _, failure := range r.BatchItemFailures {
		i, known := positions[failure.ItemIdentifier]
		if !known {
			return 0, fmt.Errorf("the function has reported the failure of %q, which is not in the batch", failure.ItemIdentifier)
		}
		lowest = min(lowest, i)
	}
	if lowest == len(records) {
		return lowest, nil
	}
	return lowest, &partialError{records[lowest].SequenceNumber}
}
