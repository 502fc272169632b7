package sam

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Types of resources that several files know.
const (
	typeFunction    = "AWS::Serverless::Function"
	typeRawFunction = "AWS::Lambda::Function"
	typeAPI         = "AWS::Serverless::Api"
	typeHTTPAPI     = "AWS::Serverless::HttpApi"
	typeRestAPI     = "AWS::ApiGateway::RestApi"
	typeV2API       = "AWS::ApiGatewayV2::Api"
)

// Function is a Lambda function of a template.
type Function struct {
	Resource

	// Name is its name, or empty if CloudFormation chooses one.
	Name string
	// Runtime is empty for an image.
	Runtime string
	// Code is the local path of what is deployed or built, empty if there is none.
	Code string
	// Timeout is that of an invocation, or Unknown.
	Timeout time.Duration
}

// usualTimeout is that of a function that names none.
const usualTimeout = 3 * time.Second

// Functions are the Lambda functions, in the order of their ids.
func (t *Template) Functions() []Function {
	resources := t.Of(typeFunction, typeRawFunction)
	functions := make([]Function, 0, len(resources))
	for _, r := range resources {
		f := Function{Resource: r, Name: r.Text("FunctionName"), Runtime: r.Text("Runtime"), Timeout: duration(r.At("Timeout"), time.Second, usualTimeout)}
		property := "CodeUri"
		if r.Type == typeRawFunction {
			property = "Code"
		}
		if path, isText := r.At(property).(string); isText && !strings.Contains(path, "://") {
			f.Code = path
		}
		if asset := text(r.Metadata["aws:asset:path"]); asset != "" { // as the CDK writes it, beside the bucket
			f.Code = asset
		}
		functions = append(functions, f)
	}
	return functions
}

// Source reports whether SAM builds the function from what its code names, which is no artifact then. In a template that sam build has written it is one.
func (f Function) Source() bool {
	return text(f.Metadata["BuildMethod"]) != "" && text(f.Metadata["SamResourceId"]) == ""
}

// Image reports whether the function is an image of a container.
func (f Function) Image() bool { return f.Text("PackageType") == "Image" }

// Number is a number of a template, which may be written as text.
func Number(value any) (int, bool) {
	if f, ok := value.(float64); ok {
		return int(f), true
	}
	n, err := strconv.Atoi(text(value))
	return n, err == nil
}

// Unknown is a duration that only a deployment knows.
const Unknown time.Duration = -1

// duration is that of a number of units. Where there is none, it is the usual one.
func duration(value any, unit, usual time.Duration) time.Duration {
	n, isNumber := Number(value)
	switch {
	case value == nil || isNumber && n <= 0:
		return usual
	case !isNumber:
		return Unknown
	default:
		return time.Duration(n) * unit
	}
}

// Known reports whether the template tells a value. One that it does not tell has a reference in it.
func Known(value any) bool { return !strings.Contains(text(value), "${") }

var reference = regexp.MustCompile(`\$\{([A-Za-z0-9]+)`)

// function is the id of the function that a text names: by a reference, an ARN, the URI of an integration, a name, or an alias or version of it. It is empty
// if the template has none.
func (t *Template) function(named string) string {
	for _, match := range reference.FindAllStringSubmatch(named, -1) {
		if id, found := t.behind(match[1]); found {
			return id
		}
	}
	id, _ := t.called(named)
	return id
}

// called is the function of a name or an ARN.
func (t *Template) called(named string) (id string, found bool) {
	if _, rest, isARN := strings.Cut(named, ":function:"); isARN {
		named = rest
	}
	for _, f := range t.Functions() {
		rest, begins := strings.CutPrefix(named, f.Name)
		if f.Name != "" && begins && (rest == "" || rest[0] == '/' || rest[0] == ':') {
			return f.ID, true
		}
	}
	return "", false
}

// behind is the function that a resource is, or is an alias or a version of.
func (t *Template) behind(id string) (function string, found bool) {
	switch r := t.Resources[id]; r.Type {
	case "AWS::Lambda::Alias", "AWS::Lambda::Version":
		of := r.Text("FunctionName")
		if id = plain(of); !t.isFunction(id) {
			return t.called(of)
		}
	case "": // SAM makes an alias of AutoPublishAlias, and names it after the function
		id, _, _ = strings.Cut(id, "Alias")
	}
	return id, t.isFunction(id)
}

func (t *Template) isFunction(id string) bool {
	kind := t.Resources[id].Type
	return kind == typeFunction || kind == typeRawFunction
}

// Is reports whether a text names the resource: by a reference to it or an attribute of it, or by its name, alone or at the end of an ARN or a URL.
func (r Resource) Is(named string) bool {
	if match := reference.FindStringSubmatch(named); match != nil && match[1] == r.ID && strings.HasPrefix(named, match[0]) {
		return true
	}
	for _, property := range []string{"FunctionName", "QueueName", "TableName", "Name"} {
		name := r.Text(property)
		if name != "" && (named == name || strings.HasSuffix(named, ":"+name) || strings.HasSuffix(named, "/"+name)) {
			return true
		}
	}
	return false
}
