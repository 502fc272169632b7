package fingerprint_test

import (
	"errors"
	"fmt"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// Two clients send one order, each in its own way.
func ExampleCanonical() {
	for _, body := range []string{
		`{"amount": 12.50, "currency": "EUR"}`,
		`{"currency":"\u0045UR","amount":125e-1}`,
	} {
		form, err := fingerprint.Canonical(nil, []byte(body))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(string(form))
	}
	// Output:
	// {"amount":12.5,"currency":"EUR"}
	// {"amount":12.5,"currency":"EUR"}
}

// Amounts that differ beyond the precision of a double are different amounts.
func ExampleCanonical_exactNumbers() {
	form, err := fingerprint.Canonical(nil, []byte(`[9007199254740992, 9007199254740993, 0.10, 0.10000000000000000001]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(form))
	// Output:
	// [9007199254740992,9007199254740993,0.1,0.10000000000000000001]
}

// The error says where and why a document is refused, and nothing of what it contains.
func ExampleSyntaxError() {
	_, err := fingerprint.Canonical(nil, []byte(`{"card":"4111","card":"4242"}`))
	if syntax, ok := errors.AsType[*fingerprint.SyntaxError](err); ok {
		fmt.Println(syntax.Offset)
	}
	fmt.Println(err)
	// Output:
	// 15
	// fingerprint: JSON text, byte 15: duplicate key
}

// A body that is no JSON text counts as its bytes. The field after the body says how it was taken.
func ExampleHash() {
	for _, body := range []string{`{"amount": 12.50}`, `{"amount":12.5}`, `{"amount":12.51}`, "amount=12.5"} {
		h := fingerprint.New("request")
		h.String("POST")
		h.String("/charges")
		if err := h.JSON([]byte(body)); err == nil {
			h.String("json")
		} else {
			h.String(body)
			h.String("bytes")
		}
		fmt.Println(h.Text())
	}
	// Output:
	// 1:ed-2lCFCExAd64krlJY2xVuByShxcW3jTrFsNxZ-eew
	// 1:ed-2lCFCExAd64krlJY2xVuByShxcW3jTrFsNxZ-eew
	// 1:n_f6aUWKLpEWn3kUKnPtEwykHES3z4zbcqTDWRfZbTM
	// 1:oL9YyhOqQS8rLeDMHknIFsFlg87rDLtg96seowJ_wUg
}

// The key keeps anybody who reads the record from guessing what was digested.
func ExampleNewKeyed() {
	h := fingerprint.NewKeyed([]byte("32 random bytes from the secrets"), "request")
	h.String("+49 30 901820")
	fmt.Println(h.Text())
	// Output:
	// 1h:JoZ3iEbJefMvw-qSZy5kWtdPZCLFP_mLluwkkpSIP7Q
}

// A stored digest is compared by computing the version that it carries.
func ExampleVersionOf() {
	for _, stored := range []string{
		fingerprint.New("request").Text(),
		"3:dGhlIGRpZ2VzdCBvZiBhIGxhdGVyIHZlcnNpb24uLi4",
	} {
		version, ok := fingerprint.VersionOf(stored)
		fmt.Printf("%q %v\n", version, ok)
	}
	// Output:
	// "1" true
	// "" false
}
