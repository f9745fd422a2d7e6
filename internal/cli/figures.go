package cli

import "example.com/petstore/internal/ops"

// sources returns what the metrics ask for figures.
func (n *node) sources() ops.Sources {
	s := ops.Sources{Version: version().Version, Limits: n.limits, Storage: n.storage, Gates: n.gate}
	if n.config.Backup.Every > 0 {
		s.Backup = n.backup
	}
	return s
}

// gate returns the numbers of the gate of one kind of requests, which are zero
// until there is one.
func (n *node) gate(kind string) ops.Gate {
	api := n.api.Load()
	if api == nil {
		return ops.Gate{}
	}
	return ops.Gate(api.Gates()[kind])
}

// backup looks into the folder each time, so that a restart forgets nothing and
// a backup that somebody removed is missed.
func (n *node) backup() ops.Backup {
	b := ops.Backup{Every: n.config.Backup.Every}
	all, err := n.backups().list()
	if err != nil || len(all) == 0 {
		return b
	}
	b.Newest, _ = madeAt(all[len(all)-1]) // list knows it
	return b
}
