"""Work that runs in background processes; every function returns what JSON can say.

What workers do: every function calls the package and returns JSON values; one file per kind of question.

A function takes `progress` and JSON values by name, and runs in a process of its own (`studio.background_jobs`).
"""
