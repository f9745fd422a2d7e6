// Package access manages workspaces with their plans, and API keys. It creates and
// verifies keys, and caches what every request needs to know about its caller. Package
// ratelimit counts and limits requests.
package access

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize/english"

	"example.com/petstore/internal/petstore"
)

// A Plan decides how many requests a workspace may make.
type Plan string

// The plans.
const (
	Free       Plan = "free"
	Pro        Plan = "pro"
	Business   Plan = "business"
	Enterprise Plan = "enterprise" // with numbers of its own
)

// Plans lists every plan, the smallest first.
func Plans() []Plan { return []Plan{Free, Pro, Business, Enterprise} }

// A Quota is the number of requests of a workspace in a minute and in a UTC
// day; both are at least 1.
type Quota struct {
	PerMinute int64 `json:"perMinute,omitzero"`
	PerDay    int64 `json:"perDay,omitzero"`
}

// FreeQuota is the Free plan's quota, which also holds for callers without a
// valid key.
var FreeQuota = Quota{PerMinute: 60, PerDay: 1000}

// MaxQuota is the greatest number that a quota can hold.
const MaxQuota = 1_000_000_000

// QuotaFor returns the quota of a plan. The numbers of enterprise are agreed
// individually and must be given; the other plans' are fixed and must not be
// (zero). An error is a *QuotaError.
func QuotaFor(p Plan, agreed Quota) (Quota, error) {
	fixed := map[Plan]Quota{
		Free:     FreeQuota,
		Pro:      {PerMinute: 300, PerDay: 10_000},
		Business: {PerMinute: 1000, PerDay: 100_000},
	}
	given := func(n int64) bool { return n != 0 }
	outside := func(n int64) bool { return n < 1 || n > MaxQuota }
	switch q, ok := fixed[p]; {
	case ok && agreed == (Quota{}):
		return q, nil
	case ok:
		return Quota{}, &QuotaError{agreed.member(given), fmt.Sprintf("the numbers of the %s plan are fixed at %d a minute and %d a day; only enterprise has its own", p, q.PerMinute, q.PerDay)}
	case p != Enterprise:
		return Quota{}, &QuotaError{"plan", fmt.Sprintf("there is no plan %.60q; the plans are free, pro, business and enterprise", p)}
	case outside(agreed.PerMinute) || outside(agreed.PerDay):
		return Quota{}, &QuotaError{agreed.member(outside), fmt.Sprintf("the enterprise plan needs its requests per minute and per day, each from 1 to %d", int64(MaxQuota))}
	}
	return agreed, nil
}

// member returns which of the two numbers is the first to be bad.
func (q Quota) member(bad func(int64) bool) string {
	if bad(q.PerMinute) {
		return "perMinute"
	}
	return "perDay"
}

// A QuotaError says why a plan and its numbers are not valid.
type QuotaError struct {
	Member string // at fault: plan, perMinute or perDay
	reason string
}

// Error returns the reason.
func (e *QuotaError) Error() string { return e.reason }

// How many units of a pet are low stock for a workspace.
const (
	DefaultLowStock = 3
	MaxLowStock     = 100
)

// A Workspace is one store with its own catalogue, orders and keys. Its JSON is that of
// the operator's API.
type Workspace struct {
	ID   int64  `json:"id"`
	Name string `json:"name"` // unique
	Plan Plan   `json:"plan"`
	Quota
	CreatedAt time.Time `json:"createdAt"`
	LowStock  int64     `json:"-"` // the stock of a pet is low with so many units or fewer

	// Shop is the id under which its pets, orders, events and webhooks are stored. Each reset
	// gives it another one.
	Shop     int64 `json:"-"`
	*Sandbox       // nil unless it is a sandbox
}

// Resetting returns the error for requests that began before a reset of the workspace.
func Resetting() *petstore.Error {
	return &petstore.Error{
		Code:       petstore.CodeServiceUnavailable,
		Message:    "The workspace is being reset. Try again shortly.",
		RetryAfter: time.Second,
	}
}

