package storetest

import (
	"crypto/sha256"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

var receiptTests = map[string]func(*tenant){
	"replay": testReplay, "expiry": testExpiry, "forms": testFormAnswers, "keys": testKeyReceipts,
}

func once(key, body string) *petstore.Idempotency {
	return &petstore.Idempotency{Operation: "POST /categories", Key: key, Fingerprint: sha256.Sum256([]byte(body))}
}

func (s *tenant) createOnce(i *petstore.Idempotency) (petstore.Created, error) {
	return s.CreateCategory(s.ctx, s.workspace, petstore.NewCategory{Name: "dogs"}, i)
}

// wantOnce compares the outcome of a creation.
func (s *tenant) wantOnce(what string, i *petstore.Idempotency, id int64, replayed bool) petstore.Created {
	s.Helper()
	got, err := s.createOnce(i)
	if err != nil || got.ID != id || got.Replayed != replayed {
		s.Errorf("%s = id %d, replayed %t, %v, want id %d, replayed %t", what, got.ID, got.Replayed, err, id, replayed)
	}
	return got
}

// testReplay: the first answer is kept whatever becomes of what it made, for one key,
// operation and workspace, until that is reset.
func testReplay(s *tenant) {
	first := s.wantOnce("first", once("k", "a"), 1, false)
	must(s, s.DeleteCategory(s.ctx, s.workspace, 1, petstore.Condition{}))
	again := s.wantOnce("after its deletion", once("k", "a"), 1, true)
	if string(again.Body) != string(first.Body) || len(again.Body) == 0 {
		s.Errorf("body again = %q, want the first one %q", again.Body, first.Body)
	}
	s.wantCode("another body", errOf(s.createOnce(once("k", "b"))), petstore.CodeIdempotencyKeyReused)
	s.wantOnce("another key", once("l", "a"), 2, false)
	s.wantOnce("no key", nil, 3, false)
	elsewhere := once("k", "a")
	elsewhere.Operation = "POST /other"
	s.wantOnce("another operation", elsewhere, 4, false)
	s.beside("other").wantOnce("another workspace", once("k", "a"), 1, false)
	s.empty()
	s.wantOnce("after a reset", once("k", "a"), 5, false)
}

// testExpiry: an answer is kept for a day, and then forgotten whether its key comes again
// or not.
func testExpiry(s *tenant) {
	s.wantOnce("old", once("old", "a"), 1, false)
	s.clock.Advance(time.Hour)
	s.wantOnce("young", once("young", "a"), 2, false)
	s.clock.Advance(petstore.KeepReceipts - time.Hour - time.Millisecond)
	s.wantOnce("before 24 hours", once("old", "a"), 1, true)
	s.clock.Advance(time.Millisecond)
	s.wantOnce("after 24 hours, another body", once("old", "b"), 3, false)
	s.wantOnce("the new one", once("old", "b"), 3, true)
	s.wantForgotten("after 24 hours", 0)
	s.clock.Advance(time.Hour + time.Millisecond)
	s.wantForgotten("when the young is older", 1)
	s.wantOnce("the new one", once("old", "b"), 3, true)
}

// testFormAnswers: the first answer to a form is kept for its workspace, beside the receipt of what the form made, for a day.
func testFormAnswers(s *tenant) {
	want := func(what string, workspace int64, answer string) {
		s.Helper()
		if got, err := s.FormAnswer(s.ctx, workspace, "form"); string(got) != answer || err != nil {
			s.Errorf("%s: FormAnswer = %q, %v, want %q", what, got, err, answer)
		}
	}
	want("before", s.workspace, "")
	s.wantOnce("made", &petstore.Idempotency{Operation: "form", Key: "form"}, 1, false)
	for _, answer := range []string{"first", "second"} {
		must(s, s.KeepFormAnswer(s.ctx, s.workspace, "form", []byte(answer)))
		must(s, s.KeepFormAnswer(s.ctx, 0, "form", []byte(answer+" of an operator")))
	}
	want("kept", s.workspace, "first")
	want("an operator's", 0, "first of an operator")
	want("another workspace's", s.workspace+1, "")
	s.clock.Advance(petstore.KeepReceipts + time.Second)
	s.wantForgotten("after a day", 3)
	want("forgotten", s.workspace, "")
}

// testKeyReceipts: a key that is made while the rows of a reset are removed is made once, for each workspace, and so is the
// answer to a form.
func testKeyReceipts(s *tenant) {
	id := s.workspace
	create := func(workspace int64) access.CreatedKey {
		s.Helper()
		k := s.mint(time.Time{})
		k.WorkspaceID = workspace
		made, err := s.MakeKey(s.ctx, access.KeyRequest{Key: k, Once: once("k", "a"), By: "cli"})
		must(s, err)
		return made
	}
	s.empty()
	first := create(id)
	must(s, s.KeepFormAnswer(s.ctx, id, "form", []byte("answer")))
	must(s, s.Resume(s.ctx))
	if again := create(id); !again.Replayed || string(again.Body) != string(first.Body) {
		s.Errorf("MakeKey again = %+v, want the key of before, %s", again, first.Body)
	}
	if answer, err := s.FormAnswer(s.ctx, id, "form"); string(answer) != "answer" || err != nil {
		s.Errorf("FormAnswer = %q, %v, want that of before", answer, err)
	}
	if other := create(s.beside("other").workspace); other.Replayed {
		s.Error("the key of another workspace was not made")
	}
}

func (s *tenant) wantForgotten(what string, want int) {
	s.Helper()
	same(s, "Forget "+what, want)(s.Forget(s.ctx))
}
