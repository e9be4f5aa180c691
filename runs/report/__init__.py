"""A run or a batch as one page that opens offline, and plots of many runs. It reads the record and changes nothing."""
