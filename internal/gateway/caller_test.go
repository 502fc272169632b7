package gateway

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
)

// texts are the parts of an event that are texts.
type texts = map[part]string

func callerIn(parts texts) Caller {
	var e event
	for as, text := range parts {
		e.text[as] = text
	}
	return e.caller()
}

func TestCallerIsWhomTheStrongestSourceNames(t *testing.T) {
	t.Parallel()
	weaker := texts{
		partPrincipal: "p", partPrincipalNumber: "7", partIdentity: "i", partAccount: "1", partUser: "AIDA",
		partAPIKey: "k",
	}
	parts := texts{partIssuer: "iss", partSubject: "sub"}
	maps.Copy(parts, weaker)
	for _, c := range []struct {
		want    Caller
		without part // from here on
	}{
		{CallerOf("jwt", "iss", "sub"), partSubject},
		{CallerOf("lambda", "p"), partPrincipal},
		{CallerOf("lambda-number", "7"), partPrincipalNumber},
		{CallerOf("cognito-identity", "i"), partIdentity},
		{CallerOf("iam", "1", "AIDA"), partUser},
		{CallerOf(unusable), partAccount}, // an account without a user
		{CallerOf("api-key", "k"), partAPIKey},
		{CallerOf("anonymous"), 0},
	} {
		assert.Equal(t, c.want, callerIn(parts))
		delete(parts, c.without)
	}
}

func TestCallersAreToldApart(t *testing.T) {
	t.Parallel()
	var seen []Caller
	for _, parts := range []texts{
		{},
		{partIssuer: "a", partSubject: "x"},
		{partIssuer: "b", partSubject: "x"},
		{partSubject: "x"},
		{partPrincipal: "x"},
		{partPrincipal: "7"},
		{partPrincipalNumber: "7"},
		{partIdentity: "x"},
		{partUser: "x"},
		{partAccount: "1", partUser: "x"},
		{partAccount: "2", partUser: "x"},
		{partAccount: "1", partUser: "AROAX:ada"},
		{partAccount: "1", partUser: "AROAY:ada"},
		{partAccount: "1", partUser: "123456789012"},
		{partAccount: "1", partUser: "123456789012:ada"},
		{partAccount: "1", partUser: "123456789012:bob"},
		{partAPIKey: "x"},
	} {
		who := callerIn(parts)
		assert.NotContains(t, seen, who, parts)
		assert.Equal(t, len(parts) == 0, who.Anonymous(), parts)
		seen = append(seen, who)
	}
}

// Providers of SAML and OIDC call the person by an e-mail address.
func TestASessionThatIsAnAddressIsAPerson(t *testing.T) {
	t.Parallel()
	of := func(id string) Caller { return callerIn(texts{partAccount: "1", partUser: id}) }
	assert.NotEqual(t, of("AROAX:alice@example.com"), of("AROAX:bob@example.com"))
	for _, id := range []string{
		"AROAX:job@1", "AROAX:@example.com", "AROAX:a@b@example.com", "AROAX:a@.com",
		"AROAX:a@example.",
	} {
		assert.Equal(t, of("AROAX"), of(id), id)
	}
}

// A decoder puts one character in the place of what it cannot decode: two names would become one.
func TestANameThatCouldNotBeDecodedIsNoName(t *testing.T) {
	t.Parallel()
	assert.True(t, callerIn(texts{partIssuer: "iss", partSubject: "a\uFFFD"}).Unusable())
	assert.True(t, callerIn(texts{partPrincipal: "\uFFFD"}).Unusable())
}

func TestCallerThatWasNeverReadIsAnonymous(t *testing.T) {
	t.Parallel()
	assert.True(t, Caller{}.Anonymous())
	assert.True(t, CallerOf(anonymous).Anonymous())
	assert.False(t, CallerOf("tenant", "").Anonymous())
	assert.False(t, CallerOf(unusable).Anonymous())
	assert.False(t, Caller{}.Unusable())
}

// From 2^53 on, two integers may be one number once they are decoded.
func TestPrincipalIsATextOrAnIntegerBelow2To53(t *testing.T) {
	t.Parallel()
	read := readOf[requestV1, responseV1](t)
	for principal, want := range map[string]Caller{
		`"p"`: CallerOf("lambda", "p"), `"7"`: CallerOf("lambda", "7"),
		`7`: CallerOf("lambda-number", "7"), `7.0`: CallerOf("lambda-number", "7"),
		`-0`:                CallerOf("lambda-number", "0"),
		`9007199254740991`:  CallerOf("lambda-number", "9007199254740991"),
		`-9007199254740991`: CallerOf("lambda-number", "-9007199254740991"),
		`9007199254740992`:  CallerOf(unusable), `-9007199254740993`: CallerOf(unusable), `7.5`: CallerOf(unusable),
		`1e300`: CallerOf(unusable), `""`: CallerOf(unusable), `null`: CallerOf(anonymous), `true`: CallerOf(unusable),
		`["a"]`: CallerOf(unusable), `{"a":1}`: CallerOf(unusable),
	} {
		var e requestV1
		assert.NoError(t, json.Unmarshal([]byte(`{"requestContext":{"authorizer":{"principalId":`+principal+`}}}`), &e))
		assert.Equal(t, want, read(e).Caller, principal)
	}
}
