"""The benchmarks, one module each: ``run(settings) -> Result`` answers one question."""

from benchmarks.questions import (
    agreement,
    chains,
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

QUESTIONS = {
    "throughput": throughput.run,
    "threads": threads.run,
    "quality": quality.run,
    "splits": splits.run,
    "clusters": clusters.run,
    "agreement": agreement.run,
    "chains": chains.run,
    "letters": letters.run,
    "growth": growth.run,
    "scaling": scaling.run,
    "memory": memory.run,
    "folder": folder.run,
    "consensus": consensus.run,
    "startup": startup.run,
    "device": device.run,
    "device_large": device.run_large,
}
