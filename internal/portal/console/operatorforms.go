package console

import (
	"fmt"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/petstore"
)

func changePlan(v *visit) (form, error) {
	id, err := v.number()
	if err != nil {
		return form{}, err
	}
	w, err := v.Access.WorkspaceByID(v.r.Context(), id)
	if err != nil {
		return form{}, err
	}
	f := form{
		Title: "Plan of " + access.Printable(w.Name), Lead: "It applies to all keys of the workspace within a second, on every node. Requests that were used stay counted.", Submit: "Change the plan",
		Back:   link{Title: access.Printable(w.Name), URL: workspacePath(w.ID)},
		Fields: planFields(w.Plan),
	}
	if w.Plan == access.Enterprise {
		f.Fields[1].Value, f.Fields[2].Value = text(w.Quota.PerMinute), text(w.Quota.PerDay)
	}
	f.send = func(in *input) error {
		p := in.plan()
		_, err := v.acting().SetPlan(v.r.Context(), w.ID, p)
		return v.changed(f.Back.URL, fmt.Sprintf("The plan of %s is now %s.", access.Printable(w.Name), p.Plan), err)
	}
	return f, nil
}

func planFields(p access.Plan) []field {
	return []field{
		{Name: "plan", Label: "Plan", Kind: "radios", Options: choose(planChoices(), string(p))},
		{Name: "perMinute", Label: "Requests a minute", Kind: "number", WithPlan: access.Enterprise, Hint: "Only for the plan enterprise."},
		{Name: "perDay", Label: "Requests a day", Kind: "number", WithPlan: access.Enterprise, Hint: "Only for the plan enterprise."},
	}
}

// planChoices are the plans with what they have.
func planChoices() []option {
	plans := optionsOf("", access.Plans()...)[1:]
	for i := range plans {
		if q, err := access.QuotaFor(access.Plan(plans[i].Value), access.Quota{}); err == nil {
			plans[i].Label += fmt.Sprintf(": %s requests a minute, %s a day", number(q.PerMinute), number(q.PerDay))
		} else {
			plans[i].Label += ": the two numbers below"
		}
	}
	return plans
}

// plan returns the plan that a form names.
func (in *input) plan() operator.Plan {
	p := operator.Plan{Plan: access.Plan(in.text("plan"))}
	if p.Plan == access.Enterprise {
		p.PerMinute, p.PerDay = in.number("perMinute"), in.number("perDay")
	}
	return p
}

// acting returns the operator who is signed in.
func (v *visit) acting() *operator.Local {
	return &operator.Local{Store: v.Access, Counts: operator.Live(v.Limiter), Now: v.Now, By: operatorActor}
}

// follow takes over at once what was changed in the store.
func (v *visit) follow() {
	if err := v.Keys.Refresh(v.r.Context()); err != nil {
		v.Log.Warn("keys could not be refreshed", "err", err) // they will be, in a moment
	}
}

func liftBan(v *visit) (form, error) {
	k, err := v.Access.Key(v.r.Context(), v.id)
	if err != nil {
		return form{}, err
	}
	if k.Ban == nil {
		return form{}, petstore.Errorf(access.CodeKeyNotFound, "The key %s is not banned.", k.ID)
	}
	facts, err := v.keyFacts(k)
	if k.State(v.Now()) != "banned" { // which says until when
		facts = append(facts, fact{"Banned until", cell{At: k.Ban.Until}})
	}
	return form{
		Title: "Lift the ban?", Lead: v.usable(k.ID, "The key may be used again within a second.") + " If it goes on as before, the next ban is longer.", Submit: "Lift the ban",
		Back:  link{Title: "Bans", URL: "/console/bans"},
		Facts: append(facts, fact{"Level", cell{Text: text(int64(k.Ban.Level))}}, fact{"Reason", cell{Text: k.Ban.Reason, Name: true}}),
		send: func(*input) error {
			if _, err := v.acting().UnbanKey(v.r.Context(), k.ID); err != nil {
				return err
			}
			v.follow()
			return v.done("/console/bans", "The ban was lifted. "+v.usable(k.ID, "The key may be used again."), nil)
		},
	}, err
}

// usable says when a key may be used without its ban: now, or when its workspace has requests again.
func (v *visit) usable(id, now string) string {
	e := v.Keys.Entry(id)
	if e == nil {
		return "The key is not live: it may not be used."
	}
	w, name := keyLimits{v.Limiter.Peek(v.r.Context(), e.Slot)}.spent()
	if name == "" {
		return now
	}
	return fmt.Sprintf("The key may be used again after %s: the %s requests of its workspace's %s are used up.",
		inWords(time.Unix(w.Reset, 0)), number(w.Limit), name)
}
