JOURNAL = "_sfumato_load"
