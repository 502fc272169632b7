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
		document := t.documents[api.ID]
		gateway, wait := kindREST+api.ID, waitOfRESTAPI
		if api.Type == typeHTTPAPI || api.Type == typeV2API {
			gateway, wait = kindHTTP+api.ID, waitOfHTTPAPI
		}
		paths, _ := members(document, at(document, "paths"))
		for _, path := range sorted(paths) {
			operations, _ := members(document, paths[path])
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

// members are those of an object of a document, or of what it refers to in there. Where they cannot be read here, elsewhere says where they are.
func members(document, value any) (of map[string]any, elsewhere string) {
	pointer := text(at(value, "$ref"))
	if within, local := strings.CutPrefix(pointer, "#/"); local {
		value = at(document, strings.Split(within, "/")...)
	}
	of, isObject := value.(map[string]any)
	switch {
	case pointer != "" && (!isObject || at(value, "$ref") != nil):
		return nil, pointer
	case !isObject:
		return nil, text(value)
	}
	return of, ""
}

// describe reads the document of an API, and says where there are parts of it that cannot be read here.
func (r *resolver) describe(t *Template, api Resource) {
	r.kind = api.Type
	document, elsewhere := r.definition(t, api)
	unseen := []string{elsewhere}
	if document != nil {
		t.documents[api.ID] = document
		_, none := members(document, document)
		paths, beside := members(document, at(document, "paths"))
		unseen = append(unseen, none, beside)
		for _, path := range sorted(paths) {
			if !strings.HasPrefix(path, "Fn::") {
				_, beside := members(document, paths[path])
				unseen = append(unseen, beside)
			}
		}
	}
	for _, place := range unseen {
		if place != "" && !slices.Contains(t.Unseen[api.ID], place) {
			t.Unseen[api.ID] = append(t.Unseen[api.ID], place)
		}
	}
}

// isMethod tells the members of a path that are methods from those that are not, such as parameters.
func isMethod(member string) bool {
	return slices.Contains([]string{"get", "put", "post", "delete", "options", "head", "patch", "trace", "x-amazon-apigateway-any-method"}, member)
}

func (t *Template) described(document, operation any, r Route, wait time.Duration) Route {
	const extension = "x-amazon-apigateway-integration"
	integration, elsewhere := members(document, at(operation, extension))
	r.Wait = duration(integration["timeoutInMillis"], time.Millisecond, wait)
	target := text(integration["uri"])
	if target == "" {
		target = text(integration["type"]) + elsewhere
	}
	return t.reaching(r, target)
}

// definition is the document of an API, and where it is, or a part of it, if that cannot be read here. An API without one has its routes elsewhere.
func (r *resolver) definition(t *Template, api Resource) (document any, elsewhere string) {
	for _, property := range []string{"DefinitionBody", "Body"} {
		body := api.At(property)
		include, includes := at(body, functionTransform).(map[string]any)
		switch {
		case body == nil:
			continue
		case !includes:
			return body, ""
		case text(include["Name"]) != "AWS::Include":
			return body, text(include["Name"])
		}
		delete(r.unexpanded, unexpanded(api.ID+"."+property, functionTransform))
		included, elsewhere := r.local(t, at(include, "Parameters", "Location"))
		beside, _ := body.(map[string]any)
		if of, isObject := included.(map[string]any); isObject {
			return merge(beside, of), ""
		}
		return beside, elsewhere
	}
	for _, property := range []string{"DefinitionUri", "BodyS3Location"} {
		if at := api.At(property); at != nil {
			return r.local(t, at)
		}
	}
	return nil, ""
}

// local reads a document from a file.
func (r *resolver) local(t *Template, location any) (definition any, elsewhere string) {
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
	return r.within(path, definition), ""
}
