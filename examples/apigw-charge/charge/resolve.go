package charge

import (
	"context"
	"net/http"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/examples/internal/httpapi"
)

// Resolver returns a function that asks the provider what became of a charge whose function did not live to tell, or was not told. It gets
// no event: the derived key finds the charge, and the charge says what the handler would have answered.
//
// That there is no charge is [idempotent.Untouched]. A request that is still on its way to the provider could prove it wrong, and then
// does no harm: the client's next request carries the same derived key. A charge that has neither succeeded nor failed yet is still unknown.
func Resolver(f payments.Finder) func(context.Context, idempotent.Execution) (idempotent.Resolution[httpapi.Response], error) {
	return func(ctx context.Context, x idempotent.Execution) (idempotent.Resolution[httpapi.Response], error) {
		made, found, err := f.Find(ctx, x.DerivedKey(KeyName))
		switch {
		case err != nil:
			return idempotent.StillUnknown[httpapi.Response](), err
		case !found:
			return idempotent.Untouched[httpapi.Response](), nil
		}
		out, ended, err := Answered(made)
		if err != nil || !ended {
			return idempotent.StillUnknown[httpapi.Response](), err
		}
		return idempotent.Executed(out), nil
	}
}

// RESTResolver is [Resolver] of the handler that [REST] returns.
func RESTResolver(f payments.Finder) func(context.Context, idempotent.Execution) (idempotent.Resolution[events.APIGatewayProxyResponse], error) {
	resolve := Resolver(f)
	return func(ctx context.Context, x idempotent.Execution) (idempotent.Resolution[events.APIGatewayProxyResponse], error) {
		r, err := resolve(ctx, x)
		if out, executed := r.Result(); executed {
			return idempotent.Executed(restResponse(out)), err
		}
		if r.IsUntouched() {
			return idempotent.Untouched[events.APIGatewayProxyResponse](), err
		}
		return idempotent.StillUnknown[events.APIGatewayProxyResponse](), err
	}
}

// Answered is what the handler answers to the request of a charge. It reports false if the charge has not ended. The metadata are as the
// provider has them: what the handler has added is taken out.
func Answered(m payments.Made) (out httpapi.Response, ended bool, err error) {
	switch m.Status {
	case payments.Succeeded:
		own, err := unmarked(m.Metadata)
		if err != nil {
			return httpapi.Response{}, false, err
		}
		out, err = charged(m.Charge, payments.Request{Amount: m.Amount, Currency: m.Currency, Metadata: own})
		return out, true, err
	case payments.Failed:
		out, err = declined()
		return out, true, err
	default:
		return httpapi.Response{}, false, nil
	}
}

func declined() (httpapi.Response, error) {
	return httpapi.Problem(http.StatusPaymentRequired, "The payment source was declined.")
}
