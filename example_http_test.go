package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

// A function URL needs no configuration. Here clients have to send long keys, and be known: the URL has the authentication
// type AWS_IAM.
func Example_functionURL() {
	charge := func(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
		return events.LambdaFunctionURLResponse{StatusCode: http.StatusCreated, Body: `{"id":"ch_1"}`}, nil
	}
	handler := idempotent.Wrap(charge, memory.New(),
		idempotent.WithHTTP(idempotent.HTTP{RequireTenant: true, CheckKey: func(key string) error {
			if len(key) < 16 {
				return errors.New("is shorter than 16 characters")
			}
			return nil
		}}))

	send := func(key, user string) {
		req := events.LambdaFunctionURLRequest{RawPath: "/charges", Headers: map[string]string{"idempotency-key": key}, Body: `{"amount":1999}`}
		req.RequestContext.HTTP.Method = http.MethodPost
		if user != "" {
			req.RequestContext.Authorizer = &events.LambdaFunctionURLRequestContextAuthorizerDescription{
				IAM: &events.LambdaFunctionURLRequestContextAuthorizerIAMDescription{AccountID: "123456789012", UserID: user},
			}
		}
		resp, err := handler.Handle(context.Background(), req)
		fmt.Println(resp.StatusCode, resp.Headers["Idempotent-Replayed"], err)
	}
	send("8e03978e-40d5-43e8-bc93-6894a57f9324", "AIDAADA")
	send("8e03978e-40d5-43e8-bc93-6894a57f9324", "AIDAADA")
	send("8e03978e-40d5-43e8-bc93-6894a57f9324", "AIDABOB") // a key of his own
	send("order-1", "AIDAADA")
	send("8e03978e-40d5-43e8-bc93-6894a57f9324", "")
	// Output:
	// 201  <nil>
	// 201 true <nil>
	// 201  <nil>
	// 400  <nil>
	// 401  <nil>
}

// A load balancer identifies nobody. This one authenticates every request by OpenID Connect before it forwards it, and nobody
// reaches the function in another way: only then may the header be believed.
func Example_loadBalancer() {
	charge := func(context.Context, events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
		return events.ALBTargetGroupResponse{StatusCode: http.StatusCreated, StatusDescription: "201 Created", Body: `{"id":"ch_1"}`}, nil
	}
	handler := idempotent.Wrap(charge, memory.New(),
		idempotent.WithTenant(func(_ context.Context, req events.ALBTargetGroupRequest) (string, error) {
			if ids := req.MultiValueHeaders["x-amzn-oidc-identity"]; len(ids) == 1 {
				return ids[0], nil
			}
			return "", errors.New("the request was not authenticated")
		}))

	// The target group has multi-value headers, so the answers have them too.
	req := events.ALBTargetGroupRequest{
		HTTPMethod: http.MethodPost, Path: "/charges", Body: `{"amount":1999}`,
		MultiValueHeaders: map[string][]string{"idempotency-key": {"order-1"}, "x-amzn-oidc-identity": {"ada"}},
	}
	for _, body := range []string{`{"amount":1999}`, `{"amount":1999}`, `{"amount":9900}`} {
		req.Body = body
		resp, err := handler.Handle(context.Background(), req)
		fmt.Println(resp.StatusDescription, resp.MultiValueHeaders["Idempotent-Replayed"], err)
	}
	// Output:
	// 201 Created [] <nil>
	// 201 Created [true] <nil>
	// 422 Unprocessable Content [] <nil>
}

