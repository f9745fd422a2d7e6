import json, os, time, unittest, urllib.error, urllib.request

URL, KEY = os.environ["PETSTORE_URL"], os.environ["PETSTORE_KEY"]

def call(method, path, body=None, timeout=5, attempts=4, **headers):
    """The client under test. It repeats what got no answer, or an answer with Retry-After."""
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"} | {k.replace("_", "-"): v for k, v in headers.items()}
    data = None if body is None else json.dumps(body).encode()
    for attempt in range(attempts):
        try:
            with urllib.request.urlopen(urllib.request.Request(URL + path, data, headers, method=method), timeout=timeout) as answer:
                return answer.status, json.loads(answer.read() or "null"), answer.headers
        except urllib.error.HTTPError as error:
            if "Retry-After" not in error.headers or attempt + 1 == attempts:
                return error.code, json.load(error), error.headers
            time.sleep(int(error.headers["Retry-After"]))
        except OSError:
            if attempt + 1 == attempts:
                raise

class TestClient(unittest.TestCase):
    def setUp(self):
        call("POST", "/account/reset", {"catalogue": "demo"})

    def test_repeats_what_fails_for_a_while(self):
        status, pets, _ = call("GET", "/pets", Petstore_Simulate="code=service_unavailable; times=2; id=a")
        self.assertEqual((status, len(pets)), (200, 20))

    def test_waits_as_it_is_told(self):
        began = time.monotonic()
        status, _, _ = call("GET", "/pets", Petstore_Simulate="code=rate_limit_exceeded; retry-after=2; times=1; id=b")
        self.assertEqual(status, 200)
        self.assertGreaterEqual(time.monotonic() - began, 2)

    def test_does_not_go_on_when_banned(self):
        self.assertEqual(call("GET", "/pets", attempts=1, Petstore_Simulate="code=api_key_banned; retry-after=60")[1]["code"], "api_key_banned")

    def test_buys_once_though_the_answer_is_lost(self):
        status, order, headers = call("POST", "/store/orders", {"petId": 18}, Idempotency_Key="order-1", Petstore_Simulate="connection=lose-answer; times=1; id=c")
        self.assertEqual((status, order["id"], headers["Idempotency-Replayed"]), (201, 16, "true"))

    def test_learns_of_a_sunset(self):
        self.assertEqual(call("GET", "/pets/1", Petstore_Simulate="sunset=now")[1]["code"], "operation_sunset")

    def test_gives_up_on_slow_answers(self):
        with self.assertRaises(OSError):
            call("GET", "/pets", timeout=0.5, attempts=1, Petstore_Simulate="latency=3s")

    def test_reads_every_page(self):
        call("POST", "/account/reset", {"catalogue": "large"})
        pets, path = [], "/pets?limit=100"
        while path:
            _, page, headers = call("GET", path)
            pets, path = pets + page, headers["Link"] and headers["Link"].split(">")[0][1:]
        self.assertEqual(len(pets), 1000)

unittest.main()
