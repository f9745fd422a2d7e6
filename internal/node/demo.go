package node

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/sandbox"
	"example.com/petstore/internal/webhook"
)

// actor creates the demo, for the audit log.
const actor access.Actor = "cli"

// The workspace of serve --demo, and how long its key is valid. The key cannot be read
// from the database, so each start creates a new one and revokes the former one.
const (
	demoWorkspace = "demo"
	demoKeyLife   = 7 * 24 * time.Hour
)

// A Demo describes a workspace that was created at the start: its new keys, and the URL at
// which the user can sign in to the console.
type Demo struct {
	Workspace, Key, SignIn string
	ManageKey              string // of a sandbox, whose Key lacks the scope manage
	keyID                  string
}

// A demoMaker makes the demo workspace of a node, when it starts.
type demoMaker struct{ *node }

// create makes the demo workspace, unless it exists, and returns a new key to it. It
// returns an error for a database that has only other workspaces.
func (d demoMaker) create(ctx context.Context) (*Demo, error) {
	w, err := d.workspace(ctx)
	if err != nil {
		return nil, err
	}
	if err := d.fill(ctx, w.ID); err != nil {
		return nil, fmt.Errorf("the demo workspace could not be filled: %w", err)
	}
	return d.replaceKey(ctx, w.ID)
}

// replaceKey creates a key, and revokes that of the last start.
func (d demoMaker) replaceKey(ctx context.Context, workspace int64) (*Demo, error) {
	all, err := d.store.KeyPage(ctx, workspace, access.KeyPage{Unrevoked: true, Limit: math.MaxInt})
	if err != nil {
		return nil, err
	}
	ring := access.Keyring{Store: d.store, Now: d.now, By: actor}
	for _, k := range all {
		if k.Name != demoWorkspace {
			continue
		}
		if err := ring.Revoke(ctx, k.ID, petstore.Condition{}); err != nil {
			return nil, err
		}
	}
	made, err := ring.Create(ctx, workspace, access.NewKey{
		Name: demoWorkspace, Scopes: access.Read | access.Write | access.Manage, ExpiresAt: petstore.At(d.now().Add(demoKeyLife)),
	}, nil)
	return &Demo{Workspace: demoWorkspace, Key: made.Secret, keyID: made.ID}, err
}

// workspace returns the workspace, a new one if the database has none.
func (d demoMaker) workspace(ctx context.Context) (access.Workspace, error) {
	w, err := d.store.Workspace(ctx, demoWorkspace)
	if petstore.CodeOf(err) != access.CodeWorkspaceNotFound {
		return w, err
	}
	all, err := d.store.CountWorkspaces(ctx)
	if err != nil {
		return w, err
	}
	if all > 0 {
		return w, &config.Fault{Origin: "--demo", Reason: fmt.Sprintf("%s has workspaces already, and none is called %s; give --db a new one", config.Redact(d.Config.DB), demoWorkspace)}
	}
	quota, _ := access.QuotaFor(access.Business, access.Quota{}) // its numbers are fixed
	return d.store.CreateWorkspace(ctx, access.Workspace{Name: demoWorkspace, Plan: access.Business, Quota: quota, CreatedAt: d.now()}, actor)
}

// fill fills the workspace unless it has a category.
func (d demoMaker) fill(ctx context.Context, workspace int64) error {
	have, err := d.service.Categories(ctx, workspace, petstore.CategoryQuery{Page: petstore.Page{Limit: 1}})
	if err != nil || len(have) > 0 {
		return err
	}
	rows, err := sandbox.Catalogue("demo")
	if err != nil {
		return err
	}
	var orders []petstore.Order
	for i := range rows {
		if err := d.addUnit(ctx, workspace, &rows[i]); err != nil {
			return err
		}
		orders = append(orders, rows[i].Orders...)
	}
	slices.SortFunc(orders, func(a, b petstore.Order) int { return cmp.Compare(a.ID, b.ID) })
	for _, o := range orders {
		order := petstore.NewOrder{PetID: o.PetID, Quantity: o.Quantity, ShipDate: o.ShipDate, Complete: o.Complete}
		if _, err := d.service.CreateOrder(ctx, workspace, order, nil); err != nil {
			return err
		}
	}
	if err := d.addKeys(ctx, workspace); err != nil || d.webhooks == nil {
		return err
	}
	return d.addWebhooks(ctx, workspace)
}

// addWebhooks adds the webhooks of the examples in the OpenAPI description. They are
// paused, so that nothing is sent.
func (d demoMaker) addWebhooks(ctx context.Context, workspace int64) error {
	const demoNode = "demo"
	now := d.now()
	paused := webhook.Patch{State: petstore.Optional[webhook.State]{Present: true, Value: webhook.Paused}}
	for _, id := range []string{"wh_4QK2NDJ7TBWX5M3YAFR6CVHZLP", "wh_OLDKNDJ7TBWX5M3YAFR6CVHZLP"} {
		_, err := d.store.ChangeWebhook(ctx, webhook.Change{Workspace: workspace, By: string(actor), Action: "webhook.create", Edit: func(w *webhook.Webhook, _ webhook.Feed) error {
			*w = webhook.Webhook{ID: id, Workspace: workspace, URL: "https://example.com/petstore", State: webhook.Active, CreatedAt: now, Secret: webhook.MintSecret()}
			return nil
		}})
		if err == nil {
			_, err = d.store.HoldWebhooks(ctx, webhook.Lease{Node: demoNode, Now: now, Until: now.Add(time.Minute)})
		}
		if err == nil {
			_, err = d.store.QueueDeliveries(ctx, id, demoNode, now, 1000)
		}
		if err == nil {
			_, err = d.webhooks.Update(ctx, workspace, id, paused, petstore.Condition{}, string(actor))
		}
		if err != nil {
			return err
		}
	}
	return d.store.ReleaseWebhooks(ctx, demoNode)
}

// addKeys adds the keys whose ids are in the examples of the OpenAPI description. Their
// secrets are dropped. The last one expires before the demo's own key, so that this may
// rotate it.
func (d demoMaker) addKeys(ctx context.Context, workspace int64) error {
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

// addUnit adds a category, or a pet with the stock that it had before its orders.
func (d demoMaker) addUnit(ctx context.Context, workspace int64, u *petstore.Unit) error {
	if c := u.Category; c != nil {
		_, err := d.service.CreateCategory(ctx, workspace, petstore.NewCategory{Name: c.Name, Description: c.Description}, nil)
		return err
	}
	pet, err := d.service.CreatePet(ctx, workspace, petstore.NewPet{Name: u.Pet.Name, CategoryID: u.Pet.CategoryID}, nil)
	if err == nil && u.Movements[0].Quantity > 1 {
		_, err = d.service.UpdateInventory(ctx, workspace, pet.ID, u.Movements[0].Quantity, petstore.Condition{})
	}
	return err
}
