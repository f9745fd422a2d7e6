package access

import (
	"regexp"
	"strings"
	"testing"
)

var keyForm = regexp.MustCompile(`^pst_[0-9A-Za-z]{32}[0-9A-Za-z]{6}$`)

func TestMint(t *testing.T) {
	t.Parallel()
	const n = 5000
	seen := make(map[string]bool, n)
	var counts [256]int
	for range n {
		key, prefix := Mint()
		if !keyForm.MatchString(key) || !WellFormed(key) || prefix != key[:8] {
			t.Fatalf("Mint() = %q, %q, want a well-formed key and its first 8 characters", key, prefix)
		}
		if seen[key] {
			t.Fatalf("Mint() = %q twice", key)
		}
		seen[key] = true
		for _, c := range []byte(key[4:36]) {
			counts[c]++
		}
	}
	wantUniform(t, counts, n*secretLen)
}

// wantUniform compares the counts of base62 characters by a chi-squared test
// of 61 degrees of freedom. Chance alone exceeds the bound about once in 10⁹ runs;
// without the rejection of bytes from 248 on, the sum is above 1,000.
func wantUniform(t *testing.T, counts [256]int, total int) {
	t.Helper()
	want, sum := float64(total)/62, 0.0
	for _, c := range []byte(base62) {
		d := float64(counts[c]) - want
		sum += d * d / want
	}
	if sum > 155 {
		t.Errorf("the characters of %d are spread with chi squared = %.0f, want at most 155", total, sum)
	}
}

func TestMintID(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^key_[0-9A-Za-z]{16}$`)
	a, b := MintID(), MintID()
	if !form.MatchString(a) || !form.MatchString(b) || a == b {
		t.Errorf("MintID() = %q and %q, want two ids", a, b)
	}
}

// The form never changes: this key's checksum was computed by another program.
func TestWellFormedKnownKey(t *testing.T) {
	t.Parallel()
	if key := "pst_0123456789ABCDEFGHIJKLMNOPQRSTUV3uavNM"; !WellFormed(key) {
		t.Errorf("WellFormed(%q) = false, want true", key)
	}
}

// CRC-32 catches every error within 32 bits, so every changed character and
// every exchange of neighbours.
func TestWellFormedCatchesMistakes(t *testing.T) {
	t.Parallel()
	key, _ := Mint()
	for i := range len(key) {
		for c := range 256 {
			if bad := key[:i] + string([]byte{byte(c)}) + key[i+1:]; bad != key && WellFormed(bad) {
				t.Errorf("WellFormed(%q) = true, a change of %q at %d", bad, key, i)
			}
		}
		if i > 0 && key[i] != key[i-1] {
			if bad := key[:i-1] + key[i:i+1] + key[i-1:i] + key[i+1:]; WellFormed(bad) {
				t.Errorf("WellFormed(%q) = true, an exchange in %q at %d", bad, key, i)
			}
		}
	}
}

func TestWellFormedRefuses(t *testing.T) {
	t.Parallel()
	key, _ := Mint()
	other := "tsp_" + key[4:36]
	sum := checksum(other)
	for what, bad := range map[string]string{
		"nothing":                "",
		"the prefix":             Prefix,
		"shorter":                key[:41],
		"longer":                 key + "0",
		"a space before":         " " + key,
		"another prefix":         "tsp_" + key[4:],
		"another prefix, summed": other + string(sum[:]),
		"upper case":             "PST_" + key[4:],
		"no checksum":            key[:36],
		"huge":                   strings.Repeat(key, 1000),
	} {
		if WellFormed(bad) {
			t.Errorf("%s: WellFormed(%.60q) = true, want false", what, bad)
		}
	}
}
