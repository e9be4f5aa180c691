"""The record for other programs: tables and logs out, logs of other folders in. Heavy formats are extras."""
