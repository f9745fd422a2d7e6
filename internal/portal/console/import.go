package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"example.com/petstore/internal/interchange"
	"example.com/petstore/internal/petstore"
)

// Bounds on a file that is sent.
const (
	maxUpload      = 1 << 20 // bytes
	uploadPatience = 30 * time.Second
	maxListed      = 100 // faults that are named
)

func importPets(v *visit) (form, error) {
	return form{
		Title: "Import pets", Lead: "A CSV file. Its first line names the columns: name and category, and optionally id, status and stock. A row with an id changes that pet, a row without an id adds one. You can edit an export and import it.",
		Submit: "Send the file", Back: link{Title: "Pets", URL: "/console/pets"}, Upload: true,
		Fields: []field{
			{Name: "file", Label: "File", Kind: "file", Required: true, Hint: "At most 1 MiB. Every hundred rows count as one request."},
			{Name: "do", Label: "What to do", Kind: "select", Options: []option{{Value: "try", Label: "check the file, change nothing"}, {Value: "import", Label: "import the file if all rows are right"}}},
		},
		send: v.takeImport,
	}, nil
}

// takeImport tries a file that was sent, and imports it if that is asked for and all is right.
func (v *visit) takeImport(in *input) error {
	leave, err := v.place(v.uploads, "Too many imports")
	if err != nil {
		return err
	}
	defer leave()
	file, bad := v.upload()
	if err := v.identifyAgain(); err != nil { // the file may have taken its time
		return err
	}
	if bad != nil {
		return bad
	}
	if err := v.admitRows(file); err != nil {
		return err
	}
	return v.gated(true, func() error { return v.importFile(in, file) })
}

// upload reads the file of the form.
func (v *visit) upload() ([]byte, error) {
	_ = http.NewResponseController(v.w).SetReadDeadline(time.Now().Add(uploadPatience)) // where there is none to set, none is needed
	err := v.r.ParseMultipartForm(maxUpload)
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return nil, errTooLong
	}
	if err != nil {
		return nil, errNoFile
	}
	file, head, err := v.r.FormFile("file")
	if err != nil {
		return nil, errNoFile
	}
	defer file.Close()
	if head.Size > maxUpload {
		return nil, errTooLong
	}
	return io.ReadAll(file)
}

var (
	errNoFile  = wrong("file", "Choose a file.")
	errTooLong = wrong("file", "The file is longer than 1 MiB. Send it in parts, or use the command petstore import.")
)

// admitRows counts the requests that the rows of a file are, but the first, which was counted when it came.
func (v *visit) admitRows(file []byte) error {
	more := int64(max(0, bytes.Count(file, []byte("\n"))-2) / rowsARequest)
	now := v.Limiter.Peek(v.r.Context(), v.who.Slot)
	if left := min(now.Minute.Remaining(), now.Day.Remaining()); more > left {
		return wrong("file", fmt.Sprintf("The file counts as %s requests more, and the plan has %s left just now. Send it in parts, or later.", number(more), number(left)))
	}
	for range more {
		if err := v.admitOne(); err != nil {
			return err
		}
	}
	return nil
}

// importFile tries the file and, if it is asked to and nothing is wrong, imports it.
func (v *visit) importFile(in *input, file []byte) error {
	f := &in.form
	ctx := context.WithoutCancel(v.r.Context()) // what has begun is not left half done
	report, err := v.runImport(ctx, file, func(i *interchange.Import) (interchange.Report, error) {
		i.SkipFaults, i.MaxFaults = true, maxListed
		i.OnFault = func(fault *interchange.Fault) { f.Faults = append(f.Faults, faultLine(fault)) }
		return i.Try(ctx)
	})
	if fault, ok := errors.AsType[*interchange.Fault](err); ok {
		f.Faults = append(f.Faults, faultLine(fault))
	} else if err != nil && !errors.Is(err, interchange.ErrFaults) {
		return err
	}
	before, err := v.importedBefore(ctx, file, report)
	if err != nil {
		return err
	}
	switch {
	case len(f.Faults) > 0:
		f.Faults = f.Faults[:min(len(f.Faults), maxListed)]
		f.Error = fmt.Sprintf("Nothing was imported: %d rows are wrong.", len(f.Faults))
		if len(f.Faults) == 1 {
			f.Error = "Nothing was imported: a row is wrong."
		} else if len(f.Faults) == maxListed {
			f.Error = fmt.Sprintf("Nothing was imported: %d rows or more are wrong.", maxListed)
		}
		return v.again(in)
	case in.text("do") != "import":
		f.Said = "All rows are right: " + sum(report, "to add", "to change", "to leave as they are") + ". Choose the file again to import it."
		f.Fields[1].Options = choose(f.Fields[1].Options, "import")
		if before {
			f.Said, f.Fields = f.Said+" It was imported before.", append(f.Fields, againField())
		}
		return v.show(http.StatusOK, *f)
	case before && in.text("again") == "":
		f.Fields = append(f.Fields, againField())
		f.Error = "This file was imported before. Importing it again adds " + someOf(report.Pets, "pet", "pets") + " a second time. Nothing was imported."
		return v.again(in)
	}
	if report, err = v.runImport(ctx, file, func(i *interchange.Import) (interchange.Report, error) { return i.Run(ctx) }); err != nil {
		return err
	}
	if report.Pets > 0 {
		if _, err := v.Bulk.Load(ctx, v.who.Workspace.ID, &petstore.Batch{File: wholeOf(file), Through: bytes.Count(file, []byte("\n")) + 1}); err != nil {
			return err
		}
	}
	v.Log.Info("imported in the console", "audit", "console.import", "workspace", v.who.Workspace.ID, "key", v.who.Key.ID, "pets", report.Pets, "changed", report.Changed)
	return v.done("/console/pets", "The file was imported: "+sum(report, "added", "changed", "left as they were")+".", nil)
}

