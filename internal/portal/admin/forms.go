package admin

import (
	"fmt"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
)

func newWorkspace(v *visit) (page.Form, error) {
	return page.Form{
		Title: "Create a workspace", Lead: "A workspace has its own pets, orders, keys and plan.", Submit: "Create the workspace",
		Back:   page.Link{Title: "Workspaces", URL: "/console/workspaces"},
		Fields: append([]page.Field{{Name: "name", Label: "Name", Required: true, Max: access.MaxName}}, planFields(access.Free)...),
		Send: func(in *page.Input) error {
			n := operator.NewWorkspace{Name: strings.TrimSpace(in.Text("name")), Plan: planOf(in, access.Quota{})}
			w, err := v.acting().CreateWorkspace(v.R.Context(), n)
			return v.Then(workspacePath(w.ID)+"/owner", "The workspace was created.", err)
		},
	}, nil
}

func newWorkspaceKey(v *visit) (page.Form, error) {
	w, back, err := workspaceInPath(v)
	maker := page.KeyMaker{Visit: v.Visit, Ring: access.Keyring{Store: v.Access, Now: v.Now, By: actor, Secret: v.Token}, Service: v.Public, Back: back}
	return maker.Form(w.ID, "For the workspace "+back.Title+". It is shown once."), err
}

// ownerLife is how long a link for an owner holds.
const ownerLife = 7 * 24 * time.Hour

// letOwnerIn creates a link for the owner of a workspace.
func letOwnerIn(v *visit) (page.Form, error) {
	w, back, err := workspaceInPath(v)
	return page.Form{
		Title: "Let the owner in", Submit: "Create the link", Back: back,
		Lead: "A link to send to the owner of " + back.Title + ". It works once, within 7 days: who opens it gets a key with the scopes read, write and manage, and is signed in to the console of the workspace.",
		Send: func(*page.Input) error {
			until := v.Now().Add(ownerLife)
			made := access.AuditEntry{Actor: actor, Action: "workspace.link", Workspace: w.ID, Subject: w.Name, Detail: "a link for the owner, until " + page.InWords(until)}
			if err := v.Access.Note(v.R.Context(), made); err != nil {
				return err
			}
			return page.ShowSecret(v.Visit, page.Secret{
				Title: "A link for the owner of " + back.Title, Lead: "Send it to the owner. It works once, within 7 days, for whoever opens it first. It is not stored.",
				Secret: v.Public + v.LinkPath(page.WorkspaceLink, until, page.Text(w.ID)), Next: page.Link{Title: "To the workspace", URL: back.URL},
			})
		},
	}, err
}

func changePlan(v *visit) (page.Form, error) {
	w, back, err := workspaceInPath(v)
	f := page.Form{
		Title: "Plan of " + back.Title, Lead: "It applies to all keys of the workspace within a second, on every node. Requests that were used stay counted.", Submit: "Change the plan",
		Back: back, Fields: planFields(w.Plan),
	}
	if w.Plan == access.Enterprise {
		f.Fields[1].Value, f.Fields[2].Value = page.Text(w.PerMinute), page.Text(w.PerDay)
	}
	f.Send = func(in *page.Input) error {
		p := planOf(in, w.Quota)
		_, err := v.acting().SetPlan(v.R.Context(), w.ID, p)
		return v.Then(back.URL, fmt.Sprintf("The plan of %s is now %s.", back.Title, p.Plan), err)
	}
	return f, err
}

func planFields(p access.Plan) []page.Field {
	return []page.Field{
		{Name: "plan", Label: "Plan", Kind: "radios", Options: page.Choose(planChoices(), string(p))},
		{Name: "perMinute", Label: "Requests a minute", Kind: "number", Hint: "Only for the plan enterprise."},
		{Name: "perDay", Label: "Requests a day", Kind: "number", Hint: "Only for the plan enterprise."},
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

// planOf returns the plan that was chosen, with the numbers that were entered. A plan that has none is not asked for those
// that the form came with.
func planOf(in *page.Input, with access.Quota) operator.Plan {
	p := operator.Plan{Plan: access.Plan(in.Text("plan")), Quota: access.Quota{PerMinute: in.Number("perMinute"), PerDay: in.Number("perDay")}}
	if p.Plan != access.Enterprise && p.PerMinute == with.PerMinute {
		p.PerMinute = 0
	}
	if p.Plan != access.Enterprise && p.PerDay == with.PerDay {
		p.PerDay = 0
	}
	return p
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
		Title: "Lift the ban?", Lead: "The ban ends within a second. If the key goes on as before, the next ban is longer.", Submit: "Lift the ban",
		Heading: access.Printable(k.Name), Back: page.Link{Title: "Bans", URL: "/console/bans"},
		Facts: append(facts, page.Fact{Title: "Level", Cell: page.Cell{Text: page.Text(int64(k.Ban.Level))}}, page.Fact{Title: "Reason", Cell: page.Cell{Text: k.Ban.Reason, Name: true}}),
		Send: func(*page.Input) error {
			_, err := v.acting().UnbanKey(v.R.Context(), k.ID)
			return v.Then("/console/bans", "The ban was lifted.", err)
		},
	}, err
}
