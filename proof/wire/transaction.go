package wire

import (
	"encoding/json"
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

// Forget takes the token off a transaction and goes on with a fault. The server cannot know that it has seen the transaction before, as
// DynamoDB does not after ten minutes, and others never do. The server must not check signatures.
func Forget(f Fault) Fault {
	return Fault{"forget token, " + f.Name, func(t *trip) {
		var content map[string]json.RawMessage
		if json.Unmarshal(t.body, &content) == nil {
			delete(content, "ClientRequestToken")
			body, err := json.Marshal(content)
			if err != nil {
				panic(err) // it has just been JSON
			}
			t.body = body
		}
		f.run(t)
	}}
}

// Conflict answers a call about one item that a transaction is at work on it. The server never sees the request.
func Conflict() Fault {
	return answer("conflict", http.StatusBadRequest, "TransactionConflictException")
}
