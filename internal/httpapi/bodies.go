package httpapi

import "example.com/petstore/internal/petstore"

// readNewPet reads the body of createPet (id 0) and replacePet.
func readNewPet(body []byte, id int64) (petstore.NewPet, error) {
	var n petstore.NewPet
	f := form{id: id}
	err := f.read(body, func(m member) bool {
		switch m.name {
		case "name":
			n.Name = f.text(m)
		case "categoryId":
			n.CategoryID = f.integer(m)
		case "status":
			n.Status = f.status(m)
		case "id":
			f.readOnly(m)
		default:
			return false
		}
		return true
	})
	if err != nil {
		return n, err
	}
	f.require("name", "categoryId")
	return n, f.err(n.Check())
}

// status reads a status. An empty one means to the domain that there is none,
// so it is refused here.
func (f *form) status(m member) petstore.Status {
	s := petstore.Status(f.text(m))
	if s == "" && !f.faulty("/status") {
		f.add("/status", petstore.InvalidEnum, "status must be one of available, pending, sold.")
	}
	return s
}

func readPetPatch(body []byte, id int64) (petstore.PetPatch, error) {
	var p petstore.PetPatch
	f := form{id: id}
	err := f.read(body, func(m member) bool {
		switch m.name {
		case "name":
			p.Name = optional(m, f.text)
		case "categoryId":
			p.CategoryID = optional(m, f.integer)
		case "status":
			p.Status = optional(m, f.status)
		case "id":
			f.readOnly(m)
		default:
			return false
		}
		return true
	})
	if err != nil {
		return p, err
	}
	return p, f.err(p.Check())
}

// readNewCategory reads the body of createCategory (id 0) and replaceCategory.
func readNewCategory(body []byte, id int64) (petstore.NewCategory, error) {
	var n petstore.NewCategory
	f := form{id: id}
	err := f.read(body, func(m member) bool {
		switch m.name {
		case "name":
			n.Name = f.text(m)
		case "description":
			text := f.text(m)
			n.Description = &text
		case "id":
			f.readOnly(m)
		default:
			return false
		}
		return true
	})
	if err != nil {
		return n, err
	}
	f.require("name")
	return n, f.err(n.Check())
}

func readCategoryPatch(body []byte, id int64) (petstore.CategoryPatch, error) {
	var p petstore.CategoryPatch
	f := form{id: id}
	err := f.read(body, func(m member) bool {
		switch m.name {
		case "name":
			p.Name = optional(m, f.text)
		case "description":
			p.Description = optional(m, f.text)
		case "id":
			f.readOnly(m)
		default:
			return false
		}
		return true
	})
	if err != nil {
		return p, err
	}
	return p, f.err(p.Check())
}

func readNewOrder(body []byte) (petstore.NewOrder, error) {
	n := petstore.NewOrder{Quantity: 1}
	var f form
	err := f.read(body, func(m member) bool {
		switch m.name {
		case "petId":
			n.PetID = f.integer(m)
		case "quantity":
			n.Quantity = f.integer(m)
		case "shipDate":
			n.ShipDate = f.time(m)
		case "complete":
			n.Complete = f.boolean(m)
		case "id":
			f.readOnly(m)
		default:
			return false
		}
		return true
	})
	if err != nil {
		return n, err
	}
	f.require("petId")
	return n, f.err(n.Check())
}

func readOrderPatch(body []byte, id int64) (petstore.OrderPatch, error) {
	var p petstore.OrderPatch
	f := form{id: id}
	err := f.read(body, func(m member) bool {
		switch m.name {
		case "shipDate":
			p.ShipDate = optional(m, f.time)
		case "complete":
			p.Complete = optional(m, f.boolean)
		case "id", "petId", "quantity":
			f.readOnly(m)
		default:
			return false
		}
		return true
	})
	if err != nil {
		return p, err
	}
	return p, f.err(nil)
}

// readInventoryUpdate returns the quantity to set.
func readInventoryUpdate(body []byte) (int64, error) {
	var quantity int64
	var f form
	err := f.read(body, func(m member) bool {
		switch m.name {
		case "quantity":
			quantity = f.integer(m)
		case "petId", "status":
			f.readOnly(m)
		default:
			return false
		}
		return true
	})
	if err != nil {
		return 0, err
	}
	f.require("quantity")
	return quantity, f.err(petstore.CheckQuantity(quantity))
}
