package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
)

func (a *app) key() *cobra.Command {
	k := &keyQuestion{app: a, read: a.file}
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Computes the record key of a request: from a complaint to a record",
		Long: `Computes the record key of a request, as the handler does, without asking anybody: no table, no network.

Either from the event, as the function got it:

  idempotent key --operation charge --event event.json

The kind of event is detected: HTTP API and function URL (format 2.0), REST API (format 1.0), load balancer; one record of SQS, SNS,
Kinesis or a DynamoDB stream, and EventBridge, of a handler that takes the type of package events; any other value. All but the first
four need --key-path or --selected-key.

Or from what is known of an HTTP request:

  idempotent key --operation charge --key order-1 --method POST --route /charges --api a1b2c3 --stage '$default' \
    --caller jwt:https://issuer.example,user-17

  --api      the id of the API or of the function URL; of a load balancer the ARN of the target group
  --stage    the stage; of an HTTP API without another one, and of a function URL, $default; of a load balancer there is none
  --route    the template that the gateway matched, such as /charges/{id}; leave it out for $default, a greedy route, a function
             URL or a load balancer: then --path counts
  --path     the path as the function sees it, in front of it the stage of an HTTP API, unless that is $default
  --caller   whom the gateway named: jwt:ISSUER,SUBJECT  lambda:PRINCIPAL  cognito-identity:ID  api-key:ID
             iam:ACCOUNT,USER_ID,USER_ARN, as the access log has them; tenant:NAME is what the function of WithTenant returned.
             Without it the anonymous scope

Or from what the function of WithKey returns: of an HTTP handler with --method, --api, --stage and --caller, of any other alone:

  idempotent key --operation ship --selected-key o-17

--operation is the name that WithOperation gives, of an HTTP handler without it the name of the function. The other flags repeat
options of the handler. One that differs leads to another key, and to no record.`,
		Example: `  idempotent key --operation charge --event event.json --derived charge
  idempotent key --operation charge --event event.json -o json | jq -r .record_key
  idempotent key --operation ship --event message.json --key-path 'powertools_json(body).order_id'`,
		Args: cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error { return k.run(cmd.Context()) }),
	}
	f := cmd.Flags()
	f.StringVar(&k.event, "event", "", "the `file` with the event as JSON, - for standard input")
	f.StringVar(&k.kind, "kind", "", "what `kind` of event it is: "+strings.Join(kinds(), ", ")+"; by default detected")
	f.StringVar(&k.request.key, "key", "", "the `value` of the header, as the client sent it")
	f.StringVar(&k.request.method, "method", "", "the HTTP `method`")
	f.StringVar(&k.request.route, "route", "", "the route `template`")
	f.StringVar(&k.request.path, "path", "", "the `path`")
	f.StringVar(&k.request.query, "query", "", "the query `string`, for --derived")
	f.StringVar(&k.request.body, "body", "", "the `file` with the body, - for standard input; for --derived")
	f.StringVar(&k.request.contentType, "content-type", "", "the `media type` of the body, for --derived")
	f.StringVar(&k.request.api, "api", "", "the `id` of the API")
	f.StringVar(&k.request.stage, "stage", "", "the `stage` of the API")
	f.StringVar(&k.caller, "caller", "", "who sent it, `kind:name`")
	f.StringVar(&k.tenantID, "tenant-id", "", "the tenant `id` of the invocation, in a function with tenant isolation")
	f.StringVar(&k.operation, flagOperation, "", "the `name` of the handler")
	f.StringVar(&k.header, "header", "", "the `header` with the key, if it is another one")
	f.StringVar(&k.selectedKey, "selected-key", "", "the `key` that the function of WithKey returns")
	f.StringVar(&k.keyPath, "key-path", "", "the JMESPath `expression` of WithKeyPath")
	f.StringVar(&k.fingerprintPath, "fingerprint-path", "", "the JMESPath `expression` of WithFingerprintPath, for --derived")
	f.StringSliceVar(&k.fingerprintHeaders, "fingerprint-header", nil, "a `header` that the fingerprint covers, for --derived; may be repeated")
	f.BoolVar(&k.exactNames, "exact-names", false, "the handler has WithExactNames")
	f.BoolVar(&k.partialKey, "partial-key", false, "the handler has WithPartialKey")
	f.BoolVar(&k.withoutFingerprint, "without-fingerprint", false, "the handler has WithoutFingerprint, for --derived")
	f.StringVar(&k.digestKeyFile, "digest-key-file", "", "the `file` with the secret of WithDigestKey, byte for byte")
	f.StringVar(&k.powertools, "powertools", "", "records of AWS Powertools in this `language`: python, typescript, java, java17 or java21")
	f.StringVar(&k.powertoolsPrefix, "powertools-prefix", "", "the `prefix` of their keys")
	f.StringSliceVar(&k.derived, "derived", nil, "compute the derived key of this `name`, too; may be repeated")
	must(cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(kinds(), cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.MarkFlagFilename("event", "json"))
	noCompletion(cmd, "key", "method", "route", "path", "query", "content-type", "api", "stage", "caller", "tenant-id", flagOperation, "header",
		"selected-key", "key-path", "fingerprint-path", "fingerprint-header", "powertools", "powertools-prefix", "derived")
	return cmd
}

