package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"

	cyberphone "github.com/cyberphone/json-canonicalization/go/src/webpki.org/jsoncanonicalizer"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gowebpki/jcs"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// canonicalRate is the slowest acceptable canonicalisation, in MB (10^6 bytes) per second.
const canonicalRate = 75

// measureCanonical compares ways to reduce a JSON document to a canonical form.
func measureCanonical(rounds int) (table, error) {
	sizes := []struct {
		name   string
		size   int
		allocs float64
	}{
		{"200 B", 200, 2},
		{"3 KB", 3 << 10, 2},
		{"100 KB", 100 << 10, 2},
		{"5 MB", 5 << 20, 0},
	}
	whole := table{about: "JSON documents, orders with their members out of order, made canonical. The measure is SHA-256 of the document " +
		"as it is. jcs, cyberphone and jsontext are RFC 8785 and round numbers to doubles; encoding/json (into any, numbers kept, and back) " +
		"is no canonical form: it keeps the spelling of numbers and of duplicates the last."}
	for _, s := range sizes {
		doc := orderDocument(s.size)
		t, err := comparison{cases: canonicalCases(doc, s.allocs)}.measure(rounds)
		if err != nil {
			return table{}, fmt.Errorf("%s: %w", s.name, err)
		}
		whole.add(fmt.Sprintf("%s (%d bytes)", s.name, len(doc)), t)
	}
	return whole, nil
}

// canonicalCases work on one document. Each returns its form in memory of its own, as a caller needs it.
func canonicalCases(doc []byte, allocs float64) []measured {
	limit := goals{rate: canonicalRate, allocs: allocs}
	return []measured{
		perDocument(doc, "SHA-256 alone", goals{}, func() error { sinkDigest = sha256.Sum256(doc); return nil }),
		perDocument(doc, "this library", limit, func() (err error) { sink, err = fingerprint.Canonical(nil, doc); return err }),
		perDocument(doc, "this library, fingerprint", goals{rate: canonicalRate}, func() error { return digestOf(doc) }),
		perDocument(doc, "gowebpki/jcs", goals{}, func() (err error) { sink, err = jcs.Transform(doc); return err }),
		perDocument(doc, "cyberphone", goals{}, func() (err error) { sink, err = cyberphone.Transform(doc); return err }),
		perDocument(doc, "jsontext", goals{}, func() (err error) { sink, err = jsontextForm(doc); return err }),
		perDocument(doc, "encoding/json", goals{}, func() (err error) { sink, err = encodingJSONForm(doc); return err }),
	}
}

// What the cases compute goes here, so that the compiler cannot leave it out.
var (
	sink       []byte
	sinkText   string
	sinkDigest [sha256.Size]byte
)

func perDocument(doc []byte, name string, g goals, once func() error) measured {
	return measured{name: name, goals: g, size: len(doc), run: func(n int) error {
		for range n {
			if err := once(); err != nil {
				return err
			}
		}
		return nil
	}}
}

func digestOf(doc []byte) error {
	h := fingerprint.New("bench")
	if err := h.JSON(doc); err != nil {
		return err
	}
	sinkText = h.Text()
	return nil
}

// jsontextForm works on a copy: Canonicalize writes into its argument.
func jsontextForm(doc []byte) ([]byte, error) {
	v := jsontext.Value(bytes.Clone(doc))
	err := v.Canonicalize()
	return v, err
}

func encodingJSONForm(doc []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// orderDocument returns a JSON document of about size bytes, always the same one: an order with as many lines as fit, or
// from 100 KB on a list of orders of 3 KB. Members are in the order of a program that does not care.
func orderDocument(size int) []byte {
	random := rand.New(rand.NewPCG(1, uint64(size)))
	if size < 100<<10 {
		return appendOrder(nil, random, size)
	}
	doc := []byte(`{"page":1,"orders":[`)
	for len(doc) < size {
		doc = append(appendOrder(doc, random, 3<<10), ',')
	}
	return append(doc[:len(doc)-1], `],"next":null,"count":`+strconv.Itoa(size/(3<<10))+`}`...)
}

func appendOrder(doc []byte, random *rand.Rand, size int) []byte {
	end := len(doc) + size
	doc = fmt.Appendf(doc, `{"orderId":"%016x","customer":{"name":"Zo\u00eb Müller","id":%d},"currency":"EUR","lines":[`,
		random.Uint64(), random.IntN(1_000_000))
	for {
		doc = fmt.Appendf(doc, `{"sku":"%c-%04d","quantity":%d,"price":%d.%02d}`,
			'A'+random.IntN(26), random.IntN(10_000), 1+random.IntN(9), random.IntN(500), random.IntN(100))
		if len(doc)+lineLength > end {
			break
		}
		doc = append(doc, ',')
		if random.IntN(4) == 0 {
			doc = append(doc, "\n  "...) // somebody's line breaks
		}
	}
	return fmt.Appendf(doc, `],"amount":%d.%02d,"paid":false}`, random.IntN(5000), random.IntN(100))
}

// lineLength is about that of a line and of what ends an order.
const lineLength = 80
