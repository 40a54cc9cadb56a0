"""Languages that several tests use."""

HEAD = 'format = "groundling-language-1"\n'
OWN = f"""{HEAD}nothing = "nothing"

[words]
object = "apple cat dog"
direction = "east north northeast northwest south southeast southwest west"
grammatical = "? . go to the what is in of nothing thing"
filler = "now quickly"

[slots]
obj = "object"
loc = "direction"
loc2 = "direction"
how = "filler"

[references]
object = "{{obj}}"
near_agent = "{{loc}} of agent"
near_object = "{{loc}} of object"

[phrases]
verb = ["go to", "to"]

[frames]
command = [
  "{{how}} {{verb}} {{np}} .",
  "{{verb}} {{np}} {{how}} .",
]

[types]
ask = {{ reference = "near_agent", asked = "object", frames = ["what is in the {{loc}} ?"] }}
nav = {{ reference = "object", asked = "go", frames = "command", np = "the {{obj}}" }}
"""
"""A small language of its own."""
EXTENDED = f'{HEAD}extends = "paper"\n'
WITH_SIZE = f"""{EXTENDED}[words]
"grammatical+" = "size"
size = "small big"
[slots]
size = "size"
[attributes]
size = {{ of = "icon" }}
"""
"""The paper's language with an attribute of icons; references and types must follow."""


GERMAN = {"apple": "apfel", "red": "rot", "north": "norden", "between": "zwischen", "the": "das", "nothing": "nichts"}


TWO_STEPS = f"""{EXTENDED}[slots]
loc2 = "direction"
[references]
two_steps = "{{loc2}} of near_object"
two_steps_from_agent = "{{loc2}} of near_agent"
[types]
nav_two = {{ reference = "two_steps", asked = "go", frames = [
  "go to the object in the {{loc2}} of the object in the {{loc}} of the {{obj}} .",
] }}
rec_two2obj = {{ reference = "two_steps", asked = "object", frames = [
  "what is in the {{loc2}} of the object in the {{loc}} of the {{obj}} ?",
] }}
rec_two2col = {{ reference = "two_steps", asked = "color", frames = [
  "what is the color of the object in the {{loc2}} of the object in the {{loc}} of the {{obj}} ?",
] }}
rec_agent2obj = {{ reference = "two_steps_from_agent", asked = "object", frames = [
  "what is in the {{loc2}} of the object in the {{loc}} ?",
] }}
"""
