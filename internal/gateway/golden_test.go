package gateway_test

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/storetest"
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
			switch kind, _, _ := strings.Cut(name, "-"); kind {
			case "v2":
				executeOnce[requestV2](t, name, payload, ofV2, reply.v2)
			case "v1":
				executeOnce[requestV1](t, name, payload, ofV1, reply.v1)
			case "url":
				executeOnce[requestURL](t, name, payload, ofURL, reply.url)
				executeOnce[requestV2](t, name, payload, ofV2, reply.v2)
			case "alb":
				if strings.HasPrefix(name, "alb-multi") {
					executeOnce[requestALB](t, name, payload, ofALBMulti, reply.albMulti)
				} else {
					executeOnce[requestALB](t, name, payload, ofALB, reply.alb)
				}
			default:
				t.Fatal("of no family")
			}
		})
	}
}

func executeOnce[In, Out any](t *testing.T, name string, payload []byte, read func(Out) reply,
	respond func(reply) Out,
) {
	t.Helper()
	executeEventOnce[In](t, name, payload, read, respond)
	executeEventOnce[*In](t, name, payload, read, respond)
	executeEventOnce[In](t, name, payload, pointed(read), pointer(respond))
	executeEventOnce[*In](t, name, payload, pointed(read), pointer(respond))
}

// executeEventOnce delivers a payload to Invoke and its event to Handle, over one store: the second
// finds the record of the first.
func executeEventOnce[In, Out any](t *testing.T, name string, payload []byte, read func(Out) reply,
	respond func(reply) Out,
) {
	t.Helper()
	executed := 0
	store := storetest.NewFaulty(memory.New(), nil)
	h := idempotent.Wrap(func(context.Context, In) (Out, error) {
		executed++
		return respond(reply{Status: 200, Body: "done"}), nil
	}, store)

	result, err := h.Invoke(t.Context(), payload)
	require.NoError(t, err)
	var first Out
	require.NoError(t, json.Unmarshal(result, &first))
	var event In
	require.NoError(t, json.Unmarshal(payload, &event))
	second, err := h.Handle(t.Context(), event)
	require.NoError(t, err)

	if kind, refused := refusedGolden[name]; refused {
		assert.Contains(t, read(first).Body, "problems.md#"+kind)
		assert.Equal(t, read(first), read(second))
		assert.Zero(t, executed)
		assert.Empty(t, store.Calls())
		return
	}
	assert.Equal(t, "done", read(first).Body)
	assert.Equal(t, read(first).Status, read(second).Status)
	if name == "alb-health-check" {
		assert.Equal(t, 2, executed, "a GET")
		assert.Empty(t, store.Calls())
		return
	}
	assert.True(t, read(second).replayed())
	assert.Equal(t, 1, executed)
}

func TestInvokeAndHandleFindTheSameRecord(t *testing.T) {
	t.Parallel()
	for name, payload := range golden(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			switch kind, _, _ := strings.Cut(name, "-"); kind {
			case "v2":
				sameRecord[requestV2, responseV2](t, payload, mutateV2)
				sameRecord[*requestV2, *responseV2](t, payload, func(t *rapid.T, e **requestV2) { mutateV2(t, *e) })
			case "v1":
				sameRecord[requestV1, responseV1](t, payload, mutateV1)
				sameRecord[*requestV1, *responseV1](t, payload, func(t *rapid.T, e **requestV1) { mutateV1(t, *e) })
			case "url":
				sameRecord[requestURL, responseURL](t, payload, mutateURL)
				sameRecord[*requestURL, *responseURL](t, payload, func(t *rapid.T, e **requestURL) { mutateURL(t, *e) })
			case "alb":
				sameRecord[requestALB, responseALB](t, payload, mutateALB)
				sameRecord[*requestALB, *responseALB](t, payload, func(t *rapid.T, e **requestALB) { mutateALB(t, *e) })
			}
		})
	}
}

func sameRecord[In, Out any](t *testing.T, payload []byte, mutate func(*rapid.T, *In)) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		var e In
		require.NoError(t, json.Unmarshal(payload, &e))
		mutate(t, &e)
		byValue, answerV, err := identify[In, Out](context.Background(), e, false)
		require.NoError(t, err)
		byWire, answerW, err := identify[In, Out](context.Background(), e, true)
		require.NoError(t, err)
		assert.Equal(t, byValue, byWire)
		assert.Equal(t, answerV, answerW)
	})
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

