package lambdaruntime

import (
	"encoding/base64"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// Identifiers that AWS would have assigned.
const (
	accountID = "123456789012"
	apiID     = "localfront"
	stage     = "$default"
)

// event is the request in payload format 2.0.
func event(req *http.Request, body []byte, route, requestID string, now time.Time) events.APIGatewayV2HTTPRequest {
	domain, port := hostPort(req.Host, "80")
	sourceIP, _ := hostPort(req.RemoteAddr, "")
	e := events.APIGatewayV2HTTPRequest{
		Version:               "2.0",
		RouteKey:              route,
		RawPath:               req.URL.Path, // decoded, as API Gateway passes it on
		RawQueryString:        req.URL.RawQuery,
		Cookies:               cookies(req.Header),
		Headers:               headers(req, sourceIP, port, now),
		QueryStringParameters: joined(req.URL.Query()),
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			RouteKey:     route,
			AccountID:    accountID,
			Stage:        stage,
			RequestID:    requestID,
			APIID:        apiID,
			DomainName:   domain,
			DomainPrefix: strings.SplitN(domain, ".", 2)[0],
			Time:         now.UTC().Format("02/Jan/2006:15:04:05 -0700"),
			TimeEpoch:    now.UnixMilli(),
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
				Method:    req.Method,
				Path:      req.URL.Path,
				Protocol:  req.Proto,
				SourceIP:  sourceIP,
				UserAgent: req.UserAgent(),
			},
		},
	}
	if len(body) > 0 {
		e.Body, e.IsBase64Encoded = encode(req.Header, body)
	}
	return e
}

// hostPort splits an address that may have no port.
func hostPort(address, defaultPort string) (host, port string) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address, defaultPort
	}
	return host, port
}

// headers are those of the request by lower-cased name, and those that the gateway adds. Cookies
// have a field of their own.
func headers(req *http.Request, sourceIP, port string, now time.Time) map[string]string {
	all := map[string]string{}
	for name, value := range joined(req.Header) {
		if name != "Cookie" {
			all[strings.ToLower(name)] = value
		}
	}
	all["host"] = req.Host
	all["x-amzn-trace-id"] = traceID(now)
	all["x-forwarded-for"] = strings.TrimPrefix(all["x-forwarded-for"]+", "+sourceIP, ", ")
	all["x-forwarded-port"] = port
	all["x-forwarded-proto"] = "http"
	return all
}

// joined has the values of one name joined by commas.
func joined(values map[string][]string) map[string]string {
	all := map[string]string{}
	for name, each := range values {
		all[name] = strings.Join(each, ",")
	}
	return all
}

func cookies(h http.Header) []string {
	return strings.FieldsFunc(strings.Join(h["Cookie"], ";"), func(r rune) bool { return r == ';' || r == ' ' })
}

// textTypes are the media types besides text/* whose bodies API Gateway passes on as they are. All
// others, a missing one and form data included, it encodes in base64.
var textTypes = []string{"application/json", "application/javascript", "application/xml"}

func encode(h http.Header, body []byte) (text string, isBase64 bool) {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	media = strings.ToLower(strings.TrimSpace(media))
	if h.Get("Content-Encoding") == "" && (strings.HasPrefix(media, "text/") || slices.Contains(textTypes, media)) {
		return string(body), false
	}
	return base64.StdEncoding.EncodeToString(body), true
}
