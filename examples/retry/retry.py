import os
import random
import sys
import time
import urllib.error
import urllib.request


def send(request, attempts=6, longest=300):
    """Repeats what is worth repeating: an answer with Retry-After, or none at all.

    Give every POST an Idempotency-Key, so that its repetition is safe.
    """
    for attempt in range(1, attempts + 1):
        try:
            return urllib.request.urlopen(request, timeout=10)
        except urllib.error.HTTPError as error:  # an answer from 400 on
            failure, after = error, error.headers["Retry-After"]
            if after is None:
                raise
        except OSError as error:  # no answer
            failure, after = error, None

        backoff = min(60, 2**attempt) * random.uniform(0.5, 1)
        wait = backoff if after is None else int(after)
        if attempt == attempts or wait > longest:
            raise failure
        time.sleep(wait)


key = os.environ["PETSTORE_KEY"]
request = urllib.request.Request(sys.argv[1], headers={"Authorization": f"Bearer {key}"})
with send(request) as answer:
    print(answer.status, answer.read().decode())
