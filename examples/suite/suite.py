import json, os, time, unittest, urllib.error, urllib.request

URL, KEY = os.environ["PETSTORE_URL"], os.environ["PETSTORE_KEY"]

def call(method, path, body=None, patience=20, **headers):
    """The client under test. For so many seconds it repeats what got no answer, or an answer with Retry-After."""
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"} | {k.replace("_", "-"): v for k, v in headers.items()}
    data, end = None if body is None else json.dumps(body).encode(), time.monotonic() + patience
    while True:
        try:
            with urllib.request.urlopen(urllib.request.Request(URL + path, data, headers, method=method), timeout=end - time.monotonic()) as answer:
                return answer.status, json.loads(answer.read() or "null"), answer.headers
        except urllib.error.HTTPError as error:
            wait = int(error.headers.get("Retry-After", 86400))
            if time.monotonic() + wait >= end:
                return error.code, json.load(error), error.headers
        except OSError:
            wait = 0.1
            if time.monotonic() + wait >= end:
                raise
        time.sleep(wait)

def open_orders(events):
    """The handler under test. It follows orders, and ignores what else happens."""
    closed = {event["data"]["id"] for event in events if event["type"] in ("order.completed", "order.cancelled")}
    return {event["data"]["id"] for event in events if event["type"] == "order.created"} - closed

class TestClient(unittest.TestCase):
    def setUp(self):
        call("POST", "/account/reset", {"catalogue": "demo"})
    def test_repeats_what_fails_for_a_while(self):
        self.assertEqual(call("GET", "/pets", Petstore_Simulate="code=service_unavailable; times=2; id=a")[0], 200)
    def test_waits_as_it_is_told(self):
        began = time.monotonic()
        self.assertEqual(call("GET", "/pets", Petstore_Simulate="code=rate_limit_exceeded; retry-after=2; times=1; id=b")[0], 200)
        self.assertGreaterEqual(time.monotonic() - began, 2)
    def test_does_not_go_on_when_banned(self):
        self.assertEqual(call("GET", "/pets", Petstore_Simulate="code=api_key_banned; retry-after=60")[1]["code"], "api_key_banned")
    def test_buys_once_though_the_answer_is_lost(self):
        status, order, headers = call("POST", "/store/orders", {"petId": 18}, Idempotency_Key="order-1", Petstore_Simulate="connection=lose-answer; times=1; id=c")
        self.assertEqual((status, order["id"], headers["Idempotency-Replayed"]), (201, 16, "true"))
    def test_learns_of_a_sunset(self):
        self.assertEqual(call("GET", "/pets/1", Petstore_Simulate="sunset=now")[1]["code"], "operation_sunset")
    def test_gives_up_on_slow_answers(self):
        self.assertRaises(OSError, call, "GET", "/pets", patience=0.5, Petstore_Simulate="latency=3s")
    def test_ignores_events_that_it_does_not_know(self):
        call("POST", "/store/orders", {"petId": 18})
        events = call("GET", "/events")[1] + [{"type": "pet.groomed", "data": {"id": 18}}]
        self.assertEqual(open_orders(events), {16})
    def test_reads_every_page(self):
        count, path, _ = 0, "/pets?limit=100", call("POST", "/account/reset", {"catalogue": "large"})
        while path:
            _, page, headers = call("GET", path)
            count, path = count + len(page), headers["Link"] and headers["Link"].split(">")[0][1:]
        self.assertEqual(count, 1000)

unittest.main()
