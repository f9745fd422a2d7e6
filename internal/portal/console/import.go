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
	"os"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/interchange"
	"example.com/petstore/internal/petstore"
)

// Bounds on a file that is sent.
const (
	maxUpload      = 1 << 20 // bytes
	uploadPatience = 30 * time.Second
	mostCategories = 10_000 // of the workspace with those of the file
	uploadPiece    = 64 << 10
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

// takeImport tries a file that was sent, and imports it if that is asked for and all is right. It takes its turn among the
// imports when the file is there.
func (v *visit) takeImport(in *input) error {
	file, err := v.upload()
	if err != nil {
		return err
	}
	if err := v.identifyAgain(); err != nil { // the file may have taken its time
		return err
	}
	leave, err := v.hold(v.shares.imports, nil)
	if err != nil {
		return v.refuseShare(err, "Too many imports", "Another file of this workspace is being imported. Send this one when that is over.")
	}
	defer leave()
	if err := v.admitRows(file); err != nil {
		return err
	}
	return v.gated(true, func() error { return v.importFile(in, file) })
}

// mostParts is how many parts a form with a file may have.
const mostParts = 16

// upload reads the form: its file, which it returns, and the other values into PostForm.
func (v *visit) upload() (file []byte, err error) {
	_ = http.NewResponseController(v.w).SetReadDeadline(time.Now().Add(uploadPatience)) // where there is none to set, none is needed
	form, err := v.r.MultipartReader()
	if err != nil {
		return nil, errNoFile
	}
	found := false
	for range mostParts {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, uploadFault(err)
		}
		if part.FormName() == "file" && part.FileName() != "" {
			found = true
			file, err = v.readPart(part, maxUpload)
		} else {
			var value []byte
			if value, err = v.readPart(part, maxForm); err == nil {
				v.r.PostForm.Add(part.FormName(), string(value))
			}
		}
		if err != nil {
			return nil, uploadFault(err)
		}
	}
	if !found {
		return nil, errNoFile
	}
	return file, nil
}

// readPart returns the content of a part, which has at most so many bytes. Each piece of it is counted before it is there.
func (v *visit) readPart(part io.Reader, most int) ([]byte, error) {
	var pieces [][]byte
	var err error
	for size := 0; err == nil; {
		if err := v.gate.Hold(uploadPiece); err != nil {
			return nil, err
		}
		piece, n := make([]byte, uploadPiece), 0
		for n < len(piece) && err == nil {
			var read int
			read, err = part.Read(piece[n:])
			n += read
		}
		if pieces, size = append(pieces, piece[:n]), size+n; size > most {
			return nil, errTooLong
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return slices.Concat(pieces...), nil
}

// uploadFault returns what is wrong with a file that could not be read.
func uploadFault(err error) error {
	_, long := errors.AsType[*http.MaxBytesError](err)
	switch {
	case long:
		return errTooLong
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errLate
	case petstore.CodeOf(err) != "":
		return err
	}
	return errNoFile
}

var (
	errNoFile     = wrong("file", "Choose a file.")
	errLate       = wrong("file", "The file took longer than 30 seconds to arrive. Send it in parts.")
	errCategories = wrong("file", "The workspace has more categories than can be looked through here. Use the command petstore import.")
	errTooLong    = wrong("file", "The file is longer than 1 MiB. Send it in parts, or use the command petstore import.")
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
		i.SkipFaults, i.MaxFaults = true, petstore.MaxFields
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
		f.Faults = f.Faults[:min(len(f.Faults), petstore.MaxFields)]
		f.Error = fmt.Sprintf("Nothing was imported: %d rows are wrong.", len(f.Faults))
		if len(f.Faults) == 1 {
			f.Error = "Nothing was imported: a row is wrong."
		} else if len(f.Faults) == petstore.MaxFields {
			f.Error = fmt.Sprintf("Nothing was imported: %d rows or more are wrong.", petstore.MaxFields)
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
	digest := sha256.New()
	_, _ = io.WriteString(digest, "console ") // it takes everything
	_, _ = digest.Write(file)
	return hex.EncodeToString(digest.Sum(nil))
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
	o := interchange.Options{Categories: known, MaxCategories: mostCategories}
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
		if all = append(all, some...); len(all) > mostCategories {
			return nil, errCategories
		}
		if len(some) < page.Limit {
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
