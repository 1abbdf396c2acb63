"""What is asked, one module each with ``ask(settings) -> Answer``; a new one gets its line here."""

from benchmarks.questions import (
    clusters,
    consensus,
    device,
    folder,
    growth,
    letters,
    memory,
    quality,
    scaling,
    splits,
    startup,
    threads,
    throughput,
)

__all__ = ["QUESTIONS"]

QUESTIONS = {
    "throughput": throughput.ask,
    "threads": threads.ask,
    "quality": quality.ask,
    "splits": splits.ask,
    "clusters": clusters.ask,
    "letters": letters.ask,
    "growth": growth.ask,
    "scaling": scaling.ask,
    "memory": memory.ask,
    "folder": folder.ask,
    "consensus": consensus.ask,
    "startup": startup.ask,
    "device": device.ask,
    "device_large": device.ask_large,
}
