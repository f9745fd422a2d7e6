package admin

import (
	"fmt"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
)

func changePlan(v *visit) (page.Form, error) {
	w, err := workspaceInPath(v)
	f := page.Form{
		Title: "Plan of " + access.Printable(w.Name), Lead: "It applies to all keys of the workspace within a second, on every node. Requests that were used stay counted.", Submit: "Change the plan",
		Back:   page.Link{Title: access.Printable(w.Name), URL: workspacePath(w.ID)},
		Fields: planFields(w.Plan),
	}
	if w.Plan == access.Enterprise {
		f.Fields[1].Value, f.Fields[2].Value = page.Text(w.PerMinute), page.Text(w.PerDay)
	}
	f.Send = func(in *page.Input) error {
		p, err := planOf(in)
		if err != nil {
			return err
		}
		_, err = v.acting().SetPlan(v.R.Context(), w.ID, p)
		return v.ThenRefresh(f.Back.URL, fmt.Sprintf("The plan of %s is now %s.", access.Printable(w.Name), p.Plan), err)
	}
	return f, err
}

func planFields(p access.Plan) []page.Field {
	return []page.Field{
		{Name: "plan", Label: "Plan", Kind: "radios", Options: page.Choose(planChoices(), string(p))},
		{Name: "perMinute", Label: "Requests a minute", Kind: "number", WithPlan: access.Enterprise, Hint: "Only for the plan enterprise."},
		{Name: "perDay", Label: "Requests a day", Kind: "number", WithPlan: access.Enterprise, Hint: "Only for the plan enterprise."},
	}
}

// planChoices are the plans with what they have.
func planChoices() []page.Option {
	plans := page.OptionsOf("", access.Plans()...)[1:]
	for i := range plans {
		if q, err := access.QuotaFor(access.Plan(plans[i].Value), access.Quota{}); err == nil {
			plans[i].Label += fmt.Sprintf(": %s a minute, %s a day", page.Counted(q.PerMinute, "request", "requests"), page.Number(q.PerDay))
		} else {
			plans[i].Label += ": the two numbers below"
		}
	}
	return plans
}

// planOf returns the plan that was chosen. Numbers that another one than enterprise does not have are refused, but for those
// that the form came with.
func planOf(in *page.Input) (operator.Plan, error) {
	p := operator.Plan{Plan: access.Plan(in.Text("plan"))}
	if p.Plan == access.Enterprise {
		p.PerMinute, p.PerDay = in.Number("perMinute"), in.Number("perDay")
		return p, nil
	}
	for _, f := range in.Form.Fields {
		if entered := in.Text(f.Name); f.WithPlan != "" && entered != "" && entered != f.Value {
			return p, page.FieldError(f.Name, "Only the plan enterprise has numbers of its own. Choose it, or leave this empty.")
		}
	}
	return p, nil
}

func liftBan(v *visit) (page.Form, error) {
	k, err := v.Access.Key(v.R.Context(), v.ID)
	if err != nil {
		return page.Form{}, err
	}
	if k.Ban == nil {
		return page.Form{}, petstore.Errorf(access.CodeKeyNotFound, "The key %s is not banned.", k.ID)
	}
	facts, err := page.KeyFacts(v.Visit, k)
	if k.State(v.Now()) != "banned" { // which says until when
		facts = append(facts, page.Fact{Title: "Banned until", Cell: page.Cell{At: k.Ban.Until}})
	}
	return page.Form{
		Title: "Lift the ban?", Lead: usableAfter(v, k.ID, "The key may be used again within a second.") + " If it goes on as before, the next ban is longer.", Submit: "Lift the ban",
		Back:  page.Link{Title: "Bans", URL: "/console/bans"},
		Facts: append(facts, page.Fact{Title: "Level", Cell: page.Cell{Text: page.Text(int64(k.Ban.Level))}}, page.Fact{Title: "Reason", Cell: page.Cell{Text: k.Ban.Reason, Name: true}}),
		Send: func(*page.Input) error {
			if _, err := v.acting().UnbanKey(v.R.Context(), k.ID); err != nil {
				return err
			}
			v.Refresh(v.R.Context())
			return v.Then("/console/bans", "The ban was lifted. "+usableAfter(v, k.ID, "The key may be used again."), nil)
		},
	}, err
}

// usableAfter says when a key may be used without its ban: now, or when its workspace has requests again.
func usableAfter(v *visit, id, now string) string {
	e := v.Keys.Entry(id)
	if e == nil {
		return "The key is not live: it may not be used."
	}
	w, name := page.KeyLimits{Decision: v.Limiter.Peek(e.Attachment)}.Spent()
	if name == "" {
		return now
	}
	return fmt.Sprintf("The key may be used again after %s: its workspace's limit of %s a %s is used up.",
		page.InWords(time.Unix(w.Reset, 0)), page.Counted(w.Limit, "request", "requests"), name)
}
