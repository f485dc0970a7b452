from __future__ import annotations

import re
from pathlib import Path

from conftest import Mneme
from endpoint import Endpoint

from mneme_integrations.langgraph import MnemeStore
from mneme_integrations.openai_agents import MnemeSession


async def test_the_examples(user: str, mneme: Mneme, endpoint: Endpoint) -> None:
    text = (Path(__file__).parent.parent / "README.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(examples) == 2
    endpoint.answers(endpoint.says("Noted."), endpoint.says("You are allergic to peanuts."))
    for example in examples:
        code = compile(example, "README.md", "exec", flags=0x2000)  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        names: dict[str, object] = {"user_id": user}
        running = eval(code, names)
        if running is not None:
            await running
        for name in ("store", "session"):
            if isinstance(used := names.get(name), MnemeStore | MnemeSession):
                await used.aclose()
    assert "peanuts" in str(endpoint.asked[-1]["input"])
