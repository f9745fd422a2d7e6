package page

import (
	"time"

	"example.com/petstore/internal/ratelimit"
)

// KeyLimits are how a key stands with its ban and its workspace's windows.
type KeyLimits struct{ ratelimit.Decision }

// Banned returns the end of the ban, or the zero time.
func (s KeyLimits) Banned() time.Time {
	if s.Outcome != ratelimit.Banned {
		return time.Time{}
	}
	return time.Unix(s.BannedUntil, 0).UTC()
}

// Spent returns the full window that starts afresh last, or one without a limit if neither is full.
func (s KeyLimits) Spent() (w ratelimit.Window, name string) {
	if s.Minute.Limit > 0 && s.Minute.Remaining() == 0 {
		w, name = s.Minute, "minute"
	}
	if s.Day.Limit > 0 && s.Day.Remaining() == 0 && s.Day.Reset >= w.Reset {
		w, name = s.Day, "day"
	}
	return w, name
}

// until returns when the key can ask again: at the end of the ban or of the full window, whichever is later. It is the
// zero time if the key can ask now.
func (s KeyLimits) until() time.Time {
	end := s.Banned()
	if w, name := s.Spent(); name != "" && time.Unix(w.Reset, 0).After(end) {
		end = time.Unix(w.Reset, 0).UTC()
	}
	return end
}

// Words say why the key cannot ask now, or "".
func (s KeyLimits) Words() (title, text string) {
	w, name := s.Spent()
	switch banned := s.Banned(); {
	case banned.IsZero() && name == "":
		return "", ""
	case banned.IsZero():
		title = "The requests of this " + name + " are used up"
		return title, "The plan has " + Counted(w.Limit, "request", "requests") + " a " + name + ", and what you change here counts too."
	case name != "" && time.Unix(w.Reset, 0).After(banned):
		return "The requests of this " + name + " are used up", "The key is banned besides, until " + InWords(banned) + "."
	}
	return "This key is banned", "You can still look at these pages, but change or download nothing. The API refuses its requests."
}

// A LimitNote says on every page that the key cannot ask now, and until when. It is empty if it can.
type LimitNote struct {
	Title string    `json:"title"`
	Text  string    `json:"text"`
	Until time.Time `json:"until,omitzero"`
}

// Note returns what every page says of the limits.
func (s KeyLimits) Note() LimitNote {
	title, text := s.Words()
	return LimitNote{title, text, s.until()}
}

// A Gauge is one window of the limits.
type Gauge struct {
	Name    string    `json:"name"`
	Used    string    `json:"used"`
	Limit   string    `json:"limit"`
	Left    string    `json:"left"`
	Percent int64     `json:"percent"`
	Reset   time.Time `json:"reset"`
	Level   string    `json:"level"` // "ok", "high" or "full"
}

// GaugeOf returns the gauge of a window.
func GaugeOf(name string, w ratelimit.Window) Gauge {
	m := Gauge{
		Name: name, Used: Number(w.Used), Limit: Number(w.Limit), Left: Number(w.Remaining()),
		Percent: min(100, w.Used*100/max(w.Limit, 1)), Reset: time.Unix(w.Reset, 0).UTC(), Level: "ok",
	}
	switch {
	case w.Remaining() == 0:
		m.Level = "full"
	case m.Percent >= 80:
		m.Level = "high"
	}
	return m
}
