package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
)

// secretTimeout bounds the reading of the secret. Lambda gives a function ten seconds to start.
const secretTimeout = 5 * time.Second

// newProvider returns the provider whose base URL is the text or in the secret, and one that only counts if there is neither.
// Its errors hold nothing of the URL.
func newProvider(ctx context.Context, cfg aws.Config, baseURL, secret string) (payments.Provider, error) {
	switch {
	case baseURL != "" && secret != "":
		return nil, errors.New("PAYMENTS_URL and PAYMENTS_SECRET are both set: the URL of the provider is in one of them")
	case secret != "":
		baseURL, err := readSecret(ctx, cfg, secret)
		if err != nil {
			return nil, fmt.Errorf("PAYMENTS_SECRET: %w", err)
		}
		return newPaymentsClient("the URL in PAYMENTS_SECRET", baseURL)
	case baseURL == "":
		slog.Warn("neither PAYMENTS_URL nor PAYMENTS_SECRET is set: charges are only counted")
		return payments.NewLedger(), nil
	case holdsCredentials(baseURL):
		return nil, errors.New("PAYMENTS_URL: it holds a user name or a password, which everybody can read who may look at the " +
			"function: put the URL into a secret of Secrets Manager, and the secret's ARN into PAYMENTS_SECRET")
	default:
		return newPaymentsClient("PAYMENTS_URL", baseURL)
	}
}

func newPaymentsClient(where, baseURL string) (payments.Provider, error) {
	client, err := payments.NewClient(baseURL)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	return client, nil
}

// readSecret returns the text of a secret. It is read once for each process: one that has changed is seen by new processes.
func readSecret(ctx context.Context, cfg aws.Config, id string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, secretTimeout)
	defer cancel()
	out, err := secretsmanager.NewFromConfig(cfg).GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: aws.String(id)})
	if err != nil {
		return "", err
	}
	// Files and consoles add a line feed.
	return strings.TrimSpace(aws.ToString(out.SecretString)), nil
}

func holdsCredentials(baseURL string) bool {
	u, err := url.Parse(baseURL)
	return err == nil && u.User != nil
}
