package monitoring

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/test/servertest"
)

const (
	rulesFile     = "../../deploy/prometheus/rules.yml"
	rulesTestFile = "../../deploy/prometheus/rules_test.yml"
	configFile    = "../../deploy/prometheus/prometheus.yml"
	dashboardFile = "../../deploy/grafana/petstore.json"
)

// A panel is what matters here of a panel of the dashboard.
type panel struct {
	ID          int `json:"id"`
	Title, Type string
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct{ Expr string }
}

func readDashboard(t *testing.T) []panel {
	t.Helper()
	var dashboard struct{ Panels []panel }
	if err := json.Unmarshal([]byte(servertest.Text(t, dashboardFile)), &dashboard); err != nil {
		t.Fatalf("%s: %v", dashboardFile, err)
	}
	if len(dashboard.Panels) < 10 {
		t.Fatalf("%s has only %d panels", dashboardFile, len(dashboard.Panels))
	}
	return dashboard.Panels
}

// metricNames returns the metrics that an expression, or a file of them, names.
func metricNames(text string) []string {
	var all []string
	for _, name := range regexp.MustCompile(`\b(petstore|process|go)_\w+`).FindAllString(text, -1) {
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, part)
		}
		all = append(all, name)
	}
	return all
}

func TestDashboardIsWhole(t *testing.T) {
	t.Parallel()
	ids := map[int]string{}
	taken := map[[2]int]string{}
	for _, p := range readDashboard(t) {
		if other, ok := ids[p.ID]; ok {
			t.Errorf("panels %q and %q have the same id %d", other, p.Title, p.ID)
		}
		ids[p.ID] = p.Title
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q shows nothing", p.Title)
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, ok := taken[[2]int{x, y}]; ok || x >= 24 {
					t.Fatalf("panel %q lies over %q, or beyond the edge", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}

// TestAlertsAreExplained checks that the book explains each alert under a heading of its own.
func TestAlertsAreExplained(t *testing.T) {
	t.Parallel()
	guide := servertest.Text(t, "../../docs/troubleshooting.md")
	tests := servertest.Text(t, rulesTestFile)
	alerts := regexp.MustCompile(`(?m)alert: (\w+)$`).FindAllStringSubmatch(servertest.Text(t, rulesFile), -1)
	if len(alerts) < 10 {
		t.Fatalf("%s has only %d alerts", rulesFile, len(alerts))
	}
	for _, alert := range alerts {
		if !strings.Contains(guide, "\n### "+alert[1]+"\n") {
			t.Errorf("docs/troubleshooting.md does not explain %s", alert[1])
		}
		if !strings.Contains(tests, "alertname: "+alert[1]+"\n") {
			t.Errorf("%s does not make %s fire", rulesTestFile, alert[1])
		}
	}
}
