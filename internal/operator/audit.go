package operator

import (
	"cmp"
	"context"
	"regexp"
	"strconv"
	"strings"

	"example.com/petstore/internal/access"
)

// An AuditQuery selects entries of the audit log, the latest first. Zero fields select
// all.
type AuditQuery struct {
	Before    int64  // the entries before the one with this id
	Limit     int    // at most so many
	Action    string // with this action, or this part of it before the dot, such as "key"
	Text      string // with this anywhere, names included; case does not matter
	Workspace int64  // about this workspace, one of its keys or one of its webhooks
}

// An AuditEntry is an entry of the audit log with names in addition to ids, if what
// they identify still exists.
type AuditEntry struct {
	access.AuditEntry
	ActorName   string `json:"actorName"`
	SubjectName string `json:"subjectName"`
	DetailNamed string `json:"-"`
}

// maxScanned is how many entries Audit reads for one page. So a page may have fewer
// entries than its limit though there are more pages.
const maxScanned = 20_000

// Audit returns a page of the audit log, and the Before of the next one, 0 if there
// is none.
func (l *Local) Audit(ctx context.Context, q AuditQuery) (found []AuditEntry, next int64, err error) {
	names := namer{store: l.Store, known: map[string]string{}}
	tokens, _ := l.Store.Tokens(ctx) // without their names the log is still readable
	for _, t := range tokens {
		names.known[t.ID] = access.Printable(t.Name)
	}
	for before, seen := q.Before, 0; ; {
		page, err := l.Store.AuditPage(ctx, q.Workspace, before, 1000)
		if err != nil {
			return nil, 0, err
		}
		for _, e := range page {
			if len(found) == q.Limit {
				return found, before, nil
			}
			before = e.ID
			if !q.takes(e) {
				continue
			}
			named := AuditEntry{e, names.in(ctx, string(e.Actor)), names.in(ctx, e.Subject), names.in(ctx, e.Detail)}
			if named.has(q.Text) {
				found = append(found, named)
			}
		}
		if len(page) == 0 {
			return found, 0, nil
		}
		if seen += len(page); seen >= maxScanned {
			return found, before, nil
		}
	}
}

func (q *AuditQuery) takes(e access.AuditEntry) bool {
	return q.Action == "" || e.Action == q.Action || strings.HasPrefix(e.Action, q.Action+".")
}

func (e *AuditEntry) has(text string) bool {
	all := strings.Join([]string{string(e.Actor), e.ActorName, e.Action, e.Subject, e.SubjectName, e.Detail, e.DetailNamed}, "\n")
	return strings.Contains(strings.ToLower(all), strings.ToLower(text))
}

// A namer replaces ids with names.
type namer struct {
	store access.Store
	known map[string]string // by the id; those of all tokens, and of what was looked up
}

// ids are the ids in the texts of the log.
var ids = regexp.MustCompile(`\b(key_[0-9A-Za-z]{16}|op_[0-9A-Za-z]{16}|workspace [1-9][0-9]{0,17})\b`)

// in returns a text with ids replaced by names.
func (n *namer) in(ctx context.Context, text string) string {
	return ids.ReplaceAllStringFunc(text, func(id string) string { return n.name(ctx, id) })
}

// name returns the name for an id, or the id if what it identifies does not exist.
func (n *namer) name(ctx context.Context, id string) string {
	if _, known := n.known[id]; !known {
		n.known[id] = cmp.Or(n.find(ctx, id), id)
	}
	return n.known[id]
}

func (n *namer) find(ctx context.Context, id string) string {
	if number, yes := strings.CutPrefix(id, "workspace "); yes {
		workspace, _ := strconv.ParseInt(number, 10, 64) // the pattern has no other
		if w, err := n.store.WorkspaceByID(ctx, workspace); err == nil {
			return "workspace " + access.Printable(w.Name)
		}
		return ""
	}
	k, err := n.store.Key(ctx, id)
	if err != nil {
		return ""
	}
	return access.Printable(k.Name) + " of " + strings.TrimPrefix(n.name(ctx, "workspace "+strconv.FormatInt(k.WorkspaceID, 10)), "workspace ")
}
