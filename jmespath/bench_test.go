package jmespath

import "testing"

func BenchmarkSearch(b *testing.B) {
	payload := []byte(apiGatewayEvent)
	for _, source := range []string{
		`headers."idempotency-key"`,
		`requestContext.authorizer.jwt.claims.sub`,
		`[headers."idempotency-key", requestContext.accountId]`,
		`powertools_json(body).[tenant, order_id]`,
		`@`,
	} {
		b.Run(source, func(b *testing.B) {
			expression, err := Compile(source)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(payload)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := expression.Search(payload); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(`powertools_json(body).[tenant, order_id]`); err != nil {
			b.Fatal(err)
		}
	}
}