// MaxName is the greatest number of code points in the name of a workspace or
// of a key.
const MaxName = 100

// CheckName returns the name of a workspace or a key as it is stored, or the first fault
// of [CheckNameMember].
func CheckName(name string) (string, error) {
	if fields := CheckNameMember(nil, &name); len(fields) > 0 {
		return "", errors.New(strings.TrimSuffix("the "+fields[0].Message, "."))
	}
	return name, nil
}

// CheckNameMember puts *name, the member name of a body, into NFC. It appends a fault unless
// that has 1 to MaxName code points, no space at either end, and no control or format
// characters, line or paragraph separators: these are invisible, or change the order of the
// text around them.
func CheckNameMember(fields []petstore.Field, name *string) []petstore.Field {
	f := petstore.Field{Pointer: "/name", Code: petstore.InvalidFormat}
	visible := strings.TrimSpace(*name)
	switch i := strings.IndexFunc(*name, unseen); {
	case visible == "" || visible == *name && i < 0:
		return petstore.CheckText(fields, "/name", name, 1, MaxName)
	case visible != *name:
		f.Message = "name must not begin or end with a space."
	default:
		r, _ := utf8.DecodeRuneInString((*name)[i:])
		f.Message = fmt.Sprintf("name must not contain %U, a control or format character.", r)
	}
	return append(fields, f)
}

