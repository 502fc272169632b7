package main

import (
	"bytes"
	"crypto/sha256"
	"testing"

	cyberphone "github.com/cyberphone/json-canonicalization/go/src/webpki.org/jsoncanonicalizer"
	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/fingerprint"
)

func TestCanonicalFormsAreComparable(t *testing.T) {
	t.Parallel()
	for _, size := range []int{200, 3 << 10, 100 << 10} {
		doc := orderDocument(size)
		require.InEpsilon(t, size, len(doc), 0.15)
		require.Equal(t, doc, orderDocument(size), "the document is always the same")
		want, err := fingerprint.Canonical(nil, doc)
		require.NoError(t, err)
		require.False(t, bytes.Equal(doc, want), "there is something to do")
		for name, form := range map[string]func([]byte) ([]byte, error){
			"gowebpki/jcs": jcs.Transform, "cyberphone": cyberphone.Transform, "jsontext": jsontextForm,
		} {
			got, err := form(doc)
			require.NoError(t, err, name)
			require.Equal(t, string(want), string(got), "%s, %d bytes", name, size)
		}
		kept, err := encodingJSONForm(doc)
		require.NoError(t, err)
		require.JSONEq(t, string(doc), string(kept))
	}
}

func TestFingerprintIsOfTheCanonicalForm(t *testing.T) {
	doc := orderDocument(200)
	form, err := fingerprint.Canonical(nil, doc)
	require.NoError(t, err)
	require.NoError(t, digestOf(doc))
	of := sinkText
	require.NoError(t, digestOf(form))
	require.Equal(t, of, sinkText)
	require.NoError(t, digestOf(orderDocument(201)))
	require.NotEqual(t, of, sinkText)
}

func TestCanonicalCasesWork(t *testing.T) {
	doc := orderDocument(200)
	for _, c := range canonicalCases(doc, 0) {
		sink, sinkText, sinkDigest = nil, "", [sha256.Size]byte{}
		require.NoError(t, c.run(1), c.name)
		require.True(t, sink != nil || sinkText != "" || sinkDigest != [sha256.Size]byte{}, "%s has computed nothing", c.name)
	}
	for _, c := range canonicalCases([]byte(`{"a":`), 0)[1:] {
		require.Error(t, c.run(1), "%s reports what it cannot do", c.name)
	}
}
