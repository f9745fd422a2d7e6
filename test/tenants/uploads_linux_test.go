package tenants

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"example.com/petstore/test/servertest"
)

// mostOfAnswer is how long a page about a file may be: a hundred faults of 200 bytes, and
// the page around them.
const mostOfAnswer = 64 << 10

// TestUploads sends files to the console that are wrong in every row, or everywhere. The
// answer is short, and what was kept of the file meanwhile is gone.
func TestUploads(t *testing.T) {
	s := newSite(t, 1<<30, false)
	const most = 1 << 20 // of a file
	rows := func(row string) string { return "name,category\n" + strings.Repeat(row+"\n", (most-100)/(len(row)+1)) }
	for name, file := range map[string]string{
		"many columns without a use": "name,category" + strings.Repeat(",x", 500_000) + "\n",
		"many columns of one name":   strings.Repeat("name,", 200_000) + "category\n",
		"a long column":              "name,category," + strings.Repeat("x", most-100) + "\n",
		"many cells":                 "name,category\nRex,Kind" + strings.Repeat(",x", 500_000) + "\n",
		"a long cell":                "name,category\n" + strings.Repeat("x", most-100) + ",Kind\n",
		"long cells":                 rows(strings.Repeat("x", 9000) + ",Kind"),
		"a long category":            "name,category\nRex," + strings.Repeat("x", most-100) + "\n",
		"a long status":              "name,category,status\nRex,Kind," + strings.Repeat("x", most-100) + "\n",
		"a long stock":               "name,category,stock\nRex,Kind," + strings.Repeat("9", most-100) + "\n",
		"no names":                   rows(",Kind"),
		"CR alone":                   strings.ReplaceAll(rows(",Kind"), "\n", "\r"),
		"no lines":                   strings.Repeat("x", most-100),
		"an open quote":              "name,category\n\"" + strings.Repeat("x\n", most/2-100),
		"quotes":                     "name,category\n" + strings.Repeat("\"", most-101) + "\n",
		"no UTF-8":                   rows("\xff\xfe,Kind"),
		"NUL":                        rows("\x00,Kind"),
		"a little too long":          rows("Rex,Kind") + strings.Repeat("Rex,Kind\n", 1000),
	} {
		kind, form := upload("try", file)
		answer, err := ask{"POST", s.URL + "/console/pets/import", s.greedy[0].cookies[0], kind, form}.of(t.Context(), s.client)
		refusal := fmt.Sprint(err)
		if err == nil || !strings.Contains(refusal, ": 4") {
			t.Errorf("%s: %v, want a refusal", name, err)
		}
		if len(answer) > mostOfAnswer {
			t.Errorf("%s: the answer has %d bytes, want %d at most", name, len(answer), mostOfAnswer)
		}
	}
	t.Logf("%d MiB at most", s.peak(t)>>20)
	servertest.Eventually(t, "temporary files are gone", func() bool {
		left, err := os.ReadDir(s.temporary())
		return err == nil && len(left) == 0
	})
}
