// Uses what openapi-generator makes of the description for Kotlin.
import java.time.OffsetDateTime
import okhttp3.HttpUrl
import org.openapitools.client.apis.*
import org.openapitools.client.infrastructure.*
import org.openapitools.client.models.*
import org.openapitools.client.models.Error

// The headers of the last answer, which the functions of the client do not return.
var headers: okhttp3.Headers = okhttp3.Headers.of()

// The generated client sends each header that is null as the text "null", until this removes it.
fun interceptHeaders() = ApiClient.builder.addInterceptor { chain ->
    val request = chain.request().newBuilder()
    for (name in chain.request().headers().names()) {
        if (chain.request().header(name) == "null") request.removeHeader(name)
    }
    chain.proceed(request.build()).also { headers = it.headers() }
}

fun refused(code: String, call: () -> Unit) {
    try {
        call()
    } catch (e: ClientException) {
        val error = Serializer.gson.fromJson((e.response as ClientError<*>).body as String, Error::class.java)
        check(error.code == code && error.status == e.statusCode) { error }
        return
    }
    error("it succeeded, want $code")
}

fun main(args: Array<String>) {
    val (url, key) = args
    interceptHeaders()
    ApiClient.accessToken = key
    val animals = AnimalsApi(url)
    val categories = CategoriesApi(url)
    val orders = OrdersApi(url)

    check(AccountApi(url).getAccount().plan == "business")

    val dogs = categories.createCategory(NewCategory("Dogs", "Loyal"), null)
    check(categories.getCategory(dogs.id, null) == dogs)
    val etag = headers["ETag"]
    check(categories.updateCategory(dogs.id, CategoryPatch("Hounds"), etag).name == "Hounds")
    refused("precondition_failed") { categories.updateCategory(dogs.id, CategoryPatch("Dogs"), etag) }

    val ids = listOf("Rex", "Bello", "Laika", "Fido").map { animals.createPet(NewPet(it, dogs.id), "$it-$etag").id }
    val found = mutableListOf<Long>()
    var cursor: String? = null
    do {
        found += animals.listPets(3, cursor, null, null, null, dogs.id, null, null).map { it.id }
        val next = headers["Link"]?.let { Regex("<([^>]+)>; rel=\"next\"").find(it) }?.groupValues?.get(1)
        cursor = next?.let { HttpUrl.parse(url)!!.resolve(it)!!.queryParameter("cursor") }
    } while (cursor != null)
    check(found == ids) { found }
    val two = animals.listPets(null, null, null, arrayOf(ids[0], ids[1]), arrayOf(PetStatus.available, PetStatus.sold), null, null, null)
    check(two.map { it.name } == listOf("Rex", "Bello"))

    check(InventoryApi(url).updateInventory(ids[0], InventoryUpdate(3), null).quantity == 3)
    val shipDate = OffsetDateTime.parse("2027-03-01T09:30:00Z")
    val order = orders.createOrder(NewOrder(ids[0], 2, shipDate), null)
    check(orders.listOrders(null, null, null, ids[0], false, shipDate, null, null).single() == order)
    refused("insufficient_stock") { orders.createOrder(NewOrder(ids[0], 2), null) }
    refused("pet_has_open_orders") { animals.deletePet(ids[0], null) }
    orders.cancelOrder(order.id!!, null)
    refused("order_not_found") { orders.getOrder(order.id!!, null) }

    check(EventsApi(url).listEvents(null, null, null, null, null, null).isNotEmpty())
    ids.forEach { animals.deletePet(it, null) }
    categories.deleteCategory(dogs.id, null)
    println("all worked")
}
