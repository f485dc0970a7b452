"""Rewards of a Mneme trainer, for TRL and veRL: what a completion to a pending request of an episode is worth."""

import json
import os
import time
import urllib.error
import urllib.request

TRIES = 5


def call(method: str, body: dict) -> dict:
    """Calls the trainer at MNEME_TRAINER_URL, with MNEME_TRAINER_KEY where it has a key."""
    request = urllib.request.Request(
        f"{os.environ['MNEME_TRAINER_URL']}/mneme.v1.{method}", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    if key := os.environ.get("MNEME_TRAINER_KEY"):
        request.add_header("Authorization", f"Bearer {key}")
    for left in reversed(range(TRIES)):
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code not in (502, 503, 504) or not left:  # its body says what is wrong
                raise ValueError(f"{method}: {error}: {error.read().decode(errors='replace')}") from error
        except (urllib.error.URLError, ConnectionError):
            if not left:
                raise
        time.sleep(2 ** (TRIES - left - 1))  # any replica answers, and the same: 15 s together


def score(episode: str, request: dict, completions: list[str], reward: str = "") -> list[dict]:
    """The scores of completions to a request that alone is pending: each with parts and valid, and with reward unless there is none."""
    rollouts = [{"answers": [{"requestId": request["id"], "text": text}]} for text in completions]
    body = {"episode": episode, "sessionId": request["sessionId"], "role": request["role"], "rollouts": rollouts, "reward": reward}
    return call("RewardService/Score", body)["scores"]


def compute_score(data_source, solution_str, ground_truth, extra_info=None, **_):
    """veRL's custom_reward_function: ground_truth is the episode, extra_info has the request (id, sessionId, role), data_source is
    mneme/REWARD, such as mneme/transition. veRL knows no answer without a reward: one whose session has none is an error."""
    if not data_source.startswith("mneme/"):
        raise ValueError(f"data_source is {data_source!r}, want mneme/REWARD: rows of `mneme-lab export` have no episode to score in")
    got = score(ground_truth, extra_info["request"], [solution_str], data_source.removeprefix("mneme/"))[0]
    if "reward" not in got:
        raise ValueError(f"{data_source}: nothing is asked about session {extra_info['request']['sessionId']}, so that it has no reward")
    return {"score": got["reward"], "valid": float(got.get("valid", False)), "format": got["parts"]["format"]}
