package gateway_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
)

// Those of the golden events that are not executed, and why.
var refusedGolden = map[string]string{
	"v1-console-test": "missing-key", // it has no headers at all
	// Their authorizer does not say who the caller is.
	"v1-lambda-context":  "missing-tenant",
	"v2-jwt-without-sub": "missing-tenant",
	"v2-lambda-context":  "missing-tenant",
	"v2-lambda-null":     "missing-tenant",
}

func TestGoldenEventsExecuteOnceThroughInvokeAndHandle(t *testing.T) {
	t.Parallel()
	for name, payload := range golden(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, ways := range waysOf(name) {
				executeOnce(t, ways, name, payload)
			}
		})
	}
}

// waysOf are the doors for a golden event, on the wire and by value, for all pointers and values.
func waysOf(name string) [][2]door {
	switch kind, _, _ := strings.Cut(name, "-"); kind {
	case "v2":
		return ways[requestV2, responseV2]()
	case "v1":
		return ways[requestV1, responseV1]()
	case "url":
		return append(ways[requestURL, responseURL](), ways[requestV2, responseV2]()...)
	case "alb":
		return ways[requestALB, responseALB]()
	default:
		panic("of no family")
	}
}

func ways[In, Out any]() [][2]door {
	return [][2]door{
		{newDoor[In, Out]("", true, nil), newDoor[In, Out]("", false, nil)},
		{newDoor[*In, Out]("", true, nil), newDoor[*In, Out]("", false, nil)},
		{newDoor[In, *Out]("", true, nil), newDoor[In, *Out]("", false, nil)},
		{newDoor[*In, *Out]("", true, nil), newDoor[*In, *Out]("", false, nil)},
	}
}

// executeOnce delivers a payload to Invoke and its event to Handle, over one store: the second
// finds the record of the first.
func executeOnce(t *testing.T, ways [2]door, name string, payload []byte) {
	t.Helper()
	executed := 0
	store := calls.NewFaulty(memory.New(), nil)
	var answers []reply
	for _, d := range ways {
		answer, err := d.wrap(func(context.Context) (reply, error) {
			executed++
			return reply{Status: 200, Body: "done"}, nil
		}, store, idempotent.WithOperation("charge"))(t.Context(), payload)
		require.NoError(t, err)
		answers = append(answers, answer)
	}
	first, second := answers[0], answers[1]

	if kind, refused := refusedGolden[name]; refused {
		assert.Contains(t, first.Body, "problems.md#"+kind)
		assert.Equal(t, first, second)
		assert.Zero(t, executed)
		assert.Empty(t, store.Calls())
		return
	}
	assert.Equal(t, "done", first.Body)
	assert.Equal(t, first.Status, second.Status)
	if name == "alb-health-check" {
		assert.Equal(t, 2, executed, "a GET")
		assert.Empty(t, store.Calls())
		return
	}
	assert.True(t, second.replayed() || len(second.Multi["Idempotent-Replayed"]) > 0)
	assert.Equal(t, 1, executed)
}

func TestInvokeAndHandleFindTheSameRecord(t *testing.T) {
	t.Parallel()
	for name := range golden(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, ways := range waysOf(name) {
				rapid.Check(t, func(t *rapid.T) {
					payload := edited(t, name, rapid.SliceOfN(edits(), 0, 6).Draw(t, "edits")...)
					byWire, answerW := ways[0].identify(context.Background(), t, payload)
					byValue, answerV := ways[1].identify(context.Background(), t, payload)
					assert.Equal(t, byValue, byWire)
					assert.Equal(t, answerV, answerW)
				})
			}
		})
	}
}

// anyBody is a body of every kind.
var anyBody = rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
	"", "{}", `{"a":1}`, `{"a":1.0, "b":[]}`, `{"a":1,"a":2}`, "AAEC/w==", "\u2028<&>\U0001F600",
	`{"n":9007199254740993}`,
}))

var (
	anyMethod = rapid.SampledFrom([]string{"POST", "PATCH", "PUT", "DELETE", "GET", "post", ""})
	anyKey    = rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"k", `"k"`, "k;a=1", "k,k", "", " k "}))
	anyHeader = rapid.MapOf(rapid.SampledFrom([]string{
		"Idempotency-Key", "idempotency-key", "Content-Type",
		"content-type", "X",
	}),
		rapid.OneOf(anyKey, rapid.SampledFrom([]string{"application/json", "text/plain"})))
)