// A message of a WebSocket API has no headers: the key is in its body. It must not depend on the connection, which is
// another one after the client has lost its signal. The errors of this package are answered to the client here.
func Example_webSocket() {
	type request = events.APIGatewayWebsocketProxyRequest
	type response = events.APIGatewayProxyResponse

	charge := idempotent.Wrap(
		func(_ context.Context, req request) (response, error) {
			fmt.Println("charging on connection", req.RequestContext.ConnectionID)
			return response{StatusCode: http.StatusOK, Body: `{"id":"ch_1"}`}, nil
		},
		memory.New(),
		idempotent.WithOperation("ws-charge"),
		idempotent.WithKeyPath("powertools_json(body).key"),
		idempotent.WithFingerprintPath("powertools_json(body)"),
		// A $connect route with an authorizer names the user of the connection.
		idempotent.WithTenant(func(_ context.Context, req request) (string, error) {
			authorizer, _ := req.RequestContext.Authorizer.(map[string]any)
			principal, _ := authorizer["principalId"].(string)
			return principal, nil
		}),
		// Server errors are not replayed.
		idempotent.WithStoreIf(func(r response) bool { return r.StatusCode < 500 }))

	handler := func(ctx context.Context, req request) (response, error) { // for lambda.Start
		resp, err := charge.Handle(ctx, req)
		switch {
		case errors.Is(err, idempotent.ErrMismatch):
			return response{StatusCode: http.StatusUnprocessableEntity, Body: `{"error":"the key was used for another charge"}`}, nil
		case errors.Is(err, idempotent.ErrInProgress), errors.Is(err, idempotent.ErrStoreUnavailable):
			return response{StatusCode: http.StatusConflict, Body: `{"error":"send it again"}`}, nil
		default:
			return resp, err
		}
	}

	for _, message := range []struct{ connection, body string }{
		{"TWefcdF2FiACFAz=", `{"action":"charge","key":"order-1","amount":1999}`},
		{"TWehkFh9FiACGBQ=", `{"action":"charge","key":"order-1","amount":1999}`},
		{"TWehkFh9FiACGBQ=", `{"action":"charge","key":"order-1","amount":9900}`},
	} {
		req := request{Body: message.body}
		req.RequestContext.ConnectionID = message.connection
		req.RequestContext.Authorizer = map[string]any{"principalId": "ada"}
		resp, err := handler(context.Background(), req)
		fmt.Println(resp.StatusCode, resp.Body, err)
	}
	// Output:
	// charging on connection TWefcdF2FiACFAz=
	// 200 {"id":"ch_1"} <nil>
	// 200 {"id":"ch_1"} <nil>
	// 422 {"error":"the key was used for another charge"} <nil>
}

// A direct Lambda resolver of AppSync: the key is an argument of the mutation, and counts per user. The result may have any
// type; an error of this package reaches the client in the errors of the GraphQL response.
func Example_appSync() {
	type mutation struct {
		Arguments struct {
			Input struct {
				Key      string `json:"key"`
				Amount   int64  `json:"amount"`
				Currency string `json:"currency"`
			} `json:"input"`
		} `json:"arguments"`
		Identity events.AppSyncCognitoIdentity `json:"identity"`
	}
	type charge struct {
		ID     string `json:"id"`
		Amount int64  `json:"amount"`
	}

	handler := idempotent.Wrap(
		func(_ context.Context, m mutation) (charge, error) {
			fmt.Println("charging", m.Identity.Username)
			return charge{ID: "ch_1", Amount: m.Arguments.Input.Amount}, nil
		},
		memory.New(),
		idempotent.WithOperation("create-charge"),
		idempotent.WithKey(func(m mutation) (string, error) { return m.Arguments.Input.Key, nil }),
		idempotent.WithFingerprint(func(m mutation) (any, error) { return m.Arguments.Input, nil }),
		idempotent.WithTenant(func(_ context.Context, m mutation) (string, error) { return m.Identity.Sub, nil }))

	payload, err := os.ReadFile("internal/gateway/testdata/events/other/appsync-mutation.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		result, err := handler.Invoke(context.Background(), payload) // what lambda.Start does
		fmt.Println(string(result), err)
	}
	// Output:
	// charging ada
	// {"id":"ch_1","amount":4200} <nil>
	// {"id":"ch_1","amount":4200} <nil>
}
