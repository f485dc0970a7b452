"""Mneme's memory behind the interfaces of agent frameworks.

`mneme_integrations.langgraph.MnemeStore` is a LangGraph `BaseStore`, `mneme_integrations.openai_agents.MnemeSession` an OpenAI Agents
`Session`. Each needs its framework: install the extra `langgraph` or `openai-agents`.
"""

from ._gateway import LeftOut, MnemeError, TurnsLeftOutWarning, TurnsShortenedWarning

__all__ = ["LeftOut", "MnemeError", "TurnsLeftOutWarning", "TurnsShortenedWarning"]
