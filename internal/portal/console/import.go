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
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/interchange"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
)

// Limits of a file.
const (
	maxUpload     = 1 << 20 // bytes
	uploadTimeout = 30 * time.Second
	maxCategories = 10_000 // of the workspace and the file together
	uploadPiece   = 64 << 10
	rowsInRequest = 100 // rows that count as a request
)

func importPets(v *visit) (page.Form, error) {
	return page.Form{
		Title: "Import pets", Lead: "A CSV file. Its first line names the columns: id, name, category, status, stock, add and version, those that you need. A row with an id changes that pet. A row without an id adds one, and needs a name and a category. " +
			"You can download the pets, edit the file and import it: only what you have changed is changed.",
		Submit: "Send the file", Back: page.Link{Title: "Pets", URL: "/console/pets"}, Upload: true,
		Fields: []page.Field{
			{Name: "file", Label: "File", Kind: "file", Required: true, Hint: "At most 1 MiB. Every hundred rows count as one request."},
			{Name: "do", Label: "What to do", Kind: "select", Options: []page.Option{{Value: "try", Label: "check the file, change nothing"}, {Value: "import", Label: "import the file if all rows are right"}}},
		},
		Send: func(in *page.Input) error { return takeImport(v, in) },
	}, nil
}

// takeImport makes a dry run of a file that was sent, and imports it if that is confirmed and there are no faults. It
// waits for its share of the imports after the file was read.
func takeImport(v *visit, in *page.Input) error {
	file, err := upload(v)
	if err != nil {
		return err
	}
	if err := v.IdentifyAgain(); err != nil { // reading the file may have taken long
		return err
	}
	leave, err := v.Hold(v.imports, "Too many imports", "Another file of this workspace is being imported. Send this one when that is over.")
	if err != nil {
		return err
	}
	defer leave()
	if err := admitRows(v, file); err != nil {
		return err
	}
	return v.Gated(true, func() error { return importFile(v, in, file) })
}

// upload reads the form. It returns the file and adds the other values to PostForm.
func upload(v *visit) ([]byte, error) {
	_ = http.NewResponseController(v.W).SetReadDeadline(time.Now().Add(uploadTimeout)) // if there is no deadline to set, none is needed
	v.R.Body = &heldBody{ReadCloser: v.R.Body, gate: v.gate}
	part, head, err := v.R.FormFile("file")
	switch {
	case err != nil:
		return nil, uploadFault(err)
	case head.Size > maxUpload:
		return nil, errTooLong
	}
	v.R.MultipartForm = nil          // its copy of the file
	v.R.PostForm.Del(page.OnceField) // who has to sign in again has to choose the file again, too
	file := make([]byte, head.Size)
	_, err = io.ReadFull(part, file)
	return file, err
}

// A heldBody counts the bytes that it reads as memory that the page holds, a piece at a time, before
// it reads them.
type heldBody struct {
	io.ReadCloser
	gate Gate
	left int // bytes of the last counted piece that were not read yet
}

// Read implements io.Reader.
func (b *heldBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		if err := b.gate.Hold(uploadPiece); err != nil {
			return 0, err
		}
		b.left = uploadPiece
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
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
	errNoFile  = page.FieldError("file", "Choose a file.")
	errLate    = page.FieldError("file", "The file took longer than 30 seconds to arrive. Send it in parts.")
	errTooLong = page.FieldError("file", "The file is longer than 1 MiB. Send it in parts, or use the command petstore import.")
)

// admitRows counts the rows of a file as requests, without the first request, which was counted before.
func admitRows(v *visit, file []byte) error {
	more := int64(max(0, linesOf(file)-2) / rowsInRequest)
	now := v.Limiter.Peek(v.who.Attachment)
	if left := min(now.Minute.Remaining(), now.Day.Remaining()); more > left {
		return page.FieldError("file", fmt.Sprintf("The file counts as %s requests more, and the plan has %s left just now. Send it in parts, or later.", page.Number(more), page.Number(left)))
	}
	for range more {
		if err := v.spend(); err != nil {
			return err
		}
	}
	return nil
}

// linesOf returns how many line ends the file has, which may be CR alone.
func linesOf(file []byte) int {
	return max(bytes.Count(file, []byte("\n")), bytes.Count(file, []byte("\r")))
}

