package console

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
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
	q.Before, _ = strconv.ParseInt(query.Get("before"), 10, 64) // anything else is the latest
	q.Workspace, _ = strconv.ParseInt(query.Get("workspace"), 10, 64)
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
	if q.Before != 0 {
		l.First = address("/console/audit", query)
	} else if !l.Filtered {
		l.Live = "/console/audit/live"
	}
	if next != 0 {
		query.Set("before", text(next))
		l.Next = address("/console/audit", query)
	}
	return l, err
}

func auditCells(e operator.AuditEntry) []cell {
	return []cell{{At: e.At}, {Text: e.ActorName, Name: true}, {Text: e.Action, Code: true}, {Text: e.SubjectName, Name: true}, {Text: e.DetailNamed, Name: true, Prose: true}}
}

func showAudit(v *visit) error {
	l, err := listAudit(v.r.Context(), v)
	if err != nil {
		return err
	}
	return v.render(http.StatusOK, "list", l.Title, l)
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
	return v.auditFile("csv", "text/csv; charset=utf-8; header=present", func(to io.Writer, each func(func(auditLine) error) error) error {
		file := csv.NewWriter(to)
		if err := file.Write([]string{"id", "at", "actor", "actorName", "action", "subject", "subjectName", "detail"}); err != nil {
			return err
		}
		if err := each(func(e auditLine) error {
			return file.Write([]string{
				text(e.ID), e.At.Format(time.RFC3339Nano), plain(string(e.Actor)), plain(e.ActorName), e.Action, plain(e.Subject), plain(e.SubjectName), plain(e.Detail),
			})
		}); err != nil {
			return err
		}
		file.Flush()
		return file.Error()
	})
}

func auditNDJSON(v *visit) error {
	return v.auditFile("ndjson", "application/x-ndjson", func(to io.Writer, each func(func(auditLine) error) error) error {
		file := json.NewEncoder(to)
		return each(func(e auditLine) error { return file.Encode(e) })
	})
}

// auditFile sends what the query asks for of the audit log, all of it.
func (v *visit) auditFile(suffix, media string, write func(to io.Writer, each func(func(auditLine) error) error) error) error {
	leave, err := v.place(v.downloads, "Too many downloads")
	if err != nil {
		return err
	}
	defer leave()
	q := v.auditQuery()
	q.Before, q.Limit = 0, 1000
	page, next, err := v.acting().Audit(v.r.Context(), q)
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", media)
	v.w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="audit.%s"`, suffix))
	err = write(v.w, func(row func(auditLine) error) error {
		for {
			v.extend(downloadPatience)
			for _, e := range page {
				if err := row(auditLine{e.ID, e.At.UTC(), e.Actor, e.ActorName, e.Action, e.Subject, e.SubjectName, e.Detail}); err != nil {
					return err
				}
			}
			if q.Before = next; next == 0 {
				return nil
			}
			if page, next, err = v.acting().Audit(v.r.Context(), q); err != nil {
				return err
			}
		}
	})
	if err == nil {
		return nil
	}
	if v.r.Context().Err() == nil {
		v.Log.Warn("a download was broken off", "path", v.r.URL.Path, "err", err)
	}
	panic(http.ErrAbortHandler) // so that nobody takes it for the whole
}
