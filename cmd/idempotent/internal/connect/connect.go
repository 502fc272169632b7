// Package connect makes clients of AWS and a store of records from what the AWS CLI calls its
// global options.
package connect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
)

// Target says where the records are. Table is needed, the zero value of every other field means
// what the SDK finds out.
type Target struct {
	Table                     string
	Profile, Region, Endpoint string
	// SortKey, unless empty, is the attribute of the record key in a table with a composite key,
	// and Partition the value that all of its records have.
	SortKey, Partition string
	// Attributes are the names of attributes that have others than by default, by their default.
	Attributes map[string]string
}

// Connection is a store with the clients behind it.
type Connection struct {
	Store  *dynamo.Store
	Client *dynamodb.Client
	// Config is for the clients of other services.
	Config aws.Config
	Table  string
	// Endpoint is the URL that was given for DynamoDB, empty for that of AWS.
	Endpoint string
}

// UsageError is a target, or a command, that cannot be right.
type UsageError struct{ Problem string }

func (e *UsageError) Error() string { return e.Problem }

// Open makes the store of a target. It sends nothing to it, but may ask for credentials. What is
// wrong with the target is a [*UsageError].
func Open(ctx context.Context, t Target) (c *Connection, err error) {
	defer Refused(&err)
	shape, err := t.shape()
	if err != nil {
		return nil, err
	}
	cfg, err := t.load(ctx)
	if err != nil {
		return nil, err
	}
	c = &Connection{Config: cfg, Table: t.Table, Endpoint: t.Endpoint}
	if c.Endpoint == "" {
		// The SDK knows which of the variables and files names one.
		c.Endpoint = aws.ToString(dynamodb.NewFromConfig(cfg).Options().BaseEndpoint)
	}
	if err := c.authenticate(ctx); err != nil {
		return nil, err
	}
	c.Client = dynamodb.NewFromConfig(c.Config, func(o *dynamodb.Options) {
		if c.Endpoint != "" {
			o.BaseEndpoint = aws.String(c.Endpoint)
		}
	})
	c.Store = dynamo.New(c.Client, t.Table, shape)
	return c, nil
}