func mutateV2(t *rapid.T, e *requestV2) {
	changes := []func(){
		func() { e.RequestContext.HTTP.Method = anyMethod.Draw(t, "method") },
		func() { e.Headers = anyHeader.Draw(t, "headers") },
		func() { e.Headers = maps.Clone(e.Headers); e.Headers["idempotency-key"] = anyKey.Draw(t, "key") },
		func() { e.RawPath = rapid.String().Draw(t, "path") },
		func() { e.RouteKey = rapid.String().Draw(t, "route") },
		func() {
			e.RawQueryString = rapid.OneOf(rapid.String(),
				rapid.StringMatching(`([ab]=(%[0-9a-f]{2}|[cd+]){0,3}&){0,4}`)).Draw(t, "query")
		},
		func() { e.Body, e.IsBase64Encoded = anyBody.Draw(t, "body"), rapid.Bool().Draw(t, "base64") },
		func() { e.RequestContext.APIID = rapid.String().Draw(t, "api") },
		func() { e.RequestContext.Stage = rapid.String().Draw(t, "stage") },
		func() { e.RequestContext.Authorizer = nil },
		func() {
			e.RequestContext.Authorizer = &authorizerV2{Lambda: map[string]any{
				"principalId": rapid.OneOf(rapid.String().AsAny(),
					rapid.Float64Range(-1e9, 1e9).AsAny()).Draw(t, "principal"),
			}}
		},
		func() { noise(t, e) },
	}
	for _, change := range rapid.SliceOfN(rapid.SampledFrom(changes), 0, 4).Draw(t, "changes") {
		change()
	}
}

func mutateV1(t *rapid.T, e *requestV1) {
	several := rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "", "ü"}), rapid.SliceOfN(rapid.String(), 0, 3))
	changes := []func(){
		func() { e.HTTPMethod = anyMethod.Draw(t, "method") },
		func() { e.Headers, e.MultiValueHeaders = anyHeader.Draw(t, "headers"), nil },
		func() { e.Headers = anyHeader.Draw(t, "headers") },
		func() {
			e.MultiValueHeaders = maps.Clone(e.MultiValueHeaders)
			if e.MultiValueHeaders != nil {
				e.MultiValueHeaders["Idempotency-Key"] = rapid.SliceOfN(anyKey, 0, 2).Draw(t, "keys")
			}
		},
		func() { e.Path = rapid.String().Draw(t, "path") },
		func() { e.Resource = rapid.String().Draw(t, "resource") },
		func() { e.MultiValueQueryStringParameters = several.Draw(t, "multi query") },
		func() {
			e.QueryStringParameters = rapid.MapOf(rapid.SampledFrom([]string{"a", "c"}),
				rapid.String()).Draw(t, "query")
		},
		func() { e.Body, e.IsBase64Encoded = anyBody.Draw(t, "body"), rapid.Bool().Draw(t, "base64") },
		func() { e.RequestContext.APIID = rapid.String().Draw(t, "api") },
		func() { e.RequestContext.Stage = rapid.String().Draw(t, "stage") },
		func() {
			e.RequestContext.Authorizer = map[string]any{"principalId": rapid.String().Draw(t, "principal"), "n": 1.5}
		},
		func() { e.RequestContext.Identity.Caller = rapid.String().Draw(t, "caller") },
	}
	for _, change := range rapid.SliceOfN(rapid.SampledFrom(changes), 0, 4).Draw(t, "changes") {
		change()
	}
}

func mutateURL(t *rapid.T, e *requestURL) {
	changes := []func(){
		func() { e.RequestContext.HTTP.Method = anyMethod.Draw(t, "method") },
		func() { e.Headers = anyHeader.Draw(t, "headers") },
		func() { e.RawPath = rapid.String().Draw(t, "path") },
		func() { e.RawQueryString = rapid.String().Draw(t, "query") },
		func() { e.Body, e.IsBase64Encoded = anyBody.Draw(t, "body"), rapid.Bool().Draw(t, "base64") },
		func() { e.RequestContext.APIID = rapid.String().Draw(t, "api") },
		func() { e.RequestContext.DomainPrefix = rapid.String().Draw(t, "domain prefix") },
	}
	for _, change := range rapid.SliceOfN(rapid.SampledFrom(changes), 0, 4).Draw(t, "changes") {
		change()
	}
}

