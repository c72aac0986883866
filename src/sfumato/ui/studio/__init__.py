"""The studio: the whole work in a browser, on the local machine.

The studio: the whole work in a browser, on one's own machine.

::

    project    the folder that is open: data, policies, releases, ledgers; no path leads out of it
    drafting   a policy file that is edited piece by piece, comments and order kept
    switches   constraints of a policy that one character switches on and off
    desk       worker processes: short questions, and long work with progress that can be cancelled
    work       what the workers do; every function calls the workflow and returns JSON values
    visit      one request, as pages see it; what a page is
    guard      who may ask at all: start-up token, Host, Origin, size; and the headers of every answer
    pages      one file per page; a page is a model (its JSON twin) and a template
    app        pages, edits and files put together
    server     the port, the token, the browser

There is no privacy logic in this folder. Everything a page shows was returned by plan, publish, verify, measure, risk,
discover or explore, and everything it changes is the policy file, which can be seen and taken away at any moment."""