// load reads the configuration as the AWS CLI does.
func (t Target) load(ctx context.Context) (aws.Config, error) {
	load := []func(*config.LoadOptions) error{
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(10 * time.Second)),
		config.WithLogger(logging.Nop{}), // what it warns of is in the errors
		config.WithSharedConfigProfile(t.Profile), config.WithRegion(t.Region),
	}
	if local(t.Endpoint) {
		load = append(load, config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if missing, ok := errors.AsType[config.SharedConfigProfileNotExistError](err); ok {
		return cfg, &UsageError{fmt.Sprintf("there is no profile %q in the AWS configuration", missing.Profile)}
	}
	if err != nil {
		return cfg, fmt.Errorf("the AWS configuration cannot be read: %w", err)
	}
	return cfg, nil
}

// authenticate finds out before the first call whether there are a Region and credentials: the SDK
// says it in words that nobody understands.
func (c *Connection) authenticate(ctx context.Context) error {
	if c.Config.Region == "" {
		if !local(c.Endpoint) {
			return &UsageError{"there is no Region: set --region, AWS_REGION, or one in the profile"}
		}
		c.Config.Region = "us-east-1" // as the tests and the commands of this project
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	_, err := c.Config.Credentials.Retrieve(ctx)
	switch {
	case err == nil:
		return nil
	case local(c.Endpoint):
		c.Config.Credentials = credentials.NewStaticCredentialsProvider("local", "local", "")
		return nil
	case strings.Contains(err.Error(), "no EC2 IMDS role found"): // the last place where the SDK looks
		return errors.New("there are no AWS credentials: set --profile, AWS_PROFILE, or AWS_ACCESS_KEY_ID and " +
			"AWS_SECRET_ACCESS_KEY")
	}
	return fmt.Errorf("the AWS credentials cannot be used: %w", err)
}

// Refused turns a panic about a wrong configuration into a [*UsageError]. It is to be deferred.
func Refused(err *error) {
	switch p := recover().(type) {
	case nil:
	case *store.ConfigError:
		*err = &UsageError{strings.Join(p.Problems, "; ")}
	default:
		panic(p)
	}
}

func (t Target) shape() (c dynamo.Config, err error) {
	if t.Table == "" {
		return c, &UsageError{"there is no table: set --table or IDEMPOTENCY_TABLE, or try --demo"}
	}
	if t.Endpoint != "" {
		if u, err := url.Parse(t.Endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return c, &UsageError{fmt.Sprintf("--endpoint-url %q is no URL with http or https", t.Endpoint)}
		}
	}
	switch c.SortKey, c.Partition = t.SortKey, t.Partition; {
	case t.SortKey == "" && t.Partition != "":
		return c, &UsageError{"--partition needs --sort-key"}
	case t.SortKey != "" && t.Partition == "":
		return c, &UsageError{"--sort-key needs --partition, the value that all records have; of AWS Powertools it " +
			"is idempotency#<function name>"}
	}
	c.Attributes, err = t.attributes()
	return c, err
}

// attributes renames those that AWS Powertools can rename, too.
func (t Target) attributes() (names dynamo.Attributes, _ error) {
	places := map[string]*string{
		"id": &names.Key, "status": &names.Status, "expiration": &names.Expiration,
		"in_progress_expiration": &names.Lease, "data": &names.Data, "validation": &names.Validation,
	}
	for attribute, name := range t.Attributes {
		if places[attribute] == nil {
			return names, &UsageError{fmt.Sprintf("--attribute %q is none of %q", attribute,
				slices.Sorted(maps.Keys(places)))}
		}
		*places[attribute] = name
	}
	return names, nil
}

// OfAWS reports whether the endpoint is one of AWS, which knows permissions and backups. Emulators
// do not, or only pretend to.
func (c *Connection) OfAWS() bool {
	return c.Endpoint == "" || hostOfAWS.MatchString(hostOf(c.Endpoint))
}

var hostOfAWS = regexp.MustCompile(`\.(amazonaws\.com|amazonaws\.com\.cn|api\.aws)$`)

// Place is where a command acts, and as whom.
type Place struct {
	Table    string `json:"table,omitempty"`
	Region   string `json:"region,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	// Account and As are those of the credentials. They are empty if the endpoint is not one of
	// AWS, or if AWS does not say.
	Account string `json:"account,omitempty"`
	As      string `json:"as,omitempty"`
}

// String says it in words.
func (p Place) String() string {
	switch {
	case p == Place{}:
		return "the demo, in memory"
	case p.Endpoint != "":
		return fmt.Sprintf("table %q at %s", p.Table, p.Endpoint)
	case p.As == "":
		return fmt.Sprintf("table %q in %s", p.Table, p.Region)
	}
	return fmt.Sprintf("table %q in %s, account %s, as %s", p.Table, p.Region, p.Account, p.As)
}

// Where asks AWS whom the credentials belong to, and returns where the connection leads. The place
// is right as far as it goes, also with an error, which is that of the question.
func (c *Connection) Where(ctx context.Context) (Place, error) {
	p := Place{Table: c.Table, Region: c.Config.Region}
	if !c.OfAWS() {
		p.Endpoint = c.Endpoint
		return p, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := sts.NewFromConfig(c.Config).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return p, fmt.Errorf("ask AWS who you are: %w", err)
	}
	p.Account, p.As = aws.ToString(out.Account), aws.ToString(out.Arn)
	return p, nil
}

// Cause says what happened without the layers of the SDK, whose words help nobody here.
func Cause(err error) string {
	answer, isAnswer := errors.AsType[smithy.APIError](err)
	network, isNetwork := errors.AsType[*net.OpError](err)
	switch {
	case isAnswer && answer.ErrorMessage() != "":
		return answer.ErrorCode() + ": " + answer.ErrorMessage()
	case isAnswer:
		return answer.ErrorCode()
	case isNetwork:
		return network.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "none came in time"
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err.Error()
}

func local(endpoint string) bool {
	host := hostOf(endpoint)
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

func hostOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
