// Command delivery runs one new delivery of an HTTP API on a store in memory, and writes which code
// it ran into the directory that it is given. It is built with the flag -cover.
package main

import (
	"context"
	"log"
	"os"
	"runtime/coverage"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

const event = `{"version":"2.0","routeKey":"POST /charges","rawPath":"/charges","rawQueryString":"",
"headers":{"content-type":"application/json","idempotency-key":"order-1"},
"requestContext":{"apiId":"api","stage":"$default","routeKey":"POST /charges",
"http":{"method":"POST","path":"/charges","protocol":"HTTP/1.1"}},
"body":"{\"amount\":1999,\"currency\":\"usd\"}","isBase64Encoded":false}`

func main() {
	handler := idempotent.Wrap(charge, memory.New())
	if err := coverage.ClearCounters(); err != nil { // what Wrap ran is no part of a delivery
		log.Fatal(err)
	}
	if _, err := handler.Invoke(context.Background(), []byte(event)); err != nil {
		log.Fatal(err)
	}
	for _, write := range []func(string) error{coverage.WriteMetaDir, coverage.WriteCountersDir} {
		if err := write(os.Args[1]); err != nil {
			log.Fatal(err)
		}
	}
}

func charge(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	return events.APIGatewayV2HTTPResponse{StatusCode: 201, Body: `{"id":"charge-1"}`}, nil
}
