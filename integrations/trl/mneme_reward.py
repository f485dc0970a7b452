"""Rewards of a Mneme trainer, for TRL and veRL: what a completion to a pending request of an episode is worth."""

import json
import os
import urllib.error
import urllib.request


def call(method: str, body: dict) -> dict:
    """Calls the trainer at MNEME_TRAINER_URL, with MNEME_TRAINER_KEY where it has a key."""
    request = urllib.request.Request(
        f"{os.environ['MNEME_TRAINER_URL']}/mneme.v1.{method}", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    if key := os.environ.get("MNEME_TRAINER_KEY"):
        request.add_header("Authorization", f"Bearer {key}")
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:  # its body says what is wrong
        raise ValueError(f"{method}: {error}: {error.read().decode(errors='replace')}") from error


def score(episode: str, request: dict, completions: list[str], reward: str = "") -> list[dict]:
    """The scores of completions to a request that alone is pending: each with reward, parts and valid."""
    rollouts = [{"answers": [{"requestId": request["id"], "text": text}]} for text in completions]
    body = {"episode": episode, "sessionId": request["sessionId"], "role": request["role"], "rollouts": rollouts, "reward": reward}
    return call("RewardService/Score", body)["scores"]


def compute_score(data_source, solution_str, ground_truth, extra_info=None, **_):
    """veRL's custom_reward_function: ground_truth is the episode, extra_info has the request (id, sessionId, role), data_source is
    mneme/REWARD, such as mneme/transition."""
    got = score(ground_truth, extra_info["request"], [solution_str], data_source.removeprefix("mneme/"))[0]
    return {"score": got.get("reward", 0.0), "valid": float(got.get("valid", False)), "format": got["parts"]["format"]}
