package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// eventText is a POST of 3 KB as an HTTP API sends it: 21 headers, the claims of a JWT, a JSON body
// of 500 bytes.
//
//go:embed testdata/event.json
var eventText []byte

// keyDigits stand for the key in eventText.
const keyDigits = "0000000000000000"

// event is the payload of a delivery. It belongs to one goroutine.
type event struct {
	payload []byte
	digits  []byte // those of the key in payload
}

func newEvent() *event {
	var compact bytes.Buffer
	if err := json.Compact(&compact, eventText); err != nil {
		panic(fmt.Sprintf("testdata/event.json: %v", err))
	}
	at := bytes.Index(compact.Bytes(), []byte(keyDigits))
	if at < 0 || bytes.Count(compact.Bytes(), []byte(keyDigits)) != 1 {
		panic("testdata/event.json: the digits of the key are not there exactly once")
	}
	return &event{payload: compact.Bytes(), digits: compact.Bytes()[at : at+len(keyDigits)]}
}

// withKey returns the payload with this key. The next call overwrites it.
func (e *event) withKey(key uint64) []byte {
	for i := len(e.digits) - 1; i >= 0; i-- {
		e.digits[i] = byte('0' + key%10)
		key /= 10
	}
	return e.payload
}

var lastKey atomic.Uint64

// freshKey returns a key that nobody has used. Tables are not older than this process.
func freshKey() uint64 { return lastKey.Add(1) }

// timeout is that of the Lambda function.
const timeout = 15 * time.Second

// invocation returns a context like that of an invocation in Lambda.
func invocation() (context.Context, context.CancelFunc) {
	ctx := lambdacontext.NewContext(context.Background(), &lambdacontext.LambdaContext{
		AwsRequestID:       "8f5d0c1e-8c8d-4f0e-9d6c-0a2b3c4d5e6f",
		InvokedFunctionArn: "arn:aws:lambda:eu-north-1:123456789012:function:charges",
	})
	return context.WithTimeout(ctx, timeout)
}