func mutateALB(t *rapid.T, e *requestALB) {
	several := rapid.MapOf(rapid.SampledFrom([]string{"a", "%61", "%", ""}), rapid.SliceOfN(rapid.String(), 0, 3))
	changes := []func(){
		func() { e.HTTPMethod = anyMethod.Draw(t, "method") },
		func() { e.Headers, e.MultiValueHeaders = anyHeader.Draw(t, "headers"), nil },
		func() { e.Headers = anyHeader.Draw(t, "headers") },
		func() {
			e.MultiValueHeaders = map[string][]string{"idempotency-key": rapid.SliceOfN(anyKey, 0, 2).Draw(t, "keys")}
		},
		func() { e.Path = rapid.String().Draw(t, "path") },
		func() { e.MultiValueQueryStringParameters = several.Draw(t, "multi query") },
		func() { e.QueryStringParameters = map[string]string{"b": rapid.String().Draw(t, "query")} },
		func() { e.Body, e.IsBase64Encoded = anyBody.Draw(t, "body"), rapid.Bool().Draw(t, "base64") },
		func() { e.RequestContext.ELB.TargetGroupArn = rapid.String().Draw(t, "target group") },
	}
	for _, change := range rapid.SliceOfN(rapid.SampledFrom(changes), 0, 4).Draw(t, "changes") {
		change()
	}
}

