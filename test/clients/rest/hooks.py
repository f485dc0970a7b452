"""What the description of the API can only say in words."""
import datetime as dt
import uuid

import schemathesis
from hypothesis import strategies as st

# Times of turns lie between 1970 and a day from now.
schemathesis.openapi.format(
    "date-time",
    st.datetimes(min_value=dt.datetime(1971, 1, 1), max_value=dt.datetime(2025, 12, 31), timezones=st.just(dt.timezone.utc)).map(
        lambda t: t.isoformat().replace("+00:00", "Z")
    ),
)


@schemathesis.serializer("application/x-ndjson")
def lines(ctx, value):
    return value if isinstance(value, bytes) else str(value).encode()


def valid(case):
    return case.meta is not None and case.meta.generation.mode.is_positive


@schemathesis.hook
def filter_case(ctx, case):
    """Leaves out valid requests with cursors, which only an answer can tell, keys that nobody may make, lines of no export, and recalls
    that want more memories than candidates."""
    if not valid(case):
        return True
    if "cursor" in (case.query or {}) or case.path.endswith("/import"):
        return False
    body = case.body if isinstance(case.body, dict) else {}
    if body.get("memories", 0) > body.get("candidates", 200):
        return False
    return not (case.path.endswith("/keys") and ("expires_at" in body or "user" in body and "admin" in body.get("scopes", [])))


@schemathesis.hook
def before_call(ctx, case, kwargs):
    """Every valid request is a new one."""
    if valid(case) and case.headers and "Idempotency-Key" in case.headers:
        case.headers["Idempotency-Key"] = uuid.uuid4().hex
