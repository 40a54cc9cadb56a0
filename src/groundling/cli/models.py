"""`groundling models`"""

from groundling.cli.output import Json, print_json, print_table
from groundling.extras import needs


def models(as_json: Json = False) -> None:
    """List the models: the paper's model (ours), its baselines, and those of installed packages."""
    needs("agent")
    from groundling.agent import build, find_model
    from groundling.agent.registry import model_names

    rows = []
    for name in model_names():
        kind = find_model(name)
        model = build(kind.Config(method=name))
        rows.append(
            {
                "method": name,
                "class": kind.__name__,
                "parameters": sum(parameter.numel() for parameter in model.parameters()),
                "attention_mechanism": kind.attention_mechanism,
                "answers": "yes" if kind.has_answer_head else "no",
            }
        )
    if as_json:
        return print_json(rows)
    print_table("Models", ("method", "class", "parameters", "attention", "answers"), [[*row.values()] for row in rows])