// edits draws edits for a golden event of any family. Those of another one change nothing that
// counts.
func edits() *rapid.Generator[string] {
	text, keys := rapid.String(), rapid.SliceOfN(anyKey, 0, 2)
	several := rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "", "ü", "%61", "%"}), rapid.SliceOfN(text, 0, 3))
	query := rapid.OneOf(text, rapid.StringMatching(`([ab]=(%[0-9a-f]{2}|[cd+]){0,3}&){0,4}`))
	principal := rapid.OneOf(text.AsAny(), rapid.Float64Range(-1e9, 1e9).AsAny())
	values := map[string]*rapid.Generator[any]{
		"httpMethod": anyMethod.AsAny(), "requestContext.http.method": anyMethod.AsAny(),
		"headers": anyHeader.AsAny(), "headers.idempotency-key": anyKey.AsAny(),
		"multiValueHeaders": rapid.Just[any](nil), "multiValueHeaders.Idempotency-Key": keys.AsAny(),
		"path": text.AsAny(), "rawPath": text.AsAny(), "resource": text.AsAny(), "routeKey": text.AsAny(),
		"rawQueryString": query.AsAny(), "multiValueQueryStringParameters": several.AsAny(),
		"queryStringParameters": rapid.MapOf(rapid.SampledFrom([]string{"a", "c"}), text).AsAny(),
		"body":                  anyBody.AsAny(), "isBase64Encoded": rapid.Bool().AsAny(),
		"requestContext.apiId": text.AsAny(), "requestContext.stage": text.AsAny(),
		"requestContext.domainPrefix": text.AsAny(), "requestContext.elb.targetGroupArn": text.AsAny(),
		"requestContext.identity.caller": text.AsAny(), "requestContext.authorizer": rapid.Just[any](nil),
		"requestContext.authorizer.principalId":        principal,
		"requestContext.authorizer.lambda.principalId": principal,
	}
	return rapid.Custom(func(t *rapid.T) string {
		member := rapid.SampledFrom(slices.Sorted(maps.Keys(values))).Draw(t, "member")
		value, err := json.Marshal(values[member].Draw(t, "value"))
		require.NoError(t, err)
		return member + "=" + string(value)
	})
}

