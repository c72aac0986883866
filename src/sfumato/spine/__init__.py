"""The spine: one short file for each verb.

==============  =======================================================================
`plan`          what will run, why it can, and why anything else cannot; touches no rows
`foresight`     everything that can be said before a release is made
`preview`       what a few rows would become; writes nothing
`publish`       plan, run, write a draft, certify what is on disk
`judging`       the draft as the audit sees it becomes a publication, or (`refusing`) the reason why not
`cluster`       the same where rows lie: `regions`, `dealing`, `splitting`, `drawing`, `remembering`
`write`         from the certified draft to the release folder, its ledger entry and the reports
`load`          from a release folder into a test database
`verify`        the independent audit of a release folder
`measure`       what a release is still good for
==============  =======================================================================

`publish` and `verify` are one path from the draft folder on: both look at an exhibit that was read from the bytes on disk.
"""
