"""`groundling models`"""

from groundling.cli.output import Json, print_json, print_table
from groundling.extras import needs


def models(as_json: Json = False) -> None:
    """The agent and the methods it is compared with: their parameters, and what each attends with."""
    needs("agent")
    from groundling.agent import MODELS, AgentConfig, build

    rows = []
    for name, kind in MODELS.items():
        model = build(AgentConfig(method=name))
        rows.append(
            {
                "method": name,
                "class": kind.__name__,
                "parameters": sum(parameter.numel() for parameter in model.parameters()),
                "attends_with": kind.attention_mechanism,
                "answers": "yes" if kind.answers else "no",
            }
        )
    if as_json:
        return print_json(rows)
    print_table(
        "Models", ("method", "class", "parameters", "attends with", "answers"), [[*row.values()] for row in rows]
    )
