// Package shop is what the three functions of the orders share: their environment, the services
// that they call, the row of an order, and the relay of its message.
package shop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Start runs a function as Lambda wants it, with a client for all tables. It does not return. If a
// variable is missing or wrong, the process ends, and the log says why.
func Start(newHandler func(*dynamodb.Client) lambda.Handler) {
	slog.SetDefault(lambdacontext.NewLogger())
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		exit(err)
	}
	lambda.Start(newHandler(dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		// A claim has three seconds: a lost reply leaves time for another try. The limit also ends
		// the wait on a connection that died while the sandbox was frozen.
		o.HTTPClient = awshttp.NewBuildableClient().WithTimeout(time.Second)
	})))
}

func exit(err error) {
	slog.Error("the function cannot start", "error", err)
	os.Exit(1)
}

// Required returns the value of a variable, which names something.
func Required(variable, what string) string {
	value := os.Getenv(variable)
	if value == "" {
		exit(fmt.Errorf("%s is not set: it names %s", variable, what))
	}
	return value
}

// URL returns the base URL of the service that a variable has. It is empty if there is none: then
// the function counts what it would ask for.
func URL(variable string) string {
	text := os.Getenv(variable)
	if text == "" {
		slog.Warn(variable + " is not set: what it would be asked for is only counted")
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		exit(errors.New(variable + ": the base URL is not one of the form https://host[:port][/path]"))
	}
	return text
}
