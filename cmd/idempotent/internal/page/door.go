package page

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
)

// door lets in one person. Its fields never change but used.
type door struct {
	hosts []string
	// token lets somebody in, used is true once it has.
	token string
	used  atomic.Bool
	// base is the path under which everything is, but the entrance. Cookies do not tell ports
	// apart, so a server on another port of this machine would get a cookie of path "/"; it never
	// learns this one.
	base base
	// cookie is the value of the cookie, form that of the field of forms, secret the key of seals.
	cookie, form, secret string
}

const (
	tokenField = "token"
	cookieName = "idempotent"
	formField  = "form"
	sameOrigin = "same-origin"
)

func newDoor(port int) *door {
	at := ":" + strconv.Itoa(port)
	return &door{
		hosts: []string{"127.0.0.1" + at, "localhost" + at},
		token: random(32), cookie: random(32), form: random(32), secret: random(32), base: base("/" + random(16)),
	}
}

// random is a text of so many random bytes.
func random(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // it ends the program rather than fail
	return base64.RawURLEncoding.EncodeToString(b)
}

// outside looks at what needs no secret: a name that somebody else has made to mean 127.0.0.1, and
// another site, also one on another port of this machine.
func (d *door) outside(r *http.Request) *answer {
	if r.Host != d.hosts[0] && r.Host != d.hosts[1] {
		return refuse(http.StatusMisdirectedRequest, "Not under this name",
			"The page answers to the address that the command has printed, and to no other name.")
	}
	// Browsers send it, and no script can forge it; "none" is a person: the address bar, a
	// bookmark, a link outside of the browser.
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", sameOrigin:
		return nil
	default:
		return refuse(http.StatusForbidden, "Not from another site",
			"Another site has sent you here. Paste the address that the command has printed into the address bar.")
	}
}

// enter lets in who has the token, and takes it out of the address. The cookie is for the first who
// has it; of the next one counts whether they have that cookie.
func (d *door) enter(w http.ResponseWriter, r *http.Request) *answer {
	given := r.URL.Query()[tokenField]
	if r.Method != http.MethodGet || len(given) != 1 || !same(given[0], d.token) {
		return notIn
	}
	if !d.used.Swap(true) {
		http.SetCookie(w, &http.Cookie{ //nolint:gosec // not Secure: no certificate is for 127.0.0.1, and what goes there stays on this machine
			Name: cookieName, Value: d.cookie, Path: d.base.Link("/"), HttpOnly: true,
			SameSite: http.SameSiteStrictMode,
		})
	}
	http.Redirect(w, r, d.base.Link("/"), http.StatusSeeOther)
	return nil
}

// notIn is all that a stranger learns.
var notIn = refuse(http.StatusForbidden, "You are not let in",
	"Open the address that the command has printed: paste it into the address bar. It lets in one browser, once. "+
		"For another one, stop the command and start it again.")

// inside looks at the cookie. Whoever does not have it does not learn which pages there are.
func (d *door) inside(r *http.Request) (path string, refused *answer) {
	path, under := strings.CutPrefix(r.URL.Path, string(d.base))
	if !under || !strings.HasPrefix(path, "/") {
		return "", notIn
	}
	for _, c := range r.CookiesNamed(cookieName) { // another port of this machine may have set others
		if same(c.Value, d.cookie) {
			return path, nil
		}
	}
	return "", notIn
}

// posted looks at what a form sends. It reads none of it before it knows where it comes from.
func (d *door) posted(w http.ResponseWriter, r *http.Request) *answer {
	if new(http.CrossOriginProtection).Check(r) != nil {
		return refuse(http.StatusForbidden, "Not from this page",
			"The browser says that another site has sent this form, so nothing was done.")
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
		kind != "application/x-www-form-urlencoded" {
		return refuse(http.StatusUnsupportedMediaType, "Not a form", "Use the forms of the page.")
	}
	r.Body = http.MaxBytesReader(w, r.Body, 3<<20) // nobody types in more
	if err := r.ParseForm(); err != nil {
		if _, long := err.(*http.MaxBytesError); long { //nolint:errorlint // ParseForm returns it as it is
			return refuse(http.StatusRequestEntityTooLarge, "Too long", "The form is longer than the page takes, so "+
				"nothing was done. The command \"idempotent settle\" takes a result from a file.")
		}
		return refuse(http.StatusBadRequest, "Not a form", "The form cannot be read, so nothing was done.")
	}
	if !same(r.PostForm.Get(formField), d.form) {
		return refuse(http.StatusForbidden, "Not from this page", "The form is none of this page, or of an earlier run "+
			"of the command, so nothing was done. Open the record again.")
	}
	return nil
}

// seal returns a text that only this page can make of another one.
func (d *door) seal(text string) string {
	h := hmac.New(sha256.New, []byte(d.secret))
	h.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// protect tells the browser that the page may only show itself, and send its forms back.
func protect(h http.Header) {
	for name, value := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors " +
			"'none'; base-uri 'none'",
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Referrer-Policy":              "no-referrer",
		"Cache-Control":                "no-store",
		"Cross-Origin-Resource-Policy": sameOrigin,
		"Cross-Origin-Opener-Policy":   sameOrigin,
	} {
		h.Set(name, value)
	}
}
