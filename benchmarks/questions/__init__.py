"""What is asked, one module each with ``ask(settings) -> Answer``; a new one gets its line here."""

from benchmarks.questions import consensus, growth, memory, startup, throughput

__all__ = ["QUESTIONS"]

QUESTIONS = {
    "throughput": throughput.ask,
    "growth": growth.ask,
    "memory": memory.ask,
    "consensus": consensus.ask,
    "startup": startup.ask,
}
