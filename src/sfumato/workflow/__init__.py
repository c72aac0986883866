"""The workflow: one file for each verb of the user.

The spine: one short file for each verb.

==============  =======================================================================
`plan`          what will run, why it can, and why anything else cannot; touches no rows
`forecast`     everything that can be said before a release is made
`forecast`       what a few rows would become; writes nothing
`publish`       plan, run, write a draft, certify what is on disk
`publication`       the draft as the audit sees it becomes a publication, or (`publication`) the reason why not
`publish`       the same where rows lie: `region_recoding`, `anatomy`, `subtables`, `replacement`, `history`
`write`         from the certified draft to the release folder, its ledger entry and the reports
`database_load`          from a release folder into a test database
`verify`        the independent audit of a release folder
`measure`       what a release is still good for
==============  =======================================================================

`publish` and `verify` are one path from the draft folder on: both look at an exhibit that was read from the bytes on
disk."""
