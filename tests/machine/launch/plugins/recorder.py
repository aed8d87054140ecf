"""A plugin that writes down what it is told."""

import json


def attach(observer, config):
    told = []
    observer.on_model(lambda model: told.append(["model", type(model).__name__, observer.steps_done]))
    observer.on_forward(lambda module: told.append(["forward", type(module).__name__]))
    observer.on_skip(lambda: told.append(["skip"]))

    def step(entry):
        told.append(["step", entry["step"], entry["loss"] is not None, observer.model is not None])
        if entry["step"] == config.get("fail_at"):
            raise ValueError("the plugin gave up")

    def end(status):
        name = f"{observer.rank}-{config['name']}" if config.get("by_rank") and told else config["name"]
        (observer.out / name).write_text(json.dumps([*told, ["end", status]]))

    observer.on_step(step)
    observer.on_end(end)