// importedBefore reports whether the whole of the file was imported, so that its rows would add the same pets again.
func (v *visit) importedBefore(ctx context.Context, file []byte, r interchange.Report) (bool, error) {
	reached, err := v.Bulk.Reached(ctx, v.who.Workspace.ID, wholeOf(file))
	return reached > 0 && r.Pets > 0, err
}

// againField takes the word of somebody who wants what a file adds once more.
func againField() field {
	return field{Name: "again", Label: "Imported before", Kind: "checks", Options: []option{{Value: "true", Label: "Add its pets once more"}}}
}

// digestOf is the name under which the store remembers how far an import of the file came, and wholeOf that under which it
// remembers that one came to the end.
func digestOf(file []byte) string {
	digest := sha256.Sum256(append([]byte("console "), file...))
	return hex.EncodeToString(digest[:])
}

func wholeOf(file []byte) string { return "whole:" + digestOf(file) }

// runImport reads the file from where an import of it was broken off, if one was.
func (v *visit) runImport(ctx context.Context, file []byte, run func(*interchange.Import) (interchange.Report, error)) (interchange.Report, error) {
	i := interchange.Import{To: v.Bulk, Workspace: v.who.Workspace.ID, Now: v.Now, Service: v.Service, File: digestOf(file)}
	reached, err := v.Bulk.Reached(ctx, i.Workspace, i.File)
	if err != nil {
		return interchange.Report{}, err
	}
	known, err := v.allCategories(ctx)
	if err != nil {
		return interchange.Report{}, err
	}
	o := interchange.Options{Categories: known}
	if i.Resumed = reached > 0; i.Resumed {
		o.FromLine = reached + 1
	}
	if i.From, err = interchange.NewReader(bytes.NewReader(file), interchange.CSV, o); err != nil {
		return interchange.Report{}, err
	}
	return run(&i)
}

// allCategories returns those that a file may name.
func (v *visit) allCategories(ctx context.Context) (all []petstore.Category, err error) {
	page := petstore.Page{Limit: petstore.MaxPage}
	for {
		some, err := v.Service.Categories(ctx, v.who.Workspace.ID, petstore.CategoryQuery{Page: page})
		if err != nil {
			return nil, err
		}
		if all = append(all, some...); len(some) < page.Limit {
			return all, nil
		}
		page.After = some[len(some)-1].ID
	}
}

// faultLine says what is wrong with a row. The flags of the command are of no use here.
func faultLine(f *interchange.Fault) string {
	return fmt.Sprintf("Line %d: %s", f.Line, strings.ReplaceAll(f.Reason, "; --ignore-columns leaves others out", ""))
}

// sum returns in words what an import did or would do.
func sum(r interchange.Report, add, change, leave string) string {
	text := someOf(r.Pets, "pet", "pets")
	if r.Categories > 0 {
		text += " and " + someOf(r.Categories, "category", "categories")
	}
	text += " " + add
	if r.Changed+r.Left > 0 {
		text += ", " + someOf(r.Changed, "pet", "pets") + " " + change + ", " + number(r.Left) + " " + leave
	}
	return text
}

func someOf(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}
