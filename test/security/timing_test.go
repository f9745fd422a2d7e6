package security

import (
	"context"
	"flag"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/store/sqlite"
)

// timing lets TestTiming measure, which a busy machine may disturb.
var timing = flag.Bool("timing", false, "measure whether the time of a refusal tells how much of a key is right")

// leaks is Welch's t from which a difference of two times counts. Means that are
// the same give less than 5 in practice.
const leaks = 10

// TestTiming times refusals of keys that share 31 of 32 random characters with
// live ones and of keys that share as many with keys that are not there, in an
// order drawn by lot, and compares the means (as dudect does: Reparaz, Balasch,
// Verbauwhede, "Dude, is my code constant time?", 2017). A comparison that ends at
// the first difference is told apart by the same measurement.
func TestTiming(t *testing.T) {
	if !*timing {
		t.Skip("SKIPPED: runs with -args -timing, as make security does")
	}
	directory, live := liveKeys(t, 16)
	decoys := make([]string, len(live))
	for i := range decoys {
		decoys[i], _ = access.Mint()
	}
	verify := func(key string) bool {
		_, err := directory.Verify(key)
		return err == nil
	}
	if !verify(live[0]) || verify(decoys[0]) || verify(almost(live[0])) {
		t.Fatal("a live key is refused, or another taken")
	}
	compare := func(key string) (found bool) {
		for _, other := range live {
			same := 0
			for same < len(other) && key[same] == other[same] {
				same++
			}
			found = found || same == len(other)
		}
		return found
	}
	if got := math.Abs(difference(compare, live, decoys)); got < leaks {
		t.Errorf("a comparison byte by byte has t = %.1f, want %d or more: the measurement sees nothing", got, leaks)
	}
	var got []float64
	for range 3 { // what leaks does so each time
		got = append(got, math.Abs(difference(verify, live, decoys)))
	}
	t.Logf("t of refusals: %.1f", got)
	if slices.Min(got) > leaks {
		t.Errorf("the time of a refusal tells how much of the key is right: t = %.1f, want less than %d", got, leaks)
	}
}

// almost returns a key that differs from another in the last random character.
func almost(key string) string {
	for {
		other, _ := access.Mint()
		if other[35] != key[35] {
			return withSum(key[:35] + other[35:36])
		}
	}
}

// liveKeys returns a directory with keys.
func liveKeys(t *testing.T, n int) (*access.Directory[struct{}], []string) {
	t.Helper()
	ctx := context.Background()
	db, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "petstore.db"), sqlite.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	w, err := db.CreateWorkspace(ctx, access.Workspace{Name: "shop", Plan: access.Free, Quota: access.FreeQuota}, "test")
	if err != nil {
		t.Fatal(err)
	}
	secrets := make([]string, n)
	for i := range secrets {
		secret, prefix := access.Mint()
		k := access.Key{ID: access.MintID(), WorkspaceID: w.ID, Name: "till", Prefix: prefix, Hash: access.HashOf(secret), Scopes: access.Read, CreatedAt: time.Now()}
		if _, err := db.MakeKey(ctx, access.KeyRequest{Key: k, By: "test"}); err != nil {
			t.Fatal(err)
		}
		secrets[i] = secret
	}
	d := access.NewDirectory(db, time.Now, func(access.Workspace, access.Key) struct{} { return struct{}{} }, func(access.Key) {})
	if err := d.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	return d, secrets
}

// withSum returns the key whose body is given: its checksum is right, so that
// it is looked for.
func withSum(body string) string {
	const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	digits := [6]byte{}
	for i, sum := 5, crc32.ChecksumIEEE([]byte(body)); i >= 0; i, sum = i-1, sum/62 {
		digits[i] = base62[sum%62]
	}
	return body + string(digits[:])
}

// difference returns Welch's t of the times that f takes for keys that are almost
// one of the near, and almost one of the far, without the slowest tenth, in which
// the machine did something else. No key comes twice, so that nothing but what is
// common to a kind counts.
func difference(f func(string) bool, near, far []string) float64 {
	const samples, together = 100_000, 8
	var times [2][]float64
	for range samples {
		kind := rand.IntN(2)
		var keys [together]string
		for i := range keys {
			keys[i] = almost([2][]string{near, far}[kind][rand.IntN(len(near))])
		}
		began := time.Now()
		for _, key := range keys {
			if f(key) {
				panic("a wrong key was taken")
			}
		}
		times[kind] = append(times[kind], float64(time.Since(began)))
	}
	all := slices.Sorted(slices.Values(slices.Concat(times[0], times[1])))
	most := all[len(all)*9/10]
	var mean, share [2]float64
	for kind, of := range times {
		of = slices.DeleteFunc(of, func(d float64) bool { return d > most })
		mean[kind], share[kind] = spread(of)
	}
	return (mean[0] - mean[1]) / math.Sqrt(share[0]+share[1])
}

// spread returns the mean, and the variance of the mean.
func spread(all []float64) (mean, variance float64) {
	n := float64(len(all))
	for _, x := range all {
		mean += x / n
	}
	for _, x := range all {
		variance += (x - mean) * (x - mean) / (n - 1)
	}
	return mean, variance / n
}
