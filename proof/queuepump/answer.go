package queuepump

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// handled reads the response of a function that reports failures, and returns the messages that are handled. On an error none is. The rules
// are those of https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html#services-sqs-batchfailurereporting:
//
//   - An empty or a null list, and an empty or a null response, are a complete success.
//   - A response that is no JSON, an identifier that is empty or null, or has another name, is a complete failure. So is one of no message,
//     here, and a response of another shape: the page does not speak of them.
//   - Else what is named is left, and all others are handled.
func handled(batch []message, response []byte) ([]message, error) {
	var r struct {
		BatchItemFailures []struct {
			ItemIdentifier string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if len(bytes.TrimSpace(response)) == 0 {
		return batch, nil
	}
	if err := json.Unmarshal(response, &r); err != nil {
		return nil, fmt.Errorf("the response of the function is none of a batch: %w", err)
	}
	failed := make(map[string]bool, len(batch))
	for _, m := range batch {
		failed[m.id] = false
	}
	for _, failure := range r.BatchItemFailures {
		if _, known := failed[failure.ItemIdentifier]; !known {
			return nil, fmt.Errorf("the function has reported the failure of %q, which is not in the batch", failure.ItemIdentifier)
		}
		failed[failure.ItemIdentifier] = true
	}
	all := make([]message, 0, len(batch))
	for _, m := range batch {
		if !failed[m.id] {
			all = append(all, m)
		}
	}
	return all, nil
}
