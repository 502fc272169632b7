package idempotent_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Records live in tables, so what a request is recorded under must never change with a version of this module.
var identities = map[string]identity{
	"alb-base64":          {"charge#rmEUV36siCwTFoBK7rkSB4smzBirGxkDilwBVVUZ-aQ", "1:kSP2dY2uOuVrGJS7ST3j9104YxtPFIJUTtIyJAY3JLY"},
	"alb-multi":           {"charge#rmEUV36siCwTFoBK7rkSB4smzBirGxkDilwBVVUZ-aQ", "1:HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY"},
	"alb-multi-query":     {"charge#SoWacFypDpmfPwfeHuLEAZkjmgKZy9zwhoWvNbEIV8o", "1:71yIlpUJQowfg1CmNosKd3Nvxu0xIbDFg7ADsQwm6hQ"},
	"alb-oidc":            {"charge#rmEUV36siCwTFoBK7rkSB4smzBirGxkDilwBVVUZ-aQ", "1:HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY"},
	"alb-query":           {"charge#SoWacFypDpmfPwfeHuLEAZkjmgKZy9zwhoWvNbEIV8o", "1:EHnTtYNz86EIIMkdmFc7jpLxKNCCp1b6wrtNmg3lZ2c"},
	"alb-single":          {"charge#rmEUV36siCwTFoBK7rkSB4smzBirGxkDilwBVVUZ-aQ", "1:HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY"},
	"url-base64":          {"charge#XlYCaMhdm-7oQsxLeHSG4YnVl7PZ_eXDKXmIrBz3bN0", "1:kSP2dY2uOuVrGJS7ST3j9104YxtPFIJUTtIyJAY3JLY"},
	"url-iam":             {"charge#XfXFJBdl3SGMi46O0tBPqqeEQgM8wt6f-qTOTM7XD9o", "1:HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY"},
	"url-public":          {"charge#XlYCaMhdm-7oQsxLeHSG4YnVl7PZ_eXDKXmIrBz3bN0", "1:HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY"},
	"url-query-cookies":   {"charge#beKm88qJDUYvmmSFYlUkEznarKTs0Y6eBN7xzkosLaI", "1:wdlE5eMUkHeozGDmGOYYZZKL-ib9xydRet6aMPGnIOQ"},
	"v1-api-key":          {"charge#mXIPPYScbaPp_L6cStYwgxtTmZaU3uYdUBZbwWvyS94", "1:FBQCc4nm4AL5ox8NBe8HCa5tlm3Jx50wx9bHIx-VcNM"},
	"v1-cognito":          {"charge#kQHhMvmNdKLIinSGRY-NyUqqXmbQgH8ATsYWTEUJZcU", "1:FBQCc4nm4AL5ox8NBe8HCa5tlm3Jx50wx9bHIx-VcNM"},
	"v1-http-api":         {"charge#V8xBK7D6099BpiLY7HYCa09-WzYzvrhJjW6LKGcjRH4", "1:3gekcZwpe9UQbuir1rAZyVIEGOxM9mt3vi0ZS9aQ2mg"},
	"v1-http-api-default": {"charge#6AgOTdaN2ytq3ce6cvbsrOhCaM6QJB64OZLuq273iSg", "1:oeirKuoL3YfFCxfLa2GcecfaKd6nr2cE1RB-ksxhiQk"},
	"v1-iam-cognito":      {"charge#JgV8VdxBBs6ZUtV4M5QZ4UlV1U3CPt7tMA_9GnuBK00", "1:FBQCc4nm4AL5ox8NBe8HCa5tlm3Jx50wx9bHIx-VcNM"},
	"v1-iam-role":         {"charge#mK1VZC4ycF9lCLS6eU5FWRTGZRbosRxn0bR-uHxBJcw", "1:FBQCc4nm4AL5ox8NBe8HCa5tlm3Jx50wx9bHIx-VcNM"},
	"v1-lambda-context":   {"charge#V8xBK7D6099BpiLY7HYCa09-WzYzvrhJjW6LKGcjRH4", "1:FBQCc4nm4AL5ox8NBe8HCa5tlm3Jx50wx9bHIx-VcNM"},
	"v1-lambda-principal": {"charge#D3T6qA80-BX1R2fp4F21Gp40DN0wk0ZU0jPvycXNW3o", "1:FBQCc4nm4AL5ox8NBe8HCa5tlm3Jx50wx9bHIx-VcNM"},
	"v1-proxy":            {"charge#6AgOTdaN2ytq3ce6cvbsrOhCaM6QJB64OZLuq273iSg", "1:oeirKuoL3YfFCxfLa2GcecfaKd6nr2cE1RB-ksxhiQk"},
	"v1-rest":             {"charge#V8xBK7D6099BpiLY7HYCa09-WzYzvrhJjW6LKGcjRH4", "1:FBQCc4nm4AL5ox8NBe8HCa5tlm3Jx50wx9bHIx-VcNM"},
	"v2-base64":           {"charge#Ygk8kLqxg257rQJi6vVjzju_yafT_FvvT-7CLfy9Ly4", "1:kSP2dY2uOuVrGJS7ST3j9104YxtPFIJUTtIyJAY3JLY"},
	"v2-default-route":    {"charge#y9wC18ANGeznxg8vwFBiQQIQllHb_h-Q-jdlOn92yTg", "1:mbaKxUIYhf0LERdWd1I6j4-705DxKS2B9xoqDBjxQBw"},
	"v2-full":             {"charge#h74gNHXqoLhME8SlypROL8T-Gc1cMA88Z_Sq7Oaa-B4", "1:3gekcZwpe9UQbuir1rAZyVIEGOxM9mt3vi0ZS9aQ2mg"},
	"v2-greedy-route":     {"charge#TAgA1JStUygWU_bYCN2MeHzsCt0dmNpOAQfxUCSuvNY", "1:edJPACabSFsENi2TtRG4ZOA_U_LZYEyWbhdSXuYWjJs"},
	"v2-iam":              {"charge#ph-Mau56wy61-HNYnPxRCpZdAsaP6Wt8BTxahydkLTg", "1:HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY"},
	"v2-iam-cognito":      {"charge#sPvHSN-ThoqkaUdxRG1Q37RyD79ZTadO4D67DMxsTD4", "1:HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY"},
	"v2-jwt":              {"charge#S3xne0d3zStPK1o9LyVirSXgG_k2c167LypjyJQOmaY", "1:HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY"},
	"v2-jwt-without-sub":  {"charge#Ygk8kLqxg257rQJi6vVjzju_yafT_FvvT-7CLfy9Ly4", "1:HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY"},
	"v2-lambda-context":   {"charge#Ygk8kLqxg257rQJi6vVjzju_yafT_FvvT-7CLfy9Ly4", "1:HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY"},
	"v2-lambda-null":      {"charge#Ygk8kLqxg257rQJi6vVjzju_yafT_FvvT-7CLfy9Ly4", "1:HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY"},
	"v2-lambda-principal": {"charge#YNQtCbW1EAGDuXI1RIgq0ksq28FNyt9YqGNZui1qcUc", "1:HUt8nnMTL2aFcvMZMQHvipuFnivtBJtR-J2PcOnjeMY"},
	"v2-path-parameter":   {"charge#Qc3HHlgeEUPrmOp_h9_UHhXavDGVx3AR-ZXn-iXdB7o", "1:-Ji0v_xBXop2iQ_MLD42-kFLr9gS8XTj1lA8EdUwK9o"},
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
