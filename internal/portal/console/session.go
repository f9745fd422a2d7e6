package console

import (
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

// How long things hold.
const (
	sessionLife = 12 * time.Hour
	linkLife    = 10 * time.Minute
	noteLife    = time.Minute
)

// The cookies, and with them what is sealed in each.
const (
	sessionCookie = "petstore_session" // the token of a session
	noteCookie    = "petstore_note"    // what to say on the next page
	linkPurpose   = "link"             // the id of a key
)

// A visit is one request for a page.
type visit struct {
	*Console
	w    http.ResponseWriter
	r    *http.Request
	id   string                           // in the path
	gate Gate                             // nil in the operator's console
	who  *access.Entry[*ratelimit.Caller] // nil unless signed in with a key

	session *access.Session // nil unless signed in
	limits  keyLimits       // of the key, once the request was counted

	began    time.Time
	operator bool          // signed in as an operator
	takes    access.Scopes // what the form of the page needs; 0 if it is none
	page     page          // the response, unless it was written while it was made
}

// A notice is an error in words for the one who reads the page.
type notice string

// Error implements error.
func (n notice) Error() string { return string(n) }

// Why nobody is signed in.
const (
	errNoSession notice = ""
	errSession   notice = "Your session is over. Sign in again."
	errRevoked   notice = "The key that you signed in with is no longer valid: it was revoked, or its workspace is gone."
	errExpired   notice = "The key that you signed in with has expired."
	errResetting notice = "The workspace is being reset. Sign in again when that is done."
	errNoRead    notice = "This key cannot read. The console needs a key with the scope read."
)

// signedIn finds the key of the session. It returns why there is none, as a notice for the sign-in page, or the failure of
// the store.
func (v *visit) signedIn() error {
	name := v.sessionName()
	cookie, err := v.r.Cookie(name)
	if err != nil {
		return errNoSession
	}
	token, _, ok := v.sessions.open(name, cookie.Value, v.Now()) // without it the store would be asked for any cookie
	if !ok {
		return errSession
	}
	found, err := v.Access.Session(v.r.Context(), sha256.Sum256([]byte(token)))
	if petstore.CodeOf(err) == access.CodeSessionNotFound {
		return errSession
	}
	if err != nil {
		return err
	}
	switch {
	case v.health != nil && found.KeyID == "":
		v.operator = true
	case v.health != nil || found.KeyID == "":
		return errSession
	default:
		if v.who, err = v.find(found.KeyID); err != nil {
			return err
		}
	}
	v.session = &found
	return nil
}

// identify finds out who asks. It returns why nobody is signed in.
func (v *visit) identify() (why notice, err error) {
	if err = v.signedIn(); errors.As(err, &why) {
		v.who, v.session, v.operator = nil, nil, false
		return why, nil
	}
	return "", err
}

// heldLong is how long what is sent may take without a second look at who sends it. The end of a key is known as soon.
const heldLong = time.Second

// identifyAgain looks a second time at who asks, once what took long has come: the session may have ended meanwhile, and
// the key have ended or be banned. It answers the refusal itself, and returns errRefused.
func (v *visit) identifyAgain() error {
	if v.session == nil || v.Now().Sub(v.began) <= heldLong {
		return nil
	}
	why, err := v.identify()
	switch {
	case err != nil:
		return err
	case v.session == nil:
		return cmp.Or(v.askToSignIn(why), error(errRefused))
	case v.who == nil:
		return nil
	}
	if v.limits = (keyLimits{v.Limiter.Peek(v.r.Context(), v.who.Slot)}); v.limits.Outcome == ratelimit.Banned {
		return v.refuseByLimits()
	}
	return nil
}

// sessionName returns the name of the console's session: both consoles may stand on one host, whose cookies they share.
func (v *visit) sessionName() string {
	if v.health != nil {
		return operatorCookie
	}
	return sessionCookie
}

// find returns the entry of a key that may use the console.
func (v *visit) find(id string) (*access.Entry[*ratelimit.Caller], error) {
	switch e := v.Keys.Entry(id); {
	case e == nil:
		return nil, errRevoked
	case e.Key.Expired(v.Now()) && !e.Key.ExpiresAt.IsZero():
		return nil, errExpired
	case !e.Key.Scopes.Has(access.Read):
		return nil, errNoRead
	case e.Workspace.Resetting:
		return nil, errResetting
	default:
		return e, nil
	}
}

// A signInForm is the page on which a key is entered.
type signInForm struct{ Error, Next string }

// askToSignIn leads from a page to the sign-in form and back.
func (v *visit) askToSignIn(why error) error {
	v.clearCookie(v.sessionName())
	if text := why.Error(); text != "" {
		v.note(text)
	}
	next := ""
	if v.r.Method == http.MethodGet && !strings.Contains(v.r.URL.Path, "/live") {
		next = "?next=" + url.QueryEscape(v.r.URL.RequestURI())
	}
	if len(next) > maxQuery {
		next = ""
	}
	return v.redirect("/console/signin" + next)
}

func showSignIn(v *visit) error {
	return v.render(http.StatusOK, "signin", "Sign in", signInForm{Next: v.r.URL.Query().Get("next")})
}

func signIn(v *visit) error {
	form := signInForm{Next: v.r.PostFormValue("next")}
	if len(form.Next) > maxQuery {
		form.Next = ""
	}
	if wait := v.gate.Wait(); wait > 0 {
		v.retryAfter(wholeSeconds(wait))
		form.Error = "Too many attempts came from your address. Wait " + text(wholeSeconds(wait)) + " seconds."
		return v.render(http.StatusTooManyRequests, "signin", "Sign in", form)
	}
	entry, err := v.Keys.Verify(strings.TrimSpace(v.r.PostFormValue("key")))
	if err == nil {
		entry, err = v.find(entry.Key.ID)
	}
	if err != nil {
		form.Error = err.Error()
		if e, ok := errors.AsType[*petstore.Error](err); ok {
			form.Error = e.Message
		}
		return v.render(http.StatusUnprocessableEntity, "signin", "Sign in", form)
	}
	if err := v.begin(entry); err != nil {
		return err
	}
	return v.redirect(inside(form.Next))
}

// inside returns the address if it is of the console, else the console's first page.
func inside(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || !within("/console", u.Path) || !within("/console", path.Clean(u.Path)) {
		return "/console"
	}
	return u.String()
}

func within(root, at string) bool { return at == root || strings.HasPrefix(at, root+"/") }

// begin begins a session of the key.
func (v *visit) begin(e *access.Entry[*ratelimit.Caller]) error {
	if err := v.start(e.Key.ID); err != nil {
		return err
	}
	v.Log.Info("signed in to the console", "audit", "console.sign_in", "workspace", e.Workspace.ID, "key", e.Key.ID)
	return nil
}

// start begins a session of the key with the id, or of an operator's if that is "". The cookie has its token, and the
// store a hash of it.
func (v *visit) start(keyID string) error {
	token, now := rand.Text(), v.Now()
	one := access.Session{Hash: sha256.Sum256([]byte(token)), KeyID: keyID, Started: now, Until: now.Add(sessionLife)}
	if err := v.Access.StartSession(v.r.Context(), one); err != nil {
		return err
	}
	v.setCookie(v.sessionName(), v.sessions.seal(v.sessionName(), one.Until, token), sessionLife)
	return nil
}

func signOut(v *visit) error {
	return v.signOut("You are signed out.", func() error { return v.Access.EndSession(v.r.Context(), v.session.Hash) })
}

func signOutEverywhere(v *visit) error {
	return v.signOut("You are signed out everywhere: all sessions of this key have ended.", func() error {
		return v.Access.EndSessions(v.r.Context(), v.session.KeyID)
	})
}

// signOut ends what end does on the server, and the session in this browser.
func (v *visit) signOut(said string, end func() error) error {
	if v.session != nil {
		if err := end(); err != nil {
			return err
		}
		v.Log.Info("signed out of the console", "audit", "console.sign_out", "key", v.session.KeyID)
	}
	v.clearCookie(v.sessionName())
	return v.done("/console/signin", said, nil)
}

// SignInPath returns the path of a page on which one can sign in with the key of that id, on every node that has the
// secret: once, within ten minutes.
func (c *Console) SignInPath(keyID string) string {
	return "/console/link?token=" + c.sessions.seal(linkPurpose, c.Now().Add(linkLife), keyID)
}

// showLink asks before the link is used up: programs look at links too.
func showLink(v *visit) error {
	token := v.r.URL.Query().Get("token")
	if _, _, ok := v.sessions.open(linkPurpose, token, v.Now()); !ok {
		return v.linkEnded()
	}
	return v.render(http.StatusOK, "link", "Sign in", token)
}

func useLink(v *visit) error {
	id, link, ok := v.sessions.linkOf(linkPurpose, v.r.PostFormValue("token"), v.Now())
	if !ok {
		return v.linkEnded()
	}
	entry, err := v.find(id)
	if err != nil {
		return v.linkEnded()
	}
	used := access.AuditEntry{Actor: access.Actor("console:" + id), Action: "console.sign_in", Subject: id, Detail: "by a link, from " + v.from()}
	if first, err := v.Access.UseLink(v.r.Context(), link, used); err != nil {
		return err
	} else if !first {
		return v.linkEnded()
	}
	if err := v.begin(entry); err != nil {
		return err
	}
	return v.redirect("/console")
}

// from returns the address that the request came from: the last one before us, which may be a proxy.
func (v *visit) from() string {
	host, _, err := net.SplitHostPort(v.r.RemoteAddr)
	if err != nil {
		return v.r.RemoteAddr
	}
	return host
}

func (v *visit) linkEnded() error {
	return v.render(http.StatusGone, "signin", "Sign in", signInForm{Error: "This link has been used, or its ten minutes are over. Sign in with a key."})
}

func (v *visit) setCookie(name, value string, life time.Duration) {
	http.SetCookie(v.w, &http.Cookie{ //nolint:gosec // Secure wherever there is TLS; a demo on this machine has none
		Name: name, Value: value, Path: v.at("/console"), MaxAge: int(life / time.Second),
		HttpOnly: true, Secure: v.secure || v.r.TLS != nil, SameSite: http.SameSiteStrictMode,
	})
}

func (v *visit) clearCookie(name string) {
	if _, err := v.r.Cookie(name); err == nil {
		v.setCookie(name, "", -time.Second)
	}
}

// note says something on the page that is shown next.
func (v *visit) note(text string) {
	v.setCookie(noteCookie, v.sessions.seal(noteCookie, v.Now().Add(noteLife), text), noteLife)
}

// noted returns what note said, once.
func (v *visit) noted() string { return v.once(noteCookie) }

// once returns the content of a cookie and removes it.
func (v *visit) once(name string) string {
	cookie, err := v.r.Cookie(name)
	if err != nil {
		return ""
	}
	v.clearCookie(name)
	text, _, ok := v.sessions.open(name, cookie.Value, v.Now())
	if !ok {
		return ""
	}
	return text
}

// A sealer makes texts that only it can read and make, each for one purpose and until an instant.
type sealer struct{ aead cipher.AEAD }

func newSealer(secret []byte) (sealer, error) {
	if len(secret) < 16 {
		return sealer{}, errors.New("console: the secret is shorter than 16 bytes")
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "petstore console 1", 32)
	if err != nil {
		return sealer{}, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return sealer{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return sealer{aead}, err
}

// seal returns the content as text that can stand in a cookie or a URL.
func (s sealer) seal(purpose string, until time.Time, content string) string {
	plain := binary.BigEndian.AppendUint64(nil, uint64(until.Unix()))
	sealed := s.aead.Seal(nil, nil, append(plain, content...), []byte(purpose)) //nolint:gosec // it makes its own random nonce
	return base64.RawURLEncoding.EncodeToString(sealed)
}

// open returns the content of a text that seal made for the purpose, and until when it holds.
func (s sealer) open(purpose, text string, now time.Time) (content string, until time.Time, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return "", time.Time{}, false
	}
	plain, err := s.aead.Open(nil, nil, raw, []byte(purpose))
	if err != nil || len(plain) < 8 {
		return "", time.Time{}, false
	}
	until = time.Unix(int64(binary.BigEndian.Uint64(plain)), 0)
	return string(plain[8:]), until, now.Before(until)
}

// linkOf returns the link that a text is, if it was made for the purpose and holds still. Links are told apart by what
// the text encodes: one link has several texts.
func (s sealer) linkOf(purpose, text string, now time.Time) (content string, l access.Link, ok bool) {
	content, until, ok := s.open(purpose, text, now)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	return content, access.Link{Hash: sha256.Sum256(raw), Until: until}, ok && err == nil
}
