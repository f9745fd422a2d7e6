package page

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"

	"example.com/petstore/internal/petstore"
)

// A form carries a token, another one each time it is shown. A form that is sent again as it was, by a double click, a
// reload, or after a step back, is done once: the answer of the first time is shown again. What a form makes is made in
// one transaction with the receipt under [Visit.Once], so that two nodes do not make it twice; other changes have the
// version of what they change, and the answer is kept after them.

// OnceField is the field with the token of a form.
const OnceField = "once"

const (
	formPurpose = "form"
	formLife    = petstore.KeepReceipts // within which a form must be sent
)

// oldForm is said of a form that was shown to a session of another workspace, or long ago.
const oldForm = "This form was opened in another workspace, or more than a day ago. Nothing was done. Check it, and send it again."

// Ready returns the form with a token, and with the reason why it cannot be sent, if there is
// one.
func (v *Visit) Ready(f Form) Form {
	if !f.Always {
		f.Locked = v.locked()
	}
	f.Once = v.sessions.seal(formPurpose, v.Now().Add(formLife), Text(v.guest.Workspace()))
	return f
}

// once answers a form by calling do, or with the answer of the first time that it was sent, for which it waits if
// necessary.
func (v *Visit) once(do func() error) error {
	token := v.R.PostForm.Get(OnceField)
	if token == "" {
		return do()
	}
	of, _, ok := v.sessions.open(formPurpose, token, v.Now())
	if v.oldForm = !ok || of != Text(v.guest.Workspace()); v.oldForm {
		return do()
	}
	sum := sha256.Sum256([]byte(v.R.URL.Path + "?" + v.R.PostForm.Encode()))
	v.form = base64.RawURLEncoding.EncodeToString(sum[:])
	return v.Sending(v.form, func() error { return v.answerOnce(do) })
}

func (v *Visit) answerOnce(do func() error) error {
	answered, err := v.Access.FormAnswer(v.R.Context(), v.guest.Workspace(), v.form)
	if err != nil {
		return err
	}
	if to, said, found := strings.Cut(string(answered), "\n"); found {
		return v.Then(to, said+" It was sent twice, and done once.", nil)
	}
	if err := do(); err != nil || v.redirectedTo == "" {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.R.Context()), answerWait)
	defer cancel()
	if err := v.Access.KeepFormAnswer(ctx, v.guest.Workspace(), v.form, []byte(v.redirectedTo+"\n"+v.notice)); err != nil {
		v.Log.Warn("the answer to a form was not kept", "path", v.R.URL.Path, "err", err) // it is done all the same
	}
	return nil
}

// answerWait is how long the store may take to store an answer, also after the client has
// disconnected.
const answerWait = 5 * time.Second

// Once identifies what the form makes, which must be made once, or is nil for a form without a token.
func (v *Visit) Once() *petstore.Idempotency {
	if v.form == "" {
		return nil
	}
	return &petstore.Idempotency{Operation: "form", Key: v.form}
}

// OnceHere is Once for a secret, which is shown again to the session alone that made it.
func (v *Visit) OnceHere() *petstore.Idempotency {
	once := v.Once()
	if once != nil {
		once.Operation += " by " + base64.RawURLEncoding.EncodeToString(v.Session.Hash[:9])
	}
	return once
}

// Sending does what a form was sent for, once no other of the same is under way on this node.
func (s *Site) Sending(form string, do func() error) (err error) {
	for mine := false; !mine; {
		_, err, _ = s.sending.Do(form, func() (any, error) {
			mine = true
			return nil, do()
		})
	}
	return err
}
