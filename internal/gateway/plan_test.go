package gateway

import (
	"encoding/json"
	"reflect"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
)

type plannedInner struct {
	Name  string            `json:"name"`
	Other map[string]string `json:"other,omitempty"`
}

func TestPlanNeedsMembersOfKnownTypes(t *testing.T) {
	t.Parallel()
	type planned struct {
		Inner plannedInner        `json:"inner"`
		Also  *plannedInner       `json:"also"`
		Any   map[string]any      `json:"any"`
		Count int64               `json:"count"`
		Flag  bool                `json:"flag"`
		List  []string            `json:"list"`
		Any2  any                 `json:"any2"`
		Multi map[string][]string `json:"multi"`
	}
	wanted := []member{{"inner.name", partPath}, {"also.other.x", partMethod}, {"any.claims.sub", partSubject}, {"flag", partBase64}}
	names := []string{"a"}
	type withOwnDecoder struct {
		planned

		Own json.RawMessage `json:"own"`
	}
	type withOption struct {
		Name string `json:"name,string"`
	}
	type embedding struct{ plannedInner }
	type withoutName struct {
		Name string
	}
	type withNumber struct {
		Name string  `json:"name"`
		X    float64 `json:"x"`
	}
	type withDecoder struct {
		Name string          `json:"name"`
		Own  json.RawMessage `json:"own"`
	}
	type withPointer struct {
		Name string        `json:"name"`
		Own  *plannedByOwn `json:"own"`
	}
	withHidden := reflect.StructOf([]reflect.StructField{
		{Name: "name", PkgPath: "events", Type: reflect.TypeFor[string](), Tag: `json:"name"`},
	})
	type withIgnored struct {
		Name string `json:"name"`
		Dash string `json:"-"`
	}
	type withText struct {
		Name string          `json:"name"`
		Own  plannedByItself `json:"own"`
	}
	type withStruct struct {
		Name string       `json:"name"`
		Own  plannedByOwn `json:"own"`
	}
	name := []member{{"name", partPath}}

	assert.NotNil(t, planOf(reflect.TypeFor[planned](), wanted, names))
	assert.NotNil(t, planOf(reflect.TypeFor[*planned](), wanted, names))
	assert.NotNil(t, planOf(reflect.TypeFor[plannedInner](), name, names))
	for what, made := range map[string]*plan{
		"unknown member":           planOf(reflect.TypeFor[planned](), []member{{"inner.nom", partPath}}, names),
		"member of a text":         planOf(reflect.TypeFor[planned](), []member{{"inner.name.x", partPath}}, names),
		"text of an object":        planOf(reflect.TypeFor[planned](), []member{{"inner", partPath}}, names),
		"text of a number":         planOf(reflect.TypeFor[planned](), []member{{"count", partPath}}, names),
		"flag of a text":           planOf(reflect.TypeFor[planned](), []member{{"inner.name", partBase64}}, names),
		"headers of another map":   planOf(reflect.TypeFor[planned](), []member{{"multi", partHeaders}}, names),
		"headers of any":           planOf(reflect.TypeFor[planned](), []member{{"any", partMultiHeaders}}, names),
		"no struct":                planOf(reflect.TypeFor[string](), nil, names),
		"pointer to no struct":     planOf(reflect.TypeFor[*string](), nil, names),
		"embedded with own":        planOf(reflect.TypeFor[withOwnDecoder](), nil, names),
		"option":                   planOf(reflect.TypeFor[withOption](), name, names),
		"embedded":                 planOf(reflect.TypeFor[embedding](), nil, names),
		"no name":                  planOf(reflect.TypeFor[withoutName](), nil, names),
		"float":                    planOf(reflect.TypeFor[withNumber](), name, names),
		"decodes itself":           planOf(reflect.TypeFor[withDecoder](), name, names),
		"decodes itself, a struct": planOf(reflect.TypeFor[withStruct](), name, names),
		"decodes itself, pointed":  planOf(reflect.TypeFor[withPointer](), name, names),
		"not exported":             planOf(withHidden, name, names),
		"ignored":                  planOf(reflect.TypeFor[withIgnored](), name, names),
		"decodes itself, a text":   planOf(reflect.TypeFor[withText](), name, names),
		"more headers than bits":   planOf(reflect.TypeFor[plannedInner](), name, make([]string, 65)),
	} {
		assert.Nil(t, made, what)
	}
}

// plannedByOwn looks like plannedInner.
type plannedByOwn plannedInner

func (*plannedByOwn) UnmarshalJSON([]byte) error { return nil }

// plannedByItself is a string for all that can be seen.
type plannedByItself string

func (p *plannedByItself) UnmarshalText(text []byte) error {
	*p = plannedByItself(strconv.Quote(string(text)))
	return nil
}
