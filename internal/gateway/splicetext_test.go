package gateway

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSplicingGivesUpOnATextOfAnotherForm(t *testing.T) {
	t.Parallel()
	const v2, url, alb, v1 = "V2", "URL", "ALB", "V1"
	texts := map[string]map[string]string{
		v2: {
			"nothing":              ``,
			"null":                 `null`,
			"a list":               `[]`,
			"an empty object":      `{}`,
			"a space":              ` {"statusCode":200,"headers":null,"multiValueHeaders":null,"body":"","cookies":null}`,
			"a space inside":       `{"statusCode": 200,"headers":null,"multiValueHeaders":null,"body":"","cookies":null}`,
			"another name":         `{"StatusCode":200,"headers":null,"multiValueHeaders":null,"body":"","cookies":null}`,
			"a text as status":     `{"statusCode":"200","headers":null,"multiValueHeaders":null,"body":"","cookies":null}`,
			"a fraction":           `{"statusCode":200.5,"headers":null,"multiValueHeaders":null,"body":"","cookies":null}`,
			"an exponent":          `{"statusCode":200e0,"headers":null,"multiValueHeaders":null,"body":"","cookies":null}`,
			"two digits":           `{"statusCode":20,"headers":null,"multiValueHeaders":null,"body":"","cookies":null}`,
			"four digits":          `{"statusCode":2000,"headers":null,"multiValueHeaders":null,"body":"","cookies":null}`,
			"a leading zero":       `{"statusCode":020,"headers":null,"multiValueHeaders":null,"body":"","cookies":null}`,
			"a slash as a digit":   `{"statusCode":20/,"headers":null,"multiValueHeaders":null,"body":"","cookies":null}`,
			"a colon as a digit":   `{"statusCode":20:,"headers":null,"multiValueHeaders":null,"body":"","cookies":null}`,
			"another order":        `{"headers":null,"statusCode":200,"multiValueHeaders":null,"body":"","cookies":null}`,
			"no headers":           `{"statusCode":200,"multiValueHeaders":null,"body":"","cookies":null}`,
			"headers as a list":    `{"statusCode":200,"headers":[],"multiValueHeaders":null,"body":"","cookies":null}`,
			"a number as a value":  `{"statusCode":200,"headers":{"a":1},"multiValueHeaders":null,"body":"","cookies":null}`,
			"null as a value":      `{"statusCode":200,"headers":{"a":null},"multiValueHeaders":null,"body":"","cookies":null}`,
			"a list as a value":    `{"statusCode":200,"headers":{"a":["1"]},"multiValueHeaders":null,"body":"","cookies":null}`,
			"no value":             `{"statusCode":200,"headers":{"a":},"multiValueHeaders":null,"body":"","cookies":null}`,
			"multi unclosed":       `{"statusCode":200,"headers":null,"multiValueHeaders":{"a":["1"},"body":"","cookies":null}`,
			"unsorted":             `{"statusCode":200,"headers":{"b":"1","a":"2"},"multiValueHeaders":null,"body":"","cookies":null}`,
			"twice":                `{"statusCode":200,"headers":{"a":"1","a":"2"},"multiValueHeaders":null,"body":"","cookies":null}`,
			"an escaped name":      `{"statusCode":200,"headers":{"\u0061":"1"},"multiValueHeaders":null,"body":"","cookies":null}`,
			"an own escaped name":  `{"statusCode":200,"headers":{"\u0049dempotent-Replayed":"1"},"multiValueHeaders":null,"body":"","cookies":null}`,
			"a name with a tab":    "{\"statusCode\":200,\"headers\":{\"a\tb\":\"1\"},\"multiValueHeaders\":null,\"body\":\"\",\"cookies\":null}",
			"no name":              `{"statusCode":200,"headers":{:"1"},"multiValueHeaders":null,"body":"","cookies":null}`,
			"no comma":             `{"statusCode":200,"headers":{"a":"1""b":"2"},"multiValueHeaders":null,"body":"","cookies":null}`,
			"a comma before":       `{"statusCode":200,"headers":{,"a":"1"},"multiValueHeaders":null,"body":"","cookies":null}`,
			"a comma behind":       `{"statusCode":200,"headers":{"a":"1",},"multiValueHeaders":null,"body":"","cookies":null}`,
			"no colon":             `{"statusCode":200,"headers":{"a""1"},"multiValueHeaders":null,"body":"","cookies":null}`,
			"multi as a text":      `{"statusCode":200,"headers":null,"multiValueHeaders":{"a":"1"},"body":"","cookies":null}`,
			"multi of numbers":     `{"statusCode":200,"headers":null,"multiValueHeaders":{"a":[1]},"body":"","cookies":null}`,
			"multi without comma":  `{"statusCode":200,"headers":null,"multiValueHeaders":{"a":["1""2"]},"body":"","cookies":null}`,
			"multi comma before":   `{"statusCode":200,"headers":null,"multiValueHeaders":{"a":[,"1"]},"body":"","cookies":null}`,
			"multi comma behind":   `{"statusCode":200,"headers":null,"multiValueHeaders":{"a":["1",]},"body":"","cookies":null}`,
			"multi unsorted":       `{"statusCode":200,"headers":null,"multiValueHeaders":{"b":null,"a":null},"body":"","cookies":null}`,
			"body before headers":  `{"statusCode":200,"body":"","headers":null,"multiValueHeaders":null,"cookies":null}`,
			"no body":              `{"statusCode":200,"headers":null,"multiValueHeaders":null,"cookies":null}`,
			"a number as the body": `{"statusCode":200,"headers":null,"multiValueHeaders":null,"body":1,"cookies":null}`,
			"a description":        `{"statusCode":200,"statusDescription":"","headers":null,"multiValueHeaders":null,"body":"","cookies":null}`,
			"no cookies":           `{"statusCode":200,"headers":null,"multiValueHeaders":null,"body":""}`,
			"base64, no cookies":   `{"statusCode":200,"headers":null,"multiValueHeaders":null,"body":"","isBase64Encoded":true}`,
			"of a function URL":    `{"statusCode":200,"headers":null,"body":"","isBase64Encoded":false,"cookies":null}`,
			"something behind":     `{"statusCode":200,"headers":null,"multiValueHeaders":null,"body":"","cookies":null} `,
		},
		v1: {
			"of an HTTP API":              `{"statusCode":200,"headers":null,"multiValueHeaders":null,"body":"","cookies":null}`,
			"of an HTTP API with cookies": `{"statusCode":200,"headers":null,"multiValueHeaders":null,"body":"","cookies":["a=1"]}`,
			"of a load balancer":          `{"statusCode":200,"statusDescription":"","headers":null,"multiValueHeaders":null,"isBase64Encoded":false}`,
			"of a function URL":           `{"statusCode":200,"headers":null,"body":"","isBase64Encoded":false,"cookies":null}`,
			"unfinished":                  `{"statusCode":200,"headers":null,"multiValueHeaders":null,"body":"}`,
			"base64 but false":            `{"statusCode":200,"headers":null,"multiValueHeaders":null,"body":"","isBase64Encoded":false}`,
		},
		url: {
			"of an HTTP API":        `{"statusCode":200,"headers":null,"multiValueHeaders":null,"body":"","cookies":null}`,
			"of a REST API":         `{"statusCode":200,"headers":null,"multiValueHeaders":null,"body":""}`,
			"without cookies":       `{"statusCode":200,"headers":null,"body":"","isBase64Encoded":false}`,
			"with headers unclosed": `{"statusCode":200,"headers":{"a":"1","body":"","isBase64Encoded":false,"cookies":null}`,
		},
		alb: {
			"no description":       `{"statusCode":200,"headers":null,"multiValueHeaders":null,"isBase64Encoded":false}`,
			"a number describes":   `{"statusCode":200,"statusDescription":1,"headers":null,"multiValueHeaders":null,"isBase64Encoded":false}`,
			"no end":               `{"statusCode":200,"statusDescription":"","headers":null,"multiValueHeaders":null,"body":"x"}`,
			"something else":       `{"statusCode":200,"statusDescription":"","headers":null,"multiValueHeaders":null,"more":1,"isBase64Encoded":false}`,
			"no multiValueHeaders": `{"statusCode":200,"statusDescription":"","headers":null,"body":"","isBase64Encoded":false}`,
		},
	}
	for _, f := range splicers() {
		for name, text := range texts[f.name] {
			_, ok := f.splice(sample{replayed: true}, []byte(text))
			assert.False(t, ok, "%s: %s: %s", f.name, name, text)
		}
	}
}