// Records live in tables, so what a request is recorded under must never change with a version of
// this module.
var identities = map[string]identity{
	"alb-base64": {
		"charge#rmEUV36siCwTFoBK7rkSB4smzBirGxkDilwBVVUZ-aQ",
		"1:kSP2dY2uOuVrGJS7ST3j9104YxtPFIJUTtIyJAY3JLY",
	},
	"alb-multi": {
		"charge#rmEUV36siCwTFoBK7rkSB4smzBirGxkDilwBVVUZ-aQ",
		"1:HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY",
	},
	"alb-multi-query": {
		"charge#SoWacFypDpmfPwfeHuLEAZkjmgKZy9zwhoWvNbEIV8o",
		"1:71yIlpUJQowfg1CmNosKd3Nvxu0xIbDFg7ADsQwm6hQ",
	},
	"alb-oidc": {
		"charge#rmEUV36siCwTFoBK7rkSB4smzBirGxkDilwBVVUZ-aQ",
		"1:HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY",
	},
	"alb-query": {
		"charge#SoWacFypDpmfPwfeHuLEAZkjmgKZy9zwhoWvNbEIV8o",
		"1:EHnTtYNz86EIIMkdmFc7jpLxKNCCp1b6wrtNmg3lZ2c",
	},
	"alb-single": {
		"charge#rmEUV36siCwTFoBK7rkSB4smzBirGxkDilwBVVUZ-aQ",
		"1:HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY",
	},
	"url-base64": {
		"charge#XlYCaMhdm-7oQsxLeHSG4YnVl7PZ_eXDKXmIrBz3bN0",
		"1:kSP2dY2uOuVrGJS7ST3j9104YxtPFIJUTtIyJAY3JLY",
	},
	"url-iam": {
		"charge#XfXFJBdl3SGMi46O0tBPqqeEQgM8wt6f-qTOTM7XD9o",
		"1:HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY",
	},
	"url-public": {
		"charge#XlYCaMhdm-7oQsxLeHSG4YnVl7PZ_eXDKXmIrBz3bN0",
		"1:HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY",
	},
	"url-query-cookies": {
		"charge#beKm88qJDUYvmmSFYlUkEznarKTs0Y6eBN7xzkosLaI",
		"1:wdlE5eMUkHeozGDmGOYYZZKL-ib9xydRet6aMPGnIOQ",
	},
	"v1-api-key": {
		"charge#mXIPPYScbaPp_L6cStYwgxtTmZaU3uYdUBZbwWvyS94",
		"1:FBQCc4nm4AL5ox8NBe8HCa5tlm3Jx50wx9bHIx-VcNM",
	},
	"v1-cognito": {
		"charge#kQHhMvmNdKLIinSGRY-NyUqqXmbQgH8ATsYWTEUJZcU",
		"1:FBQCc4nm4AL5ox8NBe8HCa5tlm3Jx50wx9bHIx-VcNM",
	},
	"v1-http-api": {
		"charge#V8xBK7D6099BpiLY7HYCa09-WzYzvrhJjW6LKGcjRH4",
		"1:3gekcZwpe9UQbuir1rAZyVIEGOxM9mt3vi0ZS9aQ2mg",
	},
	"v1-http-api-default": {
		"charge#6AgOTdaN2ytq3ce6cvbsrOhCaM6QJB64OZLuq273iSg",
		"1:oeirKuoL3YfFCxfLa2GcecfaKd6nr2cE1RB-ksxhiQk",
	},
	"v1-iam-cognito": {
		"charge#JgV8VdxBBs6ZUtV4M5QZ4UlV1U3CPt7tMA_9GnuBK00",
		"1:FBQCc4nm4AL5ox8NBe8HCa5tlm3Jx50wx9bHIx-VcNM",
	},
	"v1-iam-role": {
		"charge#mK1VZC4ycF9lCLS6eU5FWRTGZRbosRxn0bR-uHxBJcw",
		"1:FBQCc4nm4AL5ox8NBe8HCa5tlm3Jx50wx9bHIx-VcNM",
	},
	"v1-lambda-principal": {
		"charge#D3T6qA80-BX1R2fp4F21Gp40DN0wk0ZU0jPvycXNW3o",
		"1:FBQCc4nm4AL5ox8NBe8HCa5tlm3Jx50wx9bHIx-VcNM",
	},
	"v1-proxy": {
		"charge#6AgOTdaN2ytq3ce6cvbsrOhCaM6QJB64OZLuq273iSg",
		"1:oeirKuoL3YfFCxfLa2GcecfaKd6nr2cE1RB-ksxhiQk",
	},
	"v1-rest": {
		"charge#V8xBK7D6099BpiLY7HYCa09-WzYzvrhJjW6LKGcjRH4",
		"1:FBQCc4nm4AL5ox8NBe8HCa5tlm3Jx50wx9bHIx-VcNM",
	},
	"v2-base64": {
		"charge#Ygk8kLqxg257rQJi6vVjzju_yafT_FvvT-7CLfy9Ly4",
		"1:kSP2dY2uOuVrGJS7ST3j9104YxtPFIJUTtIyJAY3JLY",
	},
	"v2-default-route": {
		"charge#y9wC18ANGeznxg8vwFBiQQIQllHb_h-Q-jdlOn92yTg",
		"1:mbaKxUIYhf0LERdWd1I6j4-705DxKS2B9xoqDBjxQBw",
	},
	"v2-full": {
		"charge#h74gNHXqoLhME8SlypROL8T-Gc1cMA88Z_Sq7Oaa-B4",
		"1:3gekcZwpe9UQbuir1rAZyVIEGOxM9mt3vi0ZS9aQ2mg",
	},
	"v2-greedy-route": {
		"charge#TAgA1JStUygWU_bYCN2MeHzsCt0dmNpOAQfxUCSuvNY",
		"1:edJPACabSFsENi2TtRG4ZOA_U_LZYEyWbhdSXuYWjJs",
	},
	"v2-iam": {
		"charge#ph-Mau56wy61-HNYnPxRCpZdAsaP6Wt8BTxahydkLTg",
		"1:HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY",
	},
	"v2-iam-cognito": {
		"charge#sPvHSN-ThoqkaUdxRG1Q37RyD79ZTadO4D67DMxsTD4",
		"1:HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY",
	},
	"v2-jwt": {
		"charge#S3xne0d3zStPK1o9LyVirSXgG_k2c167LypjyJQOmaY",
		"1:HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY",
	},
	"v2-lambda-principal": {
		"charge#YNQtCbW1EAGDuXI1RIgq0ksq28FNyt9YqGNZui1qcUc",
		"1:HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY",
	},
	"v2-path-parameter": {
		"charge#Qc3HHlgeEUPrmOp_h9_UHhXavDGVx3AR-ZXn-iXdB7o",
		"1:-Ji0v_xBXop2iQ_MLD42-kFLr9gS8XTj1lA8EdUwK9o",
	},
}

func TestIdentitiesOfGoldenEventsNeverChange(t *testing.T) {
	t.Parallel()
	seen := 0
	for name := range golden(t) {
		var id identity
		var err error
		switch kind, _, _ := strings.Cut(name, "-"); kind {
		case "v2":
			id, _, err = identify[requestV2, responseV2](t.Context(), load[requestV2](t, name), true)
		case "v1":
			id, _, err = identify[requestV1, responseV1](t.Context(), load[requestV1](t, name), true)
		case "url":
			id, _, err = identify[requestURL, responseURL](t.Context(), load[requestURL](t, name), true)
		case "alb":
			id, _, err = identify[requestALB, responseALB](t.Context(), load[requestALB](t, name), true)
		}
		require.NoError(t, err)
		if id.key != "" {
			seen++
			assert.Equal(t, identities[name], id, name)
		}
	}
	assert.Equal(t, len(identities), seen)
}