// identities are those of the golden events that are protected: the digests in the record key and
// the fingerprint. Records live in tables, so what a request is recorded under must never change
// with a version of this module.
var identities = map[string]string{
	"alb-base64":          "rmEUV36siCwTFoBK7rkSB4smzBirGxkDilwBVVUZ-aQ kSP2dY2uOuVrGJS7ST3j9104YxtPFIJUTtIyJAY3JLY",
	"alb-multi":           "rmEUV36siCwTFoBK7rkSB4smzBirGxkDilwBVVUZ-aQ HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY",
	"alb-multi-query":     "SoWacFypDpmfPwfeHuLEAZkjmgKZy9zwhoWvNbEIV8o 71yIlpUJQowfg1CmNosKd3Nvxu0xIbDFg7ADsQwm6hQ",
	"alb-oidc":            "rmEUV36siCwTFoBK7rkSB4smzBirGxkDilwBVVUZ-aQ HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY",
	"alb-query":           "SoWacFypDpmfPwfeHuLEAZkjmgKZy9zwhoWvNbEIV8o EHnTtYNz86EIIMkdmFc7jpLxKNCCp1b6wrtNmg3lZ2c",
	"alb-single":          "rmEUV36siCwTFoBK7rkSB4smzBirGxkDilwBVVUZ-aQ HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY",
	"url-base64":          "XlYCaMhdm-7oQsxLeHSG4YnVl7PZ_eXDKXmIrBz3bN0 kSP2dY2uOuVrGJS7ST3j9104YxtPFIJUTtIyJAY3JLY",
	"url-iam":             "XfXFJBdl3SGMi46O0tBPqqeEQgM8wt6f-qTOTM7XD9o HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY",
	"url-public":          "XlYCaMhdm-7oQsxLeHSG4YnVl7PZ_eXDKXmIrBz3bN0 HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY",
	"url-query-cookies":   "beKm88qJDUYvmmSFYlUkEznarKTs0Y6eBN7xzkosLaI wdlE5eMUkHeozGDmGOYYZZKL-ib9xydRet6aMPGnIOQ",
	"v1-api-key":          "mXIPPYScbaPp_L6cStYwgxtTmZaU3uYdUBZbwWvyS94 FBQCc4nm4AL5ox8NBe8HCa5tlm3Jx50wx9bHIx-VcNM",
	"v1-cognito":          "kQHhMvmNdKLIinSGRY-NyUqqXmbQgH8ATsYWTEUJZcU FBQCc4nm4AL5ox8NBe8HCa5tlm3Jx50wx9bHIx-VcNM",
	"v1-http-api":         "V8xBK7D6099BpiLY7HYCa09-WzYzvrhJjW6LKGcjRH4 3gekcZwpe9UQbuir1rAZyVIEGOxM9mt3vi0ZS9aQ2mg",
	"v1-http-api-default": "6AgOTdaN2ytq3ce6cvbsrOhCaM6QJB64OZLuq273iSg oeirKuoL3YfFCxfLa2GcecfaKd6nr2cE1RB-ksxhiQk",
	"v1-iam-cognito":      "JgV8VdxBBs6ZUtV4M5QZ4UlV1U3CPt7tMA_9GnuBK00 FBQCc4nm4AL5ox8NBe8HCa5tlm3Jx50wx9bHIx-VcNM",
	"v1-iam-role":         "mK1VZC4ycF9lCLS6eU5FWRTGZRbosRxn0bR-uHxBJcw FBQCc4nm4AL5ox8NBe8HCa5tlm3Jx50wx9bHIx-VcNM",
	"v1-lambda-principal": "D3T6qA80-BX1R2fp4F21Gp40DN0wk0ZU0jPvycXNW3o FBQCc4nm4AL5ox8NBe8HCa5tlm3Jx50wx9bHIx-VcNM",
	"v1-proxy":            "6AgOTdaN2ytq3ce6cvbsrOhCaM6QJB64OZLuq273iSg oeirKuoL3YfFCxfLa2GcecfaKd6nr2cE1RB-ksxhiQk",
	"v1-rest":             "V8xBK7D6099BpiLY7HYCa09-WzYzvrhJjW6LKGcjRH4 FBQCc4nm4AL5ox8NBe8HCa5tlm3Jx50wx9bHIx-VcNM",
	"v2-base64":           "Ygk8kLqxg257rQJi6vVjzju_yafT_FvvT-7CLfy9Ly4 kSP2dY2uOuVrGJS7ST3j9104YxtPFIJUTtIyJAY3JLY",
	"v2-default-route":    "y9wC18ANGeznxg8vwFBiQQIQllHb_h-Q-jdlOn92yTg mbaKxUIYhf0LERdWd1I6j4-705DxKS2B9xoqDBjxQBw",
	"v2-full":             "h74gNHXqoLhME8SlypROL8T-Gc1cMA88Z_Sq7Oaa-B4 3gekcZwpe9UQbuir1rAZyVIEGOxM9mt3vi0ZS9aQ2mg",
	"v2-greedy-route":     "TAgA1JStUygWU_bYCN2MeHzsCt0dmNpOAQfxUCSuvNY edJPACabSFsENi2TtRG4ZOA_U_LZYEyWbhdSXuYWjJs",
	"v2-iam":              "ph-Mau56wy61-HNYnPxRCpZdAsaP6Wt8BTxahydkLTg HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY",
	"v2-iam-cognito":      "sPvHSN-ThoqkaUdxRG1Q37RyD79ZTadO4D67DMxsTD4 HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY",
	"v2-jwt":              "S3xne0d3zStPK1o9LyVirSXgG_k2c167LypjyJQOmaY HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY",
	"v2-lambda-principal": "YNQtCbW1EAGDuXI1RIgq0ksq28FNyt9YqGNZui1qcUc HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY",
	"v2-path-parameter":   "Qc3HHlgeEUPrmOp_h9_UHhXavDGVx3AR-ZXn-iXdB7o -Ji0v_xBXop2iQ_MLD42-kFLr9gS8XTj1lA8EdUwK9o",
}

func TestIdentitiesOfGoldenEventsNeverChange(t *testing.T) {
	t.Parallel()
	seen := 0
	for name, payload := range golden(t) {
		if id, _ := familyOf(name).identify(t.Context(), t, payload); id.key != "" {
			seen++
			key, fingerprint, _ := strings.Cut(identities[name], " ")
			assert.Equal(t, identity{"charge#" + key, "1:" + fingerprint}, id, name)
			if strings.HasPrefix(name, "url") {
				sameV2, _ := families()["v2"].identify(t.Context(), t, payload)
				assert.Equal(t, id, sameV2, "%s: under the types of an HTTP API", name)
			}
		}
	}
	assert.Equal(t, len(identities), seen)
}

func TestFieldsThatTheTypesDoNotKnowDoNotCount(t *testing.T) {
	t.Parallel()
	a := familyOf("v2-jwt").open(t)
	a.gets(load[requestV2](t, "v2-jwt"), "201")
	a.gets(edited(t, "v2-jwt", `newInNextYear={"a":[1]}`, `requestContext.also="new"`), "201 replayed")
}
