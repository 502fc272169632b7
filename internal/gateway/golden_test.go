package gateway_test

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
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
				executeOnce[requestV2, responseV2](t, name, payload)
			case "v1":
				executeOnce[requestV1, responseV1](t, name, payload)
			case "url":
				executeOnce[requestURL, responseURL](t, name, payload)
				executeOnce[requestV2, responseV2](t, name, payload)
			case "alb":
				executeOnce[requestALB, responseALB](t, name, payload)
			default:
				t.Fatal("of no family")
			}
		})
	}
}

func executeOnce[In, Out any](t *testing.T, name string, payload []byte) {
	t.Helper()
	executeEventOnce[In, Out](t, name, payload)
	executeEventOnce[*In, Out](t, name, payload)
	executeEventOnce[In, *Out](t, name, payload)
	executeEventOnce[*In, *Out](t, name, payload)
}

// executeEventOnce delivers a payload to Invoke and its event to Handle, over one store: the second
// finds the record of the first.
func executeEventOnce[In, Out any](t *testing.T, name string, payload []byte) {
	t.Helper()
	executed := 0
	store := storetest.NewFaulty(memory.New(), nil)
	h := idempotent.Wrap(func(context.Context, In) (Out, error) {
		executed++
		return respond[Out](reply{Status: 200, Body: "done"}), nil
	}, store)
	var answers []reply
	for _, wire := range []bool{true, false} {
		out, err := sent(t.Context(), h, payload, nil, wire)
		require.NoError(t, err)
		answers = append(answers, read(out))
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
			switch kind, _, _ := strings.Cut(name, "-"); kind {
			case "v2":
				sameRecord[requestV2, responseV2](t, name, mutateV2)
			case "v1":
				sameRecord[requestV1, responseV1](t, name, mutateV1)
			case "url":
				sameRecord[requestURL, responseURL](t, name, mutateURL)
			case "alb":
				sameRecord[requestALB, responseALB](t, name, mutateALB)
			}
		})
	}
}

func sameRecord[In, Out any](t *testing.T, name string, mutate func(*rapid.T, *In)) {
	t.Helper()
	for pointer, doors := range map[bool][2]door{
		false: {newDoor[In, Out]("", false, nil), newDoor[In, Out]("", true, nil)},
		true:  {newDoor[*In, *Out]("", false, nil), newDoor[*In, *Out]("", true, nil)},
	} {
		rapid.Check(t, func(t *rapid.T) {
			e := load[In](t, name)
			mutate(t, &e)
			var event any = e
			if pointer {
				event = &e
			}
			byValue, answerV := doors[0].identify(context.Background(), t, event)
			byWire, answerW := doors[1].identify(context.Background(), t, event)
			assert.Equal(t, byValue, byWire)
			assert.Equal(t, answerV, answerW)
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
			principal := rapid.OneOf(rapid.String().AsAny(), rapid.Float64Range(-1e9, 1e9).AsAny()).Draw(t, "principal")
			e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
				Lambda: map[string]any{"principalId": principal},
			}
		},
		func() { noise(t, e) },
	}
	apply(t, changes)
}

func apply(t *rapid.T, changes []func()) {
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
	apply(t, changes)
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
	apply(t, changes)
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
	apply(t, changes)
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
		}
	}
	assert.Equal(t, len(identities), seen)
}
