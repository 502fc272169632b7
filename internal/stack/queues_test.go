package stack_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/stack"
)

// problemsOfQueues are the settings of the queues that call functions by which messages are lost, or come again while they are handled. The numbers
// are those of https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html.
func problemsOfQueues(s *stack.Stack) (problems []string) {
	for _, id := range slices.Sorted(maps.Keys(s.Of("AWS::Serverless::Function"))) {
		function := s.Resources[id]
		sources, _ := function.At("Events").(map[string]any)
		for _, source := range slices.Sorted(maps.Keys(sources)) {
			if function.At("Events", source, "Type") == "SQS" {
				mapping, _ := function.At("Events", source, "Properties").(map[string]any)
				for _, p := range problemsOfQueue(s, function, stack.Resource{Properties: mapping}) {
					problems = append(problems, id+": "+p)
				}
			}
		}
	}
	return problems
}

func problemsOfQueue(s *stack.Stack, function, mapping stack.Resource) (problems []string) {
	add := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if !slices.Contains(list(mapping.At("FunctionResponseTypes")), any("ReportBatchItemFailures")) {
		add("it does not have ReportBatchItemFailures")
	}
	if number(mapping.At("ScalingConfig", "MaximumConcurrency")) < 2 || function.At("ReservedConcurrentExecutions") != nil {
		add("not its mapping bounds how often it runs at once")
	}
	queue, there := resourceOf(s, mapping.At("Queue"))
	if !there {
		return append(problems, "its queue is not in the stack")
	}
	window := number(mapping.At("MaximumBatchingWindowInSeconds"))
	if need := 6*number(function.At("Timeout")) + window; number(queue.At("VisibilityTimeout")) < need {
		add("messages are invisible for %v s, which has to be %d s", queue.At("VisibilityTimeout"), need)
	}
	inOrder := queue.At("FifoQueue") == true
	if inOrder && window > 0 {
		add("a FIFO queue has no batching window")
	}
	if isFIFOName(queue) != inOrder {
		add("a FIFO queue has a name that ends in .fifo, and no other queue does")
	}
	failed, there := resourceOf(s, queue.At("RedrivePolicy", "deadLetterTargetArn"))
	if !there {
		return append(problems, "its queue has no dead-letter queue in the stack")
	}
	if number(queue.At("RedrivePolicy", "maxReceiveCount")) < 5 {
		add("maxReceiveCount is below 5")
	}
	if (failed.At("FifoQueue") == true) != inOrder || isFIFOName(failed) != inOrder {
		add("the dead-letter queue is of another kind")
	}
	if number(failed.At("MessageRetentionPeriod")) <= number(queue.At("MessageRetentionPeriod")) {
		add("the dead-letter queue forgets a message before the queue does")
	}
	arn := strings.TrimSuffix(fmt.Sprint(failed.At("RedriveAllowPolicy", "sourceQueueArns", 0)), fmt.Sprint(queue.At("QueueName")))
	if failed.At("RedriveAllowPolicy", "redrivePermission") != "byQueue" || arn != "arn:aws:sqs:us-east-1:123456789012:" {
		add("the dead-letter queue is not for this queue alone")
	}
	return problems
}

// resourceOf is the resource of an ARN.
func resourceOf(s *stack.Stack, arn any) (stack.Resource, bool) {
	text, _ := arn.(string)
	r, there := s.Resources[strings.TrimSuffix(strings.TrimPrefix(text, "${"), ".Arn}")]
	return r, there && r.Type == "AWS::SQS::Queue"
}

func isFIFOName(queue stack.Resource) bool {
	return strings.HasSuffix(fmt.Sprint(queue.At("QueueName")), ".fifo")
}

func list(value any) []any {
	all, _ := value.([]any)
	return all
}

func number(value any) int {
	n, _ := value.(int)
	return n
}

func TestNoQueueLosesMessages(t *testing.T) {
	t.Parallel()
	for name, parameters := range variants {
		require.Empty(t, problemsOfQueues(deployed(t, parameters)), name)
	}
}

// TestAMistakeWithAQueueIsFound plants each mistake that the rules are about.
func TestAMistakeWithAQueueIsFound(t *testing.T) {
	t.Parallel()
	mapping := func(s *stack.Stack) map[string]any {
		return s.Resources["ShippingFunction"].At("Events", "Placed", "Properties").(map[string]any)
	}
	queue := func(s *stack.Stack) map[string]any { return s.Resources["ShippingMessages"].Properties }
	failed := func(s *stack.Stack) map[string]any { return s.Resources["ShippingFailures"].Properties }
	for says, plant := range map[string]func(*stack.Stack){
		"it does not have ReportBatchItemFailures": func(s *stack.Stack) { delete(mapping(s), "FunctionResponseTypes") },
		"not its mapping bounds":                   func(s *stack.Stack) { delete(mapping(s), "ScalingConfig") },
		"not its mapping bounds how often": func(s *stack.Stack) {
			s.Resources["ShippingFunction"].Properties["ReservedConcurrentExecutions"] = 5
		},
		"its queue is not in the stack":                                  func(s *stack.Stack) { mapping(s)["Queue"] = "arn:aws:sqs:us-east-1:123456789012:other" },
		"messages are invisible for 179 s, which has to be 180 s":        func(s *stack.Stack) { queue(s)["VisibilityTimeout"] = 179 },
		"messages are invisible for <nil> s":                             func(s *stack.Stack) { delete(queue(s), "VisibilityTimeout") },
		"messages are invisible for 180 s, which has to be 186 s":        func(s *stack.Stack) { s.Resources["ShippingFunction"].Properties["Timeout"] = 31 },
		"a FIFO queue has no batching window":                            func(s *stack.Stack) { mapping(s)["MaximumBatchingWindowInSeconds"] = 5 },
		"a FIFO queue has a name that ends in .fifo":                     func(s *stack.Stack) { queue(s)["QueueName"] = shipping },
		"a FIFO queue has a name that ends in .fifo, and no other queue": func(s *stack.Stack) { delete(queue(s), "FifoQueue") },
		"its queue has no dead-letter queue":                             func(s *stack.Stack) { delete(queue(s), "RedrivePolicy") },
		"maxReceiveCount is below 5":                                     func(s *stack.Stack) { queue(s)["RedrivePolicy"].(map[string]any)["maxReceiveCount"] = 4 },
		"the dead-letter queue is of another kind":                       func(s *stack.Stack) { delete(failed(s), "FifoQueue") },
		"the dead-letter queue is of another":                            func(s *stack.Stack) { failed(s)["QueueName"] = shipping + "-failures" },
		"the dead-letter queue forgets a message":                        func(s *stack.Stack) { failed(s)["MessageRetentionPeriod"] = 345600 },
		"the dead-letter queue is not for this queue alone":              func(s *stack.Stack) { delete(failed(s), "RedriveAllowPolicy") },
	} {
		s := deployed(t, variants["shipping in order"])
		plant(s)
		require.Contains(t, strings.Join(problemsOfQueues(s), "; "), "ShippingFunction: "+says)
	}
}
