package console

import (
	"context"
	"encoding/json"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/operator"
)

// auditPage is how many lines of the audit log a page shows.
const auditPage = 50

// auditQuery returns what the query asks for of the audit log.
func (v *visit) auditQuery() operator.AuditQuery {
	query := v.r.URL.Query()
	q := operator.AuditQuery{Limit: auditPage, Action: query.Get("action"), Text: query.Get("text")}
	q.Before, q.Workspace = placeIn(query, "before"), placeIn(query, "workspace")
	return q
}

// listAudit returns the page of the audit log that the query asks for.
func listAudit(ctx context.Context, v *visit) (list, error) {
	l := listOf("Audit log", "Who signed in, and who changed workspaces, keys and bans: the latest first.", "Nothing has happened yet.", "Time", "Actor", "Action", "Target", "Details")
	q := v.auditQuery()
	kinds := []option{{Label: "Any action"}}
	for _, kind := range []string{"workspace", "key", "ban", "token", "operator", "console", "backup"} {
		kinds = append(kinds, option{Value: kind, Label: kind + ".…"})
	}
	l.Filters = []field{
		{Name: "text", Label: "Text", Value: q.Text, Hint: "Name, id or word"},
		{Name: "action", Label: "Action", Kind: "select", Options: choose(kinds, q.Action)},
	}
	l.Filtered = q.Text != "" || q.Action != "" || q.Workspace != 0
	if q.Workspace != 0 {
		w, err := v.acting().Workspace(ctx, q.Workspace)
		if err != nil {
			return l, err
		}
		l.Lead = "What was done to the workspace " + access.Printable(w.Name) + " and its keys: the latest first."
		l.Filters = append(l.Filters, field{Name: "workspace", Kind: "hidden", Value: text(q.Workspace)})
	}
	entries, next, err := v.acting().Audit(ctx, q)
	for _, e := range entries {
		l.Rows = append(l.Rows, auditCells(e))
	}
	query := v.r.URL.Query()
	query.Del("before")
	l.CSV, l.NDJSON = address("/console/audit.csv", query), address("/console/audit.ndjson", query)
	if q.Before == 0 && !l.Filtered {
		l.Live = "/console/audit/live"
	}
	l.turn(v.r.URL, "before", text(next), next != 0)
	return l, err
}

func auditCells(e operator.AuditEntry) []cell {
	return []cell{{At: e.At}, {Text: e.ActorName, Name: true}, {Text: e.Action, Code: true}, {Text: e.SubjectName, Name: true}, {Text: e.DetailNamed, Name: true, Prose: true}}
}

func showAudit(v *visit) error {
	l, err := listAudit(v.r.Context(), v)
	return v.list(l, err)
}

// auditSheet is the latest of the audit log about a workspace.
func (v *visit) auditSheet(id int64) (list, error) {
	l := listOf("Audit log", "", "Nothing has happened yet.", "Time", "Actor", "Action", "Target", "Details")
	l.New = &link{Title: "All", URL: "/console/audit?workspace=" + text(id)}
	entries, _, err := v.acting().Audit(v.r.Context(), operator.AuditQuery{Limit: 10, Workspace: id})
	for _, e := range entries {
		l.Rows = append(l.Rows, auditCells(e))
	}
	return l, err
}

// An auditLine is an entry in a file of them.
type auditLine struct {
	ID          int64        `json:"id"`
	At          time.Time    `json:"at"`
	Actor       access.Actor `json:"actor"`
	ActorName   string       `json:"actorName"`
	Action      string       `json:"action"`
	Subject     string       `json:"subject"`
	SubjectName string       `json:"subjectName"`
	Detail      string       `json:"detail"`
}

func auditCSV(v *visit) error {
	return v.csv([]string{"id", "at", "actor", "actorName", "action", "subject", "subjectName", "detail"}, func(d *download) error {
		return v.eachAudited(func(e *auditLine) error {
			return d.row([]string{
				text(e.ID), e.At.Format(time.RFC3339Nano), plain(string(e.Actor)), plain(e.ActorName), e.Action, plain(e.Subject), plain(e.SubjectName), plain(e.Detail),
			})
		})
	})
}

func auditNDJSON(v *visit) error {
	return v.download("application/x-ndjson", func(d *download) error {
		file := json.NewEncoder(d.to)
		return v.eachAudited(func(e *auditLine) error { return file.Encode(e) })
	})
}

// eachAudited calls row with all that the query asks for of the audit log.
func (v *visit) eachAudited(row func(*auditLine) error) error {
	q := v.auditQuery()
	q.Before, q.Limit = 0, 1000
	for {
		v.extend(downloadPatience)
		page, next, err := v.acting().Audit(v.r.Context(), q)
		if err != nil {
			return err
		}
		for _, e := range page {
			if err := row(&auditLine{e.ID, e.At.UTC(), e.Actor, e.ActorName, e.Action, e.Subject, e.SubjectName, e.Detail}); err != nil {
				return err
			}
		}
		if q.Before = next; next == 0 {
			return nil
		}
	}
}
