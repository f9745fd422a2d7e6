package page

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
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// How long things hold.
const (
	sessionLife = 12 * time.Hour
	LinkLife    = 10 * time.Minute // of a link to sign in, but for one of an owner's
	noteLife    = time.Minute
)

// WorkspaceLink is the purpose of links of the workspace's console. One that names a key signs in with it; one that names a
// workspace by its number gives its owner a key.
const WorkspaceLink = "link"

// noteCookie has what to say on the next page.
const noteCookie = "petstore_note"

// A Notice is an error in words for the one who reads the page.
type Notice string

// Error implements error.
func (n Notice) Error() string { return string(n) }

// Why nobody is signed in.
const (
	errNoSession Notice = ""
	ErrSession   Notice = "Your session is over. Sign in again."
)

// sessionOf returns the session of a request.
func sessionOf(v *Visit) (*access.Session, error) {
	cookie, err := v.R.Cookie(v.Cookie)
	if err != nil {
		return nil, errNoSession
	}
	token, _, ok := v.sessions.open(v.Cookie, cookie.Value, v.Now()) // otherwise the store would be read for every cookie
	if !ok {
		return nil, ErrSession
	}
	v.Token = token
	found, err := v.Access.Session(v.R.Context(), sha256.Sum256([]byte(token)))
	if petstore.CodeOf(err) == access.CodeSessionNotFound {
		return nil, ErrSession
	}
	return &found, err
}

// identify identifies the user. It returns why nobody is signed in, or "".
func (v *Visit) identify() (why Notice, err error) {
	if v.Session, err = sessionOf(v); err == nil {
		err = v.guest.Identify(v.Session)
	}
	if err != nil {
		v.Session = nil
	}
	if errors.As(err, &why) {
		return why, nil
	}
	return "", err
}

// recheckAfter is how long a body or an answer may take until the session is checked again. The end of a key takes
// effect as soon.
const recheckAfter = time.Second

// IdentifyAgain checks the session again if the visit has taken long, since it may have ended meanwhile, and the key
// may have ended or been banned. It answers the refusal itself, and returns ErrRefused.
func (v *Visit) IdentifyAgain() error {
	if v.Session == nil || v.Now().Sub(v.began) <= recheckAfter {
		return nil
	}
	why, err := v.identify()
	switch {
	case err != nil:
		return err
	case v.Session == nil:
		return cmp.Or(v.askToSignIn(why), error(ErrRefused))
	}
	return v.guest.Admit(nil)
}

// maxEntered is how many bytes of what was entered may go along through the sign-in, encoded.
const maxEntered = maxOpenForm - 2<<10

// askToSignIn redirects to the sign-in form, which leads back to the page. A form that was sent is kept. The script, which
// asks again, loads the page that says why.
func (v *Visit) askToSignIn(why Notice) error {
	if v.Follows() {
		v.answer = answer{status: http.StatusUnauthorized}
		return nil
	}
	v.clearCookie(v.Cookie)
	if v.R.PostForm.Has(OnceField) && len(v.R.PostForm.Encode()) <= maxEntered {
		return v.guest.AskAgain(cmp.Or(why, ErrSession))
	}
	if why != "" {
		v.note(string(why))
	}
	next := "?next=" + url.QueryEscape(v.R.URL.RequestURI()) // each form can be asked for, too
	if len(next) > MaxQuery {
		next = ""
	}
	return v.Redirect("/console/signin" + next)
}

// StartSession begins a session of the key with the id, or of an operator's if that is "". The cookie has its token, and the
// store a hash of it.
func (v *Visit) StartSession(keyID string) error {
	token, now := rand.Text(), v.Now()
	one := access.Session{Hash: sha256.Sum256([]byte(token)), KeyID: keyID, Started: now, Until: now.Add(sessionLife)}
	if err := v.Access.StartSession(v.R.Context(), one); err != nil {
		return err
	}
	v.setCookie(v.Cookie, v.sessions.seal(v.Cookie, one.Until, token), sessionLife)
	return nil
}

// SignOut ends the session on the server, or all sessions of its key, and the one in this browser.
func (v *Visit) SignOut(everywhere bool) error {
	said := "You are signed out."
	if v.Session != nil {
		end := func() error { return v.Access.EndSession(v.R.Context(), v.Session.Hash) }
		if everywhere {
			end = func() error { return v.Access.EndSessions(v.R.Context(), v.Session.KeyID) }
		}
		if err := end(); err != nil {
			return err
		}
		v.Log.Info("signed out of the console", "audit", "console.sign_out", "key", v.Session.KeyID)
	}
	if everywhere {
		said = "You are signed out everywhere: all sessions of this key have ended."
	}
	v.clearCookie(v.Cookie)
	return v.Then("/console/signin", said, nil)
}

