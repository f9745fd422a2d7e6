package node

import (
	"context"
	"fmt"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/webhook"
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

// A demonstrator fills an empty database.
type demonstrator struct {
	*petstore.Service
	store Store
	db    string // of the settings
	now   func() time.Time
	feeds bool // events are kept
}

// prepare makes the demo workspace, unless it is there, and returns a new key
// to it. It returns an error for a database that has other workspaces only.
func (d *demonstrator) prepare(ctx context.Context) (*Demo, error) {
	w, err := d.workspace(ctx)
	if err != nil {
		return nil, err
	}
	if err := d.fill(ctx, w.ID); err != nil {
		return nil, fmt.Errorf("the demo workspace could not be filled: %w", err)
	}
	secret, prefix := access.Mint()
	id, now := access.MintID(), d.now()
	_, err = d.store.MakeKey(ctx, access.KeyRequest{By: actor, Key: access.Key{
		ID: id, WorkspaceID: w.ID, Name: "demo " + now.UTC().Format("2006-01-02 15:04:05"),
		Prefix: prefix, Hash: access.HashOf(secret), Scopes: access.Read | access.Write | access.Manage,
		CreatedAt: now, ExpiresAt: now.Add(demoKeyLife),
	}})
	return &Demo{Workspace: demoWorkspace, Key: secret, keyID: id}, err
}

// workspace returns the workspace, a new one if the database has none.
func (d *demonstrator) workspace(ctx context.Context) (access.Workspace, error) {
	w, err := d.store.Workspace(ctx, demoWorkspace)
	if petstore.CodeOf(err) != access.CodeWorkspaceNotFound {
		return w, err
	}
	all, err := d.store.CountWorkspaces(ctx)
	if err != nil {
		return w, err
	}
	if all > 0 {
		return w, &config.Fault{Origin: "--demo", Reason: fmt.Sprintf("%s has workspaces already, and none is called %s; give --db a new one", config.Redact(d.db), demoWorkspace)}
	}
	quota, err := access.QuotaFor(access.Business, access.Quota{})
	if err != nil {
		return w, err
	}
	return d.store.CreateWorkspace(ctx, access.Workspace{Name: demoWorkspace, Plan: access.Business, Quota: quota, CreatedAt: d.now()}, actor)
}

// fill fills the workspace unless it has a category.
func (d *demonstrator) fill(ctx context.Context, workspace int64) error {
	have, err := d.Categories(ctx, workspace, petstore.CategoryQuery{Page: petstore.Page{Limit: 1}})
	if err != nil || len(have) > 0 {
		return err
	}
	for _, c := range demoCategories() {
		if _, err := d.CreateCategory(ctx, workspace, c, nil); err != nil {
			return err
		}
	}
	var orders []petstore.NewOrder
	for _, p := range demoPets() {
		placed, err := d.addPet(ctx, workspace, p)
		if err != nil {
			return err
		}
		orders = append(placed, orders...)
	}
	for _, o := range orders {
		if _, err := d.CreateOrder(ctx, workspace, o, nil); err != nil {
			return err
		}
	}
	if err := d.addKeys(ctx, workspace); err != nil || !d.feeds {
		return err
	}
	return d.addWebhooks(ctx, workspace)
}

// addWebhooks adds the webhooks that the examples of the description name. They are
// paused: nothing is sent.
func (d *demonstrator) addWebhooks(ctx context.Context, workspace int64) error {
	const demoNode = "demo"
	now := d.now()
	change := func(id string, edit func(*webhook.Webhook)) error {
		_, err := d.store.ChangeWebhook(ctx, webhook.Change{Workspace: workspace, ID: id, By: string(actor), Action: "webhook.create", Edit: func(w *webhook.Webhook, _ webhook.Feed) error {
			edit(w)
			return nil
		}})
		return err
	}
	for _, id := range []string{"wh_4QK2NDJ7TBWX5M3YAFR6CVHZLP", "wh_OLDKNDJ7TBWX5M3YAFR6CVHZLP"} {
		err := change("", func(w *webhook.Webhook) {
			*w = webhook.Webhook{ID: id, Workspace: workspace, URL: "https://example.com/petstore", State: webhook.Active, CreatedAt: now, Secret: webhook.MintSecret()}
		})
		if err == nil {
			_, err = d.store.HoldWebhooks(ctx, webhook.Lease{Node: demoNode, Now: now, Until: now.Add(time.Minute)})
		}
		if err == nil {
			_, err = d.store.QueueDeliveries(ctx, id, demoNode, now, 1000)
		}
		if err == nil {
			err = change(id, func(w *webhook.Webhook) { w.State = webhook.Paused })
		}
		if err != nil {
			return err
		}
	}
	return d.store.ReleaseWebhooks(ctx, demoNode)
}

// addKeys adds the keys that the examples of the description name. Nobody
// knows them. The last one may be rotated with the demo's own, which ends later.
func (d *demonstrator) addKeys(ctx context.Context, workspace int64) error {
	for _, k := range []access.Key{
		{ID: "key_7Gd2QxVb41LmZc9T", Name: "till"}, {ID: "key_Old4rN81sVb2LmQc", Name: "old till"},
		{ID: "key_5tRw92LmXb7QcN3k", Name: "shop window", ExpiresAt: d.now().Add(demoKeyLife / 2)},
	} {
		secret, prefix := access.Mint()
		k.WorkspaceID, k.Prefix, k.Hash, k.Scopes = workspace, prefix, access.HashOf(secret), access.Read
		if _, err := d.store.MakeKey(ctx, access.KeyRequest{Key: k, By: actor}); err != nil {
			return err
		}
	}
	return nil
}

// addPet adds a pet with its stock, and returns its orders.
func (d *demonstrator) addPet(ctx context.Context, workspace int64, p demoPet) ([]petstore.NewOrder, error) {
	pet, err := d.CreatePet(ctx, workspace, petstore.NewPet{Name: p.name, CategoryID: p.category}, nil)
	if err != nil {
		return nil, err
	}
	if p.stock > 1 {
		if _, err := d.UpdateInventory(ctx, workspace, pet.ID, p.stock, petstore.Condition{}); err != nil {
			return nil, err
		}
	}
	for i := range p.orders {
		p.orders[i].PetID = pet.ID
	}
	return p.orders, nil
}

// The categories of the demo, by their ids.
const (
	birds = iota + 1
	fish
	dogs
	cats
	mammals
	reptiles
)

func demoCategories() []petstore.NewCategory {
	about := func(name, description string) petstore.NewCategory {
		return petstore.NewCategory{Name: name, Description: &description}
	}
	return []petstore.NewCategory{
		about("Birds", "Singers and talkers, best kept in pairs."),
		about("Fish", "Freshwater fish for the community tank."),
		about("Dogs", "From lap dogs to herders; all vaccinated and chipped."),
		about("Cats", "House cats, young and settled."),
		about("Small mammals", "For children who have learned to be quiet."),
		about("Reptiles", "Warm, patient and long-lived."),
		about("Insects", "None yet."),
	}
}

// A demoPet has so much stock before its orders are placed.
type demoPet struct {
	name     string
	category int64
	stock    int64
	orders   []petstore.NewOrder
}

// demoPets returns the pets of the demo, by their ids. Some are sold, some are
// held by open orders, so that every status can be seen. The examples of the
// description work on it: they name the pets 41 to 43, the orders 1 and 2, which
// are of the last pet that has orders, and the category 7; addKeys has the keys.
func demoPets() []demoPet {
	open := func(n int64) petstore.NewOrder { return petstore.NewOrder{Quantity: n} }
	sold := func(n int64) petstore.NewOrder { return petstore.NewOrder{Quantity: n, Complete: true} }
	dated := petstore.NewOrder{Quantity: 1, ShipDate: petstore.At(time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC))}
	pet := func(category int64, name string, stock int64, orders ...petstore.NewOrder) demoPet {
		return demoPet{name, category, stock, orders}
	}
	return []demoPet{
		pet(dogs, "Biscuit, beagle", 1), pet(dogs, "Moss, border collie", 1), pet(dogs, "Pepper, dachshund", 1, open(1)),
		pet(dogs, "Juno, whippet", 1), pet(dogs, "Otto, schnauzer", 1, sold(1)), pet(dogs, "Clover, corgi", 1),
		pet(cats, "Mabel, tabby", 1), pet(cats, "Ink, Bombay", 1), pet(cats, "Saffron, Abyssinian", 1, open(1)),
		pet(cats, "Dumpling, British shorthair", 1), pet(cats, "Nimbus, Maine coon", 1), pet(cats, "Tansy, tortoiseshell", 1, sold(1)),
		pet(birds, "Zebra finch", 24, open(2)), pet(birds, "Budgerigar", 18, sold(2)), pet(birds, "Canary", 12),
		pet(birds, "Cockatiel", 6), pet(birds, "Figaro, African grey", 1),
		pet(fish, "Neon tetra", 400, open(20), sold(12)), pet(fish, "Guppy", 250, open(10)), pet(fish, "Corydoras", 80),
		pet(fish, "Betta", 15), pet(fish, "Angelfish", 22), pet(fish, "Zebra danio", 60), pet(fish, "Cherry barb", 45),
		pet(mammals, "Syrian hamster", 9), pet(mammals, "Guinea pig", 8, open(2)), pet(mammals, "Dwarf rabbit", 7),
		pet(mammals, "Gerbil", 10, sold(2)), pet(mammals, "Hazel, chinchilla", 1), pet(mammals, "Fancy rat", 6),
		pet(reptiles, "Leopard gecko", 5), pet(reptiles, "Corn snake", 3, open(1)), pet(reptiles, "Atlas, Hermann's tortoise", 1),
		pet(reptiles, "Ember, bearded dragon", 1, sold(1)), pet(reptiles, "Crested gecko", 4), pet(birds, "Java sparrow", 10),
		pet(fish, "Platy", 90), pet(dogs, "Hazelnut, cocker spaniel", 1), pet(cats, "Pixel, Siamese", 1),
		pet(mammals, "Degu", 5), pet(birds, "Society finch", 14),
		pet(dogs, "Laika", 12, dated, open(2)), pet(cats, "Tom", 3),
	}
}
