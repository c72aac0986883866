"""The workflow: one file for each verb of the user.

One short file for each verb.

==============  =======================================================================
`plan`          what will run, why it can, and why anything else cannot; touches no rows
`forecast`     everything that is known before a release is made
`forecast`       what a few rows would become; writes nothing
`publish`       plan, run, write a draft, certify what is on disk
`publication`       the draft as the audit sees it becomes a publication, or (`publication`) the reason why not
`publish`       the same on a cluster: `region_recoding`, `anatomy`, `subtables`, `replacement`, `history`
`write`         from the certified draft to the release folder, its ledger entry and the reports
`database_load`          from a release folder into a test database
`verify`        the independent audit of a release folder
`measure`       how useful a release is
==============  =======================================================================

`publish` and `verify` are one path from the draft folder on: both judge a view that was read from the bytes on disk."""
