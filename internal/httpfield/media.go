package httpfield

import "strings"

// IsJSON reports whether a media type is a JSON one by the MIME Sniffing Standard, section 4.6.
// Parameters of the media type do not count. An empty media type counts as JSON.
func IsJSON(media string) bool {
	media, _, _ = strings.Cut(media, ";")
	switch media = strings.ToLower(strings.Trim(media, " \t")); media {
	case "", "application/json", "text/json":
		return true
	default:
		return strings.HasSuffix(media, "+json")
	}
}