// EverywhereForm returns a form that asks for confirmation before all sessions are
// ended.
func EverywhereForm(lead string) Form {
	return Form{Title: "Sign out everywhere?", Lead: lead, Submit: "Sign out everywhere", Danger: true, Always: true, Back: Link{Title: "Overview", URL: "/console"}}
}

// LinkPath returns the path of a page on which one can sign in: once, until an instant, on every node that has the secret. who
// is what the console is told of who does.
func LinkPath(secret []byte, purpose string, until time.Time, who string) (string, error) {
	s, err := newSealer(secret)
	if err != nil {
		return "", err
	}
	return (&Site{sessions: s}).LinkPath(purpose, until, who), nil
}

// LinkPath is like the function of that name.
func (s *Site) LinkPath(purpose string, until time.Time, who string) string {
	return "/console/link?token=" + s.sessions.seal(purpose, until, who)
}

// A linkPage is the page of a link, which asks before the link is used up: programs look at links too.
type linkPage struct{ Lead, Submit, Token, Once string }

// ShowLink asks before the link is used up: programs look at links too. ended answers for one that holds no more.
func (v *Visit) ShowLink(ended func() error) error {
	p := linkPage{"This link signs you in to the console once. It then ends.", "Sign in to the console", v.R.URL.Query().Get("token"), rand.Text()}
	who, _, ok := v.sessions.open(v.Link, p.Token, v.Now())
	if !ok {
		return ended()
	}
	if _, err := NumberOf(who); err == nil {
		p.Lead, p.Submit = "This link lets the owner of a workspace in, once. You get a key of your own, which you need to sign in again: keep it like a password.", "Sign in and get a key"
	}
	return v.Render(http.StatusOK, "link", "Sign in", p)
}

// OpenLink returns whom the link that was sent names, and the link, which is identified by the decoded bytes, since one
// link has several texts. It reports whether the link is genuine and still holds.
func (v *Visit) OpenLink() (who string, l access.Link, ok bool) {
	text := v.R.PostFormValue("token")
	who, until, ok := v.sessions.open(v.Link, text, v.Now())
	raw, _ := base64.RawURLEncoding.DecodeString(text) // open has decoded it
	return who, access.Link{Hash: sha256.Sum256(raw), Until: until}, ok
}

// UseLink signs in with a key by a link, if that was not used before. used is the entry of the audit log about it without
// the address.
func (v *Visit) UseLink(link access.Link, keyID string, used access.AuditEntry, ended func() error) error {
	used.Detail = "by a link, from " + From(v.R)
	if first, err := v.Access.UseLink(v.R.Context(), link, used); err != nil {
		return err
	} else if !first {
		return ended()
	}
	if err := v.StartSession(keyID); err != nil {
		return err
	}
	v.Log.Info("signed in by a link", "audit", used.Action, "key", keyID)
	return v.Redirect("/console")
}

// From returns the address that a request came from: the last one before us, which may be a proxy.
func From(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

func (v *Visit) setCookie(name, value string, life time.Duration) {
	http.SetCookie(v.W, &http.Cookie{ //nolint:gosec // Secure wherever there is TLS; a demo on this machine has none
		Name: name, Value: value, Path: v.At("/console"), MaxAge: int(life / time.Second),
		HttpOnly: true, Secure: v.secure || v.R.TLS != nil, SameSite: http.SameSiteStrictMode,
	})
}

func (v *Visit) clearCookie(name string) {
	if _, err := v.R.Cookie(name); err == nil {
		v.setCookie(name, "", -time.Second)
	}
}

// note stores a text for the page that is shown next.
func (v *Visit) note(text string) {
	v.notice = text
	v.setCookie(noteCookie, v.sessions.seal(noteCookie, v.Now().Add(noteLife), text), noteLife)
}

// noted returns and removes the text of note.
func (v *Visit) noted() string {
	cookie, err := v.R.Cookie(noteCookie)
	if err != nil || v.Follows() { // what is said stands on the page already, or is for another
		return ""
	}
	v.clearCookie(noteCookie)
	if text, _, ok := v.sessions.open(noteCookie, cookie.Value, v.Now()); ok {
		return text
	}
	return ""
}

// A sealer encrypts and authenticates texts, each for one purpose and until an instant.
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

// seal returns the content encrypted, as text for a cookie or a URL.
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
