package outboxhttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/outbox/outboxhttp"
)

// A relay calls the function that To returns. The receiver knows a message again by its key.
func ExampleTo() {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Println(r.Method, r.URL.Path, r.Header.Get("Outbox-Topic"), r.Header.Get("Idempotency-Key"), string(body))
		w.WriteHeader(http.StatusAccepted)
	}))
	defer receiver.Close()

	deliver := outboxhttp.To(receiver.URL+"/v1/messages",
		outboxhttp.Config{Headers: map[string]string{"Authorization": "Bearer t"}})
	err := deliver(context.Background(), outbox.Message{
		ID: "7d2cf2a8-64b7-5d3f-9d0c-2f6f2a3c8f10", Topic: "order-placed", Body: json.RawMessage(`{"order_id":"o-1"}`),
	})
	fmt.Println(err)
	// Output:
	// POST /v1/messages order-placed 7d2cf2a8-64b7-5d3f-9d0c-2f6f2a3c8f10 {"order_id":"o-1"}
	// <nil>
}
