"""Random policies, data, forms and spoilings over all methods, judged from the definitions.

One file per kind of data (`recoded`, `anatomy`, `subtables`, `replaced`, `baskets`, `graphs`, `databases`,
`sequences`): how a case is drawn, and a judge in plain Python that looks at nothing but the published files and the
original. `spoiling` changes release folders, `hostile` makes files that were meant to do harm, `running` counts,
`__main__` is the command.

    make fuzz MINUTES=60                    all kinds, until the time is over
    make fuzz REPLAY=recoded:7:123          one case once more, with everything that was wrong with it
"""
