"""Engines: where rows are and what is done with them there.

Engines: where rows lie and what is done with them there.

Methods never need rows, only classes with counts, and neither do models. So an engine is a few verbs:

    classes   the different tuples of some columns, with how often each occurs
    recode    from a grouping of classes back to rows; the records of one class that go to several groups are split by a
              keyed order
    count     what lies in the files of a part: its different rows with counts
    write     rows to the files of a part, in an order that tells nothing

`protocol` is the interface between an engine and the rest of the package, `local` counts the files of a part here, and
`spark` does everything on a cluster. Methods, models and the audit do not know which one runs."""
