package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"example.com/petstore/client"
)

// Example fills a shop, sells the last of a pet, and learns that there are no more.
func Example() {
	ctx := context.Background()
	c, err := client.New(serverURL, exampleKey)
	if err != nil {
		log.Fatal(err)
	}
	dogs, err := c.CreateCategory(ctx, client.NewCategory{Name: "Dogs"})
	if err != nil {
		log.Fatal(err)
	}
	rex, err := c.CreatePet(ctx, client.NewPet{Name: "Rex", CategoryID: dogs.ID})
	if err != nil {
		log.Fatal(err)
	}
	order, err := c.CreateOrder(ctx, client.NewOrder{PetID: rex.ID, Complete: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("sold", order.Quantity)

	_, err = c.CreateOrder(ctx, client.NewOrder{PetID: rex.ID})
	if e, ok := errors.AsType[*client.Error](err); ok && e.Code == client.CodePetNotAvailable {
		fmt.Println("sold out")
	}
	// Output:
	// sold 1
	// sold out
}

// Iterators read page after page, and stop when the loop does.
func ExampleClient_AllCategories() {
	ctx := context.Background()
	c, err := client.New(serverURL, exampleKey)
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"Rats", "Bats", "Cats"} {
		if _, err := c.CreateCategory(ctx, client.NewCategory{Name: name}); err != nil {
			log.Fatal(err)
		}
	}
	for category, err := range c.AllCategories(ctx, client.ListCategoriesParams{Name: "ats"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(category.Name)
	}
	// Output:
	// Rats
	// Bats
	// Cats
}

// A merge patch leaves alone what it does not name; Null removes.
func ExampleNull() {
	ctx := context.Background()
	c, err := client.New(serverURL, exampleKey)
	if err != nil {
		log.Fatal(err)
	}
	birds, err := c.CreateCategory(ctx, client.NewCategory{Name: "Birds", Description: "Early"})
	if err != nil {
		log.Fatal(err)
	}
	birds, err = c.UpdateCategory(ctx, birds.ID, client.CategoryPatch{Description: client.Null[string]()})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %q\n", birds.Name, birds.Description)
	// Output: Birds ""
}

// A change is made only if nobody else changed the pet since it was read.
func ExampleIfMatch() {
	ctx := context.Background()
	c, err := client.New(serverURL, exampleKey)
	if err != nil {
		log.Fatal(err)
	}
	fish, err := c.CreateCategory(ctx, client.NewCategory{Name: "Fish"})
	if err != nil {
		log.Fatal(err)
	}
	var made client.Response
	nemo, err := c.CreatePet(ctx, client.NewPet{Name: "Nemo", CategoryID: fish.ID}, client.Into(&made))
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"Marlin", "Dory"} {
		_, err := c.UpdatePet(ctx, nemo.ID, client.PetPatch{Name: name}, client.IfMatch(made.ETag))
		fmt.Printf("%s %q\n", name, client.CodeOf(err))
	}
	// Output:
	// Marlin ""
	// Dory "precondition_failed"
}

// What the client meets on the way can be reported.
func ExampleNew() {
	c, err := client.New(serverURL, exampleKey,
		client.OnRetry(func(a client.Attempt) { log.Printf("%s again in %v: %v", a.Operation, a.Wait, a.Err) }),
		client.OnDeprecation(func(d client.Deprecation) { log.Printf("%s ends on %v: use %s", d.Operation, d.Sunset, d.Successor) }),
	)
	if err != nil {
		log.Fatal(err)
	}
	account, err := c.GetAccount(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(account.Plan, account.Key.Scopes)
	// Output: enterprise [read write]
}
