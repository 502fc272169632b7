package sam

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func sorted(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }

// openAPI are the routes of APIs that a document describes, in the template or in a file beside it.
func (t *Template) openAPI() []Route {
	routes := []Route{}
	for _, api := range t.Of(typeAPI, typeHTTPAPI, typeRestAPI, typeV2API) {
		document, _ := t.definition(api)
		gateway, wait := kindREST+api.ID, waitOfRESTAPI
		if api.Type == typeHTTPAPI || api.Type == typeV2API {
			gateway, wait = kindHTTP+api.ID, waitOfHTTPAPI
		}
		paths, _ := at(document, "paths").(map[string]any)
		for _, path := range sorted(paths) {
			operations, _ := paths[path].(map[string]any)
			for _, method := range sorted(operations) {
				if !isMethod(method) {
					continue
				}
				routes = append(routes, t.described(document, operations[method], Route{Method: method, Path: strings.Replace(path, "/$default", "$default", 1), Gateway: gateway}, wait))
			}
		}
	}
	return routes
}

// isMethod tells the members of a path that are methods from those that are not, such as parameters.
func isMethod(member string) bool {
	return slices.Contains([]string{"get", "put", "post", "delete", "options", "head", "patch", "trace", "x-amazon-apigateway-any-method"}, member)
}

func (t *Template) described(document, operation any, r Route, wait time.Duration) Route {
	const extension = "x-amazon-apigateway-integration"
	integration := at(operation, extension)
	if pointer, local := strings.CutPrefix(text(at(integration, "$ref")), "#/"); local {
		integration = at(document, strings.Split(pointer, "/")...)
	}
	r.Wait = duration(at(integration, "timeoutInMillis"), time.Millisecond, wait)
	target := text(at(integration, "uri"))
	if target == "" {
		target = text(at(integration, "type"))
	}
	return t.reaching(r, target)
}

// definition is the document of an API, or nil and where it is, if it cannot be read here. An API without one has its routes elsewhere.
func (t *Template) definition(api Resource) (document any, elsewhere string) {
	for _, property := range []string{"DefinitionBody", "Body"} {
		body := api.At(property)
		if body == nil {
			continue
		}
		include := at(body, "Fn::Transform")
		if include == nil {
			return body, ""
		}
		return t.local(at(include, "Parameters", "Location"))
	}
	for _, property := range []string{"DefinitionUri", "BodyS3Location"} {
		if at := api.At(property); at != nil {
			return t.local(at)
		}
	}
	return nil, ""
}

// local reads a document from a file, with the functions that it has as they are written: nothing is known there of the template's parameters.
func (t *Template) local(location any) (definition any, elsewhere string) {
	path, isText := location.(string)
	if !isText {
		return nil, "S3"
	}
	content, err := os.ReadFile(filepath.Join(t.Folder, path)) //nolint:gosec // the template names it
	if err != nil {
		return nil, path
	}
	if err := decode(content, &definition); err != nil {
		return nil, path
	}
	r := &resolver{document: &document{}, guessed: map[string]bool{}}
	return r.resolve(definition), ""
}

// Unseen are the APIs whose routes are in a document that cannot be read here, with where it is.
func (t *Template) Unseen() map[string]string {
	unseen := map[string]string{}
	for _, api := range t.Of(typeAPI, typeHTTPAPI, typeRestAPI, typeV2API) {
		if document, elsewhere := t.definition(api); document == nil && elsewhere != "" {
			unseen[api.ID] = elsewhere
		}
	}
	return unseen
}
