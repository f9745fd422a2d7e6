package access

import "context"

// Limiter is who sets the bans that a server's limiter starts.
const Limiter Actor = "limiter"

// SetBan replaces the key's ban. Limiter does not replace a ban that runs: several nodes may
// ban a client at the same time, and a ban of an operator must not be shortened.
func SetBan(ctx context.Context, s Store, b Ban, by Actor) error {
	_, err := s.UpdateKey(ctx, b.KeyID, by, "", func(_, k *Key) error {
		if by != Limiter || k.Ban == nil || k.Ban.From.After(b.From) || !k.Ban.Until.After(b.From) {
			k.Ban = &b
		}
		return nil
	})
	return err
}

// LiftBan ends the key's ban. A key without a ban is left as it is.
func LiftBan(ctx context.Context, s Store, keyID string, by Actor) error {
	_, err := s.UpdateKey(ctx, keyID, by, "", func(_, k *Key) error {
		k.Ban = nil
		return nil
	})
	return err
}
