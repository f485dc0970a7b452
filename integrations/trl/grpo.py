"""GRPO by TRL against a Mneme trainer, with a tiny model of random weights: it shows that the parts fit, and learns nothing of use.

Usage: MNEME_TRAINER_URL=http://127.0.0.1:8420 python grpo.py DOCS, where DOCS is a directory of texts for the tokenizer.
"""

import pathlib
import sys
import tempfile

from datasets import Dataset
from tokenizers import ByteLevelBPETokenizer
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

from mneme_reward import call, score

STEPS = 3


def tokenizer(docs: str) -> PreTrainedTokenizerFast:
    learned = ByteLevelBPETokenizer()
    learned.train_from_iterator((f.read_text() for f in sorted(pathlib.Path(docs).glob("*.md"))), 2000, special_tokens=["<pad>", "<end>"])
    made = PreTrainedTokenizerFast(tokenizer_object=learned._tokenizer, pad_token="<pad>", eos_token="<end>")
    made.chat_template = "{% for m in messages %}{{ m.role }}: {{ m.content }}<end>{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
    return made


def episodes(seeds: range) -> Dataset:
    """The first request of each life; to train on later sessions, go on by EpisodeService/Step with the model's own answers."""
    rows = []
    for seed in seeds:
        begun = call("EpisodeService/Begin", {"seed": seed, "sessions": 1, "strategy": "salimory", "filter": "off"})
        (request,) = begun["pending"]
        messages = request.pop("messages")
        rows.append({"prompt": messages, "episode": begun["episode"], "request": request})
    return Dataset.from_list(rows)


received: list[float] = []


def reward(completions, episode, request, **_) -> list[float | None]:
    """The rewards of a batch: what has one prompt is scored in one call. A session that nothing is asked
    about has no reward by dense and outcome, whatever the answer: None for its whole group, of which nothing is learned."""
    groups: dict[str, list[int]] = {}
    for i, one in enumerate(episode):
        groups.setdefault(one, []).append(i)
    out: list[float | None] = [None] * len(completions)
    for one, members in groups.items():
        for i, got in zip(members, score(one, request[members[0]], [completions[i][0]["content"] for i in members])):
            out[i] = got.get("reward")
    received.extend(r for r in out if r is not None)
    return out


def main() -> None:
    made = tokenizer(sys.argv[1])
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=len(made), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=16384, pad_token_id=made.pad_token_id, eos_token_id=made.eos_token_id, bos_token_id=None,
    ))
    with tempfile.TemporaryDirectory() as out:
        config = GRPOConfig(
            output_dir=out, use_cpu=True, bf16=False, max_steps=STEPS, per_device_train_batch_size=4, num_generations=4,
            max_completion_length=24, learning_rate=1e-3, logging_steps=1, save_strategy="no", report_to="none", seed=1,
        )
        trainer = GRPOTrainer(model=model, reward_funcs=reward, args=config, train_dataset=episodes(range(1, 9)), processing_class=made)
        trainer.train()
    if len(received) < STEPS * 4:
        sys.exit(f"{len(received)} rewards in {STEPS} steps of 4 completions")
    print(f"{len(received)} rewards, from {min(received):.3f} to {max(received):.3f}")


if __name__ == "__main__":
    main()
