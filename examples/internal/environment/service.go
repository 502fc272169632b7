package environment

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/go-idempotent/idempotent/examples/internal/downstream"
)

// secretTimeout bounds the reading of the secret. Lambda gives a function ten seconds to start.
const secretTimeout = 5 * time.Second

// Service returns a client of the service that <NAME>_URL or <NAME>_SECRET name, nil if neither is set: then the function only
// counts what it would ask for, and the log says so. Errors hold nothing of the URL.
func (b Base) Service(ctx context.Context, name string, timeout time.Duration) (*downstream.Client, error) {
	baseURL, err := b.URL(ctx, name)
	if err != nil || baseURL == nil {
		return nil, err
	}
	return downstream.New(strings.ToLower(name), baseURL.String(), timeout)
}

// URL returns the base URL of the service that <NAME>_URL or <NAME>_SECRET name, likewise.
func (b Base) URL(ctx context.Context, name string) (*url.URL, error) {
	variable, secret := name+"_URL", name+"_SECRET"
	where, text := variable, os.Getenv(variable)
	switch arn := os.Getenv(secret); {
	case text != "" && arn != "":
		return nil, fmt.Errorf("%s and %s are both set: the URL of the service is in one of them", variable, secret)
	case arn != "":
		var err error
		if text, err = b.readSecret(ctx, arn); err != nil {
			return nil, fmt.Errorf("%s: %w", secret, err)
		}
		where = "the URL in " + secret
	case text == "":
		slog.Warn("neither " + variable + " nor " + secret + " is set: what it would be asked for is only counted")
		return nil, nil //nolint:nilnil // there is none
	case holdsCredentials(text):
		return nil, fmt.Errorf("%s: it holds a user name or a password, which everybody can read who may look at the "+
			"function: put the URL into a secret of Secrets Manager, and the secret's ARN into %s", variable, secret)
	}
	u, err := downstream.BaseURL(strings.ToLower(name), text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	return u, nil
}

// Secret returns the text of the secret in Secrets Manager whose ARN a variable has. The error never holds it.
func (b Base) Secret(ctx context.Context, variable string) (string, error) {
	arn := os.Getenv(variable)
	if arn == "" {
		return "", fmt.Errorf("%s is not set: it is the ARN of a secret in Secrets Manager", variable)
	}
	text, err := b.readSecret(ctx, arn)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", variable, err)
	case text == "":
		return "", fmt.Errorf("%s: the secret is empty", variable)
	}
	return text, nil
}

// readSecret returns the text of a secret. It is read once for each process: one that has changed is seen by new processes.
func (b Base) readSecret(ctx context.Context, id string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, secretTimeout)
	defer cancel()
	out, err := secretsmanager.NewFromConfig(b.AWS).GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: aws.String(id)})
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
