package admin

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/portal/page"
)

const auditPage = 50

// auditQuery returns what the address asks of the audit log, and the filters.
func auditQuery(v *visit) (operator.AuditQuery, page.Filters) {
	f := page.Filters{Query: v.R.URL.Query()}
	kinds := []page.Option{{Label: "Any action"}}
	for _, kind := range []string{"workspace", "key", "ban", "webhook", "token", "operator", "console", "backup"} {
		kinds = append(kinds, page.Option{Value: kind, Label: kind + ".…"})
	}
	q := operator.AuditQuery{Limit: auditPage, Before: page.PlaceIn(f.Query, "before"), Workspace: page.PlaceIn(f.Query, "workspace")}
	q.Text = f.Add(page.Field{Name: "text", Label: "Text", Hint: "Name, id or word"})
	q.Action = f.Add(page.Field{Name: "action", Label: "Action", Kind: "select", Options: kinds})
	return q, f
}

// listAudit returns the page of the audit log that the query asks for.
func listAudit(ctx context.Context, v *visit) (page.List, error) {
	l := page.NewList("Audit log", "Who signed in, and who changed workspaces, keys and bans: the latest first.", "Nothing has happened yet.", "Time", "Actor", "Action", "Target", "Details")
	q, f := auditQuery(v)
	if l.Filters = f; f.Wrong() != nil {
		return l, nil //nolint:nilerr // the list says it
	}
	l.Filtered = q.Text != "" || q.Action != "" || q.Workspace != 0
	if q.Workspace != 0 {
		w, err := v.acting().Workspace(ctx, q.Workspace)
		if err != nil {
			return l, err
		}
		l.Lead = "What was done to the workspace " + access.Printable(w.Name) + " and its keys: the latest first."
		l.Fields = append(l.Fields, page.Field{Name: "workspace", Kind: "hidden", Value: page.Text(q.Workspace)})
	}
	entries, next, err := v.acting().Audit(ctx, q)
	l.Rows = auditRows(entries)
	f.Query.Del("before")
	l.CSV, l.NDJSON = page.Address("/console/audit.csv", f.Query), page.Address("/console/audit.ndjson", f.Query)
	if q.Before == 0 && !l.Filtered {
		l.Live = "/console/audit/live"
	}
	l.Turn(v.R.URL, "before", page.Text(next), next != 0)
	return l, err
}

func auditRows(entries []operator.AuditEntry) (rows [][]page.Cell) {
	for _, e := range entries {
		rows = append(rows, []page.Cell{{At: e.At}, {Text: e.ActorName, Name: true}, {Text: e.Action, Code: true}, {Text: e.SubjectName, Name: true}, {Text: e.DetailNamed, Name: true, Prose: true}})
	}
	return rows
}

func showAudit(v *visit) error {
	l, err := listAudit(v.R.Context(), v)
	return v.List(l, err)
}

// auditSheet is the latest of the audit log about a workspace.
func auditSheet(v *visit, id int64) (page.List, error) {
	l := page.NewList("Audit log", "", "Nothing has happened yet.", "Time", "Actor", "Action", "Target", "Details")
	l.New = &page.Link{Title: "All", URL: "/console/audit?workspace=" + page.Text(id)}
	entries, _, err := v.acting().Audit(v.R.Context(), operator.AuditQuery{Limit: 10, Workspace: id})
	l.Rows = auditRows(entries)
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
	return v.CSV([]string{"id", "at", "actor", "actorName", "action", "subject", "subjectName", "detail"}, func(row func([]string) error) error {
		return eachAudited(v, func(e *auditLine) error {
			return row([]string{
				page.Text(e.ID), e.At.Format(time.RFC3339Nano), page.CSVText(string(e.Actor)), page.CSVText(e.ActorName), e.Action, page.CSVText(e.Subject), page.CSVText(e.SubjectName), page.CSVText(e.Detail),
			})
		})
	})
}

func auditNDJSON(v *visit) error {
	return v.Download("application/x-ndjson", func(to io.Writer) error {
		file := json.NewEncoder(to)
		return eachAudited(v, func(e *auditLine) error { return file.Encode(e) })
	})
}

// eachAudited calls row with all that the query asks for of the audit log.
func eachAudited(v *visit, row func(*auditLine) error) error {
	q, f := auditQuery(v)
	if err := f.Wrong(); err != nil {
		return err
	}
	q.Before, q.Limit = 0, 1000
	for {
		page.Extend(v.W, page.DownloadTimeout)
		entries, next, err := v.acting().Audit(v.R.Context(), q)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := row(&auditLine{e.ID, e.At.UTC(), e.Actor, e.ActorName, e.Action, e.Subject, e.SubjectName, e.Detail}); err != nil {
				return err
			}
		}
		if q.Before = next; next == 0 {
			return nil
		}
	}
}
