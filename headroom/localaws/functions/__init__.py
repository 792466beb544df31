"""Lambda: deployed zips under AWS's own runtime client, queue mappings, asynchronous retries."""
