package jmespath

// apiGatewayEvent is an event of an HTTP API (payload format 2.0).
const apiGatewayEvent = `{
  "version": "2.0",
  "routeKey": "POST /charges",
  "rawQueryString": "expand=customer&expand=invoice",
  "cookies": ["session=7d6f0a4f1c; Path=/", "theme=dark"],
  "headers": {
    "accept": "application/json, text/plain, */*",
    "idempotency-key": "8e03978e-40d5-43e8-bc93-6894a57f9324",
    "sec-ch-ua": "\"Chromium\";v=\"130\", \"Not?A_Brand\";v=\"99\"",
    "x-forwarded-port": "443"
  },
  "requestContext": {
    "accountId": "123456789012",
    "authorizer": {"jwt": {"claims": {"exp": "1763800000", "sub": "7d6f0a4f-1c2d-4e3f-8a9b-0c1d2e3f4a5b"}, "scopes": ["charges:write"]}},
    "http": {"method": "POST", "path": "/charges"},
    "timeEpoch": 1763806530123
  },
  "body": "{\"tenant\":\"acme\",\"order_id\":9007199254740993,\"amount\":\"49.90\",\"currency\":\"EUR\",\"customer\":{\"id\":\"c-1042\",\"name\":\"Zo\u00eb \\\"Z\\\" M\u00fcller\"},\"lines\":[{\"sku\":\"A-1\",\"qty\":2},{\"sku\":\"B-7\",\"qty\":1}]}",
  "isBase64Encoded": false
}`
