package node

import (
	"context"
	"fmt"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/petstore"
)

// actor is in whose name the node makes the demo.
const actor access.Actor = "cli"

// The workspace of serve --demo, and how long each of its keys is valid. Keys
// are known only when they are made, so each start makes one; the keys of
// earlier starts go on until they expire, so that a restart breaks no shell.
const (
	demoWorkspace = "demo"
	demoKeyLife   = 7 * 24 * time.Hour
)

// A Demo is what is said of the demo workspace: a new key to it, and where one
// can sign in with it to the console.
type Demo struct {
	Workspace, Key, SignIn string
	keyID                  string
}

// prepareDemo fills an empty database with the demo shop and returns a new key
// to it. It returns an error for a database that has other workspaces only.
func (n *node) prepareDemo(ctx context.Context) (*Demo, error) {
	w, err := n.demoWorkspace(ctx)
	if err != nil {
		return nil, err
	}
	if err := n.stockDemo(ctx, w.ID); err != nil {
		return nil, fmt.Errorf("the demo shop could not be filled: %w", err)
	}
	secret, prefix := access.Mint()
	id, now := access.MintID(), n.now()
	err = n.store.CreateKey(ctx, access.Key{
		ID: id, WorkspaceID: w.ID, Name: "demo " + now.UTC().Format("2006-01-02 15:04:05"),
		Prefix: prefix, Hash: access.HashOf(secret), Scopes: access.Read | access.Write,
		CreatedAt: now, ExpiresAt: now.Add(demoKeyLife),
	}, actor)
	if err != nil {
		return nil, err
	}
	return &Demo{Workspace: demoWorkspace, Key: secret, keyID: id}, n.keys.Refresh(ctx)
}

// demoWorkspace returns the workspace, a new one if the database has none.
func (n *node) demoWorkspace(ctx context.Context) (access.Workspace, error) {
	w, err := n.store.Workspace(ctx, demoWorkspace)
	if petstore.CodeOf(err) != access.CodeWorkspaceNotFound {
		return w, err
	}
	all, err := n.store.Workspaces(ctx)
	if err != nil {
		return w, err
	}
	if len(all) > 0 {
		return w, &config.Fault{Origin: "--demo", Reason: fmt.Sprintf("%s has workspaces already, and none is called %s; give --db a new one", config.Redact(n.Config.DB), demoWorkspace)}
	}
	quota, err := access.QuotaFor(access.Business, access.Quota{})
	if err != nil {
		return w, err
	}
	return n.store.CreateWorkspace(ctx, access.Workspace{Name: demoWorkspace, Plan: access.Business, Quota: quota, CreatedAt: n.now()}, actor)
}

// stockDemo fills the workspace unless it has a category.
func (n *node) stockDemo(ctx context.Context, workspace int64) error {
	have, err := n.shop.Categories(ctx, workspace, petstore.CategoryQuery{Page: petstore.Page{Limit: 1}})
	if err != nil || len(have) > 0 {
		return err
	}
	for _, kind := range demoCatalogue() {
		category, err := n.shop.CreateCategory(ctx, workspace, petstore.NewCategory{Name: kind.name, Description: &kind.about}, nil)
		if err != nil {
			return err
		}
		for _, animal := range kind.animals {
			if err := n.addDemoPet(ctx, workspace, category.ID, animal); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *node) addDemoPet(ctx context.Context, workspace, category int64, animal demoPet) error {
	pet, err := n.shop.CreatePet(ctx, workspace, petstore.NewPet{Name: animal.name, CategoryID: category}, nil)
	if err != nil {
		return err
	}
	if animal.stock > 1 {
		if _, err := n.shop.UpdateInventory(ctx, workspace, pet.ID, animal.stock, petstore.Condition{}); err != nil {
			return err
		}
	}
	for _, o := range animal.orders {
		o.PetID = pet.ID
		if _, err := n.shop.CreateOrder(ctx, workspace, o, nil); err != nil {
			return err
		}
	}
	return nil
}

type demoKind struct {
	name, about string
	animals     []demoPet
}

// A demoPet has so much stock before its orders are placed.
type demoPet struct {
	name   string
	stock  int64
	orders []petstore.NewOrder
}

// demoCatalogue returns the demo shop. Some animals are sold, some are held by
// open orders, so that every status can be seen.
func demoCatalogue() []demoKind {
	open := func(n int64) petstore.NewOrder { return petstore.NewOrder{Quantity: n} }
	sold := func(n int64) petstore.NewOrder { return petstore.NewOrder{Quantity: n, Complete: true} }
	one := func(name string, orders ...petstore.NewOrder) demoPet { return demoPet{name, 1, orders} }
	many := func(name string, stock int64, orders ...petstore.NewOrder) demoPet {
		return demoPet{name, stock, orders}
	}
	return []demoKind{
		{"Dogs", "From lap dogs to herders; all vaccinated and chipped.", []demoPet{
			one("Biscuit, beagle"), one("Moss, border collie"), one("Pepper, dachshund", open(1)), one("Juno, whippet"), one("Otto, schnauzer", sold(1)), one("Clover, corgi"),
		}},
		{"Cats", "House cats, young and settled.", []demoPet{
			one("Mabel, tabby"), one("Ink, Bombay"), one("Saffron, Abyssinian", open(1)), one("Dumpling, British shorthair"), one("Nimbus, Maine coon"), one("Tansy, tortoiseshell", sold(1)),
		}},
		{"Birds", "Singers and talkers, best kept in pairs.", []demoPet{
			many("Zebra finch", 24, open(2)), many("Budgerigar", 18, sold(2)), many("Canary", 12), many("Cockatiel", 6), one("Figaro, African grey"),
		}},
		{"Fish", "Freshwater fish for the community tank.", []demoPet{
			many("Neon tetra", 400, open(20), sold(12)), many("Guppy", 250, open(10)), many("Corydoras", 80), many("Betta", 15), many("Angelfish", 22),
		}},
		{"Small mammals", "For children who have learned to be quiet.", []demoPet{
			many("Syrian hamster", 9), many("Guinea pig", 8, open(2)), many("Dwarf rabbit", 7), many("Gerbil", 10, sold(2)), one("Hazel, chinchilla"),
		}},
		{"Reptiles", "Warm, patient and long-lived.", []demoPet{
			many("Leopard gecko", 5), many("Corn snake", 3, open(1)), one("Atlas, Hermann's tortoise"), one("Ember, bearded dragon", sold(1)),
		}},
	}
}
