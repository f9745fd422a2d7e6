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

fun refused(code: Error.Code, call: () -> Unit) {
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

    check(AccountApi(url).getAccount(null).plan == Plan.business)

    val dogs = categories.createCategory(NewCategory("Dogs", "Loyal"), null, null)
    check(categories.getCategory(dogs.id, null, null) == dogs)
    val etag = headers["ETag"]
    check(categories.updateCategory(dogs.id, CategoryPatch("Hounds"), null, etag).name == "Hounds")
    refused(Error.Code.preconditionFailed) { categories.updateCategory(dogs.id, CategoryPatch("Dogs"), null, etag) }

    val ids = listOf("Rex", "Bello", "Laika", "Fido").map { animals.createPet(NewPet(it, dogs.id), null, "$it-$etag").id }
    val found = mutableListOf<Long>()
    var cursor: String? = null
    do {
        found += animals.listPets(null, 3, cursor, null, null, null, dogs.id, null, null).map { it.id }
        val next = headers["Link"]?.let { Regex("<([^>]+)>; rel=\"next\"").find(it) }?.groupValues?.get(1)
        cursor = next?.let { HttpUrl.parse(url)!!.resolve(it)!!.queryParameter("cursor") }
    } while (cursor != null)
    check(found == ids) { found }
    val two = animals.listPets(null, null, null, null, arrayOf(ids[0], ids[1]), arrayOf(PetStatus.available, PetStatus.sold), null, null, null)
    check(two.map { it.name } == listOf("Rex", "Bello"))

    check(InventoryApi(url).updateInventory(ids[0], InventoryUpdate(3), null, null).quantity == 3)
    val shipDate = OffsetDateTime.parse("2027-03-01T09:30:00Z")
    val order = orders.createOrder(NewOrder(ids[0], 2, shipDate), null, null)
    check(orders.listOrders(null, null, null, null, ids[0], false, shipDate, null, null).single() == order)
    refused(Error.Code.insufficientStock) { orders.createOrder(NewOrder(ids[0], 2), null, null) }
    refused(Error.Code.petHasOpenOrders) { animals.deletePet(ids[0], null, null) }
    orders.cancelOrder(order.id!!, null, null)
    refused(Error.Code.orderNotFound) { orders.getOrder(order.id!!, null, null) }

    ids.forEach { animals.deletePet(it, null, null) }
    categories.deleteCategory(dogs.id, null, null)
    println("all worked")
}
