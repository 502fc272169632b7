package cli

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/page"
)

// keyFields are the flags of the command key that find a record, as the fields of a form.
func keyFields() []page.Field {
	const handler, whole, known, selected = "The handler", "The request: its event", "Or what is known of it", "Or what its function of WithKey returns"
	return []page.Field{
		{Group: handler, Name: flagOperation, Label: "Operation", Hint: "The name that WithOperation gives; of an HTTP handler without it the name of the function."},
		{Group: handler, Name: "header", Label: "Header of the key", Hint: "If it is another one than Idempotency-Key."},
		{Group: handler, Name: "powertools", Label: "Shared with AWS Powertools for", Choices: []string{"", "python", "typescript", "java", "java17", "java21"}},
		{Group: handler, Name: "powertools-prefix", Label: "Prefix of their keys"},
		{Group: handler, Name: "key-path", Label: "Expression of WithKeyPath"},
		{Group: handler, Name: "exact-names", Label: "It has WithExactNames", Check: true},
		{Group: handler, Name: "partial-key", Label: "It has WithPartialKey", Check: true},
		{Group: whole, Name: "event", Label: "Event, as JSON", Long: true, Hint: "As the function got it. Of a batch one of its records."},
		{Group: whole, Name: "kind", Label: "Kind of event", Choices: append([]string{""}, kinds()...), Hint: "It is detected if you do not say it."},
		{Group: known, Name: "key", Label: "Key", Hint: "What the client sent in the header."},
		{Group: known, Name: "method", Label: "Method", Hint: "Such as POST."},
		{Group: known, Name: "route", Label: "Route", Hint: "The template that the gateway matched, such as /charges/{id}. Leave it out for $default, a greedy route, a function URL or a load balancer: then the path counts."},
		{Group: known, Name: "path", Label: "Path", Hint: "As the function sees it."},
		{Group: known, Name: "api", Label: "API", Hint: "The id of the API or of the function URL; of a load balancer the ARN of the target group."},
		{Group: known, Name: "stage", Label: "Stage", Hint: "Of an HTTP API without another one, and of a function URL, $default."},
		{Group: known, Name: "caller", Label: "Caller", Hint: "jwt:ISSUER,SUBJECT, lambda:PRINCIPAL, cognito-identity:ID, api-key:ID, iam:ACCOUNT,USER_ID,USER_ARN or tenant:NAME. Without it the anonymous scope."},
		{Group: known, Name: "tenant-id", Label: "Tenant id of the invocation", Hint: "In a function with tenant isolation."},
		{Group: selected, Name: "selected-key", Label: "Selected key"},
	}
}

// recordKey answers the form. No field of it names a file.
func (s *serving) recordKey(ctx context.Context, form url.Values) (idempotent.Description, error) {
	get := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	k := &keyQuestion{
		app: s.app, kind: get("kind"), caller: get("caller"), tenantID: get("tenant-id"), operation: get(flagOperation), header: get("header"),
		selectedKey: form.Get("selected-key"), keyPath: get("key-path"), exactNames: form.Has("exact-names"), partialKey: form.Has("partial-key"),
		powertools: get("powertools"), powertoolsPrefix: get("powertools-prefix"), digestKeyFile: s.digestKeyFile,
		request: knownRequest{
			key: form.Get("key"), method: get("method"), route: get("route"), path: get("path"), api: get("api"), stage: get("stage"),
		},
	}
	event := get("event")
	if event != "" {
		k.event = "event"
	}
	k.read = func(flag, _ string) ([]byte, error) {
		if flag != "--event" {
			return nil, errors.New("the page reads no files")
		}
		return []byte(event), nil
	}
	return k.describe(ctx)
}
