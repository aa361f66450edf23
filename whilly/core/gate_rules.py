"""The rules of the gate, one row each: what is refused, why, and what to write instead.

The reference page is printed from them. How each of them is found out is in `core.gate_complaints`, under the same id.
"""

from dataclasses import dataclass
from enum import StrEnum

from whilly.core.gate_complaints import LONG_TEXT, LONGEST_TEXT, MANY_CRITERIA, MANY_KEY_FILES, SHORTEST_DESCRIPTION


class Verdict(StrEnum):
    """What the gate says."""

    ADMIT = "ADMIT"
    WARN = "WARN"
    REJECT = "REJECT"


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that the gate looks at."""

    id: str
    """Stored with `task.skipped`; the first three are the names that other tools know."""
    severity: Verdict
    refuses: str
    why: str
    instead: str
    """What to write instead; ends each finding."""


RULES: tuple[Rule, ...] = (
    Rule(
        "description",
        Verdict.REJECT,
        f"A description that is missing or shorter than {SHORTEST_DESCRIPTION} characters.",
        "An agent that has to guess the task is paid for guessing.",
        f"Say what has to change, where, and what must stay as it is: at least {SHORTEST_DESCRIPTION} characters.",
    ),
    Rule(
        "acceptance_criteria",
        Verdict.REJECT,
        "No acceptance criteria, or only blank ones.",
        "Without them nobody can say when the task is done, and the agent stops where it likes.",
        "Write one sentence for each thing that must be true afterwards: \"'1+2' gives three tokens\".",
    ),
    Rule(
        "test_steps",
        Verdict.REJECT,
        "No test steps, or only blank ones, and no required check of plan or task either.",
        "There is no way at all to see whether the work is right.",
        'Write the command that shows it, "python -m pytest -q tests/test_tokens.py", or give the plan a check.',
    ),
    Rule(
        "placeholder",
        Verdict.REJECT,
        "A description, or criteria or steps throughout, that stand in for text to be written later.",
        "`TODO`, `Description here` or twenty times `x` is a form that nobody filled in. A task *about* TODOs is fine.",
        "Write the real text, or take the task out of the plan until it is known.",
    ),
    Rule(
        "monotonous",
        Verdict.REJECT,
        "A description of repeated letters or words: `asdf asdf asdf asdf`.",
        "It only gets around the shortest length.",
        "Describe the work in words.",
    ),
    Rule(
        "duplicate",
        Verdict.REJECT,
        "The same description, criteria, steps, key files and repository as a task before it.",
        "The work would be paid for twice, and the second result would conflict with the first.",
        "Remove one of them, or say what this one does in addition.",
    ),
    Rule(
        "key_file",
        Verdict.REJECT,
        "A key file outside the repository or inside `.git`.",
        "An agent works in a private clone and must not leave it.",
        'Name files relative to the top of the repository: "src/parser.py".',
    ),
    Rule(
        "too_long",
        Verdict.REJECT,
        f"More than {LONGEST_TEXT:,} characters of text in one task.",
        "It would fill half of a model's context before the agent has read a single file.",
        "Put the material into a file of the repository and name that file, or split the task.",
    ),
    Rule(
        "secret",
        Verdict.REJECT,
        "A credential in any text of the task: a token, an API key, a private key.",
        "It would be sent to the model's provider and kept in the log.",
        "Take it out and revoke it; give programs their secrets through the environment.",
    ),
    Rule(
        "test_steps_left_to_checks",
        Verdict.WARN,
        "No test steps, where a required check decides.",
        "The check proves that nothing broke; steps tell the agent how to see that the new thing works.",
        "Write the command that shows the new behaviour, unless the checks already do.",
    ),
    Rule(
        "nothing_verifies",
        Verdict.WARN,
        "No required check, and no test step that looks like a command.",
        "DONE would rest on the agent's word.",
        'Give plan or task a check, {"name": "unit", "command": "python -m pytest -q"}, or write a step as a command.',
    ),
    Rule(
        "only_a_link",
        Verdict.WARN,
        "A description that is only a link or an issue number.",
        "The agent may have no access to it.",
        "Copy what the linked page asks for into the description.",
    ),
    Rule(
        "vague_description",
        Verdict.WARN,
        "A description of one or two words, or one that names an aim without an object: `Fix all the bugs`.",
        "An agent finds something to do for any such task, rarely what was meant.",
        "Name the behaviour, the file or the function that has to change.",
    ),
    Rule(
        "vague_criteria",
        Verdict.WARN,
        "Only criteria like `It works as expected`.",
        "They are met by whatever comes out.",
        "Say what can be seen when it works: an input and its result.",
    ),
    Rule(
        "open_slot",
        Verdict.WARN,
        "A place left to be filled in: `<fill in>`, `[insert name]`, `TBD`, `_____`.",
        "The agent would have to invent what belongs there.",
        "Fill it in.",
    ),
    Rule(
        "blank_items",
        Verdict.WARN,
        "Blank entries among the criteria or test steps.",
        "Something may have been lost.",
        "Remove the blank entries or write what was meant.",
    ),
    Rule(
        "same_description",
        Verdict.WARN,
        "The same description as a task before it, with other files, criteria, steps or repository.",
        "Two agents may do the same work.",
        "Say in the descriptions what is different.",
    ),
    Rule(
        "many_key_files",
        Verdict.WARN,
        f"More than {MANY_KEY_FILES} key files.",
        "Tasks that share a key file do not run side by side, so such a task holds up many others.",
        "Name only the files that will change, or split the task.",
    ),
    Rule(
        "many_criteria",
        Verdict.WARN,
        f"More than {MANY_CRITERIA} acceptance criteria or test steps.",
        "It is several tasks in one; the longer a run, the likelier it ends unfinished.",
        "Split it.",
    ),
    Rule(
        "long",
        Verdict.WARN,
        f"More than {LONG_TEXT:,} characters of text in one task.",
        "The agent pays for reading it in every turn.",
        "Keep what the task needs; put reference material into a file of the repository.",
    ),
    Rule(
        "hidden_text",
        Verdict.WARN,
        "Characters or comments that a person does not see and the agent reads.",
        "Issue texts from strangers hide instructions there.",
        "Look at the text in `whilly plan show` and remove what you did not write.",
    ),
    Rule(
        "override",
        Verdict.WARN,
        "Words that speak to the agent about its instructions: `ignore previous instructions`.",
        "Either the task is about such words, or somebody tries to steer the agent.",
        "Remove them if you did not write them.",
    ),
    Rule(
        "review",
        Verdict.WARN,
        "Words that ask for a person's review or approval, where `review` is none.",
        "Whilly asks a person only where the `review` field says so; words do not stop it.",
        'Set "review" to "before" or "result", or take the sentence out.',
    ),
    Rule(
        "budget",
        Verdict.WARN,
        "A budget of 0, or a task's budget larger than the plan's.",
        "The task cannot be started, or cannot spend what it is promised.",
        "Raise the plan's budget or lower the task's; leave it out for no limit.",
    ),
)
"""In the order in which findings are told: what refuses first."""