// Printable escapes the characters that a name must not contain. Texts from elsewhere, such
// as error messages, may have them.
func Printable(text string) string {
	if strings.IndexFunc(text, unseen) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unseen(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unseen reports whether r is a control or format character, or separates lines.
func unseen(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

// Scopes is a set of what a key may do.
type Scopes uint8

// The scopes.
const (
	Read   Scopes = 1 << iota // every GET
	Write                     // everything that changes
	Manage                    // the keys of the workspace, and with Read its webhooks; never a default
)

// scopeNames are the names of the scopes, in the order in which they are listed.
var scopeNames = []struct {
	scope Scopes
	name  string
}{{Read, "read"}, {Write, "write"}, {Manage, "manage"}}

// Has reports whether s includes all of want.
func (s Scopes) Has(want Scopes) bool { return s&want == want }

// List returns the names of the scopes, in the order read, write, manage.
func (s Scopes) List() []string {
	names := []string{}
	for _, one := range scopeNames {
		if s.Has(one.scope) {
			names = append(names, one.name)
		}
	}
	return names
}

// MarshalJSON returns the names as List does.
func (s Scopes) MarshalJSON() ([]byte, error) { return petstore.JSON(s.List()), nil }

// String returns the names separated by commas.
func (s Scopes) String() string { return strings.Join(s.List(), ",") }

// Words returns the scopes for a sentence: "the scope read", or "the scopes read and
// manage".
func (s Scopes) Words() string {
	names := s.List()
	return "the " + english.PluralWord(len(names), "scope", "scopes") + " " + english.WordSeries(names, "and")
}

// ScopeOf returns the scope of a name, or 0 if there is none.
func ScopeOf(name string) Scopes {
	for _, one := range scopeNames {
		if one.name == name {
			return one.scope
		}
	}
	return 0
}

// ParseScopes reads names as String writes them. At least one is needed.
func ParseScopes(text string) (Scopes, error) {
	var s Scopes
	for name := range strings.SplitSeq(text, ",") {
		one := ScopeOf(strings.TrimSpace(name))
		if one == 0 {
			return 0, fmt.Errorf("there is no scope %.60q; the scopes are read, write and manage", name)
		}
		s |= one
	}
	return s, nil
}

// A Key describes an API key. The key itself is not stored.
type Key struct {
	ID          string    `json:"id"` // public: "key_" and 16 base62 characters
	WorkspaceID int64     `json:"-"`
	Name        string    `json:"name"`
	Prefix      string    `json:"prefix"` // its first 8 characters, for display
	Hash        Hash      `json:"-"`
	Scopes      Scopes    `json:"scopes"`
	CreatedAt   time.Time `json:"createdAt"`
	ExpiresAt   time.Time `json:"expiresAt,omitzero"` // zero: never. A rotated key expires at the end of its overlap
	RevokedAt   time.Time `json:"-"`                  // zero: not revoked
	RotatedTo   string    `json:"-"`                  // the id of the key that replaces it, or ""
	Ban         *Ban      `json:"-"`                  // nil unless one was set; it may be over
}

// Expired reports whether the key is past its expiry at now.
func (k *Key) Expired(now time.Time) bool { return !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt) }

// State returns "revoked", "expired", "banned" or "active".
func (k *Key) State(now time.Time) string {
	switch {
	case !k.RevokedAt.IsZero():
		return "revoked"
	case k.Expired(now):
		return "expired"
	case k.Ban != nil && now.Before(k.Ban.Until):
		return "banned"
	}
	return "active"
}

// CheckValid returns CodeInvalidKey, CodeExpiredKey or CodeBannedKey unless k is valid
// at now. It is called again during a request, since the key may have ended after the
// request began.
func (k *Key) CheckValid(now time.Time) error {
	switch k.State(now) {
	case "revoked":
		return invalidKey()
	case "expired":
		return expiredKey()
	case "banned":
		return &petstore.Error{Code: CodeBannedKey, Message: "This API key is banned for a while. Wait as Retry-After says.", RetryAfter: k.Ban.Until.Sub(now)}
	}
	return nil
}

// CheckRotation returns CodeKeyRevoked, CodeKeyRotated or CodeKeyExpired if k can
// neither be rotated nor get a later expiry at now, since it has ended or will end. A
// key that was rotated before expires at the end of its overlap, and a second
// replacement would inherit that expiry.
func (k *Key) CheckRotation(now time.Time) error {
	switch {
	case !k.RevokedAt.IsZero():
		return petstore.Errorf(CodeKeyRevoked, "The key %s is revoked.", k.ID)
	case k.RotatedTo != "":
		return petstore.Errorf(CodeKeyRotated, "The key %s was already rotated to %s; use that one.", k.ID, k.RotatedTo)
	case k.Expired(now):
		return petstore.Errorf(CodeKeyExpired, "The key %s has expired; create a new one.", k.ID)
	}
	return nil
}

// CheckGrant returns CodeInsufficientScope, naming the member, unless k may create a
// key with the scopes and the expiry end, which is zero for never. The new key must not
// have more scopes than k, or last longer.
func (k *Key) CheckGrant(s Scopes, end time.Time) error {
	switch {
	case !k.Scopes.Has(s):
		return grantFault("/scopes", "A key cannot have more scopes than the key that you use: %s.", k.Scopes)
	case !k.ExpiresAt.IsZero() && (end.IsZero() || end.After(k.ExpiresAt)):
		return grantFault("/expiresAt", "A key cannot last longer than the key that you use, which expires at %s.", petstore.At(k.ExpiresAt))
	}
	return nil
}

func grantFault(pointer, format string, args ...any) error {
	e := petstore.Errorf(CodeInsufficientScope, format, args...)
	e.Fields = []petstore.Field{{Pointer: pointer, Code: petstore.OutOfRange, Message: e.Message}}
	return e
}

// A Ban refuses every request of a key from From until Until.
type Ban struct {
	KeyID  string
	From   time.Time
	Until  time.Time
	Level  int // how many bans in a row, for the limiter's doubling; 0 for an operator's
	Reason string
	By     string // "limiter" or "operator"
}

// Clone returns an independent copy of k.
func (k Key) Clone() Key {
	if k.Ban != nil {
		b := *k.Ban
		k.Ban = &b
	}
	return k
}
