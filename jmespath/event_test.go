package jmespath

// apiGatewayEvent is an event of an HTTP API (payload format 2.0) of usual size,
// about 3 KB.
const apiGatewayEvent = `{
  "version": "2.0",
  "routeKey": "POST /charges",
  "rawPath": "/charges",
  "rawQueryString": "expand=customer&expand=invoice",
  "cookies": ["session=7d6f0a4f1c; Path=/", "theme=dark"],
  "headers": {
    "accept": "application/json, text/plain, */*",
    "accept-encoding": "gzip, deflate, br, zstd",
    "accept-language": "en-US,en;q=0.9,de;q=0.8",
    "authorization": "Bearer eyJraWQiOiJ0ZXN0IiwiYWxnIjoiUlMyNTYifQ.eyJzdWIiOiI3ZDZmMGE0Zi0xYzJkLTRlM2YtOGE5Yi0wYzFkMmUzZjRhNWIiLCJpc3MiOiJodHRwczovL2lkcC5leGFtcGxlLmNvbS8iLCJhdWQiOiJjaGFyZ2VzIiwiZXhwIjoxNzYzODAwMDAwfQ.c2lnbmF0dXJlLXRoYXQtaXMtbm90LW9uZS1idXQtYXMtbG9uZy1hcy1vbmUtdXN1YWxseS1pcy1pbi1wcmFjdGljZQ",
    "content-length": "187",
    "content-type": "application/json",
    "host": "api.example.com",
    "idempotency-key": "8e03978e-40d5-43e8-bc93-6894a57f9324",
    "origin": "https://shop.example.com",
    "referer": "https://shop.example.com/checkout/confirm?cart=2f1e",
    "sec-ch-ua": "\"Chromium\";v=\"130\", \"Not?A_Brand\";v=\"99\"",
    "sec-ch-ua-mobile": "?0",
    "sec-ch-ua-platform": "\"Linux\"",
    "sec-fetch-dest": "empty",
    "sec-fetch-mode": "cors",
    "sec-fetch-site": "same-site",
    "user-agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
    "x-amzn-trace-id": "Root=1-6740a1b2-3c4d5e6f708192a3b4c5d6e7;Parent=53995c3f42cd8ad8;Sampled=1",
    "x-forwarded-for": "203.0.113.17",
    "x-forwarded-port": "443",
    "x-forwarded-proto": "https"
  },
  "queryStringParameters": {"expand": "customer,invoice"},
  "requestContext": {
    "accountId": "123456789012",
    "apiId": "a1b2c3d4e5",
    "authorizer": {
      "jwt": {
        "claims": {
          "aud": "charges",
          "exp": "1763800000",
          "iss": "https://idp.example.com/",
          "scope": "charges:write charges:read",
          "sub": "7d6f0a4f-1c2d-4e3f-8a9b-0c1d2e3f4a5b"
        },
        "scopes": ["charges:write"]
      }
    },
    "domainName": "api.example.com",
    "domainPrefix": "api",
    "http": {
      "method": "POST",
      "path": "/charges",
      "protocol": "HTTP/1.1",
      "sourceIp": "203.0.113.17",
      "userAgent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"
    },
    "requestId": "JKJaXmPLvHcESHA=",
    "routeKey": "POST /charges",
    "stage": "$default",
    "time": "22/Nov/2025:10:15:30 +0000",
    "timeEpoch": 1763806530123
  },
  "body": "{\"tenant\":\"acme\",\"order_id\":9007199254740993,\"amount\":\"49.90\",\"currency\":\"EUR\",\"customer\":{\"id\":\"c-1042\",\"name\":\"Zo\u00eb \\\"Z\\\" M\u00fcller\"},\"lines\":[{\"sku\":\"A-1\",\"qty\":2},{\"sku\":\"B-7\",\"qty\":1}]}",
  "isBase64Encoded": false
}`