// importFile makes a dry run of the file and, if that is confirmed and there are no
// faults, imports it.
func importFile(v *visit, in *page.Input, file []byte) error {
	f := &in.Form
	ctx := context.WithoutCancel(v.R.Context()) // an import that has begun is completed
	report, err := runImport(v, file, func(i *interchange.Import) (interchange.Report, error) {
		i.SkipFaults = true
		return i.DryRun(ctx)
	})
	for _, fault := range report.Faults {
		f.Faults = append(f.Faults, faultLine(fault))
	}
	if fault, ok := errors.AsType[*interchange.Fault](err); ok {
		f.Faults = append(f.Faults, faultLine(fault))
	} else if err != nil {
		return err
	}
	doubts, err := doubtsOf(v, ctx, file, report)
	if err != nil {
		return err
	}
	if v.Sandboxes != nil && v.who.Workspace.Sandbox != nil {
		err = v.Sandboxes.CheckQuota(ctx, v.who.Workspace, access.Contents{Categories: report.Categories, Pets: report.Pets})
	}
	if len(doubts) > 0 {
		f.Fields = append(f.Fields, page.Field{Name: "again", Label: "To be confirmed", Kind: "checks", Options: []page.Option{{Value: "true", Label: "Import it all the same"}}})
	}
	switch {
	case err != nil:
		f.Error = "Nothing was imported: " + messageOf(err)
		return v.Again(in)
	case len(f.Faults) > 0:
		many := "rows are"
		if len(f.Faults) >= petstore.MaxFields {
			f.Faults, many = f.Faults[:petstore.MaxFields], "rows or more are"
		}
		f.Error = "Nothing was imported: " + page.Counted(int64(len(f.Faults)), "row is", many) + " wrong."
		return v.Again(in)
	case in.Text("do") != "import":
		f.Notes = report.Notes.Lines()
		f.Said = strings.Join(append([]string{"All rows are right: " + sum(report, "to add", "to change", "to leave as they are") + "."}, append(doubts, "Choose the file again to import it.")...), " ")
		f.Fields[1].Options = page.Choose(f.Fields[1].Options, "import")
		return v.Show(http.StatusOK, *f)
	case len(doubts) > 0 && in.Text("again") == "":
		f.Notes = report.Notes.Lines()
		f.Error = strings.Join(append(doubts, "Nothing was imported. Confirm that below, and choose the file again."), " ")
		return v.Again(in)
	}
	return applyFile(v, ctx, in, file)
}

// applyFile imports a file after a dry run.
func applyFile(v *visit, ctx context.Context, in *page.Input, file []byte) error {
	report, err := runImport(v, file, func(i *interchange.Import) (interchange.Report, error) { return i.Run(ctx) })
	if fault, ok := errors.AsType[*interchange.Fault](err); ok { // the shop was changed since the dry run
		in.Form.Faults = []string{faultLine(fault)}
		if in.Form.Error = "Somebody changed the shop meanwhile. Nothing was imported."; report.Rows()+report.Changed > 0 {
			in.Form.Error = "Somebody changed the shop meanwhile. Until then there were " + sum(report, "added", "changed", "left as they were") + ". Send the file again, and the import goes on."
		}
		return v.Again(in)
	}
	if err != nil {
		return err
	}
	if report.Pets+report.Added > 0 {
		if _, err := v.Bulk.Load(ctx, v.shop(), &petstore.Batch{File: completionName(file), Through: linesOf(file) + 1}); err != nil {
			return err
		}
	}
	v.Log.Info("imported in the console", "audit", "console.import", "workspace", v.who.Workspace.ID, "key", v.who.Key.ID, "pets", report.Pets, "changed", report.Changed)
	return v.Then("/console/pets", "The file was imported: "+sum(report, "added", "changed", "left as they were")+".", nil)
}

// doubtsOf returns, in sentences, why the import of a file should be confirmed: the questions of the dry run, and
// whether all of the file was imported before, so that its rows would add the same again.
func doubtsOf(v *visit, ctx context.Context, file []byte, r interchange.Report) (doubts []string, err error) {
	for _, question := range r.Notes.Questions {
		doubts = append(doubts, "It would "+question+".")
	}
	if r.Pets+r.Added == 0 {
		return doubts, nil
	}
	reached, err := v.Bulk.ImportedThrough(ctx, v.shop(), completionName(file))
	if reached > 0 {
		twice := page.Counted(r.Pets, "pet", "pets")
		if r.Pets == 0 {
			twice = "to the stock of " + page.Counted(r.Added, "pet", "pets")
		}
		doubts = append([]string{"This file was imported before. Importing it again adds " + twice + " a second time."}, doubts...)
	}
	return doubts, err
}

// progressName returns the name under which the store remembers how far an import of the file came, and completionName the
// name under which it remembers that an import was completed.
func progressName(file []byte) string {
	digest := sha256.New()
	_, _ = io.WriteString(digest, "console ") // it does not fail
	_, _ = digest.Write(file)
	return hex.EncodeToString(digest.Sum(nil))
}

func completionName(file []byte) string { return "whole:" + progressName(file) }

// runImport calls run with an import of the file, which continues an interrupted import
// of the same file.
func runImport(v *visit, file []byte, run func(*interchange.Import) (interchange.Report, error)) (interchange.Report, error) {
	from, err := interchange.NewReader(bytes.NewReader(file), interchange.CSV)
	if err != nil {
		return interchange.Report{}, err
	}
	return run(&interchange.Import{From: from, To: v.Bulk, Workspace: v.shop(), Now: v.Now, MaxCategories: maxCategories, File: progressName(file)})
}

// faultLine describes a fault, without the hint about the command's flag.
func faultLine(f *interchange.Fault) string {
	return fmt.Sprintf("Line %d: %s", f.Line, strings.ReplaceAll(f.Reason, "; --ignore-columns leaves others out", ""))
}

// sum returns in words what an import did or would do.
func sum(r interchange.Report, add, change, leave string) string {
	text := page.Counted(r.Pets, "pet", "pets")
	if r.Categories > 0 {
		text += " and " + page.Counted(r.Categories, "category", "categories")
	}
	text += " " + add
	if r.Changed+r.Left > 0 {
		text += ", " + page.Counted(r.Changed, "pet", "pets") + " " + change + ", " + page.Number(r.Left) + " " + leave
	}
	return text
}
