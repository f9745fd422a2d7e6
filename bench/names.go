package main

import "strings"

// The names of the pets are like people's: a given name and a family name, some of both much more frequent than
// others. 200 × 2,700 of them are possible, so that each of ten million pets has some twenty namesakes, but one.

var (
	given = strings.Fields(`Ada Agnes Aidan Alba Alec Alice Alma Amber Amos Andrew Angela Anita Anna Arthur Audrey Barney Basil Bella Benny
Bertha Bessie Betty Bianca Billy Bonnie Boris Brandy Bridget Bruno Buster Carla Carmen Casper Cecil Celia Charlie Chester Clara Clement
Clyde Cora Cosmo Daisy Dalia Daphne Darcy Della Dexter Diana Dolly Dora Doris Duke Edgar Edith Edwin Elena Ella Elmer Elsie Emma Enid
Erica Ernest Esther Ethel Eva Fanny Felix Fergus Fiona Flora Floyd Frances Frank Freddie Gemma George Gilbert Ginger Gloria Grace Greta
Gus Gwen Hank Hannah Harold Harvey Hazel Hector Heidi Helen Henry Herbert Hilda Holly Homer Hugo Ida Igor Ines Iris Irma Isaac Ivan
Ivy Jack Jasper Jenny Jessie Joan Josie Judith Julia June Karl Kate Kenneth Kitty Lara Laura Lena Leo Leroy Lily Linus Lola Louis Lucy
Luna Mabel Maggie Marcus Margot Martha Martin Mathilda Maude Max Mia Mildred Millie Milo Minnie Mollie Monica Morris Myrtle Nancy Naomi
Nelly Nero Nina Nora Norman Olga Olive Oscar Otis Otto Pablo Patsy Paula Pearl Peggy Penny Percy Petra Phoebe Poppy Quentin Rachel Ralph
Ramona Rex Rita Robin Rocky Roger Rosa Roxy Ruby Rufus Ruth Sadie Sally Samson Sandra Sasha Selma Shirley`)

	begins = strings.Fields(`Ash Bar Beck Bell Black Blake Brad Bram Bran Brook Burn Cald Carl Cart Chad Chat Clay Clif Cole Crom Dal Dar
Dun East Ed Ell Fair Far Fen Glen Graf Green Hal Ham Hart Hath Hay Hol Hun Kel Ken Kings Lang Lock Mans Mar Mid Mill Nor Oak Old Pem
Ram Red Shel Sher Stan Stock Sut Thorn Wal War Wel West Whit Win Wood`)

	ends = strings.Fields(`am bank berg borne bourne bridge brook bury by cliff combe cott croft dale den don field ford gate grove ham hart
hill holm hurst land leigh ley man mere more nell ridge sey shaw side son stead ston ton wald well wick win worth`)
)

// rareName is the name of one pet only. Each of its parts, and each of their syllables, is ordinary.
const rareName = "Clara Hartwick"

// petName returns the name that belongs to a number, never rareName.
func petName(i int) string {
	h := mix(uint64(i))
	name := skewed(h, given) + " " + skewed(h>>20, begins) + skewed(h>>40, ends)
	if name == rareName {
		return "Clara Hartwell"
	}
	return name
}

// skewed picks one by the twenty lowest bits of h, those before the others more often.
func skewed(h uint64, all []string) string {
	x := float64(h&(1<<20-1)) / (1 << 20)
	return all[int(x*(1+x)/2*float64(len(all)))]
}

// mix scatters numbers over all 64 bits: the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
