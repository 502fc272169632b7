package observe_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/report"
)

// On Lambda the writer is os.Stdout. CloudWatch makes the metrics of each line.
func ExampleEMF() {
	var stdout bytes.Buffer
	handler := idempotent.Wrap(func(context.Context, string) (string, error) { return "charged", nil },
		memory.New(),
		idempotent.WithOperation("charge"),
		idempotent.WithKey(func(key string) (string, error) { return key, nil }),
		idempotent.WithObserver(observe.EMF(&stdout, observe.Config{Dimensions: map[string]string{"Stage": "prod"}})))
	if _, err := handler.Handle(context.Background(), "order-1"); err != nil {
		panic(err)
	}
	times := regexp.MustCompile(`("Timestamp"|Latency"):[0-9.]+`)
	line := times.ReplaceAll(stdout.Bytes(), []byte("$1:1")) // they differ from run to run

	var shown bytes.Buffer
	if err := json.Indent(&shown, line, "", "  "); err != nil {
		panic(err)
	}
	fmt.Print(shown.String())
	// Output:
	// {
	//   "_aws": {
	//     "Timestamp": 1,
	//     "CloudWatchMetrics": [
	//       {
	//         "Namespace": "Idempotent",
	//         "Dimensions": [
	//           [
	//             "Operation",
	//             "Stage"
	//           ]
	//         ],
	//         "Metrics": [
	//           {
	//             "Name": "Created",
	//             "Unit": "Count"
	//           },
	//           {
	//             "Name": "ClaimLatency",
	//             "Unit": "Milliseconds"
	//           },
	//           {
	//             "Name": "HandlerLatency",
	//             "Unit": "Milliseconds"
	//           },
	//           {
	//             "Name": "CompletionLatency",
	//             "Unit": "Milliseconds"
	//           },
	//           {
	//             "Name": "ResultBytes",
	//             "Unit": "Bytes"
	//           }
	//         ]
	//       }
	//     ]
	//   },
	//   "Operation": "charge",
	//   "Stage": "prod",
	//   "outcome": "executed",
	//   "recordKey": "charge#Zhcx5qba43RyeoyzsZsCL3ErsBMOj2WHm4k6oQU0SLs",
	//   "settlement": "completed",
	//   "attempt": 1,
	//   "Created": 1,
	//   "ClaimLatency": 1,
	//   "HandlerLatency": 1,
	//   "CompletionLatency": 1,
	//   "ResultBytes": 9
	// }
}

// Metrics for alarms, and something of your own beside them.
func ExampleAll() {
	var stdout bytes.Buffer
	handler := idempotent.Wrap(func(context.Context, string) (string, error) { return "charged", nil },
		memory.New(),
		idempotent.WithOperation("charge"),
		idempotent.WithKey(func(key string) (string, error) { return key, nil }),
		idempotent.WithObserver(observe.All(
			observe.EMF(&stdout),
			func(_ context.Context, e report.Delivery) { fmt.Println(e.Outcome) },
		)))
	for range 2 {
		if _, err := handler.Handle(context.Background(), "order-1"); err != nil {
			panic(err)
		}
	}
	fmt.Println(bytes.Count(stdout.Bytes(), []byte("\n")), "lines of metrics")
	// Output:
	// executed
	// replayed
	// 2 lines of metrics
}
