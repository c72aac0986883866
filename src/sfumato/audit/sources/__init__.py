"""What is known about an original before anything is made, one file for each kind of data that has something to say."""
