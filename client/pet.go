package client

import (
	"context"
	"fmt"
	"net/http"
)

// PetByID reads one pet, by ListPets: GET /pets/{petId}, the operation made for that, is deprecated. The Response of Into
// has the pet's own ETag. A pet that does not exist is an *Error with CodePetNotFound.
func (c *Client) PetByID(ctx context.Context, petID int64, opts ...CallOption) (Pet, error) {
	page, err := c.ListPets(ctx, ListPetsParams{ID: []int64{petID}}, opts...)
	if err != nil {
		return Pet{}, err
	}
	if len(page.Items) == 0 {
		missing := Problem{Code: CodePetNotFound, Status: http.StatusNotFound, Message: fmt.Sprintf("There is no pet %d.", petID)}
		return Pet{}, &Error{Problem: missing, Operation: "listPets", method: http.MethodGet, url: c.base.Path + "/pets"}
	}
	return page.Items[0], nil
}
