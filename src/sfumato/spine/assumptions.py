"""What every certificate assumes, from the folder alone: so that nobody can strike out an assumption unnoticed.

What a method adds about the way a release was made stands in its notes, and cannot be found again.
"""

from __future__ import annotations

from sfumato.policy.policy import Policy
from sfumato.release.exhibit import Exhibit


def assumed(exhibit: Exhibit) -> tuple[str, ...]:
    """The sentences that the certificate of a release must hold."""
    return (*filter(None, [exhibit.form.mark]), *_of_policy(exhibit.policy))


def _of_policy(policy: Policy) -> tuple[str, ...]:
    """What must be true outside the data for the findings to mean what they say, and what the data holder took upon themselves."""
    accepted = tuple(f"the data holder accepts a warning: {identifier}" for identifier in policy.accept)
    accepted += () if policy.plugins is None else (policy.plugins.sentence,)
    if not policy.quasi_identifiers:
        return accepted
    return (
        "outsiders know at most the quasi-identifiers of people, and nothing of the sensitive columns: "
        "they have no opinion beforehand which values go with whom, and do not ask why the method made this release and no other",
        *_whose_rows(policy),
        *_of_population(policy),
        *accepted,
    )


def _of_population(policy: Policy) -> tuple[str, ...]:
    """What is assumed of those who are not in the table."""
    population = policy.population
    if population is None or not policy.of_population:
        return ()
    if population.file is not None:
        return (
            "the data holder's table of the population has everybody who could be in the data, and outsiders have no better one",
        )
    drawn = "people came into the table by chance, whatever their values are"
    if population.weight is not None:
        return (f"'{population.weight}' says how many people of the population each record stands for; {drawn}",)
    return (f"a share of {population.fraction:g} of the population is in the table; {drawn}",)


def _whose_rows(policy: Policy) -> tuple[str, ...]:
    """What is assumed of rows and people."""
    if policy.person is None:
        return ("one row is one person, and no person is in the table twice",)
    if policy.person.linked:
        return (f"the policy says whose rows they are; candidates are {policy.person.word}, and a pseudonym ties their rows",)
    tie = "columns that are published as they are do not tie the rows of a person together"
    return (f"the policy says whose rows they are, and candidates are {policy.person.word}; {tie}",)