// keyQuestion is a request, and the options of the handler that it came to.
type keyQuestion struct {
	app *app
	// read reads what a flag names.
	read        func(flag, name string) ([]byte, error)
	event, kind string
	request     knownRequest
	caller      string
	tenantID    string

	operation, header, selectedKey, keyPath, fingerprintPath string
	fingerprintHeaders                                       []string
	exactNames, partialKey, withoutFingerprint               bool
	digestKeyFile                                            string
	powertools, powertoolsPrefix                             string
	derived                                                  []string
}

func (k *keyQuestion) run(ctx context.Context) error {
	d, err := k.describe(ctx)
	if err != nil {
		return err
	}
	return k.print(&d)
}

// describe says what the request stands for.
func (k *keyQuestion) describe(ctx context.Context) (none idempotent.Description, err error) {
	payload, kind, err := k.payload()
	if err != nil {
		return none, err
	}
	h, err := k.handler()
	if err != nil {
		return none, err
	}
	d, err := h.describe(ctx, kind, payload)
	if err != nil {
		return none, err
	}
	if !d.Protected {
		return none, errors.New("this request has no record: " + d.Unprotected)
	}
	return d, nil
}

// payload is the event of the request, and what kind it is.
func (k *keyQuestion) payload() (payload []byte, kind string, err error) {
	known := k.request != (knownRequest{})
	switch {
	case k.operation == "" && k.powertools == "":
		return nil, "", usagef("--operation is missing: the name of the handler, of an HTTP handler usually that of its function")
	case k.event != "" && known:
		return nil, "", usagef("--event is the whole request: leave out --key, --method, --route, --path, --query, --body, --content-type, --api and --stage")
	case k.event != "":
		if payload, err = k.read("--event", k.event); err != nil {
			return nil, "", err
		}
		kind, err = kindOf(payload, k.kind)
		return payload, kind, err
	case known:
		return k.known()
	case k.selectedKey != "":
		return []byte("{}"), kindValue, k.noFingerprint()
	default:
		return nil, "", usagef("say what the request was: --event FILE, or --key, --method, --api and so on, or --selected-key; see --help")
	}
}

// known makes the event of a request of which single things are known.
func (k *keyQuestion) known() (payload []byte, kind string, err error) {
	if k.kind != "" {
		return nil, "", usagef("--kind is for --event")
	}
	if len(k.derived) > 0 {
		switch {
		case k.request.body == "":
			return nil, "", usagef("--derived needs the whole request: --event, or --body FILE with it; inspect shows the derived keys of a record")
		case k.request.path == "":
			return nil, "", usagef("--derived needs --path: the fingerprint of the request covers it")
		}
	}
	payload, err = k.request.event(k.read, k.header, k.caller, k.selectedKey != "" || k.keyPath != "")
	return payload, kindREST, err
}

// noFingerprint refuses what a fingerprint would be needed for.
func (k *keyQuestion) noFingerprint() error {
	if len(k.derived) > 0 {
		return usagef("--derived needs --event: derived keys depend on the fingerprint of the request; inspect shows those of a record")
	}
	return nil
}

// file reads a file that a flag names, or standard input.
func (a *app) file(flag, name string) ([]byte, error) {
	var b []byte
	var err error
	if name == "-" {
		b, err = io.ReadAll(io.LimitReader(a.world.In, mostEvent))
	} else {
		b, err = os.ReadFile(name) //nolint:gosec // the user names it
	}
	if err != nil {
		return nil, usagef("%s cannot be read: %v", flag, err)
	}
	return b, nil
}

// mostEvent bounds what is read of standard input. An event has 6 MB at most, or 20 MB of a stream.
const mostEvent = 32 << 20

// print prints a description.
func (k *keyQuestion) print(d *idempotent.Description) error {
	keys := make(map[string]string)
	for _, name := range k.derived {
		keys[name] = d.DerivedKey(name)
	}
	if k.app.output == outputJSON {
		scope := make([]scopePart, len(d.Scope))
		for i, p := range d.Scope {
			scope[i] = scopePart{p.Name, p.Value}
		}
		return k.app.json(struct {
			RecordKey   string            `json:"record_key"`
			Operation   string            `json:"operation"`
			Scope       []scopePart       `json:"scope,omitempty"`
			DerivedKeys map[string]string `json:"derived_keys,omitempty"`
		}{d.RecordKey, d.Operation, scope, keys})
	}
	rows := [][]show.Cell{show.Cells("Record key", d.RecordKey)}
	for i, p := range d.Scope {
		name := ""
		if i == 0 {
			name = "Scope"
		}
		rows = append(rows, show.Cells(name, p.Name+" "+p.Value))
	}
	for _, name := range sortedNames(keys) {
		rows = append(rows, show.Cells("Derived key", name+": "+keys[name]))
	}
	rows = append(rows, show.Cells("Next", fmt.Sprintf("idempotent inspect '%s'", d.RecordKey)))
	return k.app.out().Table(rows)
}

type scopePart struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
