"""Uses what openapi-generator makes of the description for Python."""
import datetime
import json
import re
import sys
from urllib.parse import parse_qs, urlsplit

import petstore_client as petstore

url, key = sys.argv[1:]
configuration = petstore.Configuration(host=url)
configuration.access_token = key
client = petstore.ApiClient(configuration)
animals, categories = petstore.AnimalsApi(client), petstore.CategoriesApi(client)
orders, inventory = petstore.OrdersApi(client), petstore.InventoryApi(client)


def refused(code, call, *args, **parameters):
    """Checks that a call fails with a code of the description."""
    try:
        call(*args, **parameters)
    except petstore.ApiException as e:
        answer = json.loads(e.body)
        assert (answer["code"], answer["status"]) == (code, e.status), answer
    else:
        raise AssertionError(f"it succeeded, want {code}")


assert petstore.AccountApi(client).get_account().plan == "business"

dogs = categories.create_category(petstore.NewCategory(name="Dogs", description="Loyal"))
read, _, headers = categories.get_category_with_http_info(dogs.id)
assert read == dogs
etag = headers["ETag"]
assert categories.update_category(dogs.id, petstore.CategoryPatch(name="Hounds"), if_match=etag).name == "Hounds"
refused("precondition_failed", categories.update_category, dogs.id, petstore.CategoryPatch(name="Dogs"), if_match=etag)
# A model leaves None out. A dict sends it as null.
assert categories.update_category(dogs.id, {"description": None}).description is None

ids = [animals.create_pet(petstore.NewPet(name=name, category_id=dogs.id)).id for name in ("Rex", "Bello", "Laika", "Fido")]
repeated = [animals.create_pet(petstore.NewPet(name="Max", category_id=dogs.id), idempotency_key=f"max-{ids[0]}") for _ in "12"]
assert repeated[0] == repeated[1]
ids.append(repeated[0].id)

found, parameters = [], {}
while True:
    page, _, headers = animals.list_pets_with_http_info(category_id=dogs.id, limit=2, **parameters)
    found += [pet.id for pet in page]
    following = re.search(r'<([^>]+)>; rel="next"', headers.get("Link", ""))
    if following is None:
        break
    parameters = {"cursor": parse_qs(urlsplit(following[1]).query)["cursor"][0]}
assert found == ids, found
assert [pet.name for pet in animals.list_pets(id=ids[:2], status=["available", "sold"])] == ["Rex", "Bello"]

assert petstore.EventsApi(client).list_events()
assert inventory.update_inventory(ids[0], petstore.InventoryUpdate(quantity=3)).status == petstore.PetStatus.AVAILABLE
instant = datetime.datetime(2027, 3, 1, 9, 30, tzinfo=datetime.timezone.utc)
order = orders.create_order(petstore.NewOrder(pet_id=ids[0], quantity=2, ship_date=instant))
assert order.ship_date == instant
assert orders.list_orders(pet_id=ids[0], ship_date_from=instant) == [order]
refused("insufficient_stock", orders.create_order, petstore.NewOrder(pet_id=ids[0], quantity=2))
refused("pet_has_open_orders", animals.delete_pet, ids[0])
refused("invalid_parameter", animals.list_pets, limit=20, status=["available,sold"])
orders.cancel_order(order.id)
refused("order_not_found", orders.get_order, order.id)

for pet in ids:
    animals.delete_pet(pet)
categories.delete_category(dogs.id)
print("all worked")
