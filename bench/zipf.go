package main

import (
	"math"
	"math/rand/v2"
)

// A zipfian draws ranks from 0 on, of which the first is the most frequent, as
// YCSB does: after Gray et al., "Quickly Generating Billion-Record Synthetic
// Databases" (SIGMOD 1994), with the constant 0.99.
type zipfian struct {
	n                   float64
	zeta, alpha, eta, t float64
}

func newZipfian(n int) *zipfian {
	const theta = 0.99
	z := &zipfian{n: float64(n), alpha: 1 / (1 - theta), t: 1 + math.Pow(.5, theta)}
	for i := 1; i <= n; i++ {
		z.zeta += math.Pow(float64(i), -theta)
	}
	two := 1 + math.Pow(2, -theta)
	z.eta = (1 - math.Pow(2/z.n, 1-theta)) / (1 - two/z.zeta)
	return z
}

func (z *zipfian) rank(r *rand.Rand) int64 {
	u := r.Float64()
	switch uz := u * z.zeta; {
	case uz < 1:
		return 0
	case uz < z.t:
		return 1
	}
	return int64(z.n * math.Pow(z.eta*u-z.eta+1, z.alpha))
}

// popularPet returns the id of a pet, of which some are asked for much more
// often than others: which ones is scattered over all ids.
func (w *workload) popularPet(r *rand.Rand) int64 {
	const scatter = 0x9E3779B97F4A7C15
	rank := uint64(w.popular.rank(r))
	return 1 + int64((rank+1)*scatter>>1%uint64(w.pets))
}
