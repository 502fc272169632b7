package wire

import (
	"fmt"
	"net/http"
	"strings"
)

// Cancel answers that a transaction is cancelled: one code for each of its items, such as "TransactionConflict" or "None". The server
// never sees the request. See
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html#API_TransactWriteItems_Errors.
func Cancel(codes ...string) Fault {
	reasons := make([]map[string]string, len(codes))
	for i, code := range codes {
		reasons[i] = map[string]string{"Code": code}
		if code != "None" {
			reasons[i]["Message"] = injected
		}
	}
	list := strings.Join(codes, ", ")
	return Fault{"cancel " + list, func(t *trip) {
		t.answer(errorReplyOf(http.StatusBadRequest, map[string]any{
			"__type":              errorPrefix + "TransactionCanceledException",
			"Message":             fmt.Sprintf("Transaction cancelled, please refer cancellation reasons for specific reasons [%s]", list),
			"CancellationReasons": reasons,
		}))
	}}
}

// Conflict answers a call about one item that a transaction is at work on it. The server never sees the request.
func Conflict() Fault {
	return answer("conflict", http.StatusBadRequest, "TransactionConflictException")
}
