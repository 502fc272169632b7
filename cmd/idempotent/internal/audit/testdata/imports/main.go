// Program imports uses the library and wraps nothing: a consumer that marks its errors, and has
// options that nobody takes.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/observe"
)

func main() {
	_, inside := idempotent.FromContext(context.Background())
	options := []idempotent.Option{idempotent.WithOperation("charge"), idempotent.WithHTTP(idempotent.HTTP{}),
		idempotent.WithObserver(observe.EMF(os.Stdout))}
	err := idempotent.NotExecuted(errors.New("no"))
	fmt.Println(inside, len(options), err, memory.New(), errors.Is(err, idempotent.ErrInProgress),
		&idempotent.ConfigError{Problems: []string{"none"}})
	var handler *idempotent.Handler[string, string]
	fmt.Println(handler != nil && handler.Operation() != "")
}
