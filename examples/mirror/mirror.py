"""Keeps a copy of a workspace in the file copy.db. Set PETSTORE_URL, and PETSTORE_KEY to a key with the scope read."""
import http.client, json, os, re, sqlite3, time, urllib.error, urllib.request
from urllib.parse import urljoin

URL, KEY = os.environ["PETSTORE_URL"], os.environ["PETSTORE_KEY"]
LISTS = {"category": "/categories", "pet": "/pets", "inventory": "/inventory", "order": "/store/orders"}

db = sqlite3.connect("copy.db")
db.execute("CREATE TABLE IF NOT EXISTS resources (kind TEXT, id INTEGER, data TEXT, PRIMARY KEY (kind, id))")
db.execute("CREATE TABLE IF NOT EXISTS place (next TEXT)")  # where to read on in the feed

class Outdated(Exception):
    """The copy has to be made anew."""

def get(link):
    """Returns the response and its links. It waits while the server is away, or as Retry-After says."""
    while True:
        try:
            request = urllib.request.Request(urljoin(URL, link), headers={"Authorization": f"Bearer {KEY}"})
            with urllib.request.urlopen(request, timeout=60) as response:
                links = re.findall(r'<([^>]*)>; rel="(\w+)"', response.headers.get("Link", ""))
                return json.load(response), {rel: to for to, rel in links}
        except urllib.error.HTTPError as error:
            if error.code == 410:
                raise Outdated
            if "Retry-After" not in error.headers:
                raise
            time.sleep(int(error.headers["Retry-After"]))
        except (OSError, http.client.HTTPException):  # no response, or half of one
            time.sleep(1)

def key(kind, data):
    return kind, data["petId" if kind == "inventory" else "id"]

def store(kind, data):
    db.execute("REPLACE INTO resources VALUES (?, ?, ?)", (*key(kind, data), json.dumps(data)))

def remember(link):
    db.execute("DELETE FROM place")
    db.execute("INSERT INTO place VALUES (?)", (link,))

def read_lists():
    """Notes where the feed ends, and then reads the lists: what changes meanwhile is in the feed."""
    end = get(URL + "/events?limit=100")[1]["last"]
    with db:  # a transaction
        db.execute("DELETE FROM resources")
        for kind, link in LISTS.items():
            link = f"{URL}{link}?limit=100"
            while link:
                page, links = get(link)
                for data in page:
                    store(kind, data)
                link = links.get("next")
        remember(end + "&wait=30")  # each further page waits until there is an event

def follow():
    """Applies the next page of the feed, in one transaction with its place."""
    place = db.execute("SELECT next FROM place").fetchone()
    if place is None:
        raise Outdated
    events, links = get(place[0])
    with db:
        for event in events:
            kind, _, what = event["type"].partition(".")
            if event["type"] in ("catalogue.imported", "workspace.reset"):
                raise Outdated
            if kind in LISTS and what in ("created", "updated", "completed"):
                store(kind, event["data"])
            elif kind in LISTS and what in ("deleted", "cancelled"):
                db.execute("DELETE FROM resources WHERE kind = ? AND id = ?", key(kind, event["data"]))
        remember(links["next"])

while True:
    try:
        follow()
    except Outdated:
        read_lists()
