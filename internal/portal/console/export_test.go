package console

import "example.com/petstore/internal/fairshare"

// BoundStreams has the console keep other bounds on its live pages.
func (c *Console) BoundStreams(o fairshare.Options) { c.shares.streams = fairshare.New(o) }
